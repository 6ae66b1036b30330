// What the panel says, and in which form: numbers, times, states.

/** "0.4 s", "12 s", "3 min 05 s". */
export function elapsed(seconds) {
  if (seconds < 10) return `${(Math.floor(10 * Math.max(0, seconds)) / 10).toFixed(1)} s`;
  if (seconds < 100) return `${Math.floor(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
}

/** "just now", "12 s ago", "3 min ago", "2 h ago". */
export function ago(seconds) {
  if (seconds < 2) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  return `${Math.floor(seconds / 3600)} h ago`;
}

/** How the state of a revision looks and reads: sign, word on the chip, sentence for a screen reader. */
export const STATES = {
  shipped: { sign: "", word: "ships", says: "as shipped" },
  new: { sign: "", word: "", says: "no verdict yet" },
  built: { sign: "", word: "built", says: "built, not checked" },
  right: { sign: "✓", word: "", says: "right" },
  wrong: { sign: "✗", word: "wrong", says: "wrong" },
  failed: { sign: "✗", word: "error", says: "does not compile" },
  crashed: { sign: "✗", word: "crash", says: "crashed" },
  timeout: { sign: "✗", word: "time-out", says: "did not come back in time" },
};

export const VERBS = {
  build: "building",
  check: "checking",
  benchmark: "benchmark",
  sweep: "sweep",
  stopping: "stopping",
};

/** What Benchmark does on a device: where no time would be that of a GPU, it counts. */
export const benchmarkDoes = (counts) =>
  counts ? "counts what its launches ask of the memory" : "times it against the reference and your earlier revisions";

export const SIGNS = { info: "·", good: "✓", bad: "✗" };

/** What an option is called, where not by its own name, and what it does, shown while somebody points at it. */
export const OPTIONS = {
  check_first: { text: "check after each build", does: "Build compares with the reference, too, as Check does" },
  assembly: { text: "machine code", does: "Show what the compiler made of each line, beside the text" },
  remarks: { does: "Mark the loops that the compiler made wide, and those that it did not, with the reason" },
  hot_lines: { does: "Show which lines take the time of a kernel that is right" },
  values: { does: "Show what the threads load and store, with values, above the machine code" },
  roofline: { does: "Show with each benchmark how far it is from what this machine can do" },
  how: { text: "sizes and flags" },
};

/** What may stand in the field for all that has no control of its own: an example, and all of it. */
export const HOW_FOR_EXAMPLE = "--seconds 0.5 --flags -O2";
export const HOW = "--sizes 16,32,128 (a number for each letter of the op) --seconds 0.5 --directions both --flags -O2";

/** Name an option that has no sentence of its own: "some_option" reads "some option". */
export const optionText = (name) => OPTIONS[name]?.text ?? name.replaceAll("_", " ");

/** The last two are what the compiler says that it did: where something would help, and where nothing need be done. */
export const SEVERITIES = { error: "error", warning: "warning", crash: "crash", remark: "remark", done: "done" };

/** Whether a mark is the compiler's word on how fast a line is, and nothing that is wrong. */
export const isRemark = ({ severity }) => severity === "remark" || severity === "done";

export const KINDS = { cpp: "C++", cuda: "CUDA", binding: "binding", python: "Python" };

export const GONE = "The notebook's kernel is gone: run the cell again. Your text is kept.";
export const SILENT = "The notebook's kernel does not answer: it is busy with another cell, or gone. Your text is kept.";
