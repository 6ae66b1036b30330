"""Texts that had points they had not earned, each by a hole of its own; what closed it finds others of its class.

All compute axpy. Those of `HOLES` are wrong, or do what they must not, and are careful not to be seen; those of `QUICKER` look faster than
a kernel that does the same work honestly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.planted.cheats import HERE, RIGHT, scoped
from tests.texts import texts_in


@dataclass(frozen=True)
class Hole:
    """A text that got past the judge.

    Attributes:
        name: of it.
        text: of it.
        criterion: by which it falls.
        says: words of the reason.
        params: fields of the op that are other than axpy's.
    """

    name: str
    text: str
    criterion: str
    says: str


def _holes(file: str) -> Iterator[Hole]:
    for one in texts_in(HERE / file, ["criterion", "says"], ["why"]):
        scope, changes = scoped(one)
        text = RIGHT
        for old, new in changes.edits:
            assert old in text, (one.name, old)
            text = text.replace(old, new, 1)
        yield Hole(one.name, f"{scope}\n{text}", one.said["criterion"], *one.words("says"))


HOLES = tuple(_holes("holes.txt"))
#: By which it is not as fast as it looks: beside a baseline that does the work twelve times, timed at up to a million elements.
QUICKER = tuple(_holes("quicker.txt"))
