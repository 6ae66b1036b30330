"""What lies at an address of this process, as the loader knows it."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any


class _Info(ctypes.Structure):
    """`Dl_info` of dladdr(3)."""

    _fields_ = (
        ("library", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class Loaded:
    """A place in a library.

    Attributes:
        library: its path, as it was loaded.
        base: where it begins; 0 where that is not known.
        symbol: the function or variable at the place; nothing where the library names none.
    """

    library: str
    base: int
    symbol: str


def loaded_at(address: int) -> Loaded | None:
    """Say what lies at an address; None where no library does.

    Example:
        >>> abort = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value
        >>> loaded_at(abort).symbol, loaded_at(0)
        ('abort', None)
    """
    info, look = _Info(), ctypes.CDLL(None).dladdr
    look.argtypes = (ctypes.c_void_p, ctypes.POINTER(_Info))
    if not look(address, ctypes.byref(info)):
        return None
    library, symbol = ((name or b"").decode(errors="replace") for name in (info.library, info.symbol))
    return Loaded(library, info.base or 0, symbol)


def address_of(function: Any) -> int:
    """Return the address of a function of a library that ctypes has opened; 0 where it has none.

    Example:
        >>> address_of(ctypes.CDLL(None).abort) > 0
        True
    """
    return ctypes.cast(function, ctypes.c_void_p).value or 0
