"""The one table of measurements: rows of numbers beside a baseline, and the way to text, to files and back.

`Timings` and `Memory` are tables; each point of a `Sweep` has a row of one. A table can be made by hand or come out of a file that
somebody has edited. So each field is looked at once, when a row is made; what shows, judges and draws rows need not doubt them any more.
"""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from ..base.above import aligned
from ..base.arguments import integer, mapping, number, path_of, refusal, shown, string, strings, using_file
from ..errors import InputError
from .words import size_text

_Row = TypeVar("_Row", bound="BaseRow")
_MOST = 1e15


def _optional_number(name: str, value: Any, **bounds: Any) -> float | None:
    return None if value is None else _number(name, value, **bounds)


def _size(_: str, size: Any, **__: Any) -> dict[str, int]:
    named = mapping("size", size, "a dict of numbers by letter, {'B': 16}")
    return {letter: integer(f"size[{letter!r}]", extent) for letter, extent in named.items()}


def _integers(name: str, values: Any, *, where: str = "", **bounds: Any) -> tuple[int, ...]:
    if not isinstance(values, list | tuple):
        raise refusal(name, values, "a tuple of integers", where=where)
    return tuple(integer(f"{name}[{index}]", value, where=where, **bounds) for index, value in enumerate(values))


_number = partial(number, positive=True, most=_MOST)

#: How the value of a column is looked at, by the type of its field.
_COLUMNS: dict[str, Callable[..., Any]] = {
    "Mapping[str, int]": _size,
    "float": _number,
    "float | None": _optional_number,
    "int": integer,
    "str": string,
    "tuple[int, ...]": _integers,
    "tuple[str, ...]": strings,
}


@dataclass(frozen=True)
class BaseRow:
    """A row of a table: its fields are the columns, these before all others.

    What a column may hold follows from its type; the metadata of a field are bounds that differ from the usual ones.

    Args:
        kernel: label, `lltm/fused@2`.
        op: name of the op.
        size: numbers by letter, `{"B": 16, "F": 32, "S": 128}`.
        dtype: `float32`.
        device: `cpu`.
    """

    kernel: str
    op: str
    size: Mapping[str, int] = field(hash=False)
    dtype: str
    device: str

    #: What it is called in messages.
    _where: ClassVar[str]

    def __post_init__(self) -> None:
        for column in fields(self):
            check = _COLUMNS[str(column.type)]
            value = check(column.name, getattr(self, column.name), where=self._where, **column.metadata)
            object.__setattr__(self, column.name, value)

    @property
    def size_text(self) -> str:
        """The size as a reader wants it, `B=16 F=32 S=128`."""
        return size_text(self.size)

    @property
    def subject(self) -> str:
        """What was measured, without the size: `lltm, float32, cpu`."""
        return f"{self.op}, {self.dtype}, {self.device}"

    def conditions(self) -> tuple[str, ...]:
        """What the figures depend on, besides text and size."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts, lists, strings and numbers."""
        values = asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


class JsonFile:
    """What has `to_dict` and `from_dict` can be written to a JSON file and read from one."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain lists and dicts."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild what `to_dict` gave."""
        raise NotImplementedError

    def to_json(self, path: str | Path) -> Path:
        """Write it to a JSON file and return its path.

        Raises:
            FileError: it cannot be written.
        """
        path = path_of("path", path)
        with using_file(path):
            path.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")
        return path

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """Read what `to_json` wrote.

        Raises:
            InputError: the file holds something else.
            FileError: it cannot be read.
        """
        path = path_of("path", path)
        with using_file(path):
            data = path.read_bytes()
        try:
            values = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{shown(str(path))} is no JSON file: {str(error)[:200]}") from error
        return cls.from_dict(values)


@dataclass(frozen=True)
class Table(JsonFile, Generic[_Row]):
    """Rows of one kind, and the kernel against which they are compared.

    Args:
        rows: one for each kernel and size, at least.
        baseline: label of the kernel against which ratios are counted.
    """

    rows: tuple[_Row, ...]
    baseline: str

    #: The class of its rows; what a file says under `format`; what was measured, for messages; and its text without rows.
    _row: ClassVar[type[Any]]
    _format: ClassVar[str]
    _what: ClassVar[str]
    _nothing: ClassVar[str]
    #: The columns of its text, behind that of the kernels.
    _heads: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        """Refuse what is no list of rows, and rows whose sizes have other letters than the first one's."""
        if not isinstance(self.rows, list | tuple) or not all(isinstance(row, self._row) for row in self.rows):
            raise refusal("rows", self.rows, f"a tuple of {self._row.__name__}")
        letters = {tuple(row.size) for row in self.rows}
        if len(letters) > 1:
            words = " and ".join(f"({', '.join(names)})" for names in sorted(letters))
            raise InputError(f"rows with sizes of different letters cannot be compared: {words}")
        object.__setattr__(self, "rows", tuple(self.rows))
        string("baseline", self.baseline)

    def select(
        self, *, kernel: str | None = None, direction: str | None = None, size: Mapping[str, int] | None = None
    ) -> Self:
        """Keep the rows of one kernel, direction or size, and the baseline. Rows of memory have no direction.

        Raises:
            InputError: a label or direction that is no string, or a size that is no dict.
        """
        asked: dict[str, Any] = {"kernel": kernel, "direction": direction}
        asked = {
            name: string(name, value, want="a string, or None for all")
            for name, value in asked.items()
            if value is not None
        }
        if size is not None:
            asked["size"] = _size("size", size)
        rows = (row for row in self.rows if all(getattr(row, name, None) == value for name, value in asked.items()))
        return replace(self, rows=tuple(rows))

    @property
    def kernels(self) -> tuple[str, ...]:
        """Labels, the baseline first, then in the order of the rows."""
        labels = dict.fromkeys(row.kernel for row in self.rows)
        return tuple(sorted(labels, key=lambda label: label != self.baseline))

    @property
    def sizes(self) -> tuple[dict[str, int], ...]:
        """The sizes in the order of the rows."""
        return tuple(dict(items) for items in dict.fromkeys(tuple(row.size.items()) for row in self.rows))

    def verdict(self) -> str:
        """Say in words what was found."""
        raise NotImplementedError

    def conditions(self, separator: str = ", ") -> str:
        """Name what the figures depend on in one line: flags, threads, compiler, torch, processor, where they are known."""
        string("separator", separator)
        columns = zip(*(row.conditions() for row in self.rows), strict=True)
        texts = (" or ".join(dict.fromkeys(filter(None, column))) for column in columns)
        return separator.join(filter(None, texts))

    @property
    def caption(self) -> str:
        """What was measured, and how to read the columns."""
        raise NotImplementedError

    def cells(self, row: _Row) -> tuple[str, ...]:
        """Write a row as cells of the table, without its kernel."""
        raise NotImplementedError

    def under_way(self, row: _Row) -> str:
        """How far the case of a row is, in words, while rounds come in; nothing of figures that are final."""
        return ""

    def case(self, row: _Row) -> str:
        """Name what is compared beside each other: the rows of one size, and of one direction where they have one."""
        return ", ".join(filter(None, [row.size_text, getattr(row, "direction", "")]))

    def cases(self) -> dict[str, list[_Row]]:
        """Return the rows of each case, the baseline first."""
        cases: dict[str, list[_Row]] = {self.case(row): [] for row in self.rows}
        order = {kernel: number for number, kernel in enumerate(self.kernels)}
        for row in sorted(self.rows, key=lambda row: order[row.kernel]):
            cases[self.case(row)].append(row)
        return cases

    def __str__(self) -> str:
        if not self.rows:
            return self._nothing
        cases = {case: [(row.kernel, self.cells(row)) for row in rows] for case, rows in self.cases().items()}
        columns = zip(*(cells for beside in cases.values() for _, cells in beside), strict=True)
        known = [any(column) for column in columns]  # of an op without a cost there are no rates
        lines: list[Sequence[str]] = [("", *compress(self._heads, known))]
        for case, beside in cases.items():
            lines += [(case,), *((f"  {kernel}", *compress(cells, known)) for kernel, cells in beside)]
        return "\n".join([self.caption, "", *aligned(lines), "", *self._warnings(), self.conditions()])

    __repr__ = __str__

    def _warnings(self) -> list[str]:
        """What a reader of the table must know beside it."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts, lists, strings and numbers; `from_dict` is the way back."""
        return {"format": self._format, "baseline": self.baseline, "rows": [row.to_dict() for row in self.rows]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what `to_dict` gave.

        Raises:
            InputError: the data does not come from `to_dict`.
        """
        require_format(data, cls._format, cls._what)
        rows, kind = data.get("rows"), cls._row.__name__
        if not isinstance(rows, list | tuple):
            raise refusal("rows", rows, f"a list of dicts, each a {kind}", where=cls._what)
        found = []
        for index, row in enumerate(rows):
            values = mapping(f"rows[{index}]", row, f"a dict, the fields of a {kind}", where=cls._what)
            try:
                found.append(cls._row(**values))
            except TypeError as error:  # a field too many or too few
                raise InputError(f"{cls._what}, rows[{index}]: incomplete or from another version: {error}") from error
        return cls(tuple(found), string("baseline", data.get("baseline"), where=cls._what))

    def to_csv(self, path: str | Path) -> Path:
        """Write one line a row, a column for each letter of the sizes, and return the path; times are in seconds, memory in bytes.

        Raises:
            FileError: it cannot be written.
        """
        letters = list(dict.fromkeys(letter for row in self.rows for letter in row.size))
        names: list[str] = []
        for column in fields(self._row):
            names += letters if column.name == "size" else [column.name]
        rows = [{**row.size, **row.to_dict()} for row in self.rows]
        return write_csv(path, ["baseline", *names], [[self.baseline, *map(row.get, names)] for row in rows])


def require_format(data: Any, form: str, what: str) -> None:
    """Refuse what was not written by the `to_dict` of that format."""
    if not isinstance(data, Mapping) or data.get("format") != form:
        given = f"format is {shown(data.get('format'))}" if isinstance(data, Mapping) else f"it is {shown(data)}"
        raise InputError(f"not {what}: {given}, want {form!r}")


def write_csv(path: Any, names: Sequence[str], lines: Iterable[Sequence[Any]]) -> Path:
    """Write a table whose first line names its columns, and return the path; None is an empty cell, a list is written as a shell would.

    Raises:
        FileError: it cannot be written.
    """
    path = path_of("path", path)
    with using_file(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(
            [shlex.join(map(str, cell)) if isinstance(cell, list) else cell for cell in line] for line in lines
        )
    return path
