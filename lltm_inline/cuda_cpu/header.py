"""What stands ahead of a rewritten text: CUDA's names on the CPU."""

from __future__ import annotations

from functools import cache

from .. import native

_FILES = (
    "names.h",
    "fibers.h",
    "block.h",
    "device.h",
    "half.h",
    "groups.h",
    "torch.h",
    "memory.h",
    "counts.h",
    "checks.h",
    "told.h",
)  # each knows those before it


@cache
def header() -> str:
    """Return our C++ as one text.

    Example:
        >>> "__syncthreads" in header()
        True
    """
    return "".join(native.text(file, __package__) for file in _FILES)
