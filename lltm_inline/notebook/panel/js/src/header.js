// The top row: which kernel, on which device, its revisions, and the verbs.
import { h, isEnabled, setEnabled } from "./dom.js";
import { benchmarkDoes, STATES } from "./words.js";

const mac = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? "");
const CTRL = mac ? "⌘" : "Ctrl-";

function choice(test, label, onPick) {
  return h("select", { class: "lltm-choice", test, "aria-label": label, onchange: (event) => onPick(event.target.value) });
}

function fill(select, options, value) {
  const wanted = options.map(([key, text]) => h("option", { value: key }, text));
  const same = wanted.length === select.options.length && wanted.every((each, i) => each.isEqualNode(select.options[i]));
  if (!same) select.replaceChildren(...wanted);
  select.value = value;
}

export class Header {
  /** @param act act(verb, more): what the buttons do */
  constructor(act) {
    this.title = h("span", { class: "lltm-title" });
    this.variant = choice("variant", "kernel", (name) => (name ? act("select", { name }) : this.askName()));
    this.name = h("input", {
      type: "text",
      class: "lltm-new",
      test: "new-kernel",
      "aria-label": "name of the new kernel; Enter makes it",
      title: "A name, and Enter; of a new op its name and schema: scale(Tensor x, float s) -> Tensor y",
      placeholder: "mine",
      spellcheck: "false",
      autocapitalize: "off",
      hidden: true,
      onkeydown: ({ key, target }) => {
        if (key === "Enter" && target.value.trim()) act("new", { name: target.value.trim() });
        if (key === "Enter" || key === "Escape") target.hidden = true;
      },
    });
    this.device = choice("device", "device", (device) => act("select", { device }));
    this.chips = h("div", { class: "lltm-chips", role: "group", "aria-label": "revisions" });
    this.edited = h("span", { class: "lltm-chip lltm-draft", hidden: true, title: "The text differs from this revision. Build makes a new one of it." }, "edited");
    this.buttons = Object.fromEntries(
      [
        ["build", "Build", `Make a revision of the text and compile it (${CTRL}Enter)`, "Control+Enter"],
        ["check", "Check", `Compare with the reference, gradients included (${CTRL}Shift-Enter)`, "Control+Shift+Enter"],
        ["benchmark", "Benchmark", "", null],
        ["stop", "Stop", "Stop what is running", null],
      ].map(([verb, text, title, keys]) => {
        const onclick = () => isEnabled(this.buttons[verb]) && act(verb);
        return [verb, h("button", { type: "button", class: `lltm-button lltm-${verb}`, test: verb, title, "aria-keyshortcuts": keys, onclick }, text)];
      }),
    );
    this.act = act;
    this.element = h(
      "div",
      { class: "lltm-head" },
      h("div", { class: "lltm-pick" }, this.title, this.variant, this.name, this.device),
      h("div", { class: "lltm-history" }, this.chips, this.edited),
      h("div", { class: "lltm-verbs", role: "group", "aria-label": "what to do" }, ...Object.values(this.buttons)),
    );
  }

  showKernel({ title, variants, devices, current }) {
    this.title.textContent = title;
    const known = variants.map(({ name, label, editable }) => [name, editable === false ? `${label} (read only)` : label]);
    this.current = current.name;
    fill(this.variant, [...known, ["", "new kernel ..."]], current.name);
    fill(this.device, devices.map((device) => [device, device]), current.device);
    this.buttons.benchmark.title = `Checks it first, then ${benchmarkDoes(current.counts)}`;
  }

  // The list goes back to what is shown: nothing is made before there is a name.
  askName() {
    this.variant.value = this.current;
    this.name.value = "";
    this.name.hidden = false;
    this.name.focus();
  }

  showRevisions(revisions, current) {
    const focused = this.chips.contains(document.activeElement) ? document.activeElement.dataset.testid : null;
    this.chips.replaceChildren(...revisions.map((revision) => this.chip(revision, revision.number === current.revision)));
    this.keepInSight();
    if (focused) this.chips.querySelector(`[data-testid="${focused}"]`)?.focus();
  }

  // The current revision, within the row of chips alone: scrollIntoView would move the notebook.
  keepInSight() {
    const active = this.chips.querySelector("[aria-pressed=true]");
    if (active) this.chips.scrollLeft = active.offsetLeft + active.offsetWidth - this.chips.clientWidth + 24;
  }

  chip({ label, number, state, hint }, active) {
    const { sign, word, says } = STATES[state] ?? STATES.new;
    const full = [label, says, hint].filter(Boolean).join(", ");
    return h(
      "button",
      {
        type: "button",
        class: `lltm-chip lltm-is-${state}`,
        test: `revision-${number}`,
        "data-state": state,
        "aria-pressed": String(active),
        "aria-label": full,
        title: full,
        onclick: () => this.act("select", { revision: number }),
      },
      [`@${number}`, sign, word].filter(Boolean).join(" "),
    );
  }

  /** @param state {busy: verb or "", edited, editable, reachable} */
  showState({ busy, edited, editable, reachable }) {
    const { build, check, benchmark, stop } = this.buttons;
    for (const button of [build, check, benchmark]) setEnabled(button, !busy && reachable);
    if (!editable) setEnabled(build, false);
    setEnabled(stop, Boolean(busy) && busy !== "stopping" && reachable);
    stop.textContent = busy === "stopping" ? "Stopping" : "Stop";
    for (const select of [this.variant, this.device]) select.disabled = Boolean(busy) || !reachable;
    if (this.edited.hidden === edited) {
      this.edited.hidden = !edited;
      this.keepInSight();
    }
  }
}
