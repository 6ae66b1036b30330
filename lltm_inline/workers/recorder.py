"""The worker's side of the crash recorder, `native/recorder.cpp`."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from ..native.layout import Records
from .black_box import RECORDS_AT, BlackBox


def install(library: Path | str, black_box: BlackBox) -> Recorder:
    """Have the death of this process recorded; call it on the main thread, once.

    Args:
        library: the built recorder.
        black_box: where the record goes. It is mapped for the recorder anew, for as long as the process lives.

    Raises:
        RuntimeError: it was installed before, or there is no memory for it.
    """
    loaded = ctypes.CDLL(str(library))
    loaded.recorder_size.restype = ctypes.c_uint64
    loaded.recorder_install.argtypes = (ctypes.c_int, ctypes.c_int64)
    loaded.recorder_set_finder.argtypes, loaded.recorder_set_finder.restype = (ctypes.c_void_p,), None
    if loaded.recorder_size() != ctypes.sizeof(Records):
        raise RuntimeError(
            f"the recorder writes {loaded.recorder_size()} bytes, and the black box has {ctypes.sizeof(Records)}"
        )
    failed = loaded.recorder_install(black_box.fileno(), RECORDS_AT)
    if failed:
        reason = "it was installed before" if failed == 1 else "no memory for it"
        raise RuntimeError(f"the recorder could not be installed: {reason}")
    return Recorder(loaded)


class Recorder:
    """An installed recorder."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def set_finder(self, function: Any) -> None:
        """Have a function asked for the tensor around a faulting address.

        Args:
            function: of another library, `int (uintptr_t address, Region* region)`, safe in signal handlers; None for none.
        """
        self._library.recorder_set_finder(None if function is None else ctypes.cast(function, ctypes.c_void_p))
