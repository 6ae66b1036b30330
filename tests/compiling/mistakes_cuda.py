"""Wrong CUDA texts: edits of one right text, with the line and the words that each owes its reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.texts import texts_in

_PLACE = Path(__file__).with_name("wrong")
#: A torch-free kernel of the op `tiny`, y = 2 x: it compiles in a third of a second.
CUDA = (_PLACE / "cuda.cu").read_text()
#: The classic form: one text with torch's headers, and the launch inside a dispatch.
CLASSIC = (_PLACE / "classic.cu").read_text()


@dataclass(frozen=True)
class Mistake:
    """A wrong CUDA text: what is edited, where the first diagnostic must point, and words that it must hold."""

    name: str
    old: str
    new: str
    at: str
    words: tuple[str, ...]
    text: str = CUDA

    @property
    def wrong(self) -> str:
        """The wrong text."""
        assert self.text.count(self.old) == 1, self.old
        return self.text.replace(self.old, self.new)

    @property
    def line(self) -> int:
        return self.wrong.count("\n", 0, self.wrong.index(self.at)) + 1


def _read(file: str) -> Iterator[Mistake]:
    """Read those of a file in `wrong/`: `base: classic` says of which text one is an edit, `at` and `words` what it owes."""
    for one in texts_in(_PLACE / f"{file}.txt", ["at", "words"], ["base"]):
        text = CLASSIC if one.said.get("base") == "classic" else CUDA
        *before, (old, new) = one.edits
        for first, then in before:
            text = text.replace(first, then)
        yield Mistake(one.name, old, new, one.said["at"].replace("\\n", "\n"), one.words("words"), text)


MISTAKES = tuple(_read("cuda_common"))
STUDENTS = tuple(_read("cuda"))
