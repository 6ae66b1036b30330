"""Wrong kernels of `block_sum`, `softmax` and `matmul_tiled`: of each one without a barrier, one out of bounds, one that parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lltm_inline.model.registry import Kernel, registry
from tests.texts import texts_in


@dataclass(frozen=True)
class Planted:
    """One wrong kernel.

    Attributes:
        name: op, and what is wrong, as an identifier.
        old, new: an edit of the CUDA text; the old text is there once.
        says: a pattern that the report must hold.
        size: at which it shows.
    """

    name: str
    old: str
    new: str
    says: str
    size: tuple[int, ...]

    def kernel(self) -> Kernel:
        """Make the wrong kernel."""
        op, _, what = self.name.partition(":")
        base = registry[f"{op}/cuda@0"]
        assert base.cuda.count(self.old) == 1, self.name
        return Kernel(
            f"{op}/{what}",
            cpp=base.cpp,
            cuda=base.cuda.replace(self.old, self.new),
            params=base.params,
            saves=base.saves,
        )


#: The planted kernels by name; `edits/shared_memory.txt` has them.
PLANTED = {
    one.name: Planted(one.name, *one.edits[0], one.said["says"], tuple(map(int, one.said["size"].split(", "))))
    for one in texts_in(Path(__file__).parent / "edits" / "shared_memory.txt", ["says", "size"], ())
}
