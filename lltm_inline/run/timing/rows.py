"""What the rows of a benchmark and of a measurement of memory have in common: how they are looked at, written and read.

Both can be made by hand or come out of a file that somebody has edited. So each field is looked at once, when a row is made;
what shows, judges and draws them need not doubt them any more.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from ...arguments import integer, mapping, path_of, refusal, shown, string, using_file
from ...errors import InputError

_Row = TypeVar("_Row")


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
        return write_json(path, self.to_dict())

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """Read what `to_json` wrote.

        Raises:
            InputError: the file holds something else.
            FileError: it cannot be read.
        """
        return cls.from_dict(read_json(path))


def size_of(size: Any) -> dict[str, int]:
    """Refuse what is no dict of numbers by letter."""
    named = mapping("size", size, "a dict of numbers by letter, {'B': 16}")
    return {letter: integer(f"size[{letter!r}]", extent) for letter, extent in named.items()}


def rows_of(rows: Any, kind: type[_Row]) -> tuple[_Row, ...]:
    """Refuse what is no list of rows, and rows whose sizes have other letters than the first one's.

    Raises:
        InputError: so.
    """
    if not isinstance(rows, list | tuple) or not all(isinstance(row, kind) for row in rows):
        raise refusal("rows", rows, f"a tuple of {kind.__name__}")
    letters = {tuple(row.size) for row in rows}
    if len(letters) > 1:
        words = " and ".join(f"({', '.join(names)})" for names in sorted(letters))
        raise InputError(f"rows with sizes of different letters cannot be compared: {words}")
    return tuple(rows)


def rows_from(data: Any, kind: type[_Row], *, form: str, what: str) -> tuple[tuple[_Row, ...], str]:
    """Rebuild rows and baseline from what `to_dict` gave.

    Args:
        data: the dict.
        kind: of the rows.
        form: what it says under `format`.
        what: was measured, for messages.

    Raises:
        InputError: the data does not come from `to_dict`.
    """
    if not isinstance(data, Mapping) or data.get("format") != form:
        given = f"format is {shown(data.get('format'))}" if isinstance(data, Mapping) else f"it is {shown(data)}"
        raise InputError(f"not {what}: {given}, want {form!r}")
    rows = data.get("rows")
    if not isinstance(rows, list | tuple):
        raise refusal("rows", rows, f"a list of dicts, each a {kind.__name__}", where=what)
    found = []
    for number, row in enumerate(rows):
        fields = mapping(f"rows[{number}]", row, f"a dict, the fields of a {kind.__name__}", where=what)
        try:
            found.append(kind(**fields))
        except TypeError as error:  # a field too many or too few
            raise InputError(f"{what}, rows[{number}]: incomplete or from another version: {error}") from error
    return tuple(found), string("baseline", data.get("baseline"), where=what)


def select_text(name: str, value: Any) -> Any:
    """Refuse what is neither a string nor None."""
    return value if value is None else string(name, value, want="a string, or None for all")


def write_json(path: Any, data: Mapping[str, Any]) -> Path:
    """Write plain data to a JSON file and return its path.

    Raises:
        FileError: it cannot be written.
    """
    path = path_of("path", path)
    with using_file(path):
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return path


def read_json(path: Any) -> Any:
    """Read what `write_json` wrote.

    Raises:
        InputError: it is no JSON file.
        FileError: it cannot be read.
    """
    path = path_of("path", path)
    with using_file(path):
        data = path.read_bytes()
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shown(str(path))} is no JSON file: {str(error)[:200]}") from error


def read_csv(path: Any, columns: Sequence[str]) -> list[dict[str, str]]:
    """Read a table whose first line names its columns.

    Args:
        path: of the file.
        columns: that must be there; others may be.

    Raises:
        InputError: a column is missing, or a line has more or fewer cells than the first.
        FileError: it cannot be read.
    """
    path = path_of("path", path)
    what = f"{shown(str(path))} was not written by to_csv"
    try:
        with using_file(path), path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise InputError(f"{what}: no column {', '.join(missing)}")
            records = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{what}: {error}") from error
    if any(None in record or None in record.values() for record in records):
        raise InputError(f"{what}: a line has more or fewer cells than there are columns")
    return records
