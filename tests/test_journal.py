"""The journal: what is written down, what comes back after a restart, and what a bad disk or another notebook changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline import journal
from lltm_inline.compiling import cache
from lltm_inline.errors import CacheError, InputError, UnknownKernelError
from lltm_inline.journal.file import append, read, trim
from lltm_inline.model.kernel import Kernel
from lltm_inline.model.registry import registry
from tests import tiny as tiny_module

BOOK = "/lessons/first.ipynb"
OTHER = "/lessons/second.ipynb"


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: Any) -> Iterator[Path]:
    """Give each test a cache of its own, and end with the journal off."""
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    journal.turn_off()
    yield tmp_path / "cache" / "journal"
    journal.turn_off()


def restart(session: str = BOOK) -> None:
    """Forget all that a process knows, as a restart of the notebook's kernel does, and turn the journal on again."""
    journal.turn_off()
    tiny_module.forget("tiny")
    tiny_module.register()
    journal.turn_on(session)


def make(*factors: float) -> list[Kernel]:
    """Register a kernel, then a revision for each further factor."""
    first = li.registry.register(tiny_module.kernel(factors[0]))
    return [first, *(li.registry.register(first.replace(params={"FACTOR": factor})) for factor in factors[1:])]


def test_nothing_is_written_before_it_is_turned_on(room: Path) -> None:
    """A plain script leaves no trace, whatever it registers."""
    make(2, 3)
    assert not room.exists() and journal.last_saved() is None and journal.session() == ""


def test_revisions_come_back_with_their_numbers(room: Path) -> None:
    """After a restart the revisions are in the history again with all that they hold, the last one is current, and it is told."""
    journal.turn_on(BOOK)
    made = make(2, 3, 5)
    made.append(li.registry.register(made[-1].replace(cpp=tiny_module.STABLE + "// more\n", flags=("-O1",))))
    restart()
    assert "tiny/stable" not in li.registry
    back = li.registry.recover()
    assert [k.label for k in back] == ["tiny/stable", "tiny/stable@1", "tiny/stable@2", "tiny/stable@3"]
    assert list(back) == made and [k.parent for k in back] == [k.parent for k in made]
    assert li.registry["tiny/stable"] == made[-1] and li.registry.history("tiny/stable") == back
    assert str(back).startswith("brought back 4 revisions of first.ipynb: tiny/stable, tiny/stable@1, ")
    assert str(back).endswith("Current: tiny/stable@3") and "brought back 4" in back._repr_html_()
    assert li.registry["tiny/stable"].replace(params={"FACTOR": 7}).label == "tiny/stable@4"


def test_kernels_of_before_are_written_too(room: Path) -> None:
    """What was registered before the journal was turned on is written then; what ships never is."""
    make(2, 3)
    journal.turn_on(BOOK)
    restart()
    assert [k.label for k in li.registry.recover()] == ["tiny/stable@1"]
    assert not any("axpy" in path.read_text() for path in room.iterdir())


def test_nothing_to_recover(room: Path) -> None:
    """An empty journal gives an empty tuple that says so, and where else to look."""
    journal.turn_on(BOOK)
    back = li.registry.recover()
    assert back == () and "nothing to bring back of first.ipynb: no revision is in the journal yet" in str(back)
    assert "li.registry.recover(every=True)" in back._repr_html_()


def test_recover_of_one_op_or_kernel(room: Path) -> None:
    """Only what was asked for comes back; a name that nobody knows is refused with the nearest one."""
    journal.turn_on(BOOK)
    make(2, 3)
    li.registry.register(tiny_module.kernel(2, variant="other"))
    restart()
    assert {k.name for k in li.registry.recover("tiny/other")} == {"tiny/other"}
    assert {k.name for k in li.registry.recover("tiny")} == {"tiny/stable", "tiny/other"}
    assert li.registry.recover("lltm/fused") == ()
    with pytest.raises(
        UnknownKernelError, match=r"nothing to recover of 'tiny/stabel': .* Did you mean 'tiny/stable'\?"
    ):
        li.registry.recover("tiny/stabel")
    with pytest.raises(InputError, match="op_or_name=3, want a string"):
        li.registry.recover(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="every='yes', want True or False"):
        li.registry.recover(every="yes")  # type: ignore[arg-type]


def test_what_was_made_since_the_restart_keeps_its_numbers(room: Path) -> None:
    """Cells that were run before `recover` keep numbers and stay current; older revisions move aside, and it is told."""
    journal.turn_on(BOOK)
    make(2, 3, 5)
    restart()
    first, new = make(2, 7)
    back = li.registry.recover()
    history = {k.revision: k.params["FACTOR"] for k in li.registry.history("tiny/stable")}
    assert history == {0: 2, 1: 7, 2: 5, 3: 3}
    assert li.registry["tiny/stable"] == new and new.label == "tiny/stable@1" and first in back
    assert "tiny/stable@1 of first.ipynb is tiny/stable@3 here: its number was taken" in str(back)


def test_recovering_twice_changes_nothing(room: Path) -> None:
    """The second time all is there."""
    journal.turn_on(BOOK)
    make(2, 3)
    restart()
    once = li.registry.recover()
    again = li.registry.recover()
    assert again == once and len(li.registry.history("tiny/stable")) == 2
    assert str(again).startswith(
        "nothing to bring back of first.ipynb: all its revisions are here. Current: tiny/stable@1"
    )


def test_going_back_is_remembered(room: Path) -> None:
    """What was current last is current again, also an earlier revision."""
    journal.turn_on(BOOK)
    first, second, _ = make(2, 3, 5)
    li.registry.register(second)
    restart()
    li.registry.recover()
    assert li.registry["tiny/stable"] == second
    li.registry.register(li.registry["tiny/stable@0"])
    restart()
    li.registry.recover()
    assert li.registry["tiny/stable"] == first


def test_other_notebooks_keep_to_themselves(room: Path) -> None:
    """Revisions of another notebook come back only when asked for, and never take this one's numbers."""
    journal.turn_on(OTHER)
    make(2, 11)
    li.registry.register(tiny_module.kernel(2, variant="theirs"))
    restart(BOOK)
    with pytest.raises(UnknownKernelError) as error:
        li.registry.recover("tiny/theirs")
    assert str(error.value) == (
        "nothing to recover of 'tiny/theirs' here: another notebook has made it. "
        "%kernel recover tiny/theirs --every, or li.registry.recover('tiny/theirs', every=True), brings it back"
    )
    make(2, 3)
    restart(BOOK)
    assert [k.params["FACTOR"] for k in li.registry.recover()] == [2, 3]
    everything = li.registry.recover(every=True)
    assert {k.label: k.params["FACTOR"] for k in everything} == {
        "tiny/stable": 2,
        "tiny/stable@1": 3,
        "tiny/stable@2": 11,
        "tiny/theirs": 2,
    }
    assert li.registry["tiny/stable"].params["FACTOR"] == 3
    assert "tiny/stable@1 of second.ipynb is tiny/stable@2 here" in str(everything)


def test_old_sessions_without_a_notebook_are_removed(room: Path) -> None:
    """What a process without a notebook wrote is removed after a month; a notebook's journal is not."""
    for session in ("", BOOK):
        restart(session)
        make(2, 3)
        journal.save_draft("tiny/stable", {"cpp": "x"}, {})
        journal.turn_off()
    for path in room.iterdir():
        os.utime(path, (0, 0))
    restart(OTHER)
    make(2)
    begun = {json.loads(path.read_text().splitlines()[0])["begin"] for path in journal.files()}
    assert begun == {BOOK, OTHER} and len(list(room.glob("*.draft"))) == 1


def test_states_come_back(room: Path) -> None:
    """What became of a revision is known after a restart too."""
    journal.turn_on(BOOK)
    make(2, 3, 5)
    registry.note(registry["tiny/stable@1"], "wrong", "d_x differs")
    registry.note(registry["tiny/stable@2"], "built")
    registry.note(registry["tiny/stable@2"], "right")
    assert registry.state("tiny/stable@1") == ("wrong", "d_x differs")
    restart()
    assert registry.state("tiny/stable@1") == ("new", "")
    li.registry.recover()
    assert registry.state("tiny/stable@1") == ("wrong", "d_x differs") and registry.state("tiny/stable@2")[0] == "right"


def test_edits_that_were_built_come_back_and_are_not_current(room: Path) -> None:
    """An edit that was built or checked is kept without being registered; one that nobody built or registered is not."""
    journal.turn_on(BOOK)
    first, second = make(2, 3)
    edited, other = (second.replace(params={"FACTOR": factor}) for factor in (5, 7))
    second.replace(params={"FACTOR": 9})
    registry.note(edited, "built")
    registry.note(other, "wrong", "y differs")
    registry.note(other, "built")
    registry.note(Kernel("tiny/nobody", cpp=tiny_module.STABLE), "built")
    registry.note(li.registry["tiny/python"], "right")
    restart()
    back = li.registry.recover()
    assert back == (first, second, edited, other) and li.registry["tiny/stable"] == second
    assert registry.state(edited.label)[0] == "built" and registry.state(other.label) == ("wrong", "y differs")
    li.registry.register(edited)
    restart()
    assert li.registry.recover() and li.registry["tiny/stable"] == edited, "since then it is registered"


def test_edits_of_what_ships_come_back_and_are_not_current(room: Path) -> None:
    """What was built of a shipped kernel's edit comes back, also into another notebook; what ships stays the current one."""
    journal.turn_on(BOOK)
    edited = li.registry["axpy/aten"].replace(doc="tried", flags=("-O1",))
    registry.note(edited, "built")
    for session, every in ((BOOK, False), (OTHER, True)):
        restart(session)
        assert edited in li.registry.recover("axpy", every=every)
        assert li.registry["axpy/aten"].revision == 0


def test_drafts_survive(room: Path) -> None:
    """Text that is no revision yet is found after a restart, only in its own notebook, until it is dropped."""
    journal.turn_on(BOOK)
    journal.save_draft("tiny/stable", {"cpp": "int x; // é"}, {"FACTOR": 2.5}, base="tiny/stable@1")
    journal.save_draft("tiny/stable", {"cpp": "int y; // é"}, {"FACTOR": 2.5}, base="tiny/stable@1")
    restart()
    draft = journal.draft("tiny/stable")
    assert draft is not None and draft.texts == {"cpp": "int y; // é"} and draft.params == {"FACTOR": 2.5}
    assert draft.base == "tiny/stable@1" and journal.draft("tiny/other") is None
    restart(OTHER)
    assert journal.draft("tiny/stable") is None
    restart(BOOK)
    journal.drop_draft("tiny/stable")
    assert journal.draft("tiny/stable") is None and not list(room.glob("*.draft"))


def test_journal_is_private_and_survives_a_clear(room: Path) -> None:
    """Room and files are their owner's alone, and `cache clear` leaves them."""
    journal.turn_on(BOOK)
    make(2)
    journal.save_draft("tiny/stable", {"cpp": "x"}, {})
    assert room.stat().st_mode & 0o777 == 0o700
    assert len(list(room.iterdir())) == 2 and all(path.stat().st_mode & 0o777 == 0o600 for path in room.iterdir())
    cache.clear()
    assert len(list(room.iterdir())) == 2


def test_torn_and_foreign_lines_are_skipped(room: Path) -> None:
    """A process that was killed while it wrote costs its last line; what cannot be a kernel any more is counted."""
    journal.turn_on(BOOK)
    make(2, 3)
    [file] = room.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"kernel": {"name": "tiny/stable", "cpp": "torn')
    restart()
    append(file, {"kernel": {"name": "no name", "cpp": "x"}, "name": "no name"})
    append(file, {"kernel": 3})
    append(file, {**read(file)[1], "time": "noon"})
    append(file, {"state": "right", "label": ["tiny/stable"]})
    append(file, {"what": "a later version writes"})
    back = li.registry.recover()
    assert [k.label for k in back] == ["tiny/stable", "tiny/stable@1"]
    assert str(back).endswith("1 of the journal's entries could not be read")


def test_op_that_is_not_there_yet(room: Path) -> None:
    """Kernels of an op that a cell defines wait until that cell was run."""
    journal.turn_on(BOOK)
    make(2, 3)
    journal.turn_off()
    tiny_module.forget("tiny")
    journal.turn_on(BOOK)
    back = li.registry.recover()
    assert str(back) == (
        "nothing was brought back of first.ipynb\n"
        "tiny/stable was left: no op 'tiny'. Run the cell that registers the op, then recover again"
    )
    assert back == ()
    tiny_module.register()
    assert len(li.registry.recover()) == 2


def test_journal_is_bounded(tmp_path: Path) -> None:
    """Of each name the latest revisions stay, each text once, and other names are not touched by that."""
    file = tmp_path / "x.jsonl"
    append(file, {"begin": BOOK})
    append(file, {"kernel": {"name": "a/b", "cpp": "only"}, "name": "a/b"})
    for number in range(30):
        append(file, {"kernel": {"name": "a/c", "cpp": str(number % 20)}, "name": "a/c"})
        append(file, {"state": "built", "label": f"a/c@{number}", "name": "a/c"})
    trim(file, 5, 8)
    lines = read(file)
    assert [line["kernel"]["cpp"] for line in lines if "kernel" in line] == ["only", "5", "6", "7", "8", "9"]
    assert lines[0] == {"begin": BOOK} and sum("state" in line for line in lines) == 5
    before = file.stat().st_ino
    trim(file, 5, 8)
    assert file.stat().st_ino == before


def test_files_are_trimmed_when_they_are_gone_on_with(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next process leaves the latest revisions; until then all of a session are there."""
    monkeypatch.setattr(journal, "KEPT", 6)
    journal.turn_on(BOOK)
    make(*range(2, 12))
    restart()
    make(12)
    restart()
    back = li.registry.recover()
    assert [kernel.params["FACTOR"] for kernel in back] == [6, 7, 8, 9, 10, 11, 12]


def full(*_: object) -> int:
    """Stand for a write to a full disk."""
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("how", ["file in the way", "full disk"])
def test_disk_that_cannot_be_written(room: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """One warning names the reason and the cure, all goes on in memory, and drafts are kept there."""
    journal.turn_on(BOOK)
    if how == "full disk":
        make(2)
        monkeypatch.setattr(os, "write", full)
    else:
        room.parent.mkdir(mode=0o700)
        room.write_text("")
    size = sum(path.stat().st_size for path in room.glob("*"))
    with pytest.warns(
        RuntimeWarning, match="not written to the journal: .*set LLTM_INLINE_CACHE to a directory"
    ) as told:
        make(2, 3, 5)
    assert len(told) == 1 and journal.trouble()
    assert li.registry["tiny/stable"].label == "tiny/stable@2"
    registry.note(registry["tiny/stable@2"], "right")
    assert registry.state("tiny/stable@2") == ("right", "")
    monkeypatch.undo()
    assert sum(path.stat().st_size for path in room.glob("*")) == size, "no half line is left"


@pytest.mark.parametrize("how", ["same cache", "another cache"])
def test_nothing_is_left_out_once_it_can_be_written(
    room: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    """What the warning advises keeps all revisions, with what became of them, and not only those that follow."""
    journal.turn_on(BOOK)
    with monkeypatch.context() as broken, pytest.warns(RuntimeWarning, match="not written to the journal"):
        broken.setattr("lltm_inline.journal.append", full)
        make(2, 3)
        registry.note(registry["tiny/stable@1"], "right")
    if how == "another cache":
        monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "other"))
    li.registry.register(li.registry["tiny/stable"].replace(params={"FACTOR": 5}))
    assert not journal.trouble()
    restart()
    assert [k.params["FACTOR"] for k in li.registry.recover()] == [2, 3, 5]
    assert registry.state("tiny/stable@1") == ("right", "") and li.registry["tiny/stable"].label == "tiny/stable@2"


def test_another_cache_gets_all_of_it(room: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the cache changes while a notebook is open, what was written into the old one is in the new one too."""
    journal.turn_on(BOOK)
    _, second, _ = make(2, 3, 5)
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "other"))
    li.registry.register(second)
    restart()
    assert [k.params["FACTOR"] for k in li.registry.recover()] == [2, 3, 5]
    assert li.registry["tiny/stable"] == second


def test_drafts_on_a_bad_disk(room: Path) -> None:
    """A draft that cannot be written is still there while the process lives."""
    room.parent.mkdir(mode=0o700)
    room.write_text("")
    journal.turn_on(BOOK)
    with pytest.warns(RuntimeWarning, match="not written to the journal"):
        journal.save_draft("tiny/stable", {"cpp": "x"}, {})
    draft = journal.draft("tiny/stable")
    assert draft is not None and draft.texts == {"cpp": "x"} and journal.last_saved() is None
    with pytest.raises(CacheError, match="cannot read the journal"):
        li.registry.recover()


def test_last_saved_and_title(room: Path) -> None:
    """When something was written is known, and sessions are named as people know them."""
    journal.turn_on()
    assert journal.session().startswith("process-") and journal.title().startswith("process ")
    make(2)
    saved = journal.last_saved()
    assert saved is not None and journal.turn_on("/other.ipynb") == journal.session()


def test_notebook_is_known_from_the_server(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The notebook's path names the session, as VS Code or the Jupyter server says it."""
    monkeypatch.setenv("JPY_SESSION_NAME", BOOK)
    assert journal.turn_on() == BOOK and journal.title() == "first.ipynb"
    journal.turn_off()
    shell = SimpleNamespace(user_ns={"__vsc_ipynb_file__": OTHER})
    monkeypatch.setattr(journal, "running_shell", lambda: shell)
    assert journal.turn_on() == OTHER, "VS Code's, where it runs"


def test_many_processes_append_whole_lines(tmp_path: Path) -> None:
    """Processes that write at once, one of them trimming, lose and tear nothing of the latest."""
    file = tmp_path / "x.jsonl"
    script = (
        "import sys; sys.path.insert(0, sys.argv[3]); from pathlib import Path; from file import append, trim\n"
        "for n in range(100):\n"
        "    append(Path(sys.argv[1]), {'kernel': {'cpp': sys.argv[2] + str(n) + 'x' * 3000}, 'name': sys.argv[2]})\n"
        "    trim(Path(sys.argv[1]), 100, 8) if n % 20 == 0 else None"
    )
    package = str(Path(journal.__file__).parent)  # the module alone imports no torch
    running = [subprocess.Popen([sys.executable, "-c", script, str(file), name, package]) for name in "abc"]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    raw = [line for line in file.read_text().split("\n") if line]
    assert len(raw) == len(read(file)) == 300
