"""The history of a kernel: how fast each revision was, against what it was edited from, and what must never be compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline import journal
from lltm_inline.journal.file import append, read, trim
from lltm_inline.journal.recovery import recover
from lltm_inline.model.kernel import Kernel
from lltm_inline.model.registry import KEPT_TIMINGS
from lltm_inline.notebook.panel import board
from lltm_inline.tables.history import Step, courses_of
from lltm_inline.tables.timings import Row, Timings
from tests import tiny
from tests.html_checks import read as read_page

NAME = "tiny/stable"


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Kernel]]:
    """Give a kernel with three revisions, and a journal of its own."""
    (tmp_path / "journal").mkdir()
    monkeypatch.setattr(journal, "room", lambda: tmp_path / "journal")
    journal.turn_off()
    yield revisions()
    journal.turn_off()
    tiny.forget("tiny")


def revisions() -> list[Kernel]:
    """Make a kernel and three revisions, each of the one before it."""
    tiny.forget("tiny")
    tiny.register()
    kernels = [li.registry.register(tiny.kernel(2))]
    for factor in (3, 4, 5):
        kernels.append(li.registry.register(kernels[-1].replace(params={"FACTOR": factor})))
    return kernels


def row(label: str, speedup: float = 1, spread: float = 0.0, **other: Any) -> Row:
    """Make a row that is so many times faster than a baseline of 8 µs."""
    values: dict[str, Any] = {
        "op": "tiny", "size": {"N": 4}, "direction": "forward", "dtype": "float32", "device": "cpu", "samples": 50, "calls": 9,
        "median": 8e-6 / speedup, "q1": 7.9e-6 / speedup, "q3": 8.2e-6 / speedup, "speedup": speedup, "threads": 2, "cpu": "this",
        "speedup_low": speedup * (1 - spread), "speedup_high": speedup * (1 + spread), "flags": ("-O3",), "compiler": "g++ 12",
    }  # fmt: skip
    return Row(label, **{**values, **other})


def timed(label: str, speedup: float, spread: float = 0.01, *, over: str = "tiny/python", **other: Any) -> None:
    """Note that a revision was timed against a baseline, and the baseline with it."""
    base = other.pop("base", {})
    rows = row(over, **{**other, **base})
    table = Timings((rows, row(label, speedup, spread, **other)), over)
    li.registry.note_timed(li.registry.revision_of(label), table)
    li.registry.note_timed(li.registry.revision_of(over), Timings((rows,), over))


def only() -> tuple[Step, ...]:
    """Return the one course that there is."""
    [courses] = courses_of(li.registry.history(NAME)).values()
    [steps] = courses.values()
    return steps


def words() -> list[str]:
    """Return what is said of each revision that was timed."""
    return [step.words for step in only()]


def test_the_panel_says_of_each_revision_how_fast_it_was() -> None:
    """Its times at the sizes measured, against what it was edited from, and which is the best."""
    timed(NAME, 1.0)
    timed(f"{NAME}@1", 2.0)
    shown = read_page(board.history_of(li.registry[NAME]))
    for part in ("times of tiny/stable by revision", "N=4, forward", "8.00 µs (7.90-8.20)", "4.00 µs (3.95-4.10)"):
        assert part in shown.text, part
    assert "2.00x faster than tiny/stable (1.97-2.03)" in shown.text and "best so far" in shown.text
    assert not shown.problems
    assert board.history_of(li.registry["axpy/cpp"]) == ""


def test_each_is_compared_with_what_it_was_edited_from() -> None:
    """By the ratio of two speed-ups over one baseline, with an interval that has both; the best is the one that nothing beat."""
    timed(NAME, 1.0)
    timed(f"{NAME}@1", 2.0)
    timed(f"{NAME}@2", 2.02)
    timed(f"{NAME}@3", 0.5)
    assert words() == [
        "",
        "2.00x faster than tiny/stable (1.97-2.03)",
        "against tiny/stable@1: no measurable difference (0.99-1.03)",
        "4.04x slower than tiny/stable@2 (3.98-4.10)",
    ]
    assert [step.is_best for step in only()] == [False, True, False, False]


def test_a_parent_that_was_the_baseline_gives_the_interval_as_measured() -> None:
    """Nothing is added to what the benchmark itself has found."""
    timed(f"{NAME}@1", 1.5, 0.1, over=NAME)
    assert words() == ["", "1.50x faster than tiny/stable (1.35-1.65)"]


@pytest.mark.parametrize(
    "other",
    [{"cpu": "that"}, {"threads": 4}, {"torch": "2.9"}, {"dtype": "float64"}, {"device": "cuda-cpu"}, {"size": {"N": 5}},
     {"direction": "both"}, {"flags": ("-O1",)}, {"compiler": "clang++ 19"}],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_other_conditions_are_never_compared(other: dict[str, Any]) -> None:
    """Times of another machine, with other threads, of another size or dtype stand apart, whichever revision they are of."""
    timed(NAME, 1.0)
    timed(f"{NAME}@1", 2.0, **other)
    courses = [steps for group in courses_of(li.registry.history(NAME)).values() for steps in group.values()]
    assert [[step.row.kernel for step in steps] for steps in courses] == [[NAME], [f"{NAME}@1"]]
    assert [step.words for steps in courses for step in steps] == ["", "not timed beside tiny/stable"]
    assert not any(step.is_best for steps in courses for step in steps)


def test_flags_of_the_revision_are_what_was_changed(made: list[Kernel]) -> None:
    """They are compared like any other edit; flags of the build are not, whatever both were timed against."""
    unrolled = li.registry.register(made[0].replace(flags=("-funroll-loops",)))
    timed(NAME, 1.0, base={"flags": (), "compiler": ""})
    timed(unrolled.label, 2.0, flags=("-O3", "-funroll-loops"), base={"flags": (), "compiler": ""})
    assert words() == ["", "2.00x faster than tiny/stable (1.97-2.03)"]


@pytest.mark.parametrize("base", [{"flags": ("-O1",)}, {"compiler": "clang++ 19"}], ids=["flags", "compiler"])
def test_a_baseline_that_was_built_otherwise_is_another(base: dict[str, Any]) -> None:
    """A revision twice as fast as a baseline without optimisation says nothing about one with it."""
    timed(NAME, 1.0)
    timed(f"{NAME}@1", 2.0, base=base)
    assert words() == ["", "not timed beside tiny/stable"] and not any(step.is_best for step in only())


def test_too_few_rounds_and_the_latest_time() -> None:
    """Without an interval nothing is claimed; of two times of one revision the later one counts."""
    timed(NAME, 1.0)
    timed(f"{NAME}@1", 3.0, speedup_low=None, speedup_high=None)
    assert words()[1] == "against tiny/stable: too few rounds to tell"
    timed(f"{NAME}@1", 0.5)
    assert words()[1] == "2.00x slower than tiny/stable (1.97-2.03)"


def test_what_is_wrong_is_never_the_best(made: list[Kernel]) -> None:
    """However fast it is."""
    timed(NAME, 1.0)
    timed(f"{NAME}@1", 1.2)
    timed(f"{NAME}@2", 9.0)
    li.registry.note(made[2], "wrong", "y differs")
    assert [step.is_best for step in only()] == [False, True, False]


def test_text_and_html(made: list[Kernel]) -> None:
    """Both say the same; a history without times has none of it."""
    history = li.registry.history(NAME)
    assert str(history).count("\n") == 4 and "time per call" not in history._repr_html_()
    timed(NAME, 1.0)
    timed(f"{NAME}@1", 2.0)
    timed(f"{NAME}@1", 2.0, size={"N": 64})
    timed(f"{NAME}@2", 2.0, cpu="that")
    li.registry.note(made[1], "right")
    li.registry.note(made[2], "wrong", "y differs")
    told = str(history)
    assert "   tiny/stable@2            WRONG            1 line from tiny/stable@1\n-> tiny/stable@3 " in told
    assert told.count("\n\ntime per call (quartiles), tiny, float32, cpu; -O3, 2 threads, g++ 12, ") == 2
    assert "\nN=4, forward\n" in told
    assert "2.00x faster than tiny/stable (1.97-2.03)  best so far\n" in told
    page = history._repr_html_()
    assert not read_page(page).problems and "best so far" in page and "not timed beside tiny/stable@1" in page


def test_times_come_back_after_a_restart() -> None:
    """Also those of what ships, and under the number that a revision has now; what cannot be read is left out."""
    tiny.forget("tiny")
    journal.turn_on("/lessons/first.ipynb")
    revisions()
    axpy = li.registry.revision_of("axpy/cpp")
    table = Timings((row("axpy/cpp", op="axpy"),), "axpy/cpp")
    li.registry.note_timed(axpy, table)
    timed(NAME, 1.0, over="tiny/python")
    timed(f"{NAME}@1", 2.0, over=NAME)
    before = words()
    append(journal.path_of(journal.session()), {"timings": {"format": "none"}, "label": NAME, "name": NAME})
    journal.turn_off()
    li.registry._timed.pop("axpy/cpp")
    tiny.forget("tiny")
    tiny.register()
    li.registry.register(tiny.kernel(7))  # takes the number of the first
    journal.turn_on("/lessons/first.ipynb")
    back = li.registry.recover()
    assert [kernel.label for kernel in back] == [f"{NAME}@4", f"{NAME}@1", f"{NAME}@2", f"{NAME}@3", NAME]
    assert li.registry.timed("axpy/cpp") == (table,) and len(li.registry.recover()) == 5
    assert [step.row.kernel for step in only()] == [f"{NAME}@1", f"{NAME}@4"]
    assert before[1] == "2.00x faster than tiny/stable (1.98-2.02)" and "1 of the journal's entries" in str(back)
    [latest] = li.registry.timed(f"{NAME}@1")
    assert latest.baseline == f"{NAME}@4" and {each.kernel for each in latest.rows} == {f"{NAME}@1", f"{NAME}@4"}


def test_a_command_shows_it_and_writes_nothing(capsys: Any, tmp_path: Path) -> None:
    """`python -m lltm_inline history` reads what notebooks wrote."""
    from lltm_inline.__main__ import main

    journal.turn_on("/lessons/first.ipynb")
    revisions()
    timed(f"{NAME}@1", 2.0, over=NAME)
    journal.turn_off()
    files = {path: path.read_bytes() for path in (tmp_path / "journal").iterdir()}
    tiny.forget("tiny")
    tiny.register()
    assert main(["history", NAME]) == 0
    printed = capsys.readouterr().out
    assert (
        "2.00x faster than tiny/stable (1.98-2.02)" in printed and "brought back 4 revisions of tiny/stable" in printed
    )
    assert not journal.session()
    assert files == {path: path.read_bytes() for path in (tmp_path / "journal").iterdir()}
    assert main(["history", "tiny/nothing"]) == 2 and "no op or kernel of that name" in capsys.readouterr().err
    assert len(recover(NAME, every=True, own="")) == 4


def test_the_journal_keeps_the_last_times(tmp_path: Path) -> None:
    """When it is trimmed, of each revision so many timings stay as the registry keeps."""
    journal.turn_on("/lessons/first.ipynb")
    for number in range(KEPT_TIMINGS + 3):
        timed(NAME, 1.0 + number)
    path = journal.path_of(journal.session())
    trim(path, 200, KEPT_TIMINGS)
    kept = [line["timings"]["rows"][1]["speedup"] for line in read(path) if "timings" in line]
    assert kept == [4.0 + number for number in range(KEPT_TIMINGS)]
    assert [table.rows[1].speedup for table in li.registry.timed(NAME)] == kept


def test_a_step_is_a_value() -> None:
    """Two that say the same are one."""
    one, other = (Step(row(NAME), "") for _ in range(2))
    assert one == other and hash(one) == hash(other)
