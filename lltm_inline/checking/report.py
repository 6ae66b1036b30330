"""What a check found, as values that show themselves: `Report`, its `Section`s, their `Finding`s."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

from ..autopsy.crash import Crash, tail
from ..base.above import Shown
from ..base.arguments import plural, shown
from ..errors import CheckError, CrashError, UnknownPartError

#: What a cell of `Report.matrix` says when a quantity was right; an empty cell was not looked at. And when it was right for tensors
#: that the text never saw as they lay: they were made contiguous before it.
RIGHT, COPIED = "ok", "copied"
_TERMINAL = 100
#: For the names behind the widest row.
_LEAST = 30
#: The hint that goes with each gradient that is missing because nothing computes it: a report of nothing else is not of a wrong kernel.
NO_BACKWARD = (
    "the text has no backward, and autograd does not see into a loop: write a backward, or compute with calls of ATen, which "
    "autograd knows. An op without gradients says differentiable=False"
)
#: The hint that goes with each gradient that is wrong where an output is: several of no other hint are told as one.
FOLLOWS = "may follow from the wrong {}: mend that first"
#: Of what a kernel has printed, the end is enough: it tells what came before a crash.
OUTPUT_LINES = 20
#: The group of a size that the reference of an example takes and the text does not.
APART = "sizes apart"
#: What the groups of cases are, where their names alone do not say it.
_GROUPS = {
    "one of 1": "one extent is 1",
    "block edges": "extents around 16 and 128",
    "remainders": "extents from 33 to 64",
    "grads expanded": "incoming gradients of stride 0",
    "grads strided": "incoming ones that are not contiguous",
    "digits": "inputs that cost digits",
    "pairs": "several layouts, values and modes at once",
    "subsets": "some gradients are not wanted",
    "long": "one long axis",
    "many": "many elements on several threads",
    "threads": "the same five times over",
    "as given": "the inputs of the example",
    "numbers": "other numbers as arguments",
    APART: "sizes that are equal in the example are not",
}
_IS_COPIED = "right, but made contiguous before the text saw it, so that a missing .contiguous() does not show"
#: What a check can come to, the best first.
VERDICTS = ("right", "right in forward; no backward", "WRONG")


@dataclass(frozen=True)
class Grid:
    """Where a tensor is wrong, as a picture of few cells.

    Attributes:
        rows, columns: how many there are of each; the last axis lies across, all others lie below each other. What has one
            axis is cut into pieces.
        cells: a word for each row of cells, a letter for each cell: `.` all right, `1` to `9` tenths wrong, `#` all wrong.
        row, column: what they are: `row` and `column`, `piece` and `element` of one axis, `block` and `thread` of a CUDA kernel.
    """

    rows: int
    columns: int
    cells: tuple[str, ...]
    row: str = "row"
    column: str = "column"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a kernel.

    Attributes:
        kernel: label of the kernel, `lltm/fused@2`.
        section: the section of the report it belongs to.
        quantity: the output, gradient (`d_weights`), input or function (`backward`) it is about.
        text: what is wrong, in one sentence with values.
        case: the size and the layout of the tensors for which it was seen.
        smallest: the smallest size at which it still fails, `B=1, F=1, S=2`.
        hints: what the pattern of the error tells about its cause.
        grid: where its elements are wrong; None where a picture says nothing.
    """

    kernel: str
    section: str
    quantity: str
    text: str
    case: str = ""
    smallest: str = ""
    hints: tuple[str, ...] = ()
    grid: Grid | None = None

    @property
    def only_follows(self) -> bool:
        """Whether it is a gradient of which no more is known than that an output is wrong."""
        return len(self.hints) == 1 and self.hints[0].startswith(FOLLOWS.partition("{")[0])

    def __str__(self) -> str:
        lines = [f"'{self.kernel}' {self.text}"]
        if self.case:
            smallest = f"; smallest failing size: {self.smallest}" if self.smallest else ""
            lines.append(f"    at {self.case}{smallest}")
        return "\n".join([*lines, *(f"    hint: {hint}" for hint in self.hints)])


@dataclass(frozen=True)
class Section:
    """One part of a check.

    Attributes:
        name: `interface`, `parity`, `purity`, `safety`, `gradcheck` or `opcheck`; `crash` for what ended a check early.
        cases: how many calls or comparisons of whole calls were made.
        findings: what is wrong, the most telling first.
        skipped: what could not be tried, and why.
        seconds: how long it took.
        notes: what is right, and could be better: a gradient that is computed for nothing.
    """

    name: str
    cases: int
    findings: tuple[Finding, ...] = ()
    skipped: tuple[str, ...] = ()
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.findings and self.cases > 0


@dataclass(frozen=True)
class Report(Shown):
    """The result of `check` or `gradcheck`; `print(report)` reads as plain text, a notebook shows a table.

    Attributes:
        kernel: label of the kernel.
        device: where it ran.
        sections: always the same ones in the same order for one function.
        matrix: for each output and gradient, and each column of cases, `"ok"`, what was wrong (`"110/330"`), `"copied"` if it is
            right for tensors that were made contiguous before the kernel got them, or `""` if it was not checked.
        seconds: how long the check took, without the build.
        crash: how the kernel took the worker down, if it did. The sections are then those that were finished before, and one
            named `crash`, whose `skipped` lists what was not reached.
        output: what the kernel printed.

    Example:
        >>> report = Report("lltm/x", "cpu", (Section("parity", 3, (Finding("lltm/x", "parity", "d_bias", "d_bias is missing"),)),))
        >>> report.ok, report.headline
        (False, "'lltm/x' d_bias is missing")
    """

    kernel: str
    device: str
    sections: tuple[Section, ...]
    matrix: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    seconds: float = 0.0
    crash: Crash | None = None
    output: str = ""

    def __hash__(self) -> int:
        return hash((self.kernel, self.device, self.sections))

    @property
    def ok(self) -> bool:
        """True when every section ran and found nothing, and nothing crashed."""
        return bool(self.sections) and self.crash is None and all(section.ok for section in self.sections)

    @property
    def forward_only(self) -> bool:
        """True when nothing is wrong but that there are no gradients, for the text has no backward: neither `ok` nor `wrong`."""
        found = self.findings
        return self.crash is None and bool(found) and all(finding.hints == (NO_BACKWARD,) for finding in found)

    @property
    def wrong(self) -> bool:
        """True unless it is `ok` or right in forward: stops a cell and a panel, and fails a command; what needs gradients asks for `ok`."""
        return not (self.ok or self.forward_only)

    def error(self, more: str = "") -> CheckError | CrashError:
        """Make the exception to raise for a kernel that may not go on; of one that is merely wrong, it says more."""
        return self.crash.error(report=self) if self.crash else CheckError(f"{self.headline}{more}", report=self)

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        return VERDICTS[2 if self.wrong else 1 if self.forward_only else 0]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all sections in order."""
        return tuple(finding for section in self.sections for finding in section.findings)

    @property
    def headline(self) -> str:
        """One line for an error message: the crash, else the first finding, or that all is right."""
        if self.crash is not None:
            return self.crash.headline
        if self.forward_only:
            return f"'{self.kernel}' is {self.verdict}"
        if self.findings:
            return f"'{self.findings[0].kernel}' {self.findings[0].text}"
        if not self.ok:
            return f"'{self.kernel}': nothing could be checked"
        return f"'{self.kernel}' is right in {plural(sum(section.cases for section in self.sections), 'case')}"

    def __getitem__(self, name: str) -> Section:
        for section in self.sections:
            if section.name == name:
                return section
        known = ", ".join(section.name for section in self.sections)
        raise UnknownPartError(f"no section {shown(name)}; this report has {known}")

    def __str__(self) -> str:
        lines = [f"check of {self.kernel} on {self.device}: {self.verdict} ({self.seconds:.1f} s)"]
        for section in self.sections:
            count = len(section.findings)
            faults = "no gradients" if self.forward_only else plural(count, "finding")
            state = f"{'ok' if section.ok else faults} in {plural(section.cases, 'case')}"
            lines.append(f"  {self.title(section):<10} {state if section.cases or count else 'nothing was checked'}")
            lines += [f"  {'':<10} not tried: {reason}" for reason in _folded(section.skipped)]
            lines += [f"  {'':<10} note: {note}" for note in section.notes]
        told = self._all_told()
        lines += ["", *told] if told else []
        if self.matrix and self.wrong:
            lines += ["", *_table(self.faults), *textwrap.wrap(self.legend, _TERMINAL)]
        printed = [f"  {line}" for line in self.printed.split("\n")] if self.printed else []
        return "\n".join([*lines, *(["", "printed:", *printed] if printed else [])])

    def title(self, section: Section) -> str:
        """Name a section as a reader wants it: what did not come back has not crashed."""
        late = section.name == "crash" and self.crash is not None and self.crash.kind == "timeout"
        return "time-out" if late else section.name

    def _all_told(self) -> list[str]:
        """List what is wrong, the crash first; gradcheck finds again what parity found, and one telling is enough."""
        told: dict[str, str] = {}
        if self.forward_only:
            return [f"{self.headline}: {NO_BACKWARD}"]
        for finding in self.told:
            told.setdefault(finding.text, str(finding))
        return [*([str(self.crash)] if self.crash else []), *told.values()]

    @property
    def told(self) -> tuple[Finding, ...]:
        """The findings but for the one that only repeats the crash; gradients that may follow from an output are one."""
        crash, told = self.crash, dict[object, list[Finding]]()
        for f in self.findings:
            if not (crash and f.section in ("crash", "safety") and crash.what in f.text):
                told.setdefault((f.section, f.case, f.hints) if f.only_follows else id(f), []).append(f)
        return tuple(map(_as_one, told.values()))

    @property
    def faults(self) -> Mapping[str, Mapping[str, str]]:
        """The matrix without what is right everywhere; all of it where nothing is wrong."""
        wrong = {name: cells for name, cells in self.matrix.items() if {*cells.values()} - {"", RIGHT}}
        return wrong or self.matrix

    @property
    def legend(self) -> str:
        """What is right everywhere, what the cells are, and the groups of cases in which something is wrong, unless their names say it.

        Example:
            >>> Report("f/x", "cpu", (), {"d_x": {"3,5": "1/15", "subsets": "missing"}, "y": {"3,5": "ok"}}).legend
            'y: right everywhere; n/m: n of m elements are wrong; 3,5: a size; subsets: some gradients are not wanted'
            >>> Report("f/x", "cpu", (), {"y": {"ranks": "15/15", "long": "ok"}}).legend
            ''
        """
        cells = [
            (group, cell) for row in self.matrix.values() for group, cell in row.items() if cell not in ("", RIGHT)
        ]
        # Of a tensor that is wrong throughout, a page writes "all", and the finding says so besides.
        some = (cell for _, cell in cells if "/" in cell and len({*cell.split("/")}) > 1)
        right = [name for name in self.matrix if name not in self.faults]
        said = [f"{', '.join(right)}: right everywhere"] * bool(right)
        said += ["n/m: n of m elements are wrong"] * any(some)
        said += [f"{COPIED}: {_IS_COPIED}"] * any(cell == COPIED for _, cell in cells)
        wrong = dict.fromkeys(group for group, cell in cells if cell != COPIED)
        sizes = [group for group in wrong if group[0].isdigit()]
        said += [f"{' and '.join(sizes)}: {'sizes' if len(sizes) > 1 else 'a size'}"] * bool(sizes)
        return "; ".join([*said, *(f"{group}: {_GROUPS[group]}" for group in wrong if group in _GROUPS)])

    @property
    def printed(self) -> str:
        """The end of what the kernel printed; nothing where the crash shows it."""
        return tail(self.output, OUTPUT_LINES) if self.output.strip() and self.crash is None else ""

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain lists and dicts, ready for JSON."""
        return {
            "kernel": self.kernel,
            "device": self.device,
            "ok": self.ok,
            "forward_only": self.forward_only,
            "seconds": self.seconds,
            "sections": [{**asdict(section), "ok": section.ok} for section in self.sections],
            "matrix": {quantity: dict(cells) for quantity, cells in self.matrix.items()},
            "crash": self.crash.to_dict() if self.crash is not None else None,
            "output": tail(self.output, OUTPUT_LINES) if self.output else "",
        }


def _as_one(findings: Sequence[Finding]) -> Finding:
    """Make one finding of several of which the same is said."""
    if len(findings) == 1:
        return findings[0]
    names = ", ".join(finding.quantity for finding in findings)
    return replace(findings[0], quantity=names, text=f"{names} differ, too", smallest="", grid=None)


def alike(matrix: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, ...], list[str]]:
    """Gather the groups of cases of which the same is said: a cell for each output and gradient, and the groups' names.

    Example:
        >>> alike({"y": {"3,5": "15/15", "long": "9/9", "zeros": "1/15"}, "d_x": {"3,5": "ok", "long": "ok", "zeros": ""}})
        {('all', 'ok'): ['3,5', 'long'], ('1/15', ''): ['zeros']}
    """
    found: dict[tuple[str, ...], list[str]] = {}
    for group in next(iter(matrix.values()), ()):
        found.setdefault(tuple(_short(cells.get(group, "")) for cells in matrix.values()), []).append(group)
    return found


def _short(text: str) -> str:
    """Write `wrong/all` so that many columns fit beside each other: `all`, `8k/33k`."""
    wrong, _, count = text.partition("/")
    if not (wrong.isdigit() and count.isdigit()):
        return text
    if wrong == count:
        return "all"
    wrong, count = (f"{int(number) / 1000:.0f}k" if len(number) > 4 else number for number in (wrong, count))
    return f"{wrong}/{count}" if wrong != count else text  # 32960/33001 is not all


def _folded(reasons: Sequence[str]) -> list[str]:
    """Say a reason of several cases once, with the first of these.

    Example:
        >>> _folded(["N=1: it is refused", "N=2: it is refused", "N=3: it is refused", "no GPU"])
        ['N=1 and 2 more: it is refused', 'no GPU']
    """
    cases: dict[str, list[str]] = {}
    for reason in reasons:
        cases.setdefault(reason.partition(": ")[2] or reason, []).append(reason)
    told = (
        [f"{some[0].partition(': ')[0]} and {len(some) - 1} more: {why}"] if len(some) > 2 else some
        for why, some in cases.items()
    )
    return [*chain.from_iterable(told)]


def _table(matrix: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Lay the matrix out in plain text: a row for all groups of cases of which the same is said, their names behind it."""
    rows = alike(matrix)
    widths = [max(map(len, column)) for column in zip(matrix, *rows, strict=True)]
    lines = []
    for cells, groups in {tuple(matrix): ["in the cases"], **rows}.items():
        said = "".join(f"{cell or '-':>{width}}  " for cell, width in zip(cells, widths, strict=True)) + " "
        wide = max(_TERMINAL, len(said) + _LEAST)
        names = ", ".join(groups).replace(" ", "\xa0").replace(",\xa0", ", ")  # no line ends inside a name
        lines += textwrap.wrap(names, wide, initial_indent=said, subsequent_indent=" " * len(said))
    return [line.replace("\xa0", " ") for line in lines]
