"""Environment variables that are overridden while `load_inline` runs, and what the user has set them to meanwhile."""

from __future__ import annotations

import os

#: What compilers are found by, what they read, and where the cache is.
_OF_BUILDS = (
    *("CXX", "PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"),
    *("CUDA_HOME", "CUDA_PATH", "TORCH_CUDA_ARCH_LIST", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "PYTORCH_NVCC"),
    *("LLTM_INLINE_CACHE", "XDG_CACHE_HOME", "HOME"),
)

# name -> (what we set, what the user had)
_overridden: dict[str, tuple[str, str | None]] = {}


def users(name: str) -> str | None:
    """Return a variable as the user has it, also while it is overridden."""
    value = os.environ.get(name)
    ours = _overridden.get(name)
    return ours[1] if ours is not None and value == ours[0] else value


def of_builds() -> tuple[str | None, ...]:
    """Return all variables that a build depends on, to know one that was made in another environment."""
    return tuple(map(users, _OF_BUILDS))


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
