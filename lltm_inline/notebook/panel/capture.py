"""What a verb prints and warns of goes to the panel: its thread belongs to no cell, and a notebook would drop it."""

from __future__ import annotations

import io
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: The place of a thread that is not listened to any more.
_NOBODY = -1


@contextmanager
def captured(log: Callable[[str], None]) -> Iterator[None]:
    """Pass on what this thread prints and warns of; what other threads say goes where it went.

    Args:
        log: called with each warning, and at the end with all that was printed.

    Example:
        >>> said = []
        >>> with captured(said.append):
        ...     print("two lines")
        ...     warnings.warn("be careful")
        >>> said
        ['warning: be careful', 'printed: two lines']
    """
    own = threading.get_ident()
    prints, warned = _Prints(sys.stdout, own), _Warnings(warnings.showwarning, own, log)
    sys.stdout, warnings.showwarning = prints, warned
    try:
        yield
    finally:
        # Another thread may have put its own on top of these meanwhile: then the last one takes all away.
        prints.own = warned.own = _NOBODY
        while isinstance(sys.stdout, _Prints) and sys.stdout.own == _NOBODY:
            sys.stdout = sys.stdout.others
        while isinstance(warnings.showwarning, _Warnings) and warnings.showwarning.own == _NOBODY:
            warnings.showwarning = warnings.showwarning.others
        if printed := prints.heard.getvalue().strip():
            log(f"printed: {printed}")


class _Warnings:
    """Shows the warnings of one thread in a log, and those of the others as before."""

    def __init__(self, others: Callable[..., Any], own: int, log: Callable[[str], None]) -> None:
        self.others, self.own, self._log = others, own, log

    def __call__(self, message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        if threading.get_ident() == self.own:
            self._log(f"warning: {message}")
        else:
            self.others(message, category, *rest, **named)


class _Prints(io.TextIOBase):
    """Keeps what one thread writes, and hands on what the others do."""

    def __init__(self, others: Any, own: int) -> None:
        self.others, self.own, self.heard = others, own, io.StringIO()

    def write(self, text: str) -> int:
        stream = self.heard if threading.get_ident() == self.own else self.others
        return int(stream.write(text) or len(text))

    def flush(self) -> None:
        self.others.flush()

    def isatty(self) -> bool:
        return bool(self.others.isatty())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.others, name)
