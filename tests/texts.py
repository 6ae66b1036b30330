"""Reads texts that tests compile or compare, with what each says of itself: a file holds many.

A text begins at a line `//// NAME`, ahead of which a blank line belongs to no text. Lines `// KEY: VALUE` right behind it say what is
expected. `// <-` at the end of a line marks where a message must point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BEGINS = re.compile(r"^\n?//// (.+)\n", re.MULTILINE)
_SAID = re.compile(r"// ([a-z_]+): (.+)\n")
_MARK = re.compile(r" *// <-$", re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """One text of a file.

    Attributes:
        name: what stands behind `////`.
        said: by key.
        body: all that follows, with its marks.
    """

    name: str
    said: dict[str, str]
    body: str

    @property
    def unmarked(self) -> str:
        """What a compiler gets, where it is not to read the marks."""
        return _MARK.sub("", self.body)

    @property
    def marks(self) -> list[int]:
        """The lines with a mark, from 1."""
        return [number for number, line in enumerate(self.body.split("\n"), 1) if line.endswith("// <-")]

    def words(self, key: str) -> tuple[str, ...]:
        """What stands between pairs of ` in a value, with a blank between two."""
        return tuple(re.findall("`(.+?)`(?= `|$)", self.said.get(key, "")))

    @property
    def edits(self) -> tuple[tuple[str, str], ...]:
        """The edits that it is made of: lines, `// becomes`, and lines in their place; `// and` stands between two of them."""
        both = [edit.split("// becomes\n") for edit in self.body.split("// and\n")] if self.body else []
        return tuple((old.removesuffix("\n"), new.removesuffix("\n")) for old, new in both)


def texts_in(path: Path) -> Iterator[Text]:
    """Read the texts of a file."""
    _, *parts = _BEGINS.split(path.read_text(encoding="utf-8"))
    for name, rest in zip(parts[::2], parts[1::2], strict=True):
        said, end = {}, 0
        while found := _SAID.match(rest, end):
            said[found[1]], end = found[2], found.end()
        yield Text(name, said, rest[end:])
