"""How the tests compile kernels that are not about compilers: hundreds of them, most of them wrong on purpose."""

from __future__ import annotations

import shutil
from typing import Any

from lltm_inline.build import toolchain

#: clang++ where there is one. What ships is compiled as its users do, with g++.
COMPILER = "clang++" if shutil.which("clang++") else None

_optimised = toolchain.default_cflags


def quick_cflags(kind: str, *, openmp: bool) -> tuple[str, ...]:
    """Return the flags of a user's build, but without optimisation: that takes a quarter of the time."""
    return ("-O0", *_optimised(kind, openmp=openmp)[1:])


#: For `li.build`, `li.check` and the others.
QUICK: dict[str, Any] = {
    "compiler": COMPILER,
    "cflags": quick_cflags("clang" if COMPILER else "gcc", openmp=True),
}
