"""The cache directory: where it is, and that nobody but its owner can get at it.

What stands in the cache is loaded into Python. So whoever could write there could run code as the user, and whoever could
read there could see a student's work: it is for its owner alone, or it is not used.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..errors import CacheError

ROOMS = ("kernels", "headers", "toolchains", "locks", "tmp")

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
        for attempt in range(5):
            try:
                return _prepared(wanted)
            except FileNotFoundError:  # removed while this made it
                if attempt == 4:
                    raise
    except OSError as error:
        raise CacheError(f"cannot use the cache directory {wanted}: {error.strerror or error}. {_CURE}") from error
    raise AssertionError("not reached")


def _prepared(wanted: Path) -> Path:
    if not wanted.is_dir():
        for place in reversed((wanted, *wanted.parents)):  # `parents=True` would leave those above to the umask
            if not place.exists():
                place.mkdir(mode=0o700, exist_ok=True)
    path = Path(os.path.realpath(wanted, strict=True))
    _require_plain(path)
    _require_private(path)
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
    if any(letter in str(path) for letter in "\n$\"'"):
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
