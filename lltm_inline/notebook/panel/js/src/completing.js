// Words that the text may want: its own, and those that Python knows of the kernel and its op.
import { autocompletion } from "@codemirror/autocomplete";

const WORD = /[A-Za-z_]\w*/;

/** @param words returns Python's */
export function completing(words) {
  const find = (context) => {
    const typed = context.matchBefore(WORD);
    if (!typed && !context.explicit) return null;
    const own = context.state.doc.toString().match(/[A-Za-z_]\w{2,}/g) ?? [];
    const known = [...new Set([...words(), ...own])].filter((word) => word !== typed?.text);
    return { from: typed?.from ?? context.pos, options: known.map((label) => ({ label })), validFor: /^\w*$/ };
  };
  // Nothing is chosen until an arrow has been pressed: Enter begins a new line, as ever.
  return autocompletion({ override: [find], icons: false, selectOnOpen: false, interactionDelay: 0 });
}
