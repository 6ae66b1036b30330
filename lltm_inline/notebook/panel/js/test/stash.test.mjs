import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { drop, keep, kept } from "../src/stash.js";

beforeEach(() => {
  const items = new Map();
  globalThis.localStorage = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => items.set(key, value),
    removeItem: (key) => items.delete(key),
  };
});

test("text that differs from the model's comes back with its time, for its place alone", () => {
  const before = Date.now();
  keep("01.ipynb lltm/fused", { cpp: "typed" });
  const { texts, at } = kept("01.ipynb lltm/fused", { cpp: "saved" });
  assert.deepEqual(texts, { cpp: "typed" });
  assert.ok(at >= before && at <= Date.now());
  assert.equal(kept("02.ipynb lltm/fused", { cpp: "saved" }), null);
});

test("text that Python has already is forgotten", () => {
  keep("lltm/fused", { cpp: "typed" });
  assert.equal(kept("lltm/fused", { cpp: "typed" }), null);
  assert.equal(kept("lltm/fused", { cpp: "saved" }), null);
});

test("text is kept for a week, and until it is dropped", () => {
  keep("lltm/fused", { cpp: "typed" });
  assert.equal(kept("lltm/fused", { cpp: "saved" }, Date.now() + 8 * 24 * 3600 * 1000), null);
  keep("lltm/fused", { cpp: "typed" });
  drop("lltm/fused");
  assert.equal(kept("lltm/fused", { cpp: "saved" }), null);
});

test("what another program left under our name is dropped", () => {
  globalThis.localStorage.setItem("lltm-inline:lltm/fused", "{torn");
  assert.equal(kept("lltm/fused", { cpp: "saved" }), null);
});

test("a browser that forbids storage is no error", () => {
  globalThis.localStorage = null;
  keep("lltm/fused", { cpp: "typed" });
  assert.equal(kept("lltm/fused", { cpp: "saved" }), null);
});
