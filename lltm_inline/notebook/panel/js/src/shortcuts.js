// Lab's shortcuts (b, d d, arrows, Shift-Enter) must not act on cells while somebody works in the panel; saving still must.
const NOT_LAB = "data-lm-suppress-shortcuts";

/** Keep the notebook's shortcuts out of `root`, save for Ctrl-S, which goes on to the notebook. */
export function shield(root, beforeSave) {
  root.setAttribute(NOT_LAB, "true");
  // Lab looks for the attribute only after it has asked whether the focused element itself fits its shortcut.
  root.addEventListener("focusin", ({ target }) => target.setAttribute(NOT_LAB, "true"));
  root.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    beforeSave();
    const { key, code, keyCode, ctrlKey, metaKey } = event;
    const again = new KeyboardEvent("keydown", { key, code, keyCode, ctrlKey, metaKey, bubbles: true, cancelable: true });
    (root.parentElement?.closest(".jp-Notebook") ?? document.body).dispatchEvent(again);
  });
}
