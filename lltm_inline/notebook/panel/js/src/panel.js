// The panel of `li.playground`, an anywidget module. All state lives in traits: two views of one model show the same.
import { Assembly } from "./assembly.js";
import { followTheme } from "./dark.js";
import { Controls } from "./controls.js";
import { divider } from "./divider.js";
import { h } from "./dom.js";
import { Editor } from "./editor.js";
import { Header } from "./header.js";
import { hold } from "./hold.js";
import { Link } from "./link.js";
import { applyFix, said } from "./marks.js";
import { Notice } from "./notice.js";
import { Output } from "./output.js";
import { shield } from "./shortcuts.js";
import { drop, keep, kept } from "./stash.js";
import { Status } from "./status.js";
import { GONE, KINDS, SILENT, isRemark } from "./words.js";

const TRAITS = [
  ..."title variants devices current revisions texts generation params controls options marks busy log".split(" "),
  ..."report timings plot verdict diff details history assembly words journal worker dirty".split(" "),
];

// While the panel is on the page, the static output that stands for it elsewhere is not; its name is Python's.
function hiding(name) {
  return h("style", {}, name ? `.${name}, .jp-OutputArea-child:has(.${name}) { display: none; }` : "");
}

class Panel {
  constructor(model, el) {
    this.root = h("div", { class: "lltm-panel", test: "panel", role: "region" });
    el.append(this.root, hiding(model.get("snapshot")));
    this.link = new Link(model, el, TRAITS, {
      onTraits: (names) => this.show(names),
      onMessage: (message) => this.told(message),
      onState: (state) => this.showAlive(state),
      onClock: (ahead) => this.status.showClock(ahead),
    });
    shield(this.root, () => this.link.flush());
    this.build();
    this.stopFollowing = followTheme(this.root);
    this.flush = () => this.link.flush();
    window.addEventListener("pagehide", this.flush);
    this.show(new Set(TRAITS));
    this.showAlive(this.link.state);
    this.link.ping();
  }

  build() {
    const act = (verb, more) => this.act(verb, more);
    this.header = new Header(act);
    this.notice = new Notice("notice");
    this.found = new Notice("found");
    this.output = new Output({
      onDiff: (against) => act("diff", { against }),
      onLook: () => {
        this.follow = false;
      },
    });
    this.tabs = h("div", { class: "lltm-tabs", role: "group", "aria-label": "texts", hidden: true });
    const pane = h("div", { class: "lltm-source", test: "editor" }, this.tabs);
    this.editor = new Editor(pane, {
      onEdit: (kind, text) => this.edited(kind, text),
      build: () => act("build"),
      check: () => act("check"),
      leave: () => this.status.say("Tab and Shift-Tab leave the editor now"),
      apply: (view, mark) => applyFix(view, mark) || act("apply", { mark: mark.index }),
      log: () => this.output.revealLog(),
      words: () => this.link.get("words", []),
      onPoint: (line) => this.light(line, true),
    });
    this.assembly = new Assembly({ onPoint: (line) => this.light(line, false), onChoose: (line) => this.editor.goTo(line) });
    this.controls = new Controls({
      onParam: (name, value) => this.draft("params", { [name]: value }),
      onOption: (name, value) => this.draft("options", { [name]: value }),
    });
    const diff = () => {
      this.output.resetDiff();
      act("diff");
    };
    this.status = new Status({ diff, revert: () => act("revert"), copy: () => act("copy", { kind: this.kind }) });
    const body = h("div", { class: "lltm-body" });
    body.append(pane, divider(body), h("div", { class: "lltm-right" }, this.output.element, this.assembly.element));
    this.root.append(
      this.header.element,
      this.notice.element,
      this.found.element,
      body,
      this.controls.element,
      this.status.element,
      hold(),
    );
  }

  get current() {
    return this.link.get("current", { name: "", label: "", device: "", kinds: [], revision: 0 });
  }

  // Where the browser keeps text: two notebooks that edit one kernel have nothing to do with each other.
  get place() {
    return `${this.link.get("journal", {}).notebook || location.pathname} ${this.current.name}`;
  }

  get editable() {
    const variant = this.link.get("variants", []).find(({ name }) => name === this.current.name);
    return variant?.editable !== false;
  }

  act(verb, more) {
    if (this.link.state === "gone") return;
    if (this.link.busy && verb !== "stop") {
      this.status.say("something is running: Stop ends it");
      return;
    }
    this.asked = verb;
    if (["build", "check", "benchmark"].includes(verb)) this.editor.sent();
    this.link.act(verb, more);
  }

  edited(kind, text) {
    this.draft("texts", { [kind]: text });
    if (this.link.state !== "alive") keep(this.place, this.link.drafted("texts"));
  }

  draft(name, values) {
    this.link.draft(name, values);
    this.showState();
  }

  // Order matters: the text first, then the marks in it.
  show(names) {
    const has = (...wanted) => wanted.some((name) => names.has(name));
    const { link, current } = this;
    if (has("title", "variants", "devices", "current")) {
      const traits = { title: link.get("title", ""), variants: link.get("variants", []), devices: link.get("devices", []) };
      this.header.showKernel({ ...traits, current });
      this.output.showDevice(current);
      this.root.setAttribute("aria-label", `playground, ${current.label}`);
    }
    if (has("revisions", "current")) {
      this.header.showRevisions(link.get("revisions", []), current);
      this.output.showRevisions(link.get("revisions", []));
    }
    if (has("generation", "current", "variants", "texts")) this.showText(has("generation") || current.name !== this.name);
    if (has("generation")) this.list = null; // the editor may have marks of when it showed this kernel before
    if (has("marks", "generation")) this.showMarks();
    if (has("controls", "params")) this.controls.showParams(link.get("controls", []), link.drafted("params"));
    if (has("options")) this.controls.showOptions(link.drafted("options"));
    for (const name of ["report", "plot", "timings", "history", "diff", "details"]) {
      if (has(name)) this.output.show(name, link.get(name, ""));
    }
    if (has("assembly", "options")) this.assembly.show(link.get("assembly", ""), link.drafted("options").assembly);
    if (has("verdict")) this.output.showVerdict(link.get("verdict", ""));
    if (has("log")) this.status.showLog(link.get("log", []));
    if (has("worker")) this.status.showWorker(link.get("worker", {}));
    if (has("journal")) this.status.showJournal(link.get("journal", { saved: 0, note: "" }));
    if (has("busy")) this.showBusy();
    if (has("report") && link.get("report")) this.showReport();
    if (has("busy", "current", "verdict")) this.showAge();
    if (has("busy", "plot", "verdict", "timings")) this.followPlot();
    if (has("diff") && this.asked === "diff" && link.get("diff")) this.output.reveal("diff");
    if (has("current", "texts", "journal")) this.offerKept();
    this.showState();
  }

  // Python's text replaces the editor's when Python says so; another view's does while nobody types in this one.
  showText(replace) {
    const { name, kinds = [] } = this.current;
    const texts = this.link.get("texts", {});
    if (replace) for (const name of ["texts", "params"]) this.link.forget(name);
    const theirs = !this.link.unsent && !this.editor.hasFocus;
    this.name = name;
    if (!kinds.includes(this.kind)) this.kind = kinds[0];
    const text = replace || theirs || !this.editor.key ? texts[this.kind] : this.link.drafted("texts")[this.kind];
    if (replace || theirs || this.kind !== this.editor.kind) {
      const label = `source of ${name}, ${KINDS[this.kind] ?? this.kind}. Escape, then Tab leaves the editor`;
      this.editor.show({ name, kind: this.kind, text: text ?? "", editable: this.editable, label });
    }
    if (replace) this.editor.sent();
    this.showTabs();
  }

  showTabs() {
    const { kinds = [] } = this.current;
    const marks = this.link.get("marks", []);
    this.tabs.hidden = kinds.length < 2;
    this.tabs.replaceChildren(
      ...kinds.map((kind) => {
        const count = marks.filter((mark) => mark.kind === kind && !isRemark(mark)).length;
        const text = (KINDS[kind] ?? kind) + (count ? ` · ${count} ${count === 1 ? "message" : "messages"}` : "");
        const onclick = () => this.showKind(kind);
        return h("button", { type: "button", class: "lltm-tab", test: `kind-${kind}`, "aria-pressed": String(kind === this.kind), onclick }, text);
      }),
    );
  }

  showKind(kind) {
    this.kind = kind;
    this.showText(false);
    this.showMarks();
    this.editor.focus();
  }

  // A text gets each list of marks once: what was edited since has none.
  showMarks() {
    const list = this.link.get("marks", []);
    if (list !== this.list) this.given = new Set();
    this.list = list;
    const marks = list.map((mark, index) => ({ ...mark, index }));
    const news = marks.filter((mark) => !isRemark(mark));
    if (news.length && !news.some((mark) => mark.kind === this.kind) && this.given.size === 0) {
      const other = news.find((mark) => this.current.kinds?.includes(mark.kind));
      if (other) {
        this.kind = other.kind;
        this.showText(false);
      }
    }
    if (!this.given.has(this.kind)) {
      this.given.add(this.kind);
      this.editor.setMarks(marks.filter((mark) => mark.kind === this.kind));
      const typed = marks.find((mark) => mark.quiet && mark.severity === "error");
      if (typed) this.status.say(`line ${typed.line}: ${said(typed)}`);
    }
    this.showTabs();
  }

  // A line of the text that was built, pointed at in the text or in its machine code.
  light(line, reveal) {
    if (this.assembly.element.hidden) return;
    this.assembly.light(line, reveal);
    this.editor.light(line);
  }

  showBusy() {
    const busy = this.link.get("busy", { verb: "" });
    if (busy.verb === "benchmark" && this.verb !== "benchmark") this.follow = true;
    if (!busy.verb && this.verb && this.verb !== "benchmark" && !this.follow) this.output.reveal("report");
    this.verb = busy.verb;
    this.status.showBusy(busy);
    this.root.classList.toggle("lltm-busy", Boolean(busy.verb));
  }

  // What went wrong in a benchmark comes before its picture.
  showReport() {
    this.output.reveal("report");
    this.follow = false;
  }

  // A verdict that does not speak of the text on the left, or is about to be overtaken, is not shown as news.
  showAge() {
    const label = this.current.label ?? "";
    const named = this.link.get("verdict", "").split(/[\s,:;]+/).includes(label);
    this.output.showAge(!named || (this.link.busy && this.verb !== "benchmark"));
  }

  // While a benchmark runs, verdict and picture are kept in view, until somebody looks elsewhere in the pane.
  followPlot() {
    if (!this.follow || !this.link.get("plot")) return;
    this.output.reveal("plot");
    if (this.verb !== "benchmark") this.follow = false;
  }

  showState() {
    const edited = this.editable && (Boolean(this.link.get("dirty")) || this.link.unsent);
    const reachable = this.link.state !== "gone";
    this.header.showState({ busy: this.link.get("busy", {}).verb ?? "", edited, editable: this.editable, reachable });
    this.status.showFree(reachable && !this.link.busy);
  }

  showAlive(state) {
    if (state === "alive" && this.root.dataset.kernel === "silent") drop(this.place); // it listens again
    this.root.dataset.kernel = state;
    if (state === "alive") this.notice.hide();
    else this.notice.show(state === "gone" ? "bad" : "warn", state === "gone" ? GONE : SILENT, [["copy the text", () => this.copy()]]);
    if (state !== "alive" && (this.link.unsent || this.link.get("dirty"))) keep(this.place, this.link.drafted("texts"));
    this.showState();
  }

  async copy(text = this.editor.text, what = "the text") {
    try {
      await navigator.clipboard.writeText(text);
      this.status.say(`${what} is on the clipboard`);
    } catch {
      this.editor.selectAll(); // no right to the clipboard: one key copies what is selected
      this.status.say("the text is selected: press Ctrl-C");
    }
  }

  // Text that was typed into an earlier panel of this kernel, in this notebook, after its kernel had gone. Asked once for each kernel shown.
  offerKept() {
    const { place } = this;
    if (this.offered === place || this.link.state === "gone") return;
    this.offered = place;
    this.found.hide();
    const { texts, at } = kept(place, this.link.get("texts", {})) ?? {};
    if (!texts) return;
    const end = () => {
      drop(place);
      this.found.hide();
    };
    const put = () => {
      this.draft("texts", texts);
      if (texts[this.kind] !== undefined) this.editor.replace(texts[this.kind]);
      end();
    };
    const notebook = this.link.get("journal", {}).notebook?.split(/[\\/]/).at(-1);
    const whence = `${notebook ? `in ${notebook} ` : ""}on ${new Date(at).toLocaleString()}`;
    this.found.show("info", `This browser kept text of ${this.current.name} that you typed ${whence}, while the notebook's kernel was gone.`, [["put it back", put], ["discard it", end]]);
  }

  told(message) {
    if (message.tell === "copy") this.copy(message.text, "the cell");
    if (message.tell !== "focus") return;
    if (message.kind && message.kind !== this.kind) this.showKind(message.kind);
    this.editor.focus(message.line);
  }

  close() {
    this.link.close();
    this.status.close();
    this.stopFollowing();
    window.removeEventListener("pagehide", this.flush);
    this.editor.close();
  }
}

export default {
  render({ model, el }) {
    const panel = new Panel(model, el);
    return () => panel.close();
  },
};
