import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Model } from "../harness/model.js";
import { Link } from "../src/link.js";

const element = (...classes) => ({ classList: { contains: (name) => classes.includes(name) } });

// A clock that is set forward by hand: node's own mock of timers differs between its versions.
const clock = {
  now: 0,
  waiting: new Map(),
  start() {
    this.now = 0;
    this.waiting.clear();
    globalThis.setTimeout = (run, after) => {
      const id = Symbol("timer");
      this.waiting.set(id, { run, at: this.now + after });
      return id;
    };
    globalThis.clearTimeout = (id) => this.waiting.delete(id);
  },
  tick(time) {
    this.now += time;
    for (const [id, { run, at }] of [...this.waiting]) {
      if (at <= this.now && this.waiting.delete(id)) run();
    }
  },
};

let model, told, link;

function connect(el = element()) {
  told = { traits: [], messages: [], states: [], clocks: [] };
  model = new Model({ texts: { cpp: "a" }, params: { N: 1 }, busy: { verb: "" } });
  model.silent = true;
  link = new Link(model, el, ["texts", "marks", "busy"], {
    onTraits: (names) => told.traits.push([...names]),
    onMessage: (message) => told.messages.push(message),
    onState: (state) => told.states.push(state),
    onClock: (ahead) => told.clocks.push(ahead),
  });
}

beforeEach(() => {
  clock.start();
  connect();
});

test("several traits of one message are handled once, together", async () => {
  model.tell({ marks: [], busy: { verb: "build" } });
  await Promise.resolve();
  assert.deepEqual(told.traits, [["marks", "busy"]]);
});

test("a draft is sent after 200 ms without a key, merged into its trait", () => {
  link.draft("texts", { cpp: "b" });
  clock.tick(150);
  link.draft("texts", { cpp: "c", cuda: "d" });
  clock.tick(150);
  assert.equal(model.get("texts").cpp, "a");
  clock.tick(50);
  assert.deepEqual(model.get("texts"), { cpp: "c", cuda: "d" });
  assert.equal(link.unsent, false);
});

test("a button takes along what was not sent yet", () => {
  link.draft("texts", { cpp: "b" });
  link.draft("params", { N: 2 });
  link.act("build");
  const message = model.messages.find((each) => each.do === "build");
  assert.deepEqual([message.texts, message.params], [{ cpp: "b" }, { N: 2 }]);
});

test("no answer in 3 s is silence, an answer ends it", () => {
  link.ping();
  clock.tick(2999);
  assert.deepEqual(told.states, []);
  clock.tick(1);
  assert.deepEqual(told.states, ["silent"]);
  model.trigger("msg:custom", { tell: "pong" });
  assert.deepEqual(told.states, ["silent", "alive"]);
  assert.deepEqual(told.messages, []);
});

test("how far the clocks are apart is told by the answer that was quickest", () => {
  for (const late of [3, 1, 2]) model.trigger("msg:custom", { tell: "pong", now: Date.now() / 1000 + 50 - late });
  assert.deepEqual(told.clocks.map(Math.round), [-47, -49, -49]);
});

test("silence while something runs is none", () => {
  model.set("busy", { verb: "benchmark" });
  link.ping();
  clock.tick(3000);
  assert.deepEqual(told.states, []);
});

test("a closed comm is the end, whatever answers afterwards", () => {
  model.trigger("comm:close");
  model.trigger("msg:custom", { tell: "pong" });
  assert.deepEqual(told.states, ["gone"]);
});

test("a view that Jupyter marks as disconnected has no kernel", () => {
  connect(element("jupyter-widgets-disconnected"));
  assert.equal(link.state, "gone");
});

test("a kernel that cannot be reached is gone, and drafts stay", () => {
  model.send = () => {
    throw new Error("Kernel is disposed");
  };
  const { warn } = console;
  console.warn = () => {};
  link.draft("texts", { cpp: "b" });
  link.act("build");
  assert.deepEqual(told.states, ["gone"]);
  assert.equal(model.get("texts").cpp, "b");
  console.warn = warn;
});

test("a closed link listens no more", async () => {
  link.close();
  model.tell({ marks: [1] });
  await Promise.resolve();
  assert.deepEqual(told.traits, []);
});

test("an edit says of which generation of the text it is", () => {
  model.tell({ generation: 3 });
  link.draft("texts", { cpp: "b" });
  link.act("build");
  assert.equal(model.get("seen"), 3);
  assert.equal(model.messages.find((each) => each.do === "build").generation, 3);
});
