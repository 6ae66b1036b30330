"""Texts of a folder put into one, which compiles once: a text of all costs a compiler little more than one of a few."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Planted:
    """A text, what its comments say of it, its number in the text of all, and where it begins there."""

    kind: str
    name: str
    text: str
    number: int
    first: int

    def said(self, key: str) -> str:
        """Return what a comment says: `// key: what`, or `// key = what`."""
        found = re.search(rf"^// {key}(?: =|:) (.+)$", self.text, re.MULTILINE)
        assert found, f"{self.name} does not say {key}"
        return found[1]

    @property
    def x(self) -> torch.Tensor:
        """The input."""
        torch.manual_seed(0)
        return eval(self.said("x"))

    @property
    def lines(self) -> list[int]:
        """The lines of the text of all at which it may be reported."""
        rows = self.text.split("\n")
        return [self.first + index for index, row in enumerate(rows) if row.endswith("// <-")]


def together(
    paths: Sequence[Path], head: str = "", order: str = "", names: Collection[str] = ()
) -> tuple[list[Planted], str]:
    """Put texts into one: each in a namespace, all behind one `forward`.

    `which` is the number of a text, and a thousand times whatever `order` makes of it.

    Args:
        paths: of the texts, each with a function `run`.
        head: before all.
        order: of `forward`, before the number is looked at.
        names: of those that are taken; all where there are none.
    """
    paths = [path for path in paths if not names or path.stem in names]
    include = re.compile(r"^#include.*$", re.MULTILINE)
    planted, text = [], head + "".join(f"{row}\n" for path in paths for row in include.findall(path.read_text()))
    for number, path in enumerate(paths):
        text += f"namespace {path.stem} {{\n"
        one = Planted(path.parent.name, path.stem, include.sub("", path.read_text()), number, text.count("\n") + 1)
        planted.append(one)
        text += one.text + "}\n"
    calls = "".join(f"  if (which == {one.number}) return {one.name}::run(x);\n" for one in planted)
    start = f"at::Tensor forward(const at::Tensor& x, int64_t which) {{\n{order}  which %= 1000;\n"
    return planted, f"{text}{start}{calls}  return x;\n}}\n"
