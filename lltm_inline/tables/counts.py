"""What a launch asks of the memory, counted: a row for each line of the text that does something, with totals and a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from ..base.above import Shown, aligned
from ..base.arguments import LARGEST, one_of, plural
from .table import BaseRow, Table
from .timings import TITLES
from .words import three

#: What is counted.
WHATS = (
    *("global load", "global store", "global atomic", "shared load", "shared store", "shared atomic"),
    *("barrier", "divergent branch", "launch"),
)
#: What can be added up over rows.
COLUMNS = ("accesses", "requests", "transactions", "least", "extra")
#: What a transaction is, and what to do where there are more than there need be.
_UNITS = {
    "load": ("sectors", "let neighbouring threads of a warp take neighbouring elements"),
    "store": ("sectors", "let neighbouring threads of a warp take neighbouring elements"),
    "shared": ("passes", "lanes of a warp want different words of one bank: pad the rows, or change the index"),
    "atomic": ("passes", "lanes of a warp change one address: let each warp or block gather its part first"),
}
_MOST_LINES = 3


@dataclass(frozen=True)
class CountsRow(BaseRow):
    """What one line of a kernel's text does in one launch; everything but `accesses` is counted for whole warps.

    Args:
        kernel, op, size, dtype, device: as of each `BaseRow`; so far `cuda-cpu`.
        direction: `forward` or `backward`.
        launch: its number in that direction, from 1; 0 in a total.
        function: the kernel as the launch names it, `axpy<scalar_t>`.
        grid: blocks along x, y and z.
        block: threads along x, y and z.
        line: of the text; 0 where it is not known, and in a total.
        what: one of `WHATS`.
        array: the tensor or shared array; empty for a barrier, a branch, a launch.
        width: bytes that each thread wants at a time.
        accesses: by threads. Of a barrier: threads of the blocks that met there.
        requests: by warps: what the lanes of a warp do at the same moment is one. Of a barrier: blocks that met there. Of a
            divergent branch: how often lanes of a warp went different ways. Of a launch: its blocks.
        transactions: what these requests take. Global: sectors of 32 bytes. Shared: passes, in each of which a bank gives one
            word. Atomics: passes, in each of which an address changes once.
        least: what they would take at best: the bytes wanted, without gaps; without a bank conflict; without two lanes at one
            address.
        most: of an atomic, how many change the address that most do.
        lanes: of the request that took most, the byte of the array that each of the 32 lanes wanted; -1 for a lane without.
    """

    direction: str
    launch: int
    function: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    line: int
    what: str
    array: str
    width: int = field(metadata={"most": 4096})
    accesses: int
    requests: int
    transactions: int
    least: int
    most: int = 0
    lanes: tuple[int, ...] = field(default=(), metadata={"least": -1})

    _where: ClassVar[str] = "a row of counts"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("direction", self.direction, tuple(TITLES), where=self._where)
        one_of("what", self.what, WHATS, where=self._where)

    @property
    def extra(self) -> int:
        """Transactions that there need not be: of shared memory the bank conflicts, of atomics the turns that lanes wait."""
        return self.transactions - self.least

    @property
    def unit(self) -> str:
        """What a transaction is: `sectors` or `passes`; nothing where there is none."""
        return _unit(self.what)[0]

    def __str__(self) -> str:
        at = f"{self.kernel}:{self.line}" if self.line else self.kernel
        return f"{at}: {self.what}{f' {self.array}' * bool(self.array)}"


def _unit(what: str) -> tuple[str, str]:
    return next((unit for word, unit in reversed(_UNITS.items()) if word in what), ("", ""))


@dataclass(frozen=True, repr=False)
class Counts(Table[CountsRow], Shown):
    """The memory accesses of launches: exact, and the same on every machine. They contain no times.

    It displays itself as totals next to a baseline, then line by line; `li.plot` draws which thread wants which address.

    Args:
        rows: one `CountsRow` for each line of a launch that does something.
        baseline: label of the kernel against which ratios are counted.

    Example:
        >>> what = dict(op="copy", size={"N": 32}, dtype="float32", device="cuda-cpu", direction="forward", launch=1)
        >>> what |= dict(function="copy", grid=(1, 1, 1), block=(32, 1, 1), line=2, width=4, accesses=32, requests=1, least=4)
        >>> row = CountsRow("copy/strided", **what, what="global load", array="x", transactions=32)
        >>> print(Counts((row,), "copy/strided").verdict())
        copy/strided:2: global load x takes 32 sectors, 4 would do: let neighbouring threads of a warp take neighbouring elements
    """

    _row = CountsRow
    _format = "lltm_inline counts 1"
    _what = "counts of launches"
    _nothing = "Counts: nothing was launched"
    _heads = ("by threads", "by warps", "transactions", "at best", "extra", "ratio")

    def total(
        self, what: str, column: str = "transactions", *, kernel: str | None = None, direction: str | None = None
    ) -> int:
        """Add up a column over lines and launches.

        Args:
            what: one of `WHATS`, or the beginning or end of some: `"shared"`, `"load"`.
            column: `accesses`, `requests`, `transactions`, `least`, or `extra`: transactions beyond the least.
            kernel: label; None for all.
            direction: `forward` or `backward`; None for both.

        Raises:
            InputError: nothing of that name is counted.

        Example:
            >>> Counts((), "copy/mine").total("shared", "extra")
            0
        """
        words = tuple(dict.fromkeys(word for one in WHATS for word in (one, *one.split())))
        one_of("what", what, words)
        one_of("column", column, COLUMNS)
        rows = self.select(kernel=kernel, direction=direction).rows
        return sum(getattr(row, column) for row in rows if what == row.what or what in row.what.split())

    def totals(self) -> tuple[CountsRow, ...]:
        """Add up what each kernel does, over its lines and launches, in the order of `WHATS`."""
        sums: dict[tuple[object, ...], CountsRow] = {}
        for row in sorted(self.rows, key=lambda row: WHATS.index(row.what)):
            key = tuple(row.size.items()), row.direction, row.what, row.kernel
            one = replace(row, launch=0, line=0, array="", width=0, function="", lanes=())
            if before := sums.get(key):
                # No launch makes so many: a file may say so.
                summed = {name: min(LARGEST, getattr(before, name) + getattr(one, name)) for name in COLUMNS[:4]}
                one = replace(one, **summed, most=max(before.most, one.most))
            sums[key] = one
        return tuple(sums.values())

    def case(self, row: CountsRow) -> str:
        """Name what is compared beside each other: one thing that is counted, at one size."""
        return f"{super().case(row)}: {row.what}"

    def cases(self) -> dict[str, list[CountsRow]]:
        """Return the totals of each case, the baseline first."""
        return super(Counts, replace(self, rows=self.totals())).cases()

    def ratio(self, row: CountsRow) -> float | None:
        """Divide the transactions of a total by the baseline's, or the requests where there are none; None where there is none."""
        column = "transactions" if row.transactions else "requests"
        like = [base for base in self.totals() if base.kernel == self.baseline and self.case(base) == self.case(row)]
        return getattr(row, column) / getattr(like[0], column) if like and getattr(like[0], column) else None

    def cells(self, row: CountsRow) -> tuple[str, ...]:
        """Write a total as cells of the table, without its kernel."""
        ratio = self.ratio(row) if row.kernel != self.baseline else None
        figures = (f"{row.transactions} {row.unit}", str(row.least), str(row.extra)) if row.unit else ("", "", "")
        threads = "" if row.what == "divergent branch" else str(row.accesses)
        warps = plural(row.requests, "block") if row.what in ("barrier", "launch") else str(row.requests)
        return threads, warps, *figures, f"{three(ratio)}x" if ratio is not None else ""

    def lines(self) -> list[tuple[str, ...]]:
        """List what each line of each kernel does: place, what, array, requests of warps, transactions, and those at best."""
        found: list[tuple[str, ...]] = []
        for row in self.rows:
            if row.what not in ("barrier", "launch"):
                taken = f"{row.transactions} {row.unit}, {row.least} at best" if row.unit else ""
                most = f", {row.most} at one address" if row.most else ""
                at = f"{row.kernel}:{row.line}" if row.line else row.kernel
                times = f"{row.requests} time{'s' * (row.requests != 1)}"
                found.append((at, row.direction, row.what, row.array, times, taken + most))
        return found

    def verdict(self) -> str:
        """Say which lines take more than they need, the worst first, then how each kernel compares with the baseline."""
        said = []
        for kernel in self.kernels:
            rows = [row for row in self.rows if row.kernel == kernel and row.extra > 0]
            for row in sorted(rows, key=lambda row: -row.extra)[:_MOST_LINES]:
                unit, advice = _unit(row.what)
                if unit == "sectors" and row.extra <= row.requests:  # neighbours, one sector more for a warp at most
                    advice = "what a warp wants does not begin at a multiple of 32 bytes"
                said.append(f"{row} takes {row.transactions} {unit}, {row.least} would do: {advice}")
        for row in self.totals():
            ratio = self.ratio(row) if row.kernel != self.baseline and row.unit else None
            if ratio not in (None, 1.0):
                what = f"{row.unit} of {self.baseline}: {row.direction}, {row.what}"
                said.append(f"{row.kernel} takes {three(ratio or 0)}x of the {what}")
        if not self.rows:
            return "nothing was launched"
        return "\n".join(said) or "no line takes more than it needs"

    @property
    def caption(self) -> str:
        """What was counted, and how to read the columns."""
        compared = f", and the ratio to {self.baseline}" if len(self.kernels) > 1 else ""
        return f"{self.rows[0].subject}: what warps ask of the memory{compared}. Counts, not times"

    def __str__(self) -> str:
        if not self.rows:
            return self._nothing
        lines = ["line by line", *aligned([("", *cells) for cells in self.lines()])]
        return "\n".join([super().__str__().rstrip(), "", *lines, "", self.verdict()])

    __repr__ = __str__
