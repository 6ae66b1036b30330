// The code editor: CodeMirror with C++, one state for each text, so that undo survives a look at another one.
import { defaultKeymap, history, historyKeymap, indentLess, indentMore, isolateHistory } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Annotation, EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";

import { colours } from "./colours.js";
import { completing } from "./completing.js";
import { countMarks, lineNow, lineThen, marking, saidAt, showMarks, textSent, toMark } from "./marks.js";

const fromPython = Annotation.define();
const litSet = StateEffect.define();

// The line of which the machine code is pointed at.
const lit = StateField.define({
  create: () => Decoration.none,
  update(value, transaction) {
    const set = transaction.effects.find((effect) => effect.is(litSet));
    return set ? set.value : value.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});
const LANGUAGES = { cpp, cuda: cpp, binding: cpp };

// Tab indents what is selected, and adds two blanks otherwise; a text that cannot be edited leaves it to the browser.
function tab(view) {
  if (view.state.readOnly) return false;
  if (view.state.selection.ranges.some((range) => !range.empty)) return indentMore(view);
  view.dispatch(view.state.replaceSelection("  "), { userEvent: "input.indent", scrollIntoView: true });
  return true;
}

// After Escape the browser has Tab and Shift-Tab, until something is typed or the focus is elsewhere: both ways lead out.
const leave = (handlers) => (view) => {
  view.setTabFocusMode(true);
  handlers.leave();
  return true;
};

export class Editor {
  /** @param handlers onEdit(kind, text), build(), check(), leave(), apply(view, mark), log(), words(), onPoint(line) as it was built */
  constructor(parent, handlers) {
    Object.assign(this, { handlers, states: new Map(), key: "", kind: "", editable: true });
    this.view = new EditorView({ parent, state: this.create("") });
    this.view.contentDOM.dataset.testid = "source";
  }

  create(text) {
    const { handlers } = this;
    const doing = (name) => () => (handlers[name](), true);
    const own = [
      { key: "Ctrl-Enter", mac: "Cmd-Enter", run: doing("build") },
      { key: "Shift-Enter", run: doing("build") },
      { key: "Ctrl-Shift-Enter", mac: "Cmd-Shift-Enter", run: doing("check") },
      { key: "F8", run: (view) => toMark(view, 1), shift: (view) => toMark(view, -1) },
      { key: "Tab", run: tab, shift: indentLess },
    ];
    return EditorState.create({
      doc: text,
      extensions: [
        Prec.high(keymap.of(own)),
        lineNumbers({
          domEventHandlers: {
            mouseover: (view, line, { target }) => {
              target.title = saidAt(view.state, line.from);
            },
          },
        }),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of("  "),
        bracketMatching(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        highlightSelectionMatches(),
        search({ top: true }),
        keymap.of([...searchKeymap, ...historyKeymap, ...defaultKeymap, { key: "Escape", run: leave(handlers) }]),
        colours,
        lit,
        marking(handlers),
        completing(handlers.words),
        (LANGUAGES[this.kind] ?? (() => []))(),
        EditorState.readOnly.of(!this.editable),
        EditorView.contentAttributes.of({
          "aria-label": this.label ?? "source",
          "aria-readonly": String(!this.editable),
          autocapitalize: "off",
          spellcheck: "false",
        }),
        EditorView.domEventObservers({
          blur: (_, view) => view.setTabFocusMode(false),
          pointermove: ({ clientX, clientY }, view) => this.point(view.posAtCoords({ x: clientX, y: clientY }, false)),
          pointerleave: () => this.point(null),
        }),
        EditorView.updateListener.of((update) => {
          const told = update.transactions.some((transaction) => transaction.annotation(fromPython));
          if (update.docChanged) update.view.setTabFocusMode(false);
          else if (update.selectionSet && update.view.hasFocus) this.point(update.state.selection.main.head);
          if (update.docChanged && !told) handlers.onEdit(this.kind, this.text);
        }),
      ],
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  get marks() {
    return countMarks(this.view.state);
  }

  get hasFocus() {
    return this.view.hasFocus;
  }

  /** Show a text: that of `kind` of the kernel `name`. */
  show({ name, kind, text, editable, label }) {
    const key = JSON.stringify([name, kind, editable]);
    if (key !== this.key) {
      if (this.key) this.states.set(this.key, this.view.state);
      Object.assign(this, { key, kind, editable, label });
      this.view.setState(this.states.get(key) ?? this.create(text));
    }
    this.replace(text);
  }

  /** Replace what differs, as one edit that can be undone; the cursor stays where it was. */
  replace(text) {
    const before = this.text;
    if (before === text) return;
    const shorter = Math.min(before.length, text.length);
    let start = 0;
    while (start < shorter && before[start] === text[start]) start += 1;
    let end = 0;
    while (end < shorter - start && before.at(-1 - end) === text.at(-1 - end)) end += 1;
    this.view.dispatch({
      changes: { from: start, to: before.length - end, insert: text.slice(start, text.length - end) },
      annotations: [fromPython.of(true), isolateHistory.of("full")],
    });
  }

  /** Python is asked about the texts as they stand: its marks will count in their lines. */
  sent() {
    const effects = textSent.of(null);
    this.view.dispatch({ effects });
    for (const [key, state] of this.states) this.states.set(key, state.update({ effects }).state);
  }

  // Say which line is pointed at, by the mouse or by the cursor.
  point(at) {
    const line = at === null ? 0 : lineThen(this.view.state, this.view.state.doc.lineAt(at).number);
    if (line !== this.pointed) this.handlers.onPoint(line);
    this.pointed = line;
  }

  /** Light up a line, counted as in the text that was built; none for 0. */
  light(line) {
    const { state } = this.view;
    const now = line ? lineNow(state, line) : 0;
    const found = now ? Decoration.set([Decoration.line({ class: "lltm-lit" }).range(state.doc.line(now).from)]) : Decoration.none;
    this.view.dispatch({ effects: litSet.of(found) });
  }

  /** Put the cursor into a line, counted as in the text that was built. */
  goTo(line) {
    const now = lineNow(this.view.state, line);
    if (now) this.focus(now);
  }

  setMarks(marks) {
    showMarks(this.view, marks);
  }

  focus(line) {
    if (line > 0) {
      const { from } = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines));
      this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    }
    this.view.focus();
  }

  selectAll() {
    this.view.focus();
    this.view.dispatch({ selection: { anchor: 0, head: this.view.state.doc.length } });
  }

  close() {
    this.view.destroy();
  }
}
