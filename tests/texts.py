"""Reads texts that tests compile or compare, with what each says of itself: a file holds many.

A text begins at a line `//// NAME`, before which a blank line belongs to no text. Lines `// KEY: VALUE` right behind it say what is
expected. `// <-` at the end of a line marks where a message must point.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
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

    >>> text = Text("no end", {"help": "`';'` `missing here`"}, "int f() {\\n  return 1  // <-\\n}\\n")
    >>> text.unmarked, text.marks, text.words("help"), text.words("clang")
    ('int f() {\\n  return 1\\n}\\n', [2], ("';'", 'missing here'), ())
    >>> Text("a dot", {}, "x.y\\n// becomes\\nx->y\\n// and\\nz;\\n// becomes\\n").edits
    (('x.y', 'x->y'), ('z;', ''))
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
        value = self.said.get(key, "")
        found = re.findall("`(.+?)`(?= `|$)", value)
        if " ".join(f"`{word}`" for word in found) != value:
            raise ValueError(f"{self.name!r} has not each word of {key} between two `: {value}")
        return tuple(found)

    @property
    def edits(self) -> tuple[tuple[str, str], ...]:
        """The edits that it is made of: lines, `// becomes`, and lines in their place; `// and` stands between two of them."""
        both = [edit.split("// becomes\n") for edit in self.body.split("// and\n")] if self.body else []
        return tuple((old.removesuffix("\n"), new.removesuffix("\n")) for old, new in both)


def texts_in(path: Path, needs: Collection[str] = (), may: Collection[str] | None = None) -> Iterator[Text]:
    """Read the texts of a file.

    Args:
        path: of the file.
        needs: keys that each text must have.
        may: others that it may have; None for any.

    Raises:
        ValueError: a text lacks a key, or has one that nobody reads: it would go unnoticed that it asks for less than it seems to.
    """
    _, *parts = _BEGINS.split(path.read_text(encoding="utf-8"))
    for name, rest in zip(parts[::2], parts[1::2], strict=True):
        said, end = {}, 0
        while found := _SAID.match(rest, end):
            said[found[1]], end = found[2], found.end()
        unread = set() if may is None else said.keys() - {*needs, *may}
        if wrong := sorted(unread | (set(needs) - said.keys())):
            raise ValueError(f"{path.name}: {name!r} lacks, or has in vain: {', '.join(wrong)}")
        yield Text(name, said, rest[end:])


def bodies(file: str, suffix: str = ".cpp") -> dict[str, str]:
    """Give the texts of a file of tests, which stand beside it, by name."""
    return {text.name: text.body for text in texts_in(Path(file).with_suffix(suffix))}
