"""What a benchmark found: rows of numbers, a table, a verdict in words, and the way to files and back."""

from __future__ import annotations

import csv
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ..above import Shown
from ..arguments import integer, number, one_of, path_of, shown, string, strings, using_file
from ..errors import InputError
from .timing.rows import JsonFile, read_csv, rows_from, rows_of, select_text, size_of
from .timing.words import comparison, finding, interval_text, outcome, sentence, share_text, spread_text, three

#: What can be timed: `both` is forward and backward in one go.
DIRECTIONS = ("forward", "backward", "both")

_COLUMNS = ("kernel", "time", "speed-up", "GFLOP/s", "GB/s", "share of peak")
_FORMAT = "lltm_inline timings 1"
_WARNING = re.compile(r"-W(?![alp],)")
_NOISY = 0.3
_INTS = frozenset({"samples", "calls", "threads"})
_NUMBERS = ("median", "q1", "q3", "speedup", "speedup_low", "speedup_high", "gb_per_s", "gflop_per_s", "share")
_OPTIONAL = _NUMBERS[4:]
_MOST = 1e15
_ROW = "a row of timings"
_TEXTS = frozenset({"kernel", "op", "direction", "dtype", "device", "bound_by", "torch", "compiler", "cpu"})


@dataclass(frozen=True)
class Row:
    """The times of one kernel at one size in one direction.

    Args:
        kernel: label, `lltm/fused@2`.
        op: name of the op.
        size: numbers by letter, `{"B": 16, "F": 32, "S": 128}`.
        direction: `forward`, `backward` (the graph was built outside of the timed region) or `both`.
        dtype: `float32`.
        device: `cpu`.
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
    """

    kernel: str
    op: str
    size: Mapping[str, int] = field(hash=False)
    direction: str
    dtype: str
    device: str
    median: float
    q1: float
    q3: float
    samples: int
    calls: int
    speedup: float
    speedup_low: float | None
    speedup_high: float | None
    gb_per_s: float | None = None
    gflop_per_s: float | None = None
    share: float | None = None
    bound_by: str = ""
    flags: tuple[str, ...] = ()
    threads: int = 1
    torch: str = ""
    compiler: str = ""
    cpu: str = ""

    def __post_init__(self) -> None:
        for name in sorted(_TEXTS):
            string(name, getattr(self, name), where=_ROW)
        one_of("direction", self.direction, DIRECTIONS, where=_ROW)
        object.__setattr__(self, "size", size_of(self.size))
        object.__setattr__(self, "flags", strings("flags", self.flags, where=_ROW))
        for name in sorted(_INTS):
            integer(name, getattr(self, name), where=_ROW)
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None or name not in _OPTIONAL:
                number(name, value, positive=name not in _OPTIONAL[2:], most=_MOST, where=_ROW)

    @property
    def size_text(self) -> str:
        """The size as a reader wants it, `B=16 F=32 S=128`."""
        return " ".join(f"{letter}={number}" for letter, number in self.size.items())

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


@dataclass(frozen=True)
class Timings(JsonFile, Shown):
    """All rows of one benchmark. Shows itself as a table; see `verdict` for the findings in words.

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

    rows: tuple[Row, ...]
    baseline: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", rows_of(self.rows, Row))
        string("baseline", self.baseline)

    def select(
        self, *, kernel: str | None = None, direction: str | None = None, size: Mapping[str, int] | None = None
    ) -> Timings:
        """Keep the rows of one kernel, direction or size.

        Args:
            kernel: label.
            direction: one of `DIRECTIONS`.
            size: numbers by letter.

        Returns:
            Timings with these rows only, and the same baseline.

        Raises:
            InputError: a label or direction that is no string, or a size that is no dict.
        """
        for name, value in (("kernel", kernel), ("direction", direction)):
            select_text(name, value)
        size = None if size is None else size_of(size)
        return Timings(
            tuple(
                row
                for row in self.rows
                if kernel in (None, row.kernel) and direction in (None, row.direction) and size in (None, row.size)
            ),
            self.baseline,
        )

    @property
    def kernels(self) -> tuple[str, ...]:
        """Labels, the baseline first, then in the order of the rows."""
        labels = dict.fromkeys(row.kernel for row in self.rows)
        return tuple(sorted(labels, key=lambda label: label != self.baseline))

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions that were timed, in the order of `DIRECTIONS`."""
        timed = {row.direction for row in self.rows}
        return tuple(direction for direction in DIRECTIONS if direction in timed)

    @property
    def sizes(self) -> tuple[dict[str, int], ...]:
        """The sizes in the order of the rows."""
        return tuple(dict(items) for items in dict.fromkeys(tuple(row.size.items()) for row in self.rows))

    def verdict(self) -> str:
        """Say in words which kernels are faster than the baseline, by how much and how surely.

        A difference is claimed only where the whole 99 % confidence interval lies on one side of 1, by at least 1 %. Where
        the interval holds 1 there is no measurable difference; where it reaches beyond 1.2 times faster or slower as well,
        it is too noisy to tell.
        The overall figure is the geometric mean over the sizes, of `both` where it was timed, else of all directions.

        Returns:
            One line for each kernel, and beneath it one for each size and direction if there are several.
        """
        lines = []
        for kernel in self.kernels:
            rows = self.select(kernel=kernel).rows
            if kernel == self.baseline and len(self.kernels) > 1:
                continue
            if kernel == self.baseline:
                lines.append(f"{kernel} was timed alone: nothing to compare it with")
            elif len(rows) == 1:
                lines.append(sentence(kernel, self.baseline, rows[0].words))
            else:
                lines += [
                    self._overall(kernel, rows),
                    *(f"  {row.size_text}, {row.direction}: {row.words}" for row in rows),
                ]
        return "\n".join([*lines, *self._noise()]) or "nothing was timed"

    def _noise(self) -> list[str]:
        """Return a line of warning if in most rows the middle half of the samples is far apart."""
        noisy = sum(row.q3 - row.q1 > _NOISY * row.median for row in self.rows)
        if noisy * 2 <= len(self.rows):
            return []
        threads = max(row.threads for row in self.rows)
        spread = f"The quartiles are over {_NOISY:.0%} apart in {noisy} of {len(self.rows)} rows: is this machine busy?"
        return [f"{spread} Free it, or call torch.set_num_threads with less than {threads}" if threads > 1 else spread]

    def _overall(self, kernel: str, rows: Sequence[Row]) -> str:
        judged = [row for row in rows if row.direction == "both"] or list(rows)
        # The cases were timed one after the other, so their errors are independent: they add up in squares.
        middle = sum(math.log(row.speedup) for row in judged) / len(judged)
        low = high = None
        ends = [(row.speedup, row.speedup_low, row.speedup_high) for row in judged]
        if all(lower and upper for _, lower, upper in ends):
            low = math.exp(middle - math.hypot(*(math.log(at / lower) for at, lower, _ in ends if lower)) / len(ends))
            high = math.exp(middle + math.hypot(*(math.log(upper / at) for at, _, upper in ends if upper)) / len(ends))
        text = sentence(kernel, self.baseline, comparison(math.exp(middle), low, high))
        timed = {"both": "forward and backward together"}.get(judged[0].direction, " and ".join(self.directions))
        text += f", {timed}" + (f", mean of {len(judged)} cases" if len(judged) > 1 else "")
        counts = {found: sum(row.outcome == found for row in judged) for found in ("faster", "slower")}
        if counts["faster"] and counts["slower"]:
            text += f": faster in {counts['faster']}, slower in {counts['slower']}"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts, lists, strings and numbers; `from_dict` is the way back."""
        rows = [{**asdict(row), "flags": list(row.flags)} for row in self.rows]
        return {"format": _FORMAT, "baseline": self.baseline, "rows": rows}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Timings:
        """Rebuild what `to_dict` gave.

        Raises:
            InputError: the data does not come from `to_dict`.
        """
        rows, baseline = rows_from(data, Row, form=_FORMAT, what="a benchmark's timings")
        return cls(rows, baseline)

    def to_csv(self, path: str | Path) -> Path:
        """Write one line a row, a column for each letter of the sizes, and return the path; times are in seconds.

        Raises:
            FileError: it cannot be written.
        """
        path = path_of("path", path)
        letters = list(dict.fromkeys(letter for row in self.rows for letter in row.size))
        names = [name for name in _names() if name != "size"]
        with using_file(path), path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["baseline", *names[:2], *letters, *names[2:]])
            for row in self.rows:
                cells = [_cell(getattr(row, name)) for name in names]
                writer.writerow(
                    [self.baseline, *cells[:2], *(_cell(row.size.get(letter)) for letter in letters), *cells[2:]]
                )
        return path

    @classmethod
    def from_csv(cls, path: str | Path) -> Timings:
        """Read what `to_csv` wrote: every number comes back exactly.

        Raises:
            InputError: columns are missing, or a cell is no number.
            FileError: it cannot be read.
        """
        records = read_csv(path, ["baseline", *(name for name in _names() if name != "size")])
        try:
            rows = [_row_of(record) for record in records]
        except ValueError as error:
            raise InputError(f"{shown(str(path))} was not written by to_csv: {error}") from error
        baselines = {record["baseline"] for record in records}
        if len(baselines) > 1:
            raise InputError(f"{path} holds several baselines ({', '.join(sorted(baselines))}), want one")
        return cls(tuple(rows), next(iter(baselines), ""))

    def conditions(self, separator: str = ", ") -> str:
        """Name what the times depend on in one line: flags, threads, compiler, torch, processor."""
        string("separator", separator)
        parts: list[str] = []
        for texts in (
            # Flags for warnings change no time.
            (shlex.join(flag for flag in row.flags if not _WARNING.match(flag)) for row in self.rows),
            (f"{row.threads} thread{'s' * (row.threads != 1)}" for row in self.rows),
            (row.compiler for row in self.rows),
            (f"torch {row.torch}" for row in self.rows if row.torch),
            (row.cpu for row in self.rows),
        ):
            parts += [" or ".join(dict.fromkeys(filter(None, texts)))]
        return separator.join(filter(None, parts))

    def __str__(self) -> str:
        if not self.rows:
            return "Timings: nothing was timed"
        body: list[tuple[str, ...]] = []
        for (size, direction), found in self.cases().items():
            body.append((f"{size}, {direction}",))
            for row, (kernel, time, ratio, *rates) in found:
                said = ratio if row.kernel == self.baseline else f"{ratio} {row.finding}"
                body.append((f"  {kernel}", time, said, *rates))
        head = ("", *_COLUMNS[1:])
        table = [line for line in body if len(line) > 1]
        widths = [max(len(line[column]) for line in (head, *table)) for column in range(len(head))]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False)).rstrip()
            for line in (head, *body)
        ]
        return "\n".join([self.title, "", *lines, "", self.conditions()])

    __repr__ = __str__

    @property
    def title(self) -> str:
        """What was timed, and how to read the columns."""
        first = self.rows[0]
        columns = f"median (quartiles), speed-up over {self.baseline} (99 % interval)"
        return f"{first.op}, {first.dtype}, {first.device}: {columns}"

    def cases(self) -> dict[tuple[str, str], list[tuple[Row, tuple[str, ...]]]]:
        """Return each row with its cells of the table, by size and direction, the baseline first."""
        cases: dict[tuple[str, str], list[tuple[Row, tuple[str, ...]]]] = {}
        order = {kernel: number for number, kernel in enumerate(self.kernels)}
        for row in sorted(self.rows, key=lambda row: order[row.kernel]):
            figures = _figures(row, row.kernel == self.baseline)
            cases.setdefault((row.size_text, row.direction), []).append((row, figures))
        return cases


def _figures(row: Row, is_baseline: bool) -> tuple[str, ...]:
    ratio = "1x" if is_baseline else f"{three(row.speedup)}x"
    if not is_baseline and row.speedup_low and row.speedup_high:
        ratio += f" ({interval_text(row.speedup_low, row.speedup_high)})"
    rates = [three(rate) if rate else "" for rate in (row.gflop_per_s, row.gb_per_s)]
    time = spread_text(row.median, row.q1, row.q3)
    return (row.kernel, time, ratio, *rates, share_text(row.share, row.bound_by))


def _names() -> list[str]:
    return [item.name for item in fields(Row)]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return shlex.join(value)
    return value if isinstance(value, str) else repr(value)


def _row_of(record: Mapping[str, str]) -> Row:
    values: dict[str, Any] = {"size": {name: int(text) for name, text in record.items() if name.isupper() and text}}
    for name in _names():
        if name != "size":
            values[name] = _value(name, record[name])
    return Row(**values)


def _value(name: str, text: str) -> str | int | float | tuple[str, ...] | None:
    if name == "flags":
        return tuple(shlex.split(text))
    if name in _TEXTS:
        return text
    if name in _INTS:
        return int(text)
    return float(text) if text else None
