// The line between text and results: it is dragged, or moved with the arrow keys.
import { h } from "./dom.js";

const LEAST = 20;
const MOST = 80;

/** Make the divider of `body`, whose style variable `--lltm-left` it sets. */
export function divider(body) {
  let left = 60;
  const element = h("div", {
    class: "lltm-divider",
    role: "separator",
    tabindex: "0",
    "aria-orientation": "vertical",
    "aria-label": "width of the text",
    "aria-valuemin": LEAST,
    "aria-valuemax": MOST,
    onpointerdown: (event) => element.setPointerCapture(event.pointerId),
    onpointermove: (event) => {
      if (!element.hasPointerCapture(event.pointerId)) return;
      const box = body.getBoundingClientRect();
      set((100 * (event.clientX - box.left)) / box.width);
    },
    onkeydown: (event) => {
      const step = { ArrowLeft: -5, ArrowRight: 5 }[event.key];
      if (!step) return;
      event.preventDefault();
      set(left + step);
    },
  });
  function set(percent) {
    left = Math.round(Math.min(MOST, Math.max(LEAST, percent)));
    body.style.setProperty("--lltm-left", `${left}%`);
    element.setAttribute("aria-valuenow", left);
  }
  set(left);
  return element;
}
