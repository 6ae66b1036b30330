// The machine code of the text on the left: a line and what became of it light up together, whichever of the two is pointed at.
import { h, setHtml } from "./dom.js";

const EMPTY = "The machine code of each line will stand here: it is listed after each build.";

export class Assembly {
  /** @param handlers onPoint(line) while the pointer is over what became of a line, or 0; onChoose(line) when that is clicked */
  constructor({ onPoint, onChoose }) {
    const lineOf = ({ target }) => Number(target.closest("[data-line]")?.dataset.line ?? 0);
    this.hint = h("p", { class: "lltm-hint" }, EMPTY);
    this.code = h("div", {});
    this.element = h(
      "div",
      {
        class: "lltm-assembly",
        test: "assembly",
        role: "region",
        "aria-label": "machine code",
        tabindex: "0",
        hidden: true,
        onpointerover: (event) => onPoint(lineOf(event)),
        onpointerleave: () => onPoint(0),
        onclick: (event) => lineOf(event) && onChoose(lineOf(event)),
      },
      this.hint,
      this.code,
    );
  }

  show(html, open) {
    setHtml(this.code, html);
    this.hint.hidden = Boolean(html);
    this.element.hidden = !open;
  }

  /** Light up what became of a line; `reveal` brings it into sight, within this pane. */
  light(line, reveal) {
    const { element } = this;
    for (const old of element.querySelectorAll(".lltm-lit")) old.classList.remove("lltm-lit");
    const found = line ? [...element.querySelectorAll(`[data-line="${line}"]`)] : [];
    for (const each of found) (each.closest("tr") ?? each).classList.add("lltm-lit");
    if (!reveal || !found.length) return;
    const top = (each) => each.getBoundingClientRect().top - element.getBoundingClientRect().top;
    const open = found.filter((each) => each.closest("details")?.open ?? true);
    if (open.some((each) => top(each) >= 0 && top(each) < element.clientHeight)) return;
    const target = open.find((each) => each.classList.contains("li-looped")) ?? open[0] ?? found[0];
    target.closest("details")?.setAttribute("open", "");
    element.scrollTop += top(target) - element.clientHeight / 4;
  }
}
