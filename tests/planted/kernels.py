"""The table of planted kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lltm_inline.model.registry import Kernel, registry
from tests.planted import hand
from tests.planted.plain import PLAIN, SAVES
from tests.texts import texts_in


@dataclass(frozen=True)
class Planted:
    """One wrong kernel.

    Attributes:
        name: what is wrong, as an identifier.
        why: the same in a sentence.
        section, quantity: of the finding for which it must be rejected.
        says: texts that this finding must hold.
        base: name of the shipped kernel that `edits` change; empty for the plain one.
        edits: (old, new), each old text exactly once in the base.
        python: a function instead.
    """

    name: str
    why: str
    section: str
    quantity: str
    says: tuple[str, ...]
    base: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    python: Callable[..., Any] | None = None

    def kernel(self) -> Kernel:
        """Make the wrong kernel."""
        name = f"lltm/{self.name}"
        if self.python is not None:
            return Kernel(name, python=self.python)
        base = registry[self.base] if self.base else plain()
        text = base.cpp
        for old, new in self.edits:
            assert text.count(old) == 1, f"{self.name}: {old!r} occurs {text.count(old)} times in {base.label}"
            text = text.replace(old, new)
        return Kernel(
            name, cpp=text, params=base.params, slots=base.slots, saves=base.saves, api=base.api, flags=base.flags
        )


def plain() -> Kernel:
    """Return the plain kernel that most of the errors are planted in; it is right."""
    return Kernel("lltm/plain", cpp=PLAIN, saves=SAVES)


def planted_in(op: str, python: Mapping[str, Callable[..., Any]] = MappingProxyType({})) -> dict[str, Planted]:
    """Read the wrong kernels of `edits/OP.txt`, by name; the text of one is its edits, old and new, or it has none and is a function.

    Args:
        op: of which they are.
        python: those that are functions, by name.
    """
    found = {}
    path = Path(__file__).parent / "edits" / f"{op}.txt"
    for text in texts_in(path, ["why", "section", "quantity", "says"], ["base"]):
        found[text.name] = Planted(
            text.name,
            *(text.said.get(key, "") for key in ("why", "section", "quantity")),
            text.words("says"),
            text.said.get("base", ""),
            text.edits,
            None if text.edits else python[text.name],
        )
    return found


def of_op(op: str, **python: Callable[..., Any]) -> tuple[dict[str, Planted], Callable[[Planted], Kernel]]:
    """Return the wrong kernels of an op by name, and what makes a kernel of one."""
    return planted_in(op, python), lambda planted: replace(planted.kernel(), name=f"{op}/{planted.name}")


#: The planted kernels by name.
PLANTED = planted_in("lltm", vars(hand))
