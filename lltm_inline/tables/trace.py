"""What threads load and store, one access after the other: a row for each, with its value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from ..base.above import Shown, aligned
from ..base.arguments import one_of, plural
from .counts import WHATS
from .table import BaseRow, Table
from .timings import TITLES

#: So many rows are printed or shown; files have all.
MOST_SHOWN = 200
_MOST_SAID = 3
#: What a text in C++ does, in the order of `enum Kind` in `native/follow.cpp`.
OF_CPP = ("load", "store", "atomic")
_ORDER = "threads run one after another from barrier to barrier here; between two barriers a GPU runs them in any order"
_ORDER_OF_CPP = "the threads of a parallel loop run one after another here, three of them; elsewhere they run at once"


@dataclass(frozen=True)
class TraceRow(BaseRow):
    """One load, store or atomic of one thread.

    Args:
        kernel, op, size, dtype, device: as of each `BaseRow`.
        direction: `forward` or `backward`.
        launch: its number in that direction, from 1.
        function: the kernel as the launch names it, `axpy<scalar_t>`; of C++ the direction.
        order: its place in the trace, from 1.
        block: x, y and z of the block in its grid.
        thread: x, y and z of the thread in its block.
        line: of the text; 0 where it is not known.
        what: `global load`, `shared store`, `global atomic` and so on; of C++ `load`, `store`, `atomic`.
        array: the tensor or shared array.
        index: of the element there, one for each axis; its number alone where several indices lead to it, or none is known.
        shape: of the array, where it is known.
        value: what was loaded; of an atomic, what it finds and returns; of a store, what it leaves. Several numbers have a space
            between; where the type is not known, it is the bytes as one hexadecimal number, `0x3f800000`.
        left: how many more accesses there were than rows, the same in each row.
    """

    direction: str
    launch: int
    function: str
    order: int
    block: tuple[int, ...]
    thread: tuple[int, ...]
    line: int
    what: str
    array: str
    index: tuple[int, ...]
    shape: tuple[int, ...]
    value: str
    left: int = 0

    _where: ClassVar[str] = "a row of a trace"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("direction", self.direction, tuple(TITLES), where=self._where)
        one_of("what", self.what, (*WHATS[:6], *OF_CPP), where=self._where)

    def conditions(self) -> tuple[str, ...]:
        """What the order depends on."""
        return (_ORDER_OF_CPP if self.what in OF_CPP else _ORDER,)

    @property
    def element(self) -> str:
        """The element as the text has it: `tile[2][0]`."""
        return self.array + "".join(f"[{i}]" for i in self.index)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers of the value; none where its type is not known.

        Raises:
            ValueError: the row was made by hand, with a value that is none.
        """
        return () if self.value.startswith("0x") else tuple(map(_number, self.value.split()))


def _number(text: str) -> float:
    return int(text) if text.removeprefix("-").isdigit() else float(text)


def place_text(at: tuple[int, ...]) -> str:
    """Write where a thread or block stands: x alone where y and z are 0.

    Example:
        >>> place_text((3, 0, 0)), place_text((3, 1, 0))
        ('3', '(3, 1, 0)')
    """
    return f"({', '.join(map(str, at))})" if any(at[1:]) or not at else str(at[0])


@dataclass(frozen=True, repr=False)
class Trace(Table[TraceRow], Shown):
    """What threads load and store, in the order in which it happened, with values. It contains no times.

    `li.plot` draws which thread touched which element, and when.

    Args:
        rows: one `TraceRow` for each access.
        baseline: label of the kernel.

    Example:
        >>> what = dict(op="copy", size={"N": 2}, dtype="float32", device="cuda-cpu", direction="forward", launch=1)
        >>> what |= dict(function="copy", order=1, block=(0, 0, 0), thread=(1, 0, 0), line=2, what="global load")
        >>> row = TraceRow("copy/mine", **what, array="x", index=(1,), shape=(2,), value="0.5")
        >>> print(Trace((row,), "copy/mine"))
        copy/mine, float32, cuda-cpu: N=2, forward: what threads load and store, in the order of this run
        <BLANKLINE>
        order  block  thread  line  what         element  value
        1      0      1       2     global load  x[1]     0.5
        <BLANKLINE>
        1 global load of x
        threads run one after another from barrier to barrier here; between two barriers a GPU runs them in any order
    """

    _row = TraceRow
    _format = "lltm_inline trace 1"
    _what = "a trace of launches"
    _nothing = "Trace: nothing was loaded or stored"

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the columns; C++ has no blocks."""
        return ("order", *["block"] * self._has_blocks, "thread", "line", "what", "element", "value")

    @property
    def _has_blocks(self) -> bool:
        return not self.rows or self.rows[0].what not in OF_CPP

    def cells(self, row: TraceRow) -> tuple[str, ...]:
        """Write a row as cells of the table."""
        block = [place_text(row.block)] * self._has_blocks
        return str(row.order), *block, place_text(row.thread), str(row.line or ""), row.what, row.element, row.value

    def verdict(self) -> str:
        """Say how often each array is loaded and stored, and which elements several threads store."""
        counted = Counter((row.what, row.array) for row in self.rows)
        said = [f"{plural(count, what)} of {array}" for (what, array), count in counted.items()]
        writers: dict[tuple[object, ...], dict[object, TraceRow]] = {}
        for row in self.rows:
            is_shared = row.shape or self._has_blocks  # what C++ allocates for itself may be another one each time
            if is_shared and not row.what.endswith("load"):  # each block has shared memory of its own
                element = row.launch, row.element, row.block * row.what.startswith("shared")
                whom = writers.setdefault(element, {})
                whom.pop((row.block, row.thread), None)
                whom[row.block, row.thread] = row
        for whom in [whom for whom in writers.values() if len(whom) > 1][:_MOST_SAID]:
            last = list(whom.values())[-1]
            block = f" of block {place_text(last.block)}" * self._has_blocks
            said.append(
                f"{last.element} is written by {len(whom)} threads: last by thread {place_text(last.thread)}{block}"
                + f", and is {last.value} then" * last.what.endswith("store")
            )
        return "\n".join(said) or "nothing was loaded or stored"

    @property
    def shown(self) -> tuple[TraceRow, ...]:
        """The rows that are printed or shown: the first ones of many."""
        return self.rows[:MOST_SHOWN]

    @property
    def caption(self) -> str:
        """What was traced, and what is left out."""
        first = self.rows[0]
        left = [f"the first {MOST_SHOWN} of {len(self.rows):,} rows, files have all"] * (len(self.rows) > MOST_SHOWN)
        left += [f"{first.left:,} more accesses are left out"] * (first.left > 0)
        who = f"{first.kernel}, {first.dtype}, {first.device}: {first.size_text}, {first.direction}"
        return "; ".join([f"{who}: what threads load and store, in the order of this run", *left])

    def __str__(self) -> str:
        if not self.rows:
            return self._nothing
        lines = aligned([self.heads, *map(self.cells, self.shown)])
        return "\n".join([self.caption, "", *lines, "", self.verdict(), self.conditions()])

    __repr__ = __str__
