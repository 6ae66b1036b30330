"""The entries of docs/crashes.md: each test compares what it has measured with its entry, or writes it there."""

from __future__ import annotations

import os
import re
import tempfile
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from tests.planted.crashes import GROUPS

PATH = Path(__file__).resolve().parents[3] / "docs" / "crashes.md"
#: Set it to write the page again: LLTM_INLINE_WRITE_TABLE=1 make test-all ARGS="-k crash"
WRITE = "LLTM_INLINE_WRITE_TABLE"

PARENT_KILLED = "works while SIGKILL ends the notebook's process"
NOTEBOOK_CLOSED = "works while the notebook is closed"
_LAST_GROUP = "The notebook itself ends"

_TEXT = """\
# What a broken kernel does to a notebook

Each entry is one kernel of `tests/planted/crashes.py` with one mistake in it. The tests run it in a plain process,
which loads the library as `load_inline` does, and then with lltm_inline, from Python and in a notebook. With
lltm_inline your process survives all of them: its variables keep their values, and the next call gives the right
result.

Kernels run in a separate process, the *worker*. What would end your process ends the worker instead. Some mistakes end
nothing, such as a read past the end of a tensor. `li.check` finds those too: it runs each kernel between guard pages,
and fills new memory with NaN. So that read is a segmentation fault there, and the message names the tensor. Line
numbers count in the kernel's source.

An entry says what a plain process does, what the named function of lltm_inline reports, and how long after the mistake
your process knows of it (for a time-out: after the limit). The tests compare everything but the time with what they
see. `LLTM_INLINE_WRITE_TABLE=1 make test-all ARGS="-k crash"` writes this page again.
"""
_WIDTH = 120


@dataclass(frozen=True)
class Line:
    """One entry of the page, all as text; `noticed` is not compared."""

    does: str
    plain: str
    verb: str
    says: str
    noticed: str

    def __str__(self) -> str:
        items = f"A plain process: {self.plain}", f"{self.verb}: {self.says}", f"Noticed after: {self.noticed}"
        return f"### {self.does}\n\n" + "".join(f"{_wrapped(item)}\n" for item in items)

    @classmethod
    def parse(cls, text: str) -> Line:
        """Read what `str` wrote."""
        does, *items = (" ".join(part.split()) for part in re.split(r"^\* ", text.removeprefix("### "), flags=re.M))
        (_, plain), (verb, says), (_, noticed) = (item.split(": ", 1) for item in items)
        return cls(does, plain, verb, says, noticed)

    @property
    def compared(self) -> tuple[str, ...]:
        """All but the time."""
        return self.does, self.plain, self.verb, self.says


def _wrapped(item: str) -> str:
    """Break an item of a list into lines, none of which begins like another item."""
    glued = re.sub(r" (?=[-+*#>] |\d+[.)] )", "\0", item)
    lines = textwrap.wrap(
        glued, _WIDTH, initial_indent="* ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace("\0", " ")


#: What this run of the tests has measured, by what the kernel does.
MEASURED: dict[str, Line] = {}


def hold(does: str, plain: str, verb: str, says: str, noticed: float | None) -> None:
    """Compare what a test has measured with its entry of the page, but for the time; or write it there, if that is asked for."""
    time = "in the report" if noticed is None else "< 0.01 s" if noticed < 0.01 else f"{noticed:.2f} s"
    line = MEASURED[does] = Line(does, plain, verb and f"`li.{verb}`", says, time)
    if os.environ.get(WRITE):
        with FileLock(Path(tempfile.gettempdir()) / "lltm_inline-crashes.lock"):  # the tests run in several processes
            PATH.write_text(lay_out(written() | {does: line}))
    known = written().get(does)
    assert known is not None and known.compared == line.compared, (
        f"measured: {line}\n written: {known or 'nothing'}\nwrite it again: {WRITE}=1 make test-all ARGS='-k crash'"
    )


def written() -> dict[str, Line]:
    """Read the entries as they are committed."""
    if not PATH.exists():
        return {}
    entries = re.findall(r"^### .*?(?=^##|\Z)", PATH.read_text(), re.M | re.S)
    return {line.does: line for line in map(Line.parse, entries)}


def groups() -> dict[str, list[str]]:
    """List what the page must have, under its titles."""
    return {title: [row.does for row in rows] for title, rows in GROUPS.items()} | {
        _LAST_GROUP: [PARENT_KILLED, NOTEBOOK_CLOSED]
    }


def lay_out(known: Mapping[str, Line]) -> str:
    """Write the page."""
    parts = [
        f"\n## {title}\n" + "".join(f"\n{known[does]}" for does in group if does in known)
        for title, group in groups().items()
    ]
    return _TEXT + "".join(parts)
