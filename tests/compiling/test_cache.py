"""The cache: what goes in is found again, what is not whole is never believed, and nobody else may write to it."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lltm_inline.compiling import cache
from lltm_inline.errors import CacheError


def entry(key: str, size: int = 1000, age: float = 0) -> Path:
    """Put an entry of some size and age into the cache."""
    with cache.workspace(key) as directory:
        (directory / cache.LIBRARY).write_bytes(b"x" * size)
        cache.write_manifest(directory, {"ok": True, "kernel": f"tiny/{key}"})
        path = cache.publish(directory, "kernels", key)
    when = path.stat().st_mtime - age
    os.utime(path, (when, when))
    return path


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_digest_tells_lists_apart(one: list[str], two: list[str]) -> None:
    """Different parts have different digests, wherever the borders between the parts are."""
    assert (cache.digest(*one) == cache.digest(*two)) == (one == two)
    assert cache.digest(one) != cache.digest("".join(one)) or one == []


def test_digest_of_nested_parts() -> None:
    """A list as a part is not the same as its items as parts, and the order counts."""
    assert (
        len(
            {
                cache.digest("a", "b"),
                cache.digest(["a", "b"]),
                cache.digest("b", "a"),
                cache.digest("ab"),
                cache.digest(b"a", b"bc"),
            }
        )
        == 5
    )
    assert cache.digest("é") == cache.digest("é".encode())


def test_directory_is_private(fresh_cache: Path) -> None:
    """The cache and its rooms are made for their owner alone, whatever the umask."""
    before = os.umask(0)
    try:
        assert cache.cache_dir() == fresh_cache
    finally:
        os.umask(before)
    for path in (fresh_cache, *fresh_cache.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path


def test_somebody_elses_is_refused(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that belongs to another user is not used."""
    cache.cache_dir()
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    with pytest.raises(
        CacheError,
        match=rf"belongs to user {mine}, not to you \({mine + 1}\). Set LLTM_INLINE_CACHE to a directory of your own",
    ):
        cache.cache_dir()


def test_what_cannot_be_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path through a file, and one with characters that ninja misreads, are refused with the cure."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(CacheError, match=r"cannot use the cache directory .*: Not a directory. Set LLTM_INLINE_CACHE"):
        cache.cache_dir()
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "a$b"))
    with pytest.raises(CacheError, match="holds a character that build tools misread"):
        cache.cache_dir()


def test_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a wish it is the user's cache directory; `~` is understood."""
    monkeypatch.delenv("LLTM_INLINE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path))
    if os.name == "posix" and os.uname().sysname == "Linux":
        assert cache.cache_dir() == tmp_path / "xdg" / "lltm_inline"
    monkeypatch.setenv("LLTM_INLINE_CACHE", "~/mine")
    assert cache.cache_dir() == tmp_path / "mine"


def test_workspace_is_gone_afterwards(fresh_cache: Path) -> None:
    """A workspace that was not published leaves nothing, also when it ends in an error."""
    with pytest.raises(ZeroDivisionError), cache.workspace("abc") as directory:
        (directory / "file").touch()
        _ = 1 / 0
    assert not list((fresh_cache / "tmp").iterdir())


def test_publish_replaces(fresh_cache: Path) -> None:
    """A second entry of the same key takes the place of the first, and nothing is left over."""
    entry("abc", size=10)
    path = entry("abc", size=20)
    assert (path / cache.LIBRARY).stat().st_size == 20
    assert not list((fresh_cache / "tmp").iterdir())


def test_manifest_that_does_not_read(fresh_cache: Path) -> None:
    """No manifest, half of one, or something else in its place is no entry."""
    assert cache.read_manifest("abc") is None
    path = entry("abc") / cache.MANIFEST
    assert cache.read_manifest("abc") is not None
    for text in ('{"ok": tr', "[1]", "{}", "", "\xff"):
        path.write_text(text)
        assert cache.read_manifest("abc") is None


def test_lock_is_exclusive(fresh_cache: Path) -> None:
    """Two holders of one key exclude each other, two keys do not, and a wait can be called off."""
    with cache.lock("abc"), cache.lock("abd"):
        with pytest.raises(BlockingIOError), cache.lock("abc", blocking=False):
            pass
        with pytest.raises(KeyboardInterrupt), cache.lock("abc", cancelled=lambda: True):
            pass
    with cache.lock("abc", blocking=False):
        pass


def test_lock_outlives_neither_its_file_nor_a_fork(fresh_cache: Path) -> None:
    """A removed cache gives a new lock, for its owner alone; and a child that was forked meanwhile holds nothing back."""
    with cache.lock("abc"):
        shutil.rmtree(fresh_cache)
        with cache.lock("abc", blocking=False):
            assert stat.S_IMODE((fresh_cache / "locks").stat().st_mode) == 0o700
    with cache.lock("abc"):
        inherited = [os.dup(descriptor) for descriptor in _open_locks()]  # what a fork has
    try:
        assert inherited
        with cache.lock("abc", blocking=False):
            pass
    finally:
        for descriptor in inherited:
            os.close(descriptor)


def _open_locks() -> list[int]:
    """List the descriptors of this process that are locks."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if os.readlink(link).endswith("abc.lock"):
                found.append(int(link.name))
    return found


def test_lock_is_no_link(fresh_cache: Path, tmp_path: Path) -> None:
    """A lock that is a link to somewhere else is not followed."""
    (cache.cache_dir() / "locks" / "abc.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), cache.lock("abc"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_sweep_takes_what_nobody_works_on(fresh_cache: Path) -> None:
    """What a killed process left is removed, what is being made is not."""
    dead = cache.cache_dir() / "tmp" / "dead-1-x"
    dead.mkdir()
    with cache.lock("alive"), cache.workspace("alive") as directory:
        cache.sweep()
        assert directory.exists() and not dead.exists()


def test_entries_show_what_is_there(fresh_cache: Path) -> None:
    """The list has name, size and age of each entry, the most recently used first, failures and ruins marked."""
    entry("old", size=500, age=3600)
    entry("new", size=300)
    (entry("ruin", age=7200) / cache.MANIFEST).write_text("{")
    with cache.workspace("failed") as directory:
        cache.write_manifest(directory, {"ok": False, "kernel": "tiny/failed", "diagnostics": []})
        os.utime(cache.publish(directory, "kernels", "failed"), (1, 1))
    found = cache.entries()
    assert [item.what for item in found] == ["tiny/new", "tiny/old", "unreadable", "tiny/failed (failed)"]
    assert found[1].bytes > 500 and 3500 < found[1].age_s < 3700


def test_removed_at_once(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry is taken away whole before it is deleted file by file, so that nobody reads half of it."""
    path = entry("abc")
    seen = []
    monkeypatch.setattr(cache.shutil, "rmtree", lambda place, **_: seen.append((place.parent.name, path.exists())))
    assert [item.key for item in cache.clear()] == ["abc"]
    assert seen[0] == ("tmp", False)


def test_use_makes_young(fresh_cache: Path) -> None:
    """An entry that is used is the last to go."""
    path = entry("old", age=3600)
    entry("new", age=60)
    cache.touch(path)
    assert [item.key for item in cache.entries()] == ["old", "new"]


def test_prune_by_age(fresh_cache: Path) -> None:
    """What was not used for longer than the limit goes."""
    entry("old", age=3600)
    entry("new")
    assert [item.key for item in cache.prune(max_age_s=60)] == ["old"]
    assert [item.key for item in cache.entries()] == ["new"]


def test_prune_by_size(fresh_cache: Path) -> None:
    """The oldest go until the rest fits."""
    for age, key in enumerate(("a", "b", "c", "d")):
        entry(key, size=1000, age=age * 100)
    assert [item.key for item in cache.prune(max_bytes=2500)] == ["c", "d"]
    assert sum(item.bytes for item in cache.entries()) <= 2500


def test_prune_with_no_limit_and_clear(fresh_cache: Path) -> None:
    """Without a limit nothing goes, with `clear` everything."""
    entry("a", age=10**6)
    entry("b")
    assert cache.prune() == [] and len(cache.entries()) == 2
    assert len(cache.clear()) == 2 and cache.entries() == []
