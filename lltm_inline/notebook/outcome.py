"""What became of a cell that compiled, and how it shows itself."""

from __future__ import annotations

from dataclasses import dataclass

from ..build.compiler import Build
from ..registry import Diff
from ..show import diff_source, fold, page, paragraph, tick
from .options import KINDS


@dataclass(frozen=True)
class Outcome:
    """What became of a cell that compiled; shows itself as one line, behind which a notebook folds the difference.

    Attributes:
        kernel: label of the revision that the cell made.
        built: the build.
        difference: from what it was edited from, or None.
        note: what else there is to say, or nothing.
    """

    kernel: str
    built: Build
    difference: Diff | None = None
    note: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, [self._how(), self._changed(), self.note]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        changed: object = self._changed()
        if self.difference is not None and self.difference.text:
            changed = fold(self._changed(), diff_source(self.difference.text))
        return page(paragraph(tick(True, "compiles:"), " ", "; ".join(filter(None, [self._how(), self.note]))), changed)

    def _how(self) -> str:
        how = "from the cache" if self.built.cached else f"built with {self.built.compiler}"
        return f"{self.kernel}: {how} in {self.built.seconds:.2f} s"

    def _changed(self) -> str:
        if self.difference is None:
            return ""
        before, count = self.difference.before, self.difference.lines
        if not self.difference.text:
            return f"the same as {before}"
        others = [kind for kind in self.difference.kinds if kind not in KINDS]
        named = f" ({', '.join(others)})" if others else ""
        return f"{count} line{'s differ' if count != 1 else ' differs'} from {before}{named}"
