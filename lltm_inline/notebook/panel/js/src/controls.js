// The parameters of a kernel as sliders, choices and numbers, and the options of the panel.
import { h } from "./dom.js";
import { scaleOf, within } from "./scale.js";
import { HOW, HOW_FOR_EXAMPLE, OPTIONS, optionText } from "./words.js";

function slider(control, value, onSet) {
  const scale = scaleOf(control);
  const range = h("input", {
    type: "range",
    class: "lltm-slider",
    test: `param-${control.name}`,
    "aria-label": control.name,
    min: scale.min,
    max: scale.max,
    step: scale.step,
    oninput: () => show(scale.valueAt(range.value)),
    onchange: () => onSet(scale.valueAt(range.value)),
  });
  const exact = number(control, value, (typed) => {
    show(typed);
    onSet(typed);
  }, `param-${control.name}-number`);
  function show(next) {
    range.value = scale.positionOf(next);
    range.setAttribute("aria-valuetext", String(next));
    exact.show(next);
  }
  show(value);
  return { parts: [range, ...exact.parts], show };
}

function number(control, value, onSet, test = `param-${control.name}`) {
  let current;
  const input = h("input", {
    type: "number",
    class: "lltm-number",
    test,
    "aria-label": `${control.name}, exact value`,
    min: control.min,
    max: control.max,
    step: "any",
    onchange: () => {
      const typed = within(control, input.value, current);
      current = undefined;
      show(typed);
      onSet(typed);
    },
  });
  // What somebody is typing stays while other parameters change.
  function show(next) {
    if (next !== current) input.value = current = next;
  }
  show(value);
  return { parts: [input], show };
}

function choice(control, value, onSet) {
  const options = (control.options ?? []).map((option) => h("option", { value: option }, String(option)));
  const select = h(
    "select",
    { class: "lltm-choice", test: `param-${control.name}`, "aria-label": control.name, onchange: () => onSet(Number(select.value)) },
    ...options,
  );
  const show = (next) => {
    select.value = next;
  };
  show(value);
  return { parts: [select], show };
}

const KINDS = { slider, choice, number };

function box(name, onSet) {
  return h("input", { type: "checkbox", test: `option-${name}`, onchange: ({ target }) => onSet(target.checked) });
}

function field(name, onSet) {
  const hint = { placeholder: HOW_FOR_EXAMPLE, title: HOW, spellcheck: "false", autocapitalize: "off" };
  return h("input", { type: "text", class: "lltm-how", test: `option-${name}`, ...hint, onchange: ({ target }) => onSet(target.value.trim()) });
}

export class Controls {
  /** @param handlers onParam(name, value), onOption(name, value) */
  constructor(handlers) {
    this.handlers = handlers;
    this.params = h("div", { class: "lltm-params", role: "group", "aria-label": "parameters" });
    this.options = h("div", { class: "lltm-options", role: "group", "aria-label": "options" });
    this.element = h("div", { class: "lltm-controls" }, this.params, this.options);
    this.shown = "";
  }

  showParams(controls, params) {
    const signature = JSON.stringify(controls);
    if (signature !== this.shown) {
      this.shown = signature;
      this.setters = {};
      this.params.replaceChildren(...controls.map((control) => this.param(control, params[control.name])));
    }
    for (const [name, show] of Object.entries(this.setters ?? {})) show(params[name]);
    this.params.hidden = controls.length === 0;
  }

  param(control, value) {
    const make = KINDS[control.kind] ?? number;
    const { parts, show } = make(control, value, (next) => this.handlers.onParam(control.name, next));
    this.setters[control.name] = show;
    return h("div", { class: "lltm-param" }, h("span", { class: "lltm-param-name", "aria-hidden": "true" }, control.name), ...parts);
  }

  showOptions(options) {
    const names = Object.keys(options);
    if (names.join() !== this.names) {
      this.names = names.join();
      this.boxes = Object.fromEntries(
        names.map((name) => [name, (typeof options[name] === "string" ? field : box)(name, (value) => this.handlers.onOption(name, value))]),
      );
      this.options.replaceChildren(...names.map((name) => h("label", { class: "lltm-option", title: OPTIONS[name]?.does }, this.boxes[name], optionText(name))));
    }
    for (const name of names) {
      const input = this.boxes[name];
      if (input.type === "checkbox") input.checked = options[name];
      else if (input !== document.activeElement) input.value = options[name];
    }
  }
}
