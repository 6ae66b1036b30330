// The right side: report, plot and verdict, timings, changes, the compiler's log. What is empty is not there.
import { h, setHtml, setText, withIntervals } from "./dom.js";
import { benchmarkDoes } from "./words.js";

const PARTS = ["report", "plot", "timings", "history", "diff", "details"];

export class Output {
  /** @param handlers onDiff(label) when another revision is picked to compare with, onLook() when somebody scrolls or clicks */
  constructor({ onDiff, onLook }) {
    this.verdict = h("p", { class: "lltm-verdict", test: "verdict", role: "status", hidden: true });
    this.parts = Object.fromEntries(PARTS.map((name) => [name, h("div", { class: `lltm-part lltm-${name}`, test: name, hidden: true })]));
    this.against = h("select", { class: "lltm-choice", test: "diff-against", "aria-label": "compare with", onchange: () => onDiff(this.against.value || undefined) });
    this.diffHead = h("div", { class: "lltm-diff-head", hidden: true }, h("label", {}, "Changes against ", this.against));
    this.benchmark = h("dd", {}, benchmarkDoes(false));
    this.hint = h(
      "div",
      { class: "lltm-hint" },
      h("p", {}, "Change the text, or a parameter below it."),
      h(
        "dl",
        {},
        ...[
          ["Build", "compiles it as a new revision"],
          ["Check", "compares outputs and gradients with the reference"],
        ].flatMap(([verb, text]) => [h("dt", {}, verb), h("dd", {}, text)]),
        h("dt", {}, "Benchmark"),
        this.benchmark,
      ),
    );
    const { report, plot, timings, history, diff, details } = this.parts;
    this.figures = h("details", { class: "lltm-figures", hidden: true }, h("summary", {}, "all figures, and how they were measured"), timings);
    this.element = h(
      "div",
      { class: "lltm-output", role: "region", "aria-label": "results", tabindex: "0" },
      this.hint,
      report,
      this.verdict,
      plot,
      this.figures,
      history,
      this.diffHead,
      diff,
      details,
    );
    for (const event of ["wheel", "touchmove", "pointerdown", "keydown"]) this.element.addEventListener(event, onLook, { passive: true });
  }

  show(name, html) {
    const part = this.parts[name];
    setHtml(part, html);
    part.hidden = !html;
    if (name === "diff") this.diffHead.hidden = !html;
    if (name === "timings") this.figures.hidden = !html;
    this.showHint();
  }

  showVerdict(text) {
    if (this.verdict.textContent !== text) this.verdict.replaceChildren(...withIntervals(text));
    this.verdict.hidden = !text;
    this.showHint();
  }

  /** @param old whether verdict and picture are of something else than what stands in the editor */
  showAge(old) {
    for (const element of [this.verdict, this.parts.plot]) element.classList.toggle("lltm-old", old);
  }

  showDevice({ counts }) {
    setText(this.benchmark, benchmarkDoes(counts));
  }

  showHint() {
    this.hint.hidden = PARTS.some((name) => name !== "history" && !this.parts[name].hidden) || !this.verdict.hidden;
  }

  showRevisions(revisions) {
    const { value } = this.against;
    const options = [["", "the revision it was made from"], ...revisions.map(({ label }) => [label, label])];
    this.against.replaceChildren(...options.map(([key, text]) => h("option", { value: key }, text)));
    this.against.value = options.some(([key]) => key === value) ? value : "";
  }

  /** Compare with the usual revision from now on. */
  resetDiff() {
    this.against.value = "";
  }

  /** Open what the compiler or the crash reporter wrote, at the end of the pane or of the report. */
  revealLog() {
    const name = this.parts.details.hidden ? "report" : "details";
    const fold = [...this.parts[name].querySelectorAll("details")].at(-1);
    if (fold) fold.open = true;
    this.reveal(name);
    fold?.querySelector("summary")?.focus({ preventScroll: true });
  }

  /** Bring a part to the top of the pane, without moving the notebook. */
  reveal(name) {
    const part = this.parts[name];
    const target = { diff: this.diffHead, plot: this.verdict.hidden ? part : this.verdict }[name] ?? part;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.element.scrollTo({ top: target.offsetTop - 8, behavior: calm ? "auto" : "smooth" });
    // A picture has no height until it is there, and without it the pane may end too early to scroll so far.
    for (const picture of part.querySelectorAll("img")) {
      if (!picture.complete) picture.addEventListener("load", () => this.reveal(name), { once: true });
    }
  }
}
