"""Names for frames inside libraries that this process has loaded too: was it in malloc, was it waiting for a mutex?

A worker is a copy of what this process would be, so the C library lies in the same file here, though at another address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..workers.black_box import Frame


class _Info(ctypes.Structure):
    _fields_ = [
        ("path", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def calls_of(frames: Iterable[Frame]) -> tuple[str, ...]:
    """Name the functions of the C library among the frames, the innermost first.

    Args:
        frames: of a crash, as path and offset.

    Returns:
        Names such as `malloc` and `pthread_mutex_lock`; a frame that belongs to no exported function has none.
    """
    library = _c_library()
    if library is None:
        return ()
    path, base = library
    names = [_name(base + frame.offset) for frame in frames if _same(frame.path, path)]
    return tuple(dict.fromkeys(name for name in names if name))


def _c_library() -> tuple[str, int] | None:
    """Where this process has its C library: path and address."""
    try:
        anywhere = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value
    except (OSError, AttributeError):
        return None
    info = _look_up(anywhere or 0)
    return (info.path.decode(errors="replace"), info.base) if info and info.path and info.base else None


def _same(one: str, other: str) -> bool:
    return one.rpartition("/")[2] == other.rpartition("/")[2]


def _name(address: int) -> str:
    info = _look_up(address)
    symbol = info.symbol.decode(errors="replace") if info and info.symbol else ""
    # One function has several names there: `free` is also `__libc_free`, `nanosleep` also `__nanosleep`.
    return symbol.removeprefix("__libc_").removeprefix("__GI_").removeprefix("__")


def _look_up(address: int) -> _Info | None:
    info = _Info()
    look = ctypes.CDLL(None).dladdr
    look.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Info)]
    return info if look(address, ctypes.byref(info)) else None
