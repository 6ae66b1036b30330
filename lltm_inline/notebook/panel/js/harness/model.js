// A model as anywidget gives it, without a kernel: traits, events, messages.

export class Model {
  constructor(traits) {
    Object.assign(this, { traits, handlers: {}, messages: [], widget_manager: {} });
  }

  get(name) {
    return this.traits[name];
  }

  set(name, value) {
    this.traits[name] = value;
    this.trigger(`change:${name}`);
  }

  /** As one message of Python's. */
  tell(traits) {
    Object.assign(this.traits, traits);
    for (const name of Object.keys(traits)) this.trigger(`change:${name}`);
  }

  save_changes() {
    this.messages.push({ saved: structuredClone(this.traits.texts) });
  }

  send(message) {
    this.messages.push(message);
    if (!this.silent) setTimeout(() => this.answer(message), 5);
  }

  on(name, handler) {
    (this.handlers[name] ??= new Set()).add(handler);
  }

  off(name, handler) {
    this.handlers[name]?.delete(handler);
  }

  trigger(name, ...values) {
    for (const handler of this.handlers[name] ?? []) handler(...values);
  }

  answer() {}
}
