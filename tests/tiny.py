"""A throwaway op with kernels that build in about a second, for tests that are about builds and not about kernels.

y = factor * x
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from lltm_inline import native
from lltm_inline.compiling import cache
from lltm_inline.model.kernel import revisions
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.native import text

#: Both functions on LibTorch's stable ABI: no ATen header, so that a build costs a second and not six.
STABLE = Path(__file__).with_name("tiny.cpp").read_text()

#: A text that any C++ compiler refuses, in a line of its own.
BROKEN = STABLE.replace("return times(x, FACTOR);", "return times(x, FACTORY);")


def reference(x: torch.Tensor) -> torch.Tensor:
    """Double a tensor."""
    return x * 2


def inputs(randn: Any, N: int) -> tuple[Any, ...]:
    """Draw the one input."""
    return (randn(N),)


def register() -> Op:
    """Put the op into the registry, if it is not there."""
    if "tiny" not in registry.ops:
        registry.register(Op("tiny", "(Tensor x) -> Tensor y", reference, {"x": "N", "y": "N"}, inputs))
    return registry.ops["tiny"]


def kernel(factor: float = 2, text: str = STABLE, variant: str = "stable", **fields: Any) -> Kernel:
    """Make a kernel of the op; another factor is another text, and so another build."""
    return Kernel(f"tiny/{variant}", cpp=text, api=fields.pop("api", "stable"), params={"FACTOR": factor}, **fields)


def forget(op: str) -> None:
    """Take an op, its kernels and their revisions out of the registry."""
    for table in (registry._ops, registry._first, registry._current, registry._states, registry._timed, revisions):
        for name in [name for name in table if name.partition("/")[0] == op]:
            del table[name]


@contextmanager
def registry_as_before() -> Iterator[None]:
    """Take out of the registry what is made meanwhile."""
    before, made = registry.snapshot(), dict(revisions)
    yield
    for name in {*registry.ops} - {*before[0]}:
        forget(name)
    registry.restore(before)
    for name in [name for name in revisions if name not in made]:
        del revisions[name]


def text_without_bridge(file: str) -> str:
    """Read a file of our C++, and nothing of the autograd bridge."""
    return "" if file == "bridge.cpp" else text(file)


def without_bridge() -> None:
    """Put an empty text in the place of the autograd bridge, in a process that builds into a fresh cache and loads nothing.

    Every build into an empty cache makes the bridge too, which takes many times as long as the kernels here.
    """
    native.text = text_without_bridge


def entries() -> list[cache.Entry]:
    """List the cache without the bridge."""
    return [entry for entry in cache.entries() if not entry.what.startswith("autograd bridge")]


def answer(number: int) -> str:
    """Return a header-free text for plain `load_inline` whose `answer()` is `number`."""
    return f'extern "C" int answer() {{ return {number}; }}\n'
