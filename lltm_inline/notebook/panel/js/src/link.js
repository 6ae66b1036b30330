// The way to Python: traits, messages, drafts, and whether anybody listens. The other end is widget.py.

const QUIET = 200; // ms without a key before a draft is sent
const PATIENCE = 3000; // ms that an answer to a ping may take
const ENDS = new Set(["dead", "terminating", "restarting", "autorestarting"]);

export class Link {
  /**
   * @param model what anywidget gives
   * @param el the view's element: Jupyter marks it when the model lost its kernel
   * @param traits the traits to watch
   * @param handlers onTraits(names) once for each message of Python's, onMessage(message), onState("alive" | "silent" | "gone"),
   *   onClock(seconds) how far this clock is ahead of Python's
   */
  constructor(model, el, traits, handlers) {
    Object.assign(this, { model, el, handlers, state: "alive", changed: new Set(), undo: [], drafts: {} });
    for (const name of traits) this.listen(`change:${name}`, () => this.collect(name));
    this.listen("msg:custom", (message) => {
      this.heard();
      if (message.tell !== "pong") handlers.onMessage(message);
      else if (message.now) handlers.onClock(this.compare(message.now));
    });
    this.listen("comm:close", () => this.setState("gone"));
    this.listen("comm_live_update", () => queueMicrotask(() => this.disconnected && this.setState("gone")));
    this.watchKernel();
    if (this.disconnected) this.state = "gone"; // shown from what a notebook file kept: there never was a kernel
  }

  get disconnected() {
    return this.el.classList.contains("jupyter-widgets-disconnected");
  }

  get(name, otherwise) {
    return this.model.get(name) ?? otherwise;
  }

  get busy() {
    return Boolean(this.get("busy", {}).verb);
  }

  listen(event, handler) {
    this.model.on(event, handler);
    this.undo.push(() => this.model.off(event, handler));
  }

  // Jupyter's own word on its kernel, where the front end has one: JupyterLab and Notebook, not VS Code.
  watchKernel() {
    const signal = this.model.widget_manager?.kernel?.statusChanged;
    if (!signal?.connect) return;
    const handler = (_, status) => ENDS.has(status) && this.setState("gone");
    signal.connect(handler);
    this.undo.push(() => signal.disconnect(handler));
  }

  // Python sends several traits in one message, each of which has an event: they are handled together, afterwards.
  collect(name) {
    if (this.changed.size === 0) {
      queueMicrotask(() => {
        const names = this.changed;
        this.changed = new Set();
        this.handlers.onTraits(names);
      });
    }
    this.changed.add(name);
  }

  // An answer takes its time: the shortest way seen says most.
  compare(now) {
    this.ahead = Math.min(this.ahead ?? Infinity, Date.now() / 1000 - now);
    return this.ahead;
  }

  setState(state) {
    if (this.state === "gone" || this.state === state) return; // a new kernel knows nothing of this panel
    this.state = state;
    this.handlers.onState(state);
  }

  heard() {
    clearTimeout(this.waiting);
    this.waiting = null;
    this.setState("alive");
  }

  /** Ask for a sign of life. A kernel at work on a cell answers late, so no answer is not yet an end. */
  ping() {
    if (this.waiting || this.state === "gone") return;
    this.waiting = setTimeout(() => {
      this.waiting = null;
      if (!this.busy) this.setState("silent");
    }, PATIENCE);
    this.post({ do: "ping" });
  }

  post(message) {
    try {
      this.model.send(message);
    } catch (error) {
      console.warn("lltm_inline: the kernel cannot be reached", error);
      this.setState("gone");
    }
  }

  /** Set a trait that the browser may write, once no key was pressed for a while; `values` are merged into it. */
  draft(name, values) {
    this.drafts[name] = { ...this.drafts[name], ...values };
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => this.flush(), QUIET);
  }

  /** Leave a draft unsent: Python has put something else in its place. */
  forget(name) {
    delete this.drafts[name];
  }

  get unsent() {
    return Object.keys(this.drafts).length > 0;
  }

  /** The trait as it will be once the drafts are sent. */
  drafted(name) {
    return { ...this.get(name, {}), ...this.drafts[name] };
  }

  flush() {
    clearTimeout(this.quiet);
    if (!this.unsent) return;
    for (const name of Object.keys(this.drafts)) this.model.set(name, this.drafted(name));
    this.model.set("seen", this.get("generation", 0));
    this.drafts = {};
    if (this.state === "gone") return;
    try {
      this.model.save_changes();
    } catch (error) {
      console.warn("lltm_inline: the kernel cannot be reached", error);
      this.setState("gone");
    }
    this.ping();
  }

  /** Ask Python for something, with text and parameters as they stand. */
  act(verb, more = {}) {
    this.flush();
    const [texts, params, generation] = [this.get("texts", {}), this.get("params", {}), this.get("generation", 0)];
    this.post({ do: verb, texts, params, generation, ...more });
    this.ping();
  }

  close() {
    this.flush();
    clearTimeout(this.waiting);
    for (const undo of this.undo) undo();
  }
}
