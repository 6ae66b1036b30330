"""An export is written whole or not at all, and what was there before is kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from lltm_inline.base.arguments import shown
from lltm_inline.errors import FileError, InputError
from lltm_inline.export import write
from lltm_inline.export.write import require_room, write_tree

FILES = {"README.md": "read me\n", "csrc/a.cpp": "int a;\n", "csrc/deep/b.cpp": "// \N{GREEK SMALL LETTER PI}\n"}


def tree(directory: Path) -> dict[str, str]:
    """Return all files below a directory."""
    found = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_text(encoding="utf-8") for path in found}


def test_a_directory_is_made(tmp_path: Path) -> None:
    """The directories above it are made too, and nothing lies beside it afterwards."""
    target = tmp_path / "a" / "b"
    assert write_tree(target, FILES, force=False) is None
    assert tree(target) == FILES and [path.name for path in target.parent.iterdir()] == ["b"]


def test_the_directory_can_be_entered_by_others(tmp_path: Path) -> None:
    """What was made in private is published with the rights that other new directories have."""
    write_tree(tmp_path / "export", FILES, force=False)
    (tmp_path / "usual").mkdir()
    rights = [(tmp_path / name).stat().st_mode for name in ("export", "export/csrc", "usual")]
    assert len(set(rights)) == 1


def test_an_empty_directory_stays_the_same_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exporting into `.` leaves a shell that stands there in a directory that still exists."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    before = os.stat(".").st_ino
    write_tree(Path.cwd(), FILES, force=False)
    assert os.stat(".").st_ino == before and tree(Path(".")) == FILES


def test_a_directory_with_files_is_refused(tmp_path: Path) -> None:
    """The message names some of them, and the way to write there all the same."""
    for name in "dcba":
        (tmp_path / name).touch()
    with pytest.raises(InputError) as caught:
        require_room(tmp_path, force=False)
    assert str(caught.value) == (
        f"{shown(str(tmp_path))} is not empty (a, b, c, ...): give a new directory, or force=True, "
        f"which moves what is there to {tmp_path.name}.backup-1"
    )


def test_force_keeps_what_was_there(tmp_path: Path) -> None:
    """Each time it goes into a new directory beside it; what begins with a dot stays."""
    target = tmp_path / "export"
    write_tree(target, {"mine.txt": "first\n", ".git/config": "kept\n", ".gitignore": "mine\n"}, force=False)
    assert write_tree(target, {**FILES, ".gitignore": "new\n"}, force=True) == tmp_path / "export.backup-1"
    assert write_tree(target, {"README.md": "again\n"}, force=True) == tmp_path / "export.backup-2"
    assert tree(tmp_path / "export.backup-1") == {"mine.txt": "first\n"}
    assert tree(tmp_path / "export.backup-2") == FILES
    assert tree(target) == {"README.md": "again\n", ".git/config": "kept\n", ".gitignore": "mine\n"}


@pytest.mark.parametrize("moves", range(4))
def test_an_interrupt_takes_everything_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
    """Whichever entry is being moved when Ctrl-C comes, the directory is as it was."""
    target = tmp_path / "export"
    write_tree(target, {"mine.txt": "first\n", "other.txt": "second\n"}, force=False)
    before = tree(tmp_path)
    done = []

    def rename(source: Path, place: Path) -> None:
        if len(done) == moves:
            done.append(None)
            raise KeyboardInterrupt
        done.append(None)
        os.replace(source, place)

    monkeypatch.setattr(write.os, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        write_tree(target, FILES, force=True)
    assert tree(tmp_path) == before and [path.name for path in tmp_path.iterdir()] == ["export"]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """A path that is taken by a file leaves no directory behind."""
    with pytest.raises(FileError, match="File exists"):
        write_tree(tmp_path / "export", {"a": "", "a/b": ""}, force=False)
    assert not list(tmp_path.iterdir())


def test_a_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    """It is named, and not touched."""
    (tmp_path / "export").write_text("mine")
    with pytest.raises(FileError) as caught:
        require_room(tmp_path / "export", force=True)
    assert str(caught.value) == f"{shown(str(tmp_path / 'export'))} is a file: an export needs a directory"


def test_a_path_through_a_file(tmp_path: Path) -> None:
    """What the system says is passed on with the path."""
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"file/export': (Not a directory|File exists)"):
        write_tree(tmp_path / "file" / "export", FILES, force=False)


def test_a_directory_that_may_not_be_written() -> None:
    """The message is of the path and says why."""
    with tempfile.TemporaryDirectory() as name:  # which anybody can reach, as no `tmp_path` of root
        Path(name).chmod(0o555)
        mine = os.geteuid()
        try:
            if mine == 0:
                os.seteuid(65534)  # root may write everywhere, and so is nobody for a moment
            with pytest.raises(FileError, match=f"{name}/export.*Permission denied"):
                write_tree(Path(name) / "export", FILES, force=False)
        finally:
            os.seteuid(mine)
        Path(name).chmod(0o700)
