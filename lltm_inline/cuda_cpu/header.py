"""What stands before a rewritten text: CUDA's names on the CPU."""

from __future__ import annotations

from functools import cache

from .. import native

# Each knows those before it.
_NAMES = ("names.h", "fibers.h", "block.h", "device.h", "half.h", "groups.h")
_NAMES_OF_TENSORS = ("torch.h", "told.h")
_RUNTIME = ("runtime.h",)
_CHECKS = ("memory.h", "counts.h", "checks.h", "tensors.h", "book.h")

#: Before the names where the runtime is compiled once, into an object of its own.
_APART = "#define CUDA_CPU_APART\n"

#: What is counted must be what the text says, with any compiler: so nothing of it is optimised. g++ then takes TORCH_CHECK(false, ...)
#: at the end of a function for a missing return; a real one is told where it is reached (-fsanitize=return).
_AS_WRITTEN, _OPTIMISED = ("as_written.h",), ("optimised.h",)


def _joined(files: tuple[str, ...]) -> str:
    return "".join(native.text(file, __package__) for file in files)


@cache
def header(tensors: bool = True, apart: bool = False) -> str:
    """Return our C++ as one text.

    Args:
        tensors: for texts that know tensors, too, or are checked; without, it needs no header of ATen.
        apart: without what `runtime` has, which the library is linked with.

    Example:
        >>> "__syncthreads" in header(), "at::Tensor" in header(tensors=False)
        (True, False)
    """
    names = _joined((*_NAMES, *_NAMES_OF_TENSORS * tensors))
    text = f"{_APART}{names}" if apart else f"{names}{_joined((*_RUNTIME, *_CHECKS * tensors))}"
    return f"#ifndef CUDA_CPU_NAMES\n#define CUDA_CPU_NAMES\n{text}#endif\n{_joined(_AS_WRITTEN)}"


@cache
def runtime() -> str:
    """Return what is the same for all texts, to be compiled behind `header(apart=True)`.

    Example:
        >>> "void Launch::start" in runtime(), "void Launch::start" in header(apart=True)
        (True, False)
    """
    return _joined((*_OPTIMISED, *_RUNTIME, *_CHECKS))
