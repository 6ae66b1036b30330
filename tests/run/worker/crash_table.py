"""The table in docs/crashes.md: each test holds what it has measured against its line, or writes it there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from tests.planted.crashes import GROUPS

PATH = Path(__file__).resolve().parents[3] / "docs" / "crashes.md"
#: Set it to write the table anew: LLTM_INLINE_WRITE_TABLE=1 make test-all ARGS="-k crash"
WRITE = "LLTM_INLINE_WRITE_TABLE"

PARENT_KILLED = "works while SIGKILL ends the notebook's process"
NOTEBOOK_CLOSED = "works while the notebook is closed"
_LAST_GROUP = "The notebook itself ends"

_TEXT = """\
# What a broken kernel does to a notebook

Each row is one kernel of `tests/planted/crashes.py` with one mistake in it. The tests run it in a plain process, which loads the
library as `load_inline` does, and then with lltm_inline, from Python and in a notebook. With lltm_inline your process survives
every row: its variables keep their values, and the next call gives the right result.

Kernels run in a process of their own, the *worker*. What would end your process ends the worker instead. Some mistakes end
nothing, such as a read past the end of a tensor. `li.check` finds those too: it runs each kernel between guard pages, and fills
new memory with NaN. So that read is a segmentation fault there, and the message names the tensor. Line numbers count in the
kernel's text.

"Noticed after" is the time from the mistake until your process knows of it; for a time-out it counts from the limit. The tests
compare all other columns with what they see. `LLTM_INLINE_WRITE_TABLE=1 make test-all ARGS="-k crash"` writes this page anew.
"""
_HEAD = """
## {title}

| The kernel | A plain process | Tried with | lltm_inline says | Noticed after |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Line:
    """One line of the table, all as text; `noticed` is no part of what is compared."""

    does: str
    plain: str
    verb: str
    says: str
    noticed: str

    def __str__(self) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in vars(self).values())} |"

    @classmethod
    def parse(cls, text: str) -> Line:
        """Read what `str` wrote."""
        cells = text.strip()[1:-1].replace(chr(92) + "|", "\0").split("|")
        return cls(*(cell.strip().replace("\0", "|") for cell in cells))

    @property
    def compared(self) -> tuple[str, ...]:
        """All but the time."""
        return self.does, self.plain, self.verb, self.says


#: What this run of the tests has measured, by what the kernel does.
MEASURED: dict[str, Line] = {}


def hold(does: str, plain: str, verb: str, says: str, noticed: float | None) -> None:
    """Hold what a test has measured against its line of the page, times apart; or write it there, if that is asked for."""
    time = "in the report" if noticed is None else "< 0.01 s" if noticed < 0.01 else f"{noticed:.2f} s"
    line = MEASURED[does] = Line(does, plain, verb and f"`li.{verb}`", says, time)
    if os.environ.get(WRITE):
        with FileLock(Path(tempfile.gettempdir()) / "lltm_inline-crashes.lock"):  # the tests run in several processes
            PATH.write_text(lay_out(written() | {does: line}))
    known = written().get(does)
    assert known is not None and known.compared == line.compared, (
        f"measured: {line}\n written: {known or 'nothing'}\nwrite it anew: {WRITE}=1 make test-all ARGS='-k crash'"
    )


def written() -> dict[str, Line]:
    """Read the table as it is committed."""
    if not PATH.exists():
        return {}
    lines = [line for line in PATH.read_text().splitlines() if line.startswith("| ") and line.count("|") > 2]
    return {line.does: line for line in map(Line.parse, lines) if line.does != "The kernel"}


def groups() -> dict[str, list[str]]:
    """List what the page must have, under its titles."""
    return {title: [row.does for row in rows] for title, rows in GROUPS.items()} | {
        _LAST_GROUP: [PARENT_KILLED, NOTEBOOK_CLOSED]
    }


def lay_out(known: Mapping[str, Line]) -> str:
    """Write the page."""
    parts = [
        _HEAD.format(title=title) + "".join(f"{known[does]}\n" for does in group if does in known)
        for title, group in groups().items()
    ]
    return _TEXT + "".join(parts)
