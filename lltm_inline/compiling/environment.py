"""Environment variables that are overridden while `load_inline` runs, and what the user has set them to meanwhile."""

from __future__ import annotations

import os

#: What compilers, linkers and what loads these read beside their flags, and what may change by it. Not CFLAGS, LDFLAGS and the
#: like, which make and setup.py read and nothing here does; nor what only says where temporary files go and how to print.
_OF_COMPILERS = """
    CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH COMPILER_PATH GCC_EXEC_PREFIX SOURCE_DATE_EPOCH
    CCC_OVERRIDE_OPTIONS LD_RUN_PATH GNUTARGET LDEMULATION LD_LIBRARY_PATH LD_PRELOAD
    NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN PYTORCH_NVCC
"""
#: What compilers are found by, and where the cache is.
_OF_BUILDS = "CXX PATH CUDA_HOME CUDA_PATH TORCH_CUDA_ARCH_LIST LLTM_INLINE_CACHE XDG_CACHE_HOME HOME"

# name -> (what we set, what the user had)
_overridden: dict[str, tuple[str, str | None]] = {}


def users(name: str) -> str | None:
    """Return a variable as the user has it, also while it is overridden."""
    value = os.environ.get(name)
    ours = _overridden.get(name)
    return ours[1] if ours is not None and value == ours[0] else value


def of_compilers() -> tuple[str, ...]:
    """Return what is set of that which compilers read, as `NAME=value`: each is a part of the digest of what they make."""
    return tuple(f"{name}={value}" for name in _OF_COMPILERS.split() if (value := users(name)))


def of_builds() -> tuple[str | None, ...]:
    """Return all variables that a build depends on, to know one that was made in another environment."""
    return tuple(map(users, f"{_OF_COMPILERS} {_OF_BUILDS}".split()))


def override(**variables: str) -> None:
    """Set variables until `restore`."""
    for name, value in variables.items():
        _overridden[name] = (value, os.environ.get(name))
        os.environ[name] = value


def restore() -> None:
    """Put back what `override` changed, but for what the user has set since."""
    for name, (ours, before) in _overridden.items():
        if os.environ.get(name) != ours:
            continue
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
    _overridden.clear()
