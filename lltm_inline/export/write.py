"""Writes a tree of files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from ..base.arguments import shown, using_file
from ..errors import FileError, InputError

_SHOWN = 3


def require_room(directory: Path, *, force: bool) -> None:
    """Refuse a directory in which something is already, before time is spent on what goes there.

    Raises:
        InputError: it is not empty.
        FileError: it is a file, or cannot be looked into.
    """
    if directory.exists() and not directory.is_dir():
        raise FileError(f"{shown(str(directory))} is a file: an export needs a directory")
    with using_file(directory):
        found = _entries(directory)
    if found and not force:
        names = ", ".join(path.name for path in found[:_SHOWN]) + ", ..." * (len(found) > _SHOWN)
        raise InputError(
            f"{shown(str(directory))} is not empty ({names}): give a new directory, or force=True, "
            f"which moves what is there to {_backup_of(directory).name}"
        )


def write_tree(directory: Path, files: Mapping[str, str], *, force: bool) -> Path | None:
    """Write files under a directory: all of them or, whatever happens on the way, none.

    They are written beside it first, and moved when all are there. What was in the directory goes into one beside it;
    entries that begin with a dot (`.git`) stay as they are.

    Args:
        directory: is made if need be.
        files: text by path below it, with `/`.
        force: it may hold something.

    Returns:
        Where the files are that were there before, or None.

    Raises:
        InputError, FileError: as for `require_room`, or a file could not be written.
    """
    with using_file(directory):
        directory.parent.mkdir(parents=True, exist_ok=True)
        # On the same disk, so that moving is renaming; whatever is left in it goes away.
        prefix = f".{directory.name}-"
        with TemporaryDirectory(prefix=prefix, dir=directory.parent, ignore_cleanup_errors=True) as staging:
            for path, text in files.items():
                file = Path(staging, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8", newline="\n")
            require_room(directory, force=force)  # once more: somebody may have been faster
            return _publish(Path(staging), directory)


def _publish(staging: Path, directory: Path) -> Path | None:
    """Move what is in `staging` into `directory`, and what is there aside; take all back if that fails half-way."""
    made = not directory.exists()
    directory.mkdir(exist_ok=True)
    old = _entries(directory)
    kept = {path.name for path in directory.iterdir()} - {path.name for path in old}
    new = [path for path in sorted(staging.iterdir()) if path.name not in kept]
    backup = _backup_of(directory) if old else None
    moves: list[tuple[Path, Path]] = []
    try:
        if backup is not None:
            backup.mkdir()
            moves += [(path, backup / path.name) for path in old]
        moves += [(path, directory / path.name) for path in new]
        for source, target in moves:
            os.rename(source, target)
    except BaseException:
        for source, target in reversed(moves):
            if not source.exists():
                os.rename(target, source)
        for empty in [*([backup] if backup is not None and backup.exists() else []), *([directory] if made else [])]:
            empty.rmdir()
        raise
    return backup


def _entries(directory: Path) -> list[Path]:
    """List what an export would take the place of."""
    if not directory.exists():
        return []
    return sorted(path for path in directory.iterdir() if not path.name.startswith("."))


def _backup_of(directory: Path) -> Path:
    """Name the directory that takes what was there: the first of `NAME.backup-1`, `-2`, ... that is free."""
    names = (directory.with_name(f"{directory.name}.backup-{number}") for number in count(1))
    return next(path for path in names if not path.exists())
