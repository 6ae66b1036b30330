// A model as anywidget gives it, with a Python that only pretends. One state for each thing the panel must show.
import { Model } from "./model.js";
import { ASSEMBLY, CPP, PLOT, REPORT, WRONG } from "./samples.js";

const now = () => Date.now() / 1000;

class Python extends Model {
  log(level, text) {
    this.tell({ log: [...this.traits.log, { at: now(), level, text }] });
  }

  answer(message) {
    const verbs = { ping: () => this.trigger("msg:custom", { tell: "pong" }), build: () => this.build(), benchmark: () => this.benchmark() };
    if (verbs[message.do]) verbs[message.do]();
    else this.log("info", `asked for: ${JSON.stringify({ ...message, texts: undefined })}`);
  }

  build() {
    this.tell({ busy: { verb: "build", text: "g++ at work", started: now(), done: 0, total: 0 }, marks: [] });
    setTimeout(() => {
      const lines = this.traits.texts.cpp.split("\n");
      const line = lines.findIndex((each) => each.includes("V::load(")) + 1;
      this.tell({ busy: { verb: "", text: "", started: 0, done: 0, total: 0 }, ...(line ? failed(line, lines[line - 1]) : { report: REPORT, marks: [] }) });
      this.log(line ? "bad" : "good", line ? "lltm/fused@4 did not compile" : "built lltm/fused@4 in 1.9 s");
    }, 800);
  }

  benchmark() {
    const started = now();
    let done = 0;
    this.timer = setInterval(() => {
      done += 1;
      const busy = { verb: "benchmark", text: `round ${done} of 50`, started, done, total: 50 };
      this.tell({ plot: PLOT(done), busy: done < 50 ? busy : { verb: "", text: "", started: 0, done: 0, total: 0 } });
      if (done === 50) clearInterval(this.timer);
    }, 100);
  }
}

function failed(line, text) {
  const column = text.indexOf("load(") + 1;
  const fix = { line, column, from: "load", to: "loadu" };
  const message = "'struct at::vec::Vectorized<float>' has no member named 'load'";
  return {
    marks: [{ kind: "cpp", line, column, end_column: column + 4, severity: "error", message, advice: "Did you mean 'loadu'?", fix }],
    details: "<details><summary>full log, 38 lines</summary><pre>fused.cpp: In function 'forward' ...</pre></details>",
  };
}

const idle = () => ({
  title: "lltm",
  snapshot: "lltm-of-a",
  variants: [
    { name: "lltm/python", label: "python", editable: false },
    { name: "lltm/aten", label: "aten", editable: true },
    { name: "lltm/fused", label: "fused", editable: true },
  ],
  devices: ["cpu", "cuda"],
  current: { name: "lltm/fused", label: "lltm/fused@3", device: "cpu", kinds: ["cpp"], revision: 3 },
  revisions: [
    { label: "lltm/fused@0", number: 0, state: "shipped", hint: "" },
    { label: "lltm/fused@1", number: 1, state: "right", hint: "1.05x as fast as @0" },
    { label: "lltm/fused@2", number: 2, state: "wrong", hint: "d_weights" },
    { label: "lltm/fused@3", number: 3, state: "right", hint: "" },
  ],
  texts: { cpp: CPP },
  generation: 1,
  params: { UNROLL: 4, GRAIN: 16384, PAR: 1 },
  controls: [
    { name: "UNROLL", kind: "slider", min: 1, max: 16, step: 1, log: false, options: [] },
    { name: "GRAIN", kind: "slider", min: 256, max: 1048576, step: 2, log: true, options: [] },
    { name: "PAR", kind: "choice", min: null, max: null, step: 1, log: false, options: [0, 1] },
  ],
  options: { check_first: true, assembly: false, how: "" },
  marks: [],
  busy: { verb: "", text: "", started: 0, done: 0, total: 0 },
  log: [
    { at: now() - 9, level: "good", text: "built lltm/fused@3 in 1.9 s" },
    { at: now() - 7, level: "good", text: "lltm/fused@3 is right: 5 gradients, 6 sizes, 1.4 s" },
  ],
  report: "", timings: "", plot: "", verdict: "", diff: "", details: "", assembly: "",
  words: ["new_cell", "old_cell", "weights", "d_weights", "UNROLL"],
  journal: { saved: now() - 2, note: "", notebook: "course/01_first.ipynb" },
  worker: { pid: 4127, mib: 412 },
  dirty: false,
});

const chip = (traits, state, hint) => ({ revisions: [...traits.revisions, { label: "lltm/fused@4", number: 4, state, hint }], current: { ...traits.current, label: "lltm/fused@4", revision: 4 } });

const STATES = {
  idle: () => ({}),
  error: (traits) => {
    const cpp = CPP.replace("V::loadu(g + 2", "V::load(g + 2");
    const line = cpp.split("\n").findIndex((each) => each.includes("V::load(")) + 1;
    const log = [...traits.log, { at: now(), level: "bad", text: "lltm/fused@4 did not compile: 1 error in 1.2 s" }];
    return { ...chip(traits, "failed", "line 23"), texts: { cpp }, log, dirty: true, ...failed(line, cpp.split("\n")[line - 1]) };
  },
  benchmark: (traits) => ({
    report: REPORT,
    plot: PLOT(31),
    verdict: "@3 against @1: no measurable difference yet.",
    busy: { verb: "benchmark", text: "round 31 of 50", started: now() - 4, done: 31, total: 50 },
    revisions: traits.revisions,
  }),
  wrong: (traits) => ({ ...chip(traits, "wrong", "d_weights"), report: WRONG, log: [...traits.log, { at: now(), level: "bad", text: "lltm/fused@4 is wrong in 1 gradient of 5" }] }),
  crash: (traits) => ({
    ...chip(traits, "crashed", "line 21"),
    marks: [{ kind: "cpp", line: 21, column: 0, end_column: 0, severity: "crash", message: "wrote 4 bytes beyond the end of 'new_h' (2, 5)", advice: "The loop runs to 's < S' in steps of 'V::size()': what is left over needs a loop of its own.", fix: null }],
    log: [...traits.log, { at: now(), level: "bad", text: "lltm/fused@4 crashed the worker (segmentation fault); a new one is ready" }],
    worker: { pid: 4188, mib: 230 },
  }),
  many: (traits) => ({
    revisions: Array.from({ length: 13 }, (_, number) => ({ label: `lltm/fused@${number}`, number, state: ["shipped", "right", "wrong", "failed", "built", "crashed"][number % 6], hint: "" })),
    current: { ...traits.current, label: "lltm/fused@12", revision: 12 },
  }),
  assembly: () => ({ assembly: ASSEMBLY, options: { check_first: true, assembly: true, how: "" }, report: REPORT }),
  dead: () => ({ dirty: true }),
  silent: () => ({}),
  busy: () => ({ busy: { verb: "build", text: "g++ 12.2", started: now(), done: 0, total: 0 } }),
  cuda: (traits) => ({
    current: { ...traits.current, name: "lltm/cuda", label: "lltm/cuda@1", kinds: ["cuda", "binding"], device: "cuda" },
    texts: { cuda: "__global__ void axpy(float a, const float* __restrict__ x, float* y, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] += a * x[i];\n}\n", binding: "// generated\nTORCH_LIBRARY(x, m) {}\n" },
  }),
};

/** Make a model in one of the states. */
export function pretend(state) {
  const traits = idle();
  const model = new Python({ ...traits, ...STATES[state](traits) });
  model.silent = state === "silent" || state === "dead";
  if (state === "dead") setTimeout(() => model.trigger("comm:close"), 50);
  return model;
}
