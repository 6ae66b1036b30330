"""One file of the journal: lines of JSON that are only appended, by one process or by several at once.

A line stands whole or not at all: a process that was killed in the middle leaves a torn last line, which is skipped.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: One thing that happened.
Line = dict[str, Any]


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Write one line behind the others.

    Raises:
        OSError: the disk is full or cannot be written; the file is as it was.
    """
    data = json.dumps(line, ensure_ascii=True).encode() + b"\n"
    with _locked(path) as descriptor:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            data = b"\n" + data  # behind a line that was torn
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        except OSError:
            os.ftruncate(descriptor, size)
            raise


def read(path: Path) -> list[Line]:
    """Return the lines of a file, oldest first; what is torn, or is no line of ours, is left out.

    Raises:
        OSError: it cannot be read. A file that is not there has no lines.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [line for line in map(_parsed, text.split("\n")) if line is not None]


def trim(path: Path, kept: int, timings: int) -> None:
    """Leave the last `kept` revisions of each name, each text once, and the last `timings` of each.

    Nothing is done where there are no more.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    if not path.exists():
        return
    with _locked(path):
        lines = read(path)
        left = _latest(lines, kept, timings)
        if len(left) < len(lines):
            write_whole(path, "".join(json.dumps(line) + "\n" for line in left))


def write_whole(path: Path, text: str) -> None:
    """Write a file as a whole, in place of what it was.

    Raises:
        OSError: the disk is full or cannot be written; the file is as it was.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _latest(lines: list[Line], kept: int, timings: int) -> list[Line]:
    """Choose what is kept, going back from the end."""
    revisions: Counter[str] = Counter()
    timed: Counter[str] = Counter()
    seen: set[str] = set()
    chosen = []
    for line in reversed(lines):
        name = str(line.get("name", ""))
        if "kernel" in line:
            content = json.dumps({key: value for key, value in line["kernel"].items() if key not in ("parent", "doc")})
            if content in seen or revisions[name] >= kept:
                continue
            seen.add(content)
            revisions[name] += 1
        elif name and revisions[name] >= kept:
            continue
        elif "timings" in line:
            label = str(line.get("label"))
            timed[label] += 1
            if timed[label] > timings:
                continue
        chosen.append(line)
    return chosen[::-1]


def _parsed(text: str) -> Line | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("kernel", {}), dict):
        return None
    return found if isinstance(found.get("time", 0.0), int | float) else None


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open a file for appending and hold its lock; `trim` may put another in its place while this waits."""
    while True:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                yield descriptor
                return
        finally:
            os.close(descriptor)
