// The bottom row: progress, what runs and for how long, what happened last, the worker, the journal.
import { h, setEnabled, setText } from "./dom.js";
import { SIGNS, VERBS, ago, elapsed } from "./words.js";

const clock = (at) => new Date(at * 1000).toLocaleTimeString([], { hour12: false });

// "building axpy/cpp@2", "benchmark · round 31 of 50": a text that begins with the verb stands alone.
function doing({ verb, text }) {
  if (!verb) return "";
  const word = VERBS[verb] ?? verb;
  return [text?.startsWith(word) ? "" : word, text].filter(Boolean).join(" · ");
}

export class Status {
  /** @param handlers diff(), revert(), copy() */
  constructor(handlers) {
    this.bar = h("span", { class: "lltm-bar" });
    this.progress = h("div", { class: "lltm-progress", role: "progressbar", "aria-label": "progress", hidden: true }, this.bar);
    this.doing = h("span", { class: "lltm-doing", test: "busy" });
    this.time = h("span", { class: "lltm-time", "aria-hidden": "true" });
    this.last = h("span", { class: "lltm-last", role: "log", "aria-live": "polite", test: "log" });
    this.lines = h("ol", { class: "lltm-log-lines", test: "log-lines", tabindex: "0", "aria-label": "log" });
    this.fold = h("details", { class: "lltm-log", hidden: true }, h("summary", {}, "log"), this.lines);
    this.worker = h("span", { class: "lltm-worker", test: "worker" });
    this.diff = h("button", { type: "button", class: "lltm-link", test: "diff-button", onclick: handlers.diff }, "diff");
    this.revert = h("button", { type: "button", class: "lltm-link", test: "revert", title: "Put back the text of this revision; where nothing is edited, go back to the one before", onclick: handlers.revert }, "revert");
    this.copy = h("button", { type: "button", class: "lltm-link", test: "copy-cell", title: "Copy the cell that makes this kernel: %%kernel and the text", onclick: handlers.copy }, "copy as cell");
    this.journal = h("span", { class: "lltm-journal", test: "journal" });
    this.element = h(
      "div",
      { class: "lltm-status", test: "status" },
      h("div", { class: "lltm-now" }, this.progress, h("span", {}, this.doing, this.time), this.last),
      h("div", { class: "lltm-side" }, this.worker, this.diff, this.revert, this.copy, this.journal),
      this.fold,
    );
    this.last.addEventListener("pointerenter", () => this.nameLast());
    this.busy = {};
    this.saved = { saved: 0, note: "" };
    this.ahead = null;
  }

  /** @param ahead seconds that this clock is ahead of Python's: the two machines may differ */
  showClock(ahead) {
    this.ahead = ahead;
    this.tick();
  }

  /** Show what runs. Its time counts from when it began; until Python's clock is known, from when it was first seen. */
  showBusy(busy) {
    if (busy.verb && busy.started !== this.busy.started) this.since = performance.now();
    this.busy = busy;
    const part = busy.total > 0 ? busy.done / busy.total : null;
    this.progress.hidden = !busy.verb;
    this.progress.classList.toggle("lltm-unknown", part === null);
    this.bar.style.width = part === null ? "" : `${Math.round(100 * Math.min(1, part))}%`;
    if (part === null) this.progress.removeAttribute("aria-valuenow");
    else this.progress.setAttribute("aria-valuenow", Math.round(100 * part));
    setText(this.doing, doing(busy));
    this.worker.hidden = Boolean(busy.verb); // its place is needed
    this.run();
    this.tick();
  }

  showLog(entries) {
    const last = entries.at(-1);
    this.last.dataset.level = last?.level ?? "";
    this.whole = last?.text ?? "";
    setText(this.last, last ? `${SIGNS[last.level] ?? "·"} ${last.text.split("\n")[0]}` : "");
    this.fold.hidden = entries.length < 2;
    this.lines.replaceChildren(
      ...entries.map(({ at, level, text }) =>
        h("li", { "data-level": level }, h("time", {}, clock(at)), ` ${SIGNS[level] ?? "·"} ${text}`),
      ),
    );
    this.lines.scrollTop = this.lines.scrollHeight;
  }

  /** Say something of the browser's own; the next line of Python's log takes its place. */
  say(text) {
    this.last.dataset.level = "info";
    this.whole = text;
    setText(this.last, `· ${text}`);
  }

  /** Have the whole line beside the pointer, where not all of it can be read. */
  nameLast() {
    const cut = this.whole.includes("\n") || this.last.scrollWidth > this.last.clientWidth;
    this.last.title = cut ? this.whole : "";
  }

  showWorker({ pid, mib }) {
    setText(this.worker, pid ? `worker ${pid}${mib ? `, ${Math.round(mib)} MiB` : ""}` : "");
  }

  showJournal(journal) {
    this.saved = journal;
    this.tick();
  }

  /** @param free whether anything may be asked for now */
  showFree(free) {
    setEnabled(this.revert, free);
    setEnabled(this.diff, free);
    setEnabled(this.copy, free);
  }

  tick() {
    const now = Date.now() / 1000 - (this.ahead ?? 0);
    const ran = this.ahead === null ? (performance.now() - this.since) / 1000 : now - this.busy.started;
    setText(this.time, this.busy.verb ? ` · ${elapsed(ran)}` : "");
    const { saved, note } = this.saved;
    const when = saved ? `saved ${ago(Math.max(0, now - saved))}` : "";
    this.journal.title = note;
    setText(this.journal, [when, note].filter(Boolean).join(" · "));
  }

  // Ten times a second while something runs, once a second otherwise.
  run() {
    const period = this.busy.verb ? 100 : 1000;
    if (period === this.period) return;
    clearInterval(this.timer);
    this.period = period;
    this.timer = setInterval(() => this.tick(), period);
  }

  close() {
    clearInterval(this.timer);
  }
}
