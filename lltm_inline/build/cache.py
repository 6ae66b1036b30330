"""The content-addressed cache: where builds live, and how they get there and out again without a lie.

DIR/kernels/<digest>/   library.so, main.cpp, build.json (and only build.json and log.txt of a failed build)
DIR/headers/<digest>/   precompiled headers
DIR/toolchains/         what is known of each compiler
DIR/locks/<digest>.lock held while the entry is made; an OS lock, so a killed process leaves none behind
DIR/tmp/                where entries are made, before one rename publishes them
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..errors import CacheError

LIBRARY = "library.so"
MANIFEST = "build.json"
_ROOMS = ("kernels", "headers", "toolchains", "locks", "tmp")


def digest(*parts: str | bytes | Sequence[str]) -> str:
    """Hash parts, each with its length in front, so that no two different lists read the same.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    state = hashlib.sha256()
    for part in parts:
        if not isinstance(part, str | bytes):
            part = digest(*part)
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()[:24]


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_dir() -> Path:
    """Return the cache directory, made if need be: `LLTM_INLINE_CACHE`, or the user's cache directory.

    Raises:
        CacheError: it cannot be made or written, or belongs to or may be written by somebody else.
    """
    import platformdirs

    chosen = os.environ.get("LLTM_INLINE_CACHE")
    path = Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("lltm_inline")
    cure = "Set LLTM_INLINE_CACHE to a directory of your own"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for room in _ROOMS:
            (path / room).mkdir(mode=0o700, exist_ok=True)
        status = path.stat()
    except OSError as error:
        raise CacheError(f"cannot use the cache directory {path}: {error.strerror or error}. {cure}") from error
    if status.st_uid != os.getuid():
        raise CacheError(
            f"the cache directory {path} belongs to user {status.st_uid}, not to you ({os.getuid()}). {cure}"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheError(f"others may write to the cache directory {path}. Close it with: chmod 700 {path}")
    if any(letter in str(path) for letter in "\n$\"'"):
        raise CacheError(
            f"the path of the cache directory {str(path)!r} holds a character that build tools misread. {cure}"
        )
    return path


@contextmanager
def lock(key: str, *, blocking: bool = True, cancelled: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Hold the lock of one entry.

    Args:
        key: of the entry.
        blocking: wait while somebody else has it.
        cancelled: asked while waiting, so that a wait for another process can be interrupted.

    Raises:
        filelock.Timeout: not blocking, and somebody else has it.
        KeyboardInterrupt: cancelled while waiting.
    """
    held = FileLock(cache_dir() / "locks" / f"{key}.lock", thread_local=False)
    while True:
        try:
            held.acquire(timeout=0.2 if blocking else 0, poll_interval=0.02)
            break
        except Timeout:
            if not blocking:
                raise
            if cancelled():
                raise KeyboardInterrupt from None
    try:
        yield
    finally:
        held.release()


@contextmanager
def workspace(key: str) -> Iterator[Path]:
    """Yield a fresh directory under `tmp/`, gone afterwards unless it was published."""
    path = Path(tempfile.mkdtemp(prefix=f"{key}-{os.getpid()}-", dir=cache_dir() / "tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def publish(directory: Path, room: str, key: str) -> Path:
    """Move a finished directory into place with one rename, over whatever stands there."""
    target = cache_dir() / room / key
    if target.exists():
        # A rename cannot replace a full directory: the old entry steps aside into tmp first.
        aside = Path(tempfile.mkdtemp(prefix=f"{key}-{os.getpid()}-old-", dir=cache_dir() / "tmp"))
        target.rename(aside / "entry")
        directory.rename(target)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        directory.rename(target)
    return target


def write_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    """Write the `build.json` of an entry, last of its files."""
    (directory / MANIFEST).write_text(json.dumps(manifest, indent=1))


def read_manifest(key: str) -> dict[str, Any] | None:
    """Read the manifest of a kernel's entry; None when there is none, or none that reads."""
    try:
        manifest = json.loads((cache_dir() / "kernels" / key / MANIFEST).read_text())
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and "ok" in manifest else None


@dataclass(frozen=True)
class Entry:
    """One thing in the cache, for people who want to see or prune it."""

    key: str
    what: str
    bytes: int
    used: float
    path: Path

    @property
    def age_s(self) -> float:
        """Seconds since it was made or last used."""
        return max(0.0, time.time() - self.used)


def entries() -> list[Entry]:
    """List the cache, the most recently used first."""
    found = []
    for room in ("kernels", "headers"):
        for path in (cache_dir() / room).iterdir():
            with suppress(FileNotFoundError):  # another process may prune at the same time
                size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
                manifest = read_manifest(path.name) if room == "kernels" else None
                what = "precompiled header" if room == "headers" else manifest["kernel"] if manifest else "unreadable"
                if manifest and not manifest["ok"]:
                    what += " (failed)"
                found.append(Entry(path.name, what, size, path.stat().st_mtime, path))
    return sorted(found, key=lambda entry: -entry.used)


def touch(path: Path) -> None:
    """Mark an entry as used now, for `prune`; a read-only cache is still a cache."""
    with suppress(OSError):
        os.utime(path)


def prune(*, max_age_s: float | None = None, max_bytes: float | None = None) -> list[Entry]:
    """Remove entries not used for `max_age_s` seconds, then the oldest until `max_bytes` are left; return them.

    Entries that are being made are left alone, and so are the libraries this or another process has loaded: on Linux
    a removed file lives on as long as somebody has it mapped.
    """
    removed, total = [], 0
    for entry in entries():
        total += entry.bytes
        too_old = max_age_s is not None and entry.age_s > max_age_s
        too_much = max_bytes is not None and total > max_bytes
        if too_old or too_much:
            shutil.rmtree(entry.path, ignore_errors=True)
            removed.append(entry)
            total -= entry.bytes
    sweep()
    return removed


def clear() -> list[Entry]:
    """Remove everything."""
    return prune(max_age_s=-1.0)


def sweep() -> None:
    """Remove what killed processes left under `tmp/`: whoever is alive and at work holds the lock of the entry."""
    for path in (cache_dir() / "tmp").iterdir():
        with suppress(Timeout), lock(path.name.partition("-")[0], blocking=False):
            shutil.rmtree(path, ignore_errors=True)


def free_bytes() -> int:
    """Return the free space where the cache lives."""
    return shutil.disk_usage(cache_dir()).free
