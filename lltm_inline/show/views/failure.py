"""The exceptions that are more than a sentence: a build that failed, a kernel that crashed, a wrong one that was to be timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..markup import Html, join, tag
from ..parts import cross, fold, note, paragraph, plain
from ..source import excerpt
from .crash import crash
from .report import report

if TYPE_CHECKING:
    from ...build.diagnostics import Diagnostic
    from ...errors import BuildError, CheckError, CrashError

_MOST_OTHERS = 20


def build_error(error: BuildError) -> Html:
    """Show a failed build as a card: the first error with its lines and its cure, the others and the full log folded."""
    first, *lines = str(error).split("\n")
    found = error.diagnostics
    body: list[object] = [paragraph(cross(), tag("b", first))]
    if found:
        body.append(_diagnostic(found[0]))
        body += [_others(found, kind) for kind in ("error", "warning")]
        body += [
            paragraph(line.strip().partition("  Full log")[0], cls="li-small")
            for line in lines[-1:]
            if " from " in line
        ]
    elif lines:
        body.append(tag("pre", "\n".join(lines), cls="li-wrap"))
    log = error.log.strip()
    if log:
        count = log.count("\n") + 1
        body.append(fold(f"full log, {count} line{'s' * (count != 1)}", plain(log, label="log of compiler and linker")))
    return note("bad", *body)


def check_error(error: CheckError) -> Html:
    """Show the sentence, and the report of the kernel that is wrong."""
    said = note("bad", paragraph(cross(), tag("b", str(error))))
    return said if error.report is None else report(error.report)


def crash_error(error: CrashError) -> Html:
    """Show the crash that it carries."""
    return crash(error.crash)


def _diagnostic(found: Diagnostic) -> Html:
    kind = "plain" if found.severity == "warning" else "bad"
    notes = [tag("li", tag("code", line)) for line in found.notes]
    return join(
        [
            paragraph(tag("code", found.place), ": ", "warning: " if kind == "plain" else "", found.message),
            excerpt(found.excerpt, kind=kind, label=f"lines of {found.place}") if found.excerpt else "",
            paragraph(tag("b", found.help)) if found.help else "",
            fold(f"what the compiler adds, {len(notes)}", tag("ul", *notes)) if notes else "",
        ]
    )


def _others(found: tuple[Diagnostic, ...], kind: str) -> Html:
    rest = [item for item in found[1:] if item.severity == kind]
    if not rest:
        return Html()
    likely = ", mostly consequences of the first" if kind == "error" else ""
    title = f"{len(rest)} more {kind}{'s' * (len(rest) != 1)}{likely}"
    return fold(title, join(_diagnostic(item) for item in rest[:_MOST_OTHERS]))
