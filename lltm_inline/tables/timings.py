"""What a benchmark found: rows of times, and a verdict in words."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ..base.above import Shown
from ..base.arguments import one_of, plural
from ..base.device import DEVICES
from .table import BaseRow, Table
from .words import CROWD, comparison, finding, interval_text, outcome, sentence, share_text, spread_text, three

#: What can be timed: `both` is forward and backward in one go.
DIRECTIONS = ("forward", "backward", "both")
#: As pictures call them.
TITLES = {"forward": "forward", "backward": "backward", "both": "forward + backward"}
#: How long each kernel is timed at each size by default, in seconds: for a figure to keep, whose interval is to be narrow; and at a
#: glance, where somebody waits for it after an edit (a cell, the panel) or there are many (the points of a sweep).
KEPT_SECONDS, GLANCE_SECONDS = 1.0, 0.3

#: Flags that change no time, or say what another says: for warnings, debuggers and linkers, at::vec's width a second time.
_IDLE, _NOT_IDLE = ("-W", "-g", "-fvisibility=", "-DCPU_CAPABILITY_"), ("-Wa,", "-Wl,", "-Wp,")
_NOISY = 0.3
#: What the op needs can be nothing at all.
_ANY = {"positive": False}


@dataclass(frozen=True)
class Row(BaseRow):
    """The times of one kernel at one size in one direction.

    Args:
        kernel, op, size, dtype, device: as of each `BaseRow`.
        direction: `forward`, `backward` (the graph was built outside of the timed region) or `both`.
        median: seconds a call; so are `q1` and `q3`, the quartiles.
        samples: number of rounds, one sample each.
        calls: number of calls over which one sample is the mean.
        speedup: the baseline's time over this kernel's, median over the rounds; more than 1 is faster.
        speedup_low: lower end of its 99 % confidence interval; None with too few rounds. `speedup_high` likewise.
        gb_per_s: bytes that the op must move, over the median; None where the op declares no cost. `gflop_per_s` too.
        share: the larger of the shares of this machine's own copy and GEMM speed (1.0 is all of it).
        bound_by: which of the two, `copy` or `GEMM`; empty without a cost.
        flags: compiler flags; empty for a Python kernel.
        threads: number of PyTorch's threads.
        torch: its version.
        compiler: its name and version; empty for a Python kernel.
        cpu: name of the processor, or of the GPU for the device `cuda`.
        others: at how many processors other programs worked just before.
    """

    direction: str
    median: float
    q1: float
    q3: float
    samples: int
    calls: int
    speedup: float
    speedup_low: float | None
    speedup_high: float | None
    gb_per_s: float | None = field(default=None, metadata=_ANY)
    gflop_per_s: float | None = field(default=None, metadata=_ANY)
    share: float | None = field(default=None, metadata=_ANY)
    bound_by: str = ""
    flags: tuple[str, ...] = ()
    threads: int = 1
    torch: str = ""
    compiler: str = ""
    cpu: str = ""
    others: float = field(default=0.0, metadata=_ANY, compare=False)

    _where: ClassVar[str] = "a row of timings"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("direction", self.direction, DIRECTIONS, where=self._where)

    @property
    def subject(self) -> str:
        """What was measured, without the size, and what it must not be taken for: `axpy, float32, cuda-cpu (times of ...)`."""
        return super().subject + (f" ({self.beside})" if self.beside else "")

    @property
    def beside(self) -> str:
        """What is to be said beside times of this device."""
        return DEVICES[self.device].timing if self.device in DEVICES else ""

    @property
    def outcome(self) -> str:
        """`faster`, `slower`, `same` (no measurable difference) or `unknown` (too few rounds, or too noisy), against the baseline."""
        return outcome(self.speedup_low, self.speedup_high)

    @property
    def words(self) -> str:
        """The comparison with the baseline in words, `1.31x faster (1.27-1.35)`."""
        return comparison(self.speedup, self.speedup_low, self.speedup_high)

    @property
    def finding(self) -> str:
        """What `words` says without figures: `faster`, `no measurable difference`, `too noisy to tell`."""
        return finding(self.speedup_low, self.speedup_high)

    def conditions(self) -> tuple[str, ...]:
        """What the times depend on, without flags that change none."""
        flags = (flag for flag in self.flags if flag.startswith(_NOT_IDLE) or not flag.startswith(_IDLE))
        torch = self.torch and f"torch {self.torch}"
        return shlex.join(flags), plural(self.threads, "thread"), self.compiler, torch, self.cpu


@dataclass(frozen=True, repr=False)
class Timings(Table[Row], Shown):
    """All rows of one benchmark. Displays itself as a table; see `verdict` for the findings in words.

    Args:
        rows: one `Row` for each kernel, size and direction.
        baseline: label of the kernel against which speed-ups are counted.

    Example:
        >>> what = dict(op="axpy", size={"B": 3}, direction="forward", dtype="float32", device="cpu", calls=100)
        >>> what |= dict(samples=50)
        >>> slow = Row("axpy/python", **what, median=2e-6, q1=1.9e-6, q3=2.1e-6, speedup=1, speedup_low=1, speedup_high=1)
        >>> fast = Row("axpy/cpp", **what, median=1e-6, q1=1e-6, q3=1.1e-6, speedup=2, speedup_low=1.9, speedup_high=2.1)
        >>> print(Timings((slow, fast), "axpy/python").verdict())
        axpy/cpp is 2.00x faster than axpy/python (1.90-2.10)
    """

    _row = Row
    _format = "lltm_inline timings 1"
    _what = "a benchmark's timings"
    _nothing = "Timings: nothing was timed"
    _heads = ("time", "speed-up", "GFLOP/s", "GB/s", "share of peak")

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions that were timed, in the order of `DIRECTIONS`."""
        timed = {row.direction for row in self.rows}
        return tuple(direction for direction in DIRECTIONS if direction in timed)

    def verdict(self) -> str:
        """Say in words which kernels are faster than the baseline, by how much and how surely.

        A difference is claimed only where the whole 99 % confidence interval lies on one side of 1, by at least 1 %. Where
        the interval holds 1 there is no measurable difference; where it reaches beyond 1.2 times faster or slower as well,
        it is too noisy to tell.
        The overall figure is the geometric mean over the sizes, of `both` where it was timed, else of all directions.

        Returns:
            One line for each kernel, and beneath it one for each size and direction if there are several.
        """
        return "\n".join([*self._findings(), *self._noise(), *self._beside()]) or "nothing was timed"

    def _beside(self) -> list[str]:
        """Return a line that says what the times must not be taken for."""
        said = [f"These are {said}" for said in dict.fromkeys(row.beside for row in self.rows) if said]
        return [*said, *filter(None, [self.crowd])]

    @property
    def crowd(self) -> str:
        """That other programs worked when it began, where they did: what is said beside the times from the first drawing on."""
        most = max((row.others for row in self.rows), default=0.0)
        told = f"This machine is busy: others had {most:.1f} of its processors as the timing began. Times and ratios are in doubt"
        return told if most > CROWD else ""

    def _findings(self) -> list[str]:
        """Return the lines of the verdict that say how kernels compare."""
        others = [kernel for kernel in self.kernels if kernel != self.baseline]
        if self.rows and not others:
            return [f"{self.baseline} is timed alone: nothing to compare it with"]
        lines = []
        for kernel in others:
            rows = self.select(kernel=kernel).rows
            if len(rows) == 1:
                lines.append(sentence(kernel, self.baseline, rows[0].words))
            else:
                lines.append(self._overall(kernel, rows))
                lines += [f"  {self.case(row)}: {row.words}" for row in rows]
        return lines

    def _noise(self) -> list[str]:
        """Return a line of warning if in most rows the middle half of the samples is far apart."""
        noisy = sum(row.q3 - row.q1 > _NOISY * row.median for row in self.rows)
        if noisy * 2 <= len(self.rows):
            return []
        threads = max(row.threads for row in self.rows)
        asked = "." if self.crowd else ": is this machine busy?"
        spread = f"The quartiles are over {_NOISY:.0%} apart in {noisy} of {len(self.rows)} rows{asked}"
        return [f"{spread} End other work, or call torch.set_num_threads({threads // 2})" if threads > 1 else spread]

    def _overall(self, kernel: str, rows: Sequence[Row]) -> str:
        of_all = [row for row in rows if row.direction == "both"] or list(rows)
        judged = [row for row in of_all if row.speedup_low and row.speedup_high] or of_all
        # The cases were timed one after the other, so their errors are independent: they add up in squares.
        middle = sum(math.log(row.speedup) for row in judged) / len(judged)
        low = high = None
        ends = [(row.speedup, row.speedup_low, row.speedup_high) for row in judged]
        if all(lower and upper for _, lower, upper in ends):
            low = math.exp(middle - math.hypot(*(math.log(at / lower) for at, lower, _ in ends if lower)) / len(ends))
            high = math.exp(middle + math.hypot(*(math.log(upper / at) for at, _, upper in ends if upper)) / len(ends))
        text = sentence(kernel, self.baseline, comparison(math.exp(middle), low, high))
        timed = {"both": "forward and backward together"}.get(judged[0].direction, " and ".join(self.directions))
        untold = f" of {len(of_all)}" * (len(judged) < len(of_all))  # the others had too few rounds, as their lines say
        of_which = f"mean of {len(judged)}" if len(judged) > 1 else f"at {judged[0].size_text}, 1"
        text += f", {timed}" + f", {of_which}{untold} cases" * (len(of_all) > 1)
        counts = {found: sum(row.outcome == found for row in judged) for found in ("faster", "slower")}
        if counts["faster"] and counts["slower"]:
            text += f": faster in {counts['faster']}, slower in {counts['slower']}"
        return text

    @property
    def caption(self) -> str:
        """What was timed, and how to read the columns."""
        compared = f", speed-up over {self.baseline} (99 % interval)" if len(self.kernels) > 1 else ""
        return f"{self.rows[0].subject}: median (quartiles){compared}"

    def cells(self, row: Row) -> tuple[str, ...]:
        """Write a row as cells of the table, without its kernel."""
        ratio = "1x" if len(self.kernels) > 1 else ""
        if row.kernel != self.baseline:
            low, high = row.speedup_low, row.speedup_high
            ends = f"({interval_text(low, high)})" if low and high else ""
            ratio = row.words if row.outcome == "unknown" else f"{three(row.speedup)}x {ends} {row.finding}"
        rates = (three(rate) if rate else "" for rate in (row.gflop_per_s, row.gb_per_s))
        time = spread_text(row.median, row.q1, row.q3)
        return time, ratio, *rates, share_text(row.share, row.bound_by)
