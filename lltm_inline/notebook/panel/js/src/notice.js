// A line across the panel for what must not be overlooked: no kernel, text found again.
import { h } from "./dom.js";

export class Notice {
  constructor(test) {
    this.element = h("div", { class: "lltm-notice", role: "alert", test, hidden: true });
  }

  /** @param actions pairs of text and function */
  show(level, text, actions = []) {
    this.element.dataset.level = level;
    this.element.replaceChildren(
      h("span", {}, text),
      ...actions.map(([label, onclick]) => h("button", { type: "button", class: "lltm-link", onclick }, label)),
    );
    this.element.hidden = false;
  }

  hide() {
    this.element.hidden = true;
  }
}
