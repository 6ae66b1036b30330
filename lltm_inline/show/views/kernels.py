"""The registry, its ops and kernels, what differs between two of them, and what they were built to."""

from __future__ import annotations

import inspect
import shlex
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...base.arguments import first_line, plural
from ..parts import Cell, Html, badge, bar, filled, fold, folded, join, note, paragraph, table, tag, with_interval
from ..source import diff_source, source

if TYPE_CHECKING:
    from ...compiling.compiler import Build
    from ...model.kernel import Kernel
    from ...model.op import Op
    from ...model.registry import Diff, History, Recovered, Registry
    from ...run.function import Function
    from ...tables.history import Step


def registry(table_of_kernels: Registry) -> Html:
    """Show the kernels by op, each with what it is; the signature stands beside the op's name."""
    rows: list[list[object]] = []
    for name, known in table_of_kernels.ops.items():
        rows.append([join([name, tag("code", str(known.signature), cls="li-faint li-small")], " ")])
        for kernel in [kernel for kernel in table_of_kernels.values() if kernel.op == name]:
            label = join([kernel.label, *[badge("edited")] * bool(kernel.revision)], " ")
            rows.append([label, first_line(kernel.doc), _traits(kernel)])
    if not rows:
        return paragraph("registry: empty")
    caption = f"registry: {len(table_of_kernels)} kernels of {len(table_of_kernels.ops)} ops"
    return table(["kernel", "what it is", "text"], rows, caption=caption)


def op(shown: Op) -> Html:
    """Show an op: its signature, formula, the shape of each tensor, and the sizes at which it is timed and checked."""
    signature = shown.signature
    rows = [
        [each.name, tag("code", str(each).partition(" ")[0]), tag("code", shown.shape_text(each.name)), what]
        for what, arguments in (("input", signature.inputs), ("output", signature.outputs))
        for each in arguments
    ]
    first = first_line(shown.doc)
    sizes = ", ".join(map(str, shown.benchmark_sizes))
    facts = [f"timed at ({', '.join(shown.letters)}) = {sizes}" if sizes else "", f"dtypes {', '.join(shown.dtypes)}"]
    return join(
        [
            paragraph(tag("b", f"op {shown.name}"), " ", tag("code", str(signature))),
            paragraph(first) if first else "",
            table(["name", "type", "shape", ""], rows, caption=f"arguments of {shown.name}"),
            paragraph("; ".join(filter(None, facts)), cls="li-faint li-small"),
            _more(shown.doc, "what the op says of itself"),
            _python(shown.reference, "the reference in PyTorch"),
        ]
    )


def kernel(shown: Kernel) -> Html:
    """Show a kernel: what it is, its numbers and flags, and its texts with line numbers."""
    parts: list[object] = [
        paragraph(tag("b", shown.label), f": {first_line(shown.doc)}" if shown.doc.strip() else ""),
        paragraph(_facts(shown), cls="li-faint li-small") if _facts(shown) else "",
        _more(shown.doc, "what the kernel says of itself"),
    ]
    for kind, text in shown.sources.items():
        body, name = text.lstrip("\n"), f"{shown.label} ({kind})"
        language = "cuda" if kind == "cuda" else "cpp"
        numbered = source(body, first_line=len(text) - len(body) + 1, language=language, label=name)
        parts += [paragraph(name) if len(shown.sources) > 1 else "", numbered]
    if shown.python is not None:
        parts.append(_python(shown.python, f"{shown.label}, a Python function", open=True))
    return join(parts)


def diff(shown: Diff) -> Html:
    """Show a difference with the lines that went and came."""
    if not shown.text:
        return paragraph(str(shown))
    added, removed = shown.changed_lines, shown.removed_lines
    title = f"{shown.before} to {shown.after}: {plural(added, 'line')} added, {removed} removed"
    return join([paragraph(tag("b", title)), diff_source(shown.text, label=title)])


#: The states of a revision that have a colour.
_STATES = {"right": "good", "WRONG": "bad", "CRASHES": "bad", "TIMES OUT": "bad", "does not compile": "bad"}


def history(shown: History) -> Html:
    """Show the revisions of a kernel with what became of each, and their times at each size, with a bar for each."""
    from ...tables.history import courses_of, revisions_of

    rows: list[list[object]] = []
    for row in revisions_of(shown):
        label = join([row.label, " ", badge("current")]) if row.is_current else row.label
        state = badge(row.state, _STATES[row.state]) if row.state in _STATES else row.state
        rows.append([label, state, row.parent, Cell(row.changed_lines, align="num") if row.parent else ""])
    head, rows = filled(("revision", "state", "edited from", "lines changed"), rows)
    parts = [table(head, rows, caption=f"history of {shown[0].name}")]
    for subject, courses in courses_of(shown).items():
        lines: list[list[object]] = []
        for case, steps in courses.items():
            lines += [[case], *_course(steps)]
        timed = ("revision", "beside what it was edited from", Cell("median and quartiles", span=2), "")
        parts.append(table(*filled(timed, lines), caption=f"time per call, {subject}"))
    return join(parts)


def _course(steps: Sequence[Step]) -> list[list[object]]:
    longest = max(step.row.q3 for step in steps)
    lines: list[list[object]] = []
    for step in steps:
        label, time, words, best = step.cells
        ends = [step.row.median / longest, step.row.q1 / longest, step.row.q3 / longest]
        drawn, found = bar(*ends, kind="good" if best else "plain"), badge(best, "good") if best else ""
        lines.append([label, with_interval(words), tag("span", time, cls="li-num"), drawn, found])
    return lines


def recovered(shown: Recovered) -> Html:
    """Show what was brought back from the journal, a sentence each."""
    return note("good" if shown else "plain", *map(paragraph, shown.notes))


def build(shown: Build) -> Html:
    """Show a build in one line; flags, path and log fold."""
    how = f"taken from the cache in {shown.seconds:.2f} s" if shown.cached else f"built in {shown.seconds:.1f} s"
    rows: list[list[object]] = [
        ["compiler", shown.compiler],
        ["flags", tag("code", shlex.join(shown.flags))],
        ["library", tag("code", str(shown.path))],
        ["digest", tag("code", shown.digest)],
    ]
    log = shown.log.partition("\n\n")[0]
    return join(
        [
            paragraph(badge("built", "good"), " ", tag("b", shown.kernel), f" {how} ({shown.compiler})"),
            fold("how it was built", table([], rows, caption=f"build of {shown.kernel}")),
            folded("what compiler and linker ran", log, label="log", count=True),
            *(tag("pre", str(warning), cls="li-wrap") for warning in shown.warnings),
            folded("what the compiler printed", shown.printed, label="printed"),
        ]
    )


def function(shown: Function) -> Html:
    """Show a loaded kernel: how to call it, where it runs, and its build."""
    call = f"{shown.kernel.label}{shown.op.signature}"
    parts: list[object] = [paragraph(tag("b", "loaded"), " ", tag("code", call), f", on {shown.device}")]
    own = "its own" if shown.kernel.sources and shown._backward is not None else "PyTorch's, through its calls"
    parts.append(paragraph(f"call it with tensors; backward: {own}", cls="li-faint li-small"))
    return join([*parts, build(shown.build) if shown.build else ""])


def _traits(shown: Kernel) -> Cell:
    kinds = "Python" if shown.python is not None else " + ".join(shown.sources)
    lines = sum(text.strip("\n").count("\n") + 1 for text in shown.sources.values())
    return Cell(f"{kinds}, {plural(lines, 'line')}" if lines else kinds)


def _facts(shown: Kernel) -> str:
    """Name what is set beside the text."""
    numbers = (f"{name} = {value}" for name, value in {**shown.params, **shown.slots}.items())
    facts = [
        f"edited from {shown.parent}" if shown.parent else "",
        ", ".join(numbers),
        f"saves {', '.join(shown.saves)}" if shown.saves else "",
        f"functions {', '.join(shown.functions)}" if shown.functions != ("forward", "backward") else "",
        f"flags {shlex.join(shown.flags)}" if shown.flags else "",
        "stable ABI" if shown.api == "stable" else "",
        "bound with pybind11" if shown.binding == "pybind11" else "",
        "can be differentiated twice" if shown.double_backward else "",
    ]
    return "; ".join(filter(None, facts))


def _python(function: object, title: str, *, open: bool = False) -> Html:
    """Show the text of a Python function, where it can be found."""
    try:
        text = textwrap.dedent(inspect.getsource(function))  # type: ignore[arg-type]
    except (OSError, TypeError):  # typed at a prompt, or made by C
        return paragraph(tag("code", getattr(function, "__qualname__", str(function))))
    return fold(title, source(text, language="python", label=title), open)


def _more(doc: str, label: str) -> Html:
    """Fold what a doc says below its first line."""
    return folded("more about it", inspect.cleandoc(doc).partition("\n")[2].strip(), label=label)
