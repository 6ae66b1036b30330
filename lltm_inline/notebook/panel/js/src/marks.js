// What the compiler said, under the line that it is about. A mark moves with its line and goes when the line is edited.
import { ChangeSet, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, WidgetType, gutterLineClass } from "@codemirror/view";

import { h, withCode } from "./dom.js";
import { SEVERITIES, isRemark } from "./words.js";

/** The text as it stands is the one that Python is asked about: the next marks count in its lines. */
export const textSent = StateEffect.define();
const marksSet = StateEffect.define();

// What was typed since the text was sent, so that marks that come later find their lines.
const sinceSent = StateField.define({
  create: (state) => ({ doc: state.doc, changes: ChangeSet.empty(state.doc.length) }),
  update(value, transaction) {
    if (transaction.effects.some((effect) => effect.is(textSent))) {
      const { newDoc } = transaction;
      return { doc: newDoc, changes: ChangeSet.empty(newDoc.length) };
    }
    return transaction.docChanged ? { doc: value.doc, changes: value.changes.compose(transaction.changes) } : value;
  },
});

// Placed marks: `{ mark, index, at }`, `at` being where their line begins.
const placed = StateField.define({
  create: () => [],
  update(items, transaction) {
    const set = transaction.effects.find((effect) => effect.is(marksSet));
    if (set) return set.value;
    return transaction.docChanged ? follow(items, transaction.startState.doc, transaction.changes) : items;
  },
});

function follow(items, doc, changes) {
  return items
    .filter(({ at }) => {
      const line = doc.lineAt(at);
      return !changes.touchesRange(line.from, line.to);
    })
    .map((item) => ({ ...item, at: changes.mapPos(item.at, 1) }));
}

// Where the line of a mark begins. A view that comes after an edit, with a page that was reloaded, finds the line by its text.
function placeOf(doc, { line, text }) {
  const wanted = Math.min(Math.max(line, 1), doc.lines);
  const reads = (number) => number >= 1 && number <= doc.lines && doc.line(number).text.trimEnd() === text.trimEnd();
  if (text === undefined || line < 1 || reads(wanted)) return doc.line(wanted).from;
  for (let away = 1; away < doc.lines; away += 1) {
    const found = [wanted - away, wanted + away].find(reads);
    if (found) return doc.line(found).from;
  }
  return null;
}

/** The line of the text that was last sent to be built, from one of the text as it stands; 0 for one that is new. */
export function lineThen(state, number) {
  const { doc, changes } = state.field(sinceSent);
  const at = changes.invertedDesc.mapPos(state.doc.line(number).from, 1);
  const line = doc.lineAt(at);
  return line.from === at ? line.number : 0;
}

/** The other way round. */
export function lineNow(state, number) {
  const { doc, changes } = state.field(sinceSent);
  return number > doc.lines ? 0 : state.doc.lineAt(changes.mapPos(doc.line(number).from, 1)).number;
}

/** Show marks; each carries `index`, its place in Python's list. Those of a text that is being typed have `quiet`. */
export function showMarks(view, marks) {
  const { state } = view;
  const [typed, built] = [marks.filter((mark) => mark.quiet !== undefined), marks.filter((mark) => mark.quiet === undefined)];
  const inLines = (some, { doc, changes }) => {
    const items = some.map((mark) => ({ mark, at: placeOf(doc, mark) })).filter(({ at }) => at !== null);
    return changes.empty ? items : follow(items, doc, changes);
  };
  const found = inLines(built, state.field(sinceSent));
  const now = { doc: state.doc, changes: ChangeSet.empty(state.doc.length) };
  const effects = [marksSet.of([...found, ...inLines(typed, now)])];
  const news = found.filter(({ mark }) => !isRemark(mark));
  const first = news.find(({ mark }) => mark.severity !== "warning") ?? news[0];
  if (first && !typed.length) effects.push(EditorView.scrollIntoView(first.at, { x: "start", xMargin: 20, y: "nearest", yMargin: 90 }));
  view.dispatch({ effects });
}

/** Move the cursor to the next mark, or the one before: for F8 and Shift-F8. */
export function toMark(view, step) {
  const places = view.state.field(placed).map(({ at }) => at).sort((a, b) => a - b);
  if (!places.length) return false;
  const line = view.state.doc.lineAt(view.state.selection.main.head).from;
  const after = step > 0 ? places.find((at) => at > line) : places.findLast((at) => at < line);
  const target = after ?? places.at(step > 0 ? 0 : -1);
  view.dispatch({ selection: { anchor: target }, effects: EditorView.scrollIntoView(target, { y: "center" }) });
  return true;
}

/** Put a fix into the text, as an edit that can be undone; false where its line no longer reads as it did. */
export function applyFix(view, mark) {
  const item = view.state.field(placed).find((each) => each.mark === mark);
  const { fix } = mark;
  if (!item || !fix || fix.line !== mark.line) return false;
  const from = item.at + fix.column - 1;
  const to = from + fix.from.length;
  const line = view.state.doc.lineAt(item.at);
  if (from < line.from || to > line.to || view.state.sliceDoc(from, to) !== fix.from) return false;
  view.dispatch({ changes: { from, to, insert: fix.to }, selection: { anchor: from + fix.to.length }, userEvent: "input.fix" });
  view.focus();
  return true;
}

const sentence = (text) => (/[.?!]$/.test(text) ? text : `${text}.`);
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** What a mark says, as plain text. */
export const said = (mark) => [mark.message, mark.advice && capital(mark.advice)].filter(Boolean).map(sentence).join(" ");

class Message extends WidgetType {
  constructor(mark, actions) {
    super();
    Object.assign(this, { mark, actions });
  }

  eq(other) {
    return other.mark === this.mark;
  }

  toDOM(view) {
    const { mark, actions } = this;
    const severity = SEVERITIES[mark.severity] ?? "error";
    const place = mark.line > 0 ? `line ${mark.line}` : "somewhere";
    const fix = h("button", { type: "button", test: "apply", class: "lltm-link", onclick: () => actions.apply(view, mark) }, "apply");
    const log = h("button", { type: "button", test: "full-log", class: "lltm-link", onclick: () => actions.log() }, "full log");
    return h(
      "div",
      { class: `lltm-mark lltm-mark-${severity}`, test: "mark", role: "note", "aria-label": `${severity}, ${place}`, "data-line": mark.line },
      h("strong", {}, `${severity}, ${place}: `),
      h("span", {}, ...withCode(sentence(mark.message))),
      mark.advice ? h("span", { class: "lltm-advice" }, " ", ...withCode(sentence(capital(mark.advice)))) : null,
      h("span", { class: "lltm-mark-actions" }, mark.fix ? fix : null, log),
    );
  }

  ignoreEvent() {
    return true;
  }
}

const lines = Object.fromEntries(
  Object.keys(SEVERITIES).map((name) => [name, Decoration.line({ class: `lltm-line-${name}` })]),
);

function underline(doc, { mark, at }) {
  if (!(mark.column > 0) || !(mark.line > 0)) return null;
  const line = doc.lineAt(at);
  const from = Math.min(mark.column - 1, line.length);
  const word = /^(?:[\w]+|.)/.exec(line.text.slice(from))?.[0].length ?? 0;
  const to = Math.min(line.length, mark.end_column > mark.column ? mark.end_column - 1 : from + word);
  const look = { class: `lltm-under lltm-under-${SEVERITIES[mark.severity] ?? "error"}` };
  if (mark.quiet) look.attributes = { title: said(mark) };
  return to > from ? Decoration.mark(look).range(line.from + from, line.from + to) : null;
}

function decorate(state, actions) {
  const found = [];
  for (const item of state.field(placed)) {
    const line = state.doc.lineAt(item.at);
    const above = item.mark.line < 1;
    if (isRemark(item.mark)) {
      const attributes = { title: said(item.mark) };
      found.push(Decoration.line({ class: `lltm-line-${item.mark.severity}`, attributes }).range(line.from));
      continue;
    }
    const mild = item.mark.quiet && underline(state.doc, item);
    if (mild) {
      found.push(mild);
      continue;
    }
    const widget = Decoration.widget({ widget: new Message(item.mark, actions), block: true, side: above ? -1 : 1 });
    if (!above) found.push((lines[item.mark.severity] ?? lines.error).range(line.from));
    found.push(underline(state.doc, item), widget.range(above ? line.from : line.to));
  }
  return Decoration.set(found.filter(Boolean), true);
}

class Sign extends GutterMarker {
  constructor(severity) {
    super();
    this.elementClass = `lltm-sign-${severity}`;
  }

  eq(other) {
    return other.elementClass === this.elementClass;
  }
}

function signs(state) {
  const marks = state.field(placed).filter(({ mark }) => mark.line > 0);
  const ranges = marks.map(({ mark, at }) => new Sign(SEVERITIES[mark.severity] ?? "error").range(at));
  return RangeSet.of(ranges, true);
}

/** The extension. `actions`: `apply(view, mark)`, and `log()`, which shows the whole log. */
export function marking(actions) {
  return [
    sinceSent,
    placed,
    EditorView.decorations.compute([placed], (state) => decorate(state, actions)),
    gutterLineClass.compute([placed], signs),
  ];
}

/** What the marks of the line that begins at a place say. */
export const saidAt = (state, at) => state.field(placed).filter((item) => item.at === at).map(({ mark }) => said(mark)).join("\n");

/** How many marks stand in a state. */
export const countMarks = (state) => state.field(placed).length;
