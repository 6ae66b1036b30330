"""The content-addressed cache: where builds live, and how they get there and out again without a lie.

DIR/kernels/<digest>/   library.so, main.cpp, build.json (and only build.json and log.txt of a failed build);
                        proven.json when the worker has run the library
DIR/headers/<digest>/   precompiled headers
DIR/lab/<digest>/       what a lab's builder has made of a submission: library.so, build.json
DIR/toolchains/         what is known of each compiler, and how fast this machine can be at most
DIR/locks/<digest>.lock held while the entry is made; an OS lock, so a killed process leaves none behind
DIR/tmp/                where entries are made, before one rename publishes them

What stands in the cache is loaded into Python. So whoever could write there could run code as the user, and whoever could
read there could see a student's work: it is for its owner alone, or it is not used.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CacheError
from .watch import kill_compilers

LIBRARY = "library.so"
MANIFEST = "build.json"
PROVEN = "proven.json"
_SEAL = "seal"
ROOMS = ("kernels", "headers", "lab", "toolchains", "locks", "tmp")
#: Those with what may be listed and pruned.
_FILLED = ("kernels", "headers", "lab")
_CURE = "Set LLTM_INLINE_CACHE to a directory of your own"


def cache_dir() -> Path:
    """Return the cache directory without symbolic links, made if need be: `LLTM_INLINE_CACHE`, or the user's cache directory.

    Raises:
        CacheError: it cannot be made or written, belongs to somebody else, is open to others, or lies in a directory where
            everybody may put another in its place.
    """
    wanted = _wanted()
    _require_plain(wanted)
    try:
        for _ in range(4):
            with suppress(FileNotFoundError):  # removed while this made it
                return _prepared(wanted)
        return _prepared(wanted)
    except OSError as error:
        raise CacheError(f"cannot use the cache directory {wanted}: {error.strerror or error}. {_CURE}") from error


def _prepared(wanted: Path) -> Path:
    if not wanted.is_dir():
        for place in reversed((wanted, *wanted.parents)):  # `parents=True` would leave those above to the umask
            if not place.exists():
                place.mkdir(mode=0o700, exist_ok=True)
    path = Path(os.path.realpath(wanted, strict=True))
    _require_plain(path)
    _require_private(path)
    if os.statvfs(path).f_flag & os.ST_NOEXEC:
        raise CacheError(
            f"the cache directory {path} is mounted noexec: no kernel in it could be loaded. {_CURE}, elsewhere"
        )
    for name in ROOMS:
        room = path / name
        try:
            _require_private(room)
        except FileNotFoundError:
            room.mkdir(mode=0o700, exist_ok=True)
            _require_private(room)
    for parent in path.parents:
        _require_sheltered(path, parent)
    return path


def _wanted() -> Path:
    import platformdirs

    chosen = os.environ.get("LLTM_INLINE_CACHE")
    if not chosen:
        return platformdirs.user_cache_path("lltm_inline")
    try:
        return Path(chosen).expanduser().absolute()
    except RuntimeError as error:  # ~ of a user who is not there
        raise CacheError(f"cannot use the cache directory {chosen}: {error}. {_CURE}") from None


def _require_plain(path: Path) -> None:
    if any(letter in str(path) for letter in "\n\r$:|\"'"):
        raise CacheError(
            f"the path of the cache directory {str(path)!r} holds a character that build tools misread. {_CURE}"
        )


def _require_private(place: Path) -> None:
    """Refuse a directory, the cache or a room of it, that is a link, somebody else's, or open to others."""
    status = place.lstat()
    if not stat.S_ISDIR(status.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "no directory"
        raise CacheError(f"{place} in the cache is {what}, want a directory. Remove it: rm {place}")
    if status.st_uid != os.getuid():
        raise CacheError(
            f"the cache directory {place} belongs to user {status.st_uid}, not to you ({os.getuid()}). {_CURE}"
        )
    if status.st_mode & 0o077:
        raise CacheError(
            f"the cache directory {place} is open to others (mode {stat.S_IMODE(status.st_mode):04o}, want 0700). "
            f"Close it with: chmod 700 {place}"
        )


def _require_sheltered(path: Path, parent: Path) -> None:
    """Refuse a directory above the cache in which everybody may rename it and put another in its place.

    Not where only a group may: home directories in widespread container images are writable by a group of one.
    """
    try:
        mode = parent.stat().st_mode
    except OSError:  # it may be searched but not looked at: then its owner has closed it
        return
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise CacheError(
            f"everybody may replace the cache directory {path}, because {parent} is open to all (mode "
            f"{stat.S_IMODE(mode):04o}). Close it with: chmod +t {parent}. Or set LLTM_INLINE_CACHE to a directory elsewhere"
        )


def mark(*what: str) -> bool:
    """Remember something that a build has found out; tell whether it was remembered before, by whichever process."""
    before = marked(*what)
    with suppress(OSError):  # a read-only cache
        _mark(*what).touch()
    return before


def marked(*what: str) -> bool:
    """Tell whether something is remembered."""
    return _mark(*what).exists()


def _mark(*what: str) -> Path:
    return cache_dir() / "toolchains" / f"{digest(*what)}.mark"


def digest(*parts: str | bytes | Sequence[str]) -> str:
    """Hash parts, each with its length in front, so that no two different lists read the same.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    state = hashlib.sha256()
    for part in parts:
        if not isinstance(part, str | bytes):
            part = digest(*part)
        data = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()[:24]


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_whole(path: Path, sha256: str) -> bool:
    """Tell whether a file is the one of which this is the hash; it may be removed while this looks."""
    try:
        return hash_file(path) == sha256
    except OSError:
        return False


@contextmanager
def lock(key: str, *, blocking: bool = True, cancelled: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Hold the lock of one entry.

    Args:
        key: of the entry.
        blocking: wait while somebody else has it.
        cancelled: asked while waiting, so that a wait for another process can be interrupted.

    Raises:
        BlockingIOError: not blocking, and somebody else has it.
        KeyboardInterrupt: cancelled while waiting.
        OSError: the lock's file cannot be made.
    """
    while True:
        # Asked for anew each time: the cache may be removed while this waits, and the lock of a removed file guards nothing.
        held = _try_lock(cache_dir() / "locks" / f"{key}.lock")
        if held is not None:
            break
        if not blocking:
            raise BlockingIOError(errno.EWOULDBLOCK, "locked by somebody else", f"{key}.lock")
        if cancelled():
            raise KeyboardInterrupt
        time.sleep(0.05)
    try:
        yield
    finally:
        fcntl.flock(held, fcntl.LOCK_UN)  # closing alone would not do, where somebody forked meanwhile
        os.close(held)


def _try_lock(path: Path) -> int | None:
    """Lock a file and return its descriptor, or None when somebody else has it or removed it.

    Not with `filelock`: where the directory is gone, that makes it again, and open to others.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            return descriptor
    except BlockingIOError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


@contextmanager
def workspace(key: str) -> Iterator[Path]:
    """Yield a fresh directory under `tmp/`, gone afterwards unless it was published; who holds no lock of the key is swept away."""
    path = Path(tempfile.mkdtemp(prefix=f"{key}-{os.getpid()}-", dir=cache_dir() / "tmp"))
    try:
        yield path
    finally:
        close_again(path)
        shutil.rmtree(path, ignore_errors=True)


def close_again(workspace: Path) -> None:
    """Close what `load_inline` left open: when the cache was removed, it makes its directory again, as the umask says."""
    with suppress(OSError):
        if workspace.stat().st_mode & 0o077:
            for place in (workspace.parent.parent, workspace.parent):
                place.chmod(0o700)


def publish(directory: Path, room: str, key: str) -> Path:
    """Move a finished directory into place with one rename, over whatever stands there."""
    target = cache_dir() / room / key
    while True:
        try:
            return directory.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        # A rename cannot replace a full directory: the old entry steps aside into tmp first.
        aside = Path(tempfile.mkdtemp(prefix=f"{key}-{os.getpid()}-old-", dir=cache_dir() / "tmp"))
        with suppress(FileNotFoundError):  # pruned meanwhile
            target.rename(aside / "entry")
        shutil.rmtree(aside, ignore_errors=True)


def write_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    """Write the `build.json` of an entry, last of its files, with a seal that tells when a letter of it changes."""
    (directory / MANIFEST).write_text(json.dumps({**manifest, _SEAL: _seal(manifest)}, indent=1))


def read_manifest(key: str, room: str = "kernels") -> dict[str, Any] | None:
    """Read the manifest of a kernel's entry; None when there is none, or when it is not what was written."""
    manifest = _read_json(cache_dir() / room / key / MANIFEST)
    if manifest is None or "ok" not in manifest or manifest.pop(_SEAL, None) != _seal(manifest):
        return None
    return manifest


def _seal(manifest: dict[str, Any]) -> str:
    return digest(json.dumps(manifest))


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader finds all of it or nothing; where that is not possible, leave it."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
    with suppress(OSError):  # a read-only cache, a full disk, or a directory that was removed meanwhile
        try:
            temporary.write_text(text)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def mark_proven(key: str, sha256: str) -> None:
    """Note beside a library that the worker has run it. Where that cannot be written, it is only not remembered."""
    write_whole(cache_dir() / "kernels" / key / PROVEN, json.dumps({"sha256": sha256}))


def is_proven(key: str, sha256: str) -> bool:
    """Tell whether the worker has run the library that is to be loaded; not when the one in the cache is another by now."""
    directory = cache_dir() / "kernels" / key
    return _read_json(directory / PROVEN) == {"sha256": sha256} and is_whole(directory / LIBRARY, sha256)


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


def entries(rooms: Sequence[str] = _FILLED) -> list[Entry]:
    """List the cache, or some rooms of it, the most recently used first."""
    found = []
    for room in rooms:
        for path in (cache_dir() / room).iterdir():
            with suppress(FileNotFoundError):  # another process may prune at the same time
                size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
                what = "precompiled header" if room == "headers" else _name_of(path)
                found.append(Entry(path.name, what, size, path.stat().st_mtime, path))
    return sorted(found, key=lambda entry: -entry.used)


def _name_of(path: Path) -> str:
    manifest = _read_json(path / MANIFEST) or {}
    failed = "" if manifest.get("ok") else " (failed)"
    return f"{manifest['kernel']}{failed}" if "kernel" in manifest else "unreadable"


def touch(path: Path) -> None:
    """Mark an entry as used now, for `prune`; a read-only cache is still a cache."""
    with suppress(OSError):
        os.utime(path)


def prune(
    *,
    max_age_s: float | None = None,
    max_bytes: float | None = None,
    spared_s: float = 0.0,
    rooms: Sequence[str] = _FILLED,
) -> list[Entry]:
    """Remove entries not used for `max_age_s` seconds, then the oldest until `max_bytes` are left; return them.

    Args:
        max_age_s, max_bytes: of what may stay.
        spared_s: what was used in these last seconds stays, however much it is.
        rooms: of the cache, in which this is done.

    Raises:
        CacheError: an entry cannot be removed.

    Entries that are being made are left alone, and so are the libraries this or another process has loaded: on Linux
    a removed file lives on as long as somebody has it mapped.
    """
    removed, total = [], 0
    for entry in entries(rooms):
        total += entry.bytes
        too_old = max_age_s is not None and entry.age_s > max_age_s
        too_much = max_bytes is not None and total > max_bytes and entry.age_s >= spared_s
        if too_old or too_much:
            _remove(entry.path)
            removed.append(entry)
            total -= entry.bytes
    sweep()
    return removed


def _remove(path: Path) -> None:
    """Remove an entry at once: who reads it meanwhile finds all of it or nothing."""
    aside = cache_dir() / "tmp" / f"{path.name}-{os.getpid()}-{threading.get_ident()}-removed"
    with suppress(OSError):
        path.rename(aside)
    for place in (aside, path):  # a disk may be too full for a rename, but never for this
        shutil.rmtree(place, ignore_errors=True)
    if path.exists():
        raise CacheError(f"cannot remove {path} from the cache: it is read-only, or somebody works in it")


def clear() -> list[Entry]:
    """Remove everything, and return the entries that were there."""
    removed = prune(max_age_s=-1.0)
    for mark in cache_dir().glob("toolchains/*.mark"):  # what it says may be of an entry
        mark.unlink(missing_ok=True)
    return removed


def sweep() -> None:
    """Remove what killed processes left under `tmp/`, and end the compilers that still work there.

    Whoever is alive and at work holds the lock of the entry.
    """
    with suppress(OSError):  # the cache cannot be written, or is being removed: then there is nothing to sweep
        for path in (cache_dir() / "tmp").iterdir():
            with suppress(OSError), lock(path.name.partition("-")[0], blocking=False):
                kill_compilers(path)
                shutil.rmtree(path, ignore_errors=True)


def free_bytes() -> int:
    """Return the free space where the cache lives."""
    return shutil.disk_usage(cache_dir()).free
