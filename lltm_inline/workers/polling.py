"""Waits for files to become readable: `poll`, since `select` fails for descriptors above 1023."""

from __future__ import annotations

import select
from collections.abc import Iterable


def readable(files: Iterable[int], seconds: float) -> set[int]:
    """Wait until one of the file descriptors can be read, or has been closed on the other side; return those.

    Args:
        files: file descriptors; negative ones are left out.
        seconds: to wait at most.

    Example:
        >>> import os
        >>> reading, writing = os.pipe()
        >>> readable([reading], 0), os.write(writing, b"x"), readable([reading], 0) == {reading}
        (set(), 1, True)
    """
    poll = select.poll()
    for file in files:
        if file >= 0:
            poll.register(file, select.POLLIN)
    return {file for file, _ in poll.poll(seconds * 1000)}
