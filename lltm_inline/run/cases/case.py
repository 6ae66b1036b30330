"""A case: one call of forward and backward, and how it differs from the plain one of its size."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from ...base.arguments import plural
from ...model.registry import Op
from ..compare import dtype_name
from .layouts import UNLIKE, UNLIKE_EACH
from .sizes import Size, size_text
from .values import VALUES

#: The groups of the cases that are large enough for several threads, and run on as many as torch has; those of the second
#: are run again and again, as threads do not get in each other's way every time.
MANY, THREADS = "many", "threads"


#: More than an integer of 32 bits holds: there the last is 0, and the others are of the other sign.
LARGE = (2**31 + 1, -(2**31) - 1, 2**40)


@dataclass(frozen=True)
class Case:
    """One call of forward and backward.

    Attributes:
        group: column of the report's matrix; two cases that differ in it alone are one.
        size: in the order of the op's letters.
        dtype: of all floating inputs.
        layout: `contiguous`, one of `LAYOUTS`, `channels last`, or `expanded` where all elements are the same, of the inputs.
        only: name of the one input that has that layout; empty for all.
        grads: layout of the incoming gradients, also `expanded`.
        used: names of the outputs that are used; empty for all.
        wanted: for each tensor input, whether its gradient is wanted; empty for all.
        gain: factor on all inputs.
        values: which of `VALUES` stand among the inputs, or among those of `only`; empty for none.
        numbers: arguments that are no tensors, with their values, in place of those that the op draws.
        without: optional inputs left out.
        members: of each list no more than so many.
        view: shape of the tensors that may have any; None for one axis.
        given: the very inputs of the example that the op was made of.
    """

    group: str = field(compare=False)
    size: Size
    dtype: torch.dtype = torch.float64
    layout: str = "contiguous"
    only: str = ""
    grads: str = "contiguous"
    used: tuple[str, ...] = ()
    wanted: tuple[bool, ...] = ()
    gain: float = 1.0
    values: str = ""
    numbers: tuple[tuple[str, float | None], ...] = ()
    without: tuple[str, ...] = ()
    members: int | None = None
    view: tuple[int, ...] | None = None
    given: bool = False

    @property
    def plain(self) -> bool:
        """True when only size and dtype make this case."""
        return self == Case(self.group, self.size, self.dtype)

    @property
    def threaded(self) -> bool:
        """True for a case that runs on several threads."""
        return self.group in (MANY, THREADS)

    @property
    def is_large(self) -> bool:
        """True where a number is among `LARGE`."""
        return any(number in LARGE for _, number in self.numbers)

    def layout_of(self, name: str, index: int) -> str:
        """Return how an input lies in memory, the op's first or a later one."""
        if self.only not in ("", name):
            return "contiguous"
        return UNLIKE_EACH[index % len(UNLIKE_EACH)] if self.layout == UNLIKE else self.layout

    def describe(self, op: Op) -> str:
        """`B=3, F=17, S=5, float64, inputs transposed`."""
        words = [size_text(op, self.size), *[dtype_name(self.dtype)] * (not op.first.dtype)]
        if self.given:
            words.append("the inputs of the example")
        if self.view is not None:
            words.append(f"tensors of shape {self.view}")
        if self.layout != "contiguous":
            words.append(f"{self.only or 'inputs'} {self.layout}")
        if self.gain != 1:
            words.append(f"inputs times {self.gain:g}")
        if self.values:
            words.append(VALUES[self.values].words.replace("the inputs", self.only or "the inputs"))
        words += [number_text(name, value) for name, value in self.numbers]
        if self.without:
            words.append(f"without {', '.join(self.without)}")
        if self.members is not None:
            words.append(f"lists of {plural(self.members, 'tensor')}")
        if self.grads != "contiguous":
            words.append(
                f"incoming gradients {self.grads}{' (stride 0, as .sum() makes them)' if self.grads == 'expanded' else ''}"
            )
        if self.used:
            unused = [f"d_{output.name}" for output in op.signature.outputs if output.name not in self.used]
            words.append(f"only {', '.join(self.used)} used ({', '.join(unused)} undefined)")
        if self.wanted:
            names = [t.name for t, wanted in zip(op.gradients, self.wanted, strict=True) if wanted]
            words.append(f"gradient wanted for {', '.join(names) or 'nothing'}")
        return ", ".join(words)


def number_text(name: str, value: float | None, equals: str = "=") -> str:
    """`c=0.5`."""
    return f"{name}{equals}{value:g}" if isinstance(value, bool | float) else f"{name}{equals}{value}"
