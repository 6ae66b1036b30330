// Elements without a framework.

/** Make an element: `h("button", { class: "x", onclick: f, "aria-label": "..." }, "text", child)`. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "test") element.dataset.testid = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Set the text only where it differs: a live region speaks at every change. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Set HTML that came from Python only where it differs; folds that were opened stay open. */
export function setHtml(element, html) {
  if (element.lltmHtml === html) return false;
  const open = new Set([...element.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
  element.lltmHtml = html;
  element.innerHTML = html;
  for (const fold of element.querySelectorAll("details")) {
    if (open.has(fold.querySelector(":scope > summary")?.textContent)) fold.open = true;
  }
  return true;
}

/** Split "no member 'load'" into text and <code>, so that C++ stands out of the sentence. */
export function withCode(sentence) {
  return sentence.split(/('[^']+'|`[^`]+`|‘[^’]+’)/).map((part, index) => (index % 2 ? h("code", {}, part.slice(1, -1)) : part));
}

/** Split "2x faster (1.9-2.1)" into text and intervals in which no line breaks. */
export function withIntervals(sentence) {
  return sentence.split(/(\(\d[^()]*\))/).map((part, index) => (index % 2 ? h("span", { class: "lltm-whole" }, part) : part));
}

/** Show what takes a click but may not be used now: it keeps its place in the focus order. */
export function setEnabled(button, enabled) {
  button.setAttribute("aria-disabled", String(!enabled));
}

export const isEnabled = (button) => button.getAttribute("aria-disabled") !== "true";
