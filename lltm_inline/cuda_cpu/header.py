"""What stands ahead of a rewritten text: CUDA's names on the CPU."""

from __future__ import annotations

from functools import cache

from .. import native

_OF_DEVICE = ("names.h", "fibers.h", "block.h", "device.h", "half.h", "groups.h")  # each knows those before it
_OF_TENSORS = ("torch.h", "memory.h", "counts.h", "checks.h", "told.h")


#: What is counted must be what the text says, with any compiler: so nothing of it is optimised.
_AS_WRITTEN = """\
#ifdef CUDA_CPU_COUNT
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize("O0")
#endif
#endif
"""


@cache
def header(tensors: bool = True) -> str:
    """Return our C++ as one text.

    Args:
        tensors: for texts that know tensors, too, or are checked; without, it needs no header of ATen.

    Example:
        >>> "__syncthreads" in header(), "at::Tensor" in header(tensors=False)
        (True, False)
    """
    text = "".join(native.text(file, __package__) for file in (*_OF_DEVICE, *_OF_TENSORS * tensors))
    return f"#ifndef CUDA_CPU_NAMES\n#define CUDA_CPU_NAMES\n{text}#endif\n{_AS_WRITTEN}"
