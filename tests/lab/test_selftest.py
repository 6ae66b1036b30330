"""A lab is tried on what must pass and what must fall; and the page for instructors runs from its first cell to its last."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import lltm_inline as li
from lltm_inline.lab import Lab, Mark, read_lab, selftesting
from lltm_inline.lab.grading import How, Job, Outcome, judge, marks_of
from lltm_inline.lab.selftesting import Selftest, Trial, _ran, _trial, mutants_of
from tests.lab.shared import KERNEL, TOML, book, lab_in
from tests.lab.test_labs import CUDA, LABS, NAMES
from tests.needs import needs
from tests.planted.cheats.catalogue import cheats
from tests.quick import QUICK

pytestmark = needs("Landlock and seccomp")

ROOT = Path(__file__).parents[2]
ALL = (Mark("builds", 1, 1), Mark("parity", 4, 4), Mark("gradient x", 2, 2))
NO_PARITY = (ALL[0], Mark("parity", 0, 4, "z differs"), ALL[2])
TOO_SLOW = (ALL[0], Mark("speed 2", 0, 1, "it is 1.1 times as fast"))
NO_TIME = (NO_PARITY[1], Mark("speed 2", 0, 1, "it was not timed"))
NO_BUILD = (Mark("builds", 0, 1, "no"), Mark("parity", 0, 4, "it is not run: no"))
#: In labs without points for `builds`, or for `forbidden`.
NOT_RUN = (Mark("parity", 0, 4, "it is not run: no"), Mark("forbidden", 0, 1, "it is not run: no"))
NOT_COMPILED = (Mark("parity", 0, 4, "it is not compiled: no"),)
CLOSED = (ALL[0], Mark("parity", 0, 4, "it is not run: it calls 'fopen': files are closed in a lab"))


@pytest.mark.parametrize(
    ("kind", "marks", "by", "ok"),
    [
        ("solution", ALL, "", True), ("solution", NO_PARITY, "", False), ("solution", (), "", False),
        ("starter", ALL, "", False), ("starter", NO_PARITY, "", True), ("starter", NO_BUILD, "", False), ("starter", (), "", False),
        ("wrong", NO_PARITY, "parity", True), ("wrong", NO_PARITY, "gradient x", False),
        ("wrong", NO_BUILD, "parity", False), ("wrong", NO_BUILD, "builds", True), ("wrong", ALL, "parity", False),
        ("wrong", TOO_SLOW, "speed 2", True), ("wrong", NO_TIME, "speed 2", False),
        ("starter", NOT_RUN, "", False), ("starter", NOT_COMPILED, "", False), ("wrong", NOT_RUN, "parity", False),
        ("wrong", NOT_RUN, "forbidden", False), ("wrong", NOT_COMPILED, "parity", False),
        ("mutant", NO_PARITY, "", True), ("mutant", ALL, "", False),
    ],
)  # fmt: skip
def test_each_must_fare_as_it_must(tmp_path: Path, kind: str, marks: tuple[Mark, ...], by: str, ok: bool) -> None:
    """The solution gets all points, the starter is run and gets fewer, the others fall for their reason; no grade is no proof."""
    (exercise,) = lab_in(tmp_path).exercises
    found = _trial(exercise, kind, "name", marks, "" if marks else "the grader failed", by, "why")
    assert isinstance(found, Trial) and found.ok is ok and found.said


def test_what_is_not_run_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all but the solution fails to compile, in a lab without points for that, no mutant is counted."""
    lab = lab_in(tmp_path, TOML.replace("builds = 1, ", ""))
    (exercise,) = lab.exercises
    assert mutants_of(exercise.solution[0])

    def judge(lab: Lab, jobs: list[Job], run: str, keep: Callable[[Outcome], None], *_: Any) -> None:
        for job in jobs:
            lost = job.text != exercise.solution[0]
            marks = [Mark(n, of * (not lost), of, "it is not run: line 1" * lost) for n, of in exercise.points.items()]
            keep(Outcome(job.key, False, tuple(marks)))

    monkeypatch.setattr(selftesting, "judge", judge)
    found = li.lab.selftest(lab, progress=False)
    assert [trial.name for trial in found.trials if trial.ok] == ["solution"] and not found.green
    assert {trial.kind for trial in found.trials} == {"solution", "starter"}


@pytest.mark.parametrize(
    ("head", "tricks"),
    [("at::Tensor forward(const at::Tensor& x, const at::Tensor& y)", True),
     ("std::tuple<Tensor, Tensor> forward(double a, Tensor x)", True),
     ("at::Tensor forward(const std::optional<at::Tensor>& x)", False),
     ("std::vector<at::Tensor> forward(const at::Tensor& x)", False),
     ("using torch::stable::Tensor;\nTensor forward(const Tensor& x)", False)],
)  # fmt: skip
def test_tricks_are_made_of_what_they_can_be(tmp_path: Path, head: str, tricks: bool) -> None:
    """One that could not compile would show nothing; acts can be made of any text."""
    (exercise,) = lab_in(tmp_path).exercises
    found = {one.name: one.text for one in cheats(replace(exercise, forbid=("aten",)), f"{head} {{\n  return x;\n}}\n")}
    assert "forks" in found and ("changes_its_input" in found) is ("one_buffer_for_all" in found) is tricks
    assert ("x.abs()" in found.get("calls_a_method", "")) is (tricks or "vector" in head)


@pytest.mark.full
def test_what_new_makes_of_a_cuda_kernel_is_ready(tmp_path: Path) -> None:
    """As it is made, with a kernel that dispatches over dtypes: its solution has all points, and its starter compiles."""
    li.lab.new(tmp_path / "made", "axpy", solution="axpy/cuda")
    found = li.lab.selftest(tmp_path / "made", mutants=False, workers=1, progress=False)
    assert found.green and [trial.kind for trial in found.trials] == ["solution", "starter", "wrong"], str(found)


@pytest.mark.full
def test_a_solution_that_falls_takes_no_mutants_along(tmp_path: Path) -> None:
    """They are not tried: what is wrong with it is wrong with each of them."""
    folder = tmp_path / "made"
    li.lab.new(folder, "axpy")
    notebook = folder / "made.ipynb"
    mark = '"  // BEGIN SOLUTION\\n",'
    notebook.write_text(notebook.read_text().replace(mark, f'{mark} "  int x = ;\\n",', 1))
    found = li.lab.selftest(folder, workers=1, progress=False, compiler=QUICK)
    assert not found.green and "mutant" not in {trial.kind for trial in found.trials}


def test_mutants_of_a_solution_that_falls() -> None:
    """A solution that does not compile takes all that is made of it along: that they fell is no praise."""
    mutant = Trial("axpy", "mutant", "line 3: + is -", True, "parity: z differs")
    for ok, said in (
        (True, "lab axpy: ready to grade; 1 of 1 mutant fell."),
        (False, "lab axpy: NOT ready: 1 trial did not end as expected; the solution must get all points "
         "before mutants are tried."),
    ):  # fmt: skip
        assert Selftest("axpy", (Trial("axpy", "solution", "solution", ok, ""), mutant)).headline == said
    assert Selftest("axpy", (Trial("axpy", "solution", "solution", True, ""),)).headline.endswith(
        "grade; no mutant was tried."
    )


def test_what_is_handed_out_is_not_changed() -> None:
    """Changes are made where students write; a text without marks is changed everywhere."""
    text = "x = a + b;\n// BEGIN SOLUTION\ny = a + b;\n// END SOLUTION\nz = a + b;\n"
    assert {change[:7] for change in mutants_of(text).values()} == {"line 3:"}
    everywhere = mutants_of(text.replace("SOLUTION", "IT")).values()
    assert {change[:7] for change in everywhere} == {"line 1:", "line 3:", "line 5:"}


@pytest.mark.full
def test_what_new_makes(tmp_path: Path) -> None:
    """The solution gets all points; the starter compiles, and the kernel that `new` writes into `wrong/` falls by parity."""
    li.lab.new(tmp_path / "lab", "axpy")
    lab = read_lab(tmp_path / "lab")
    (exercise,) = lab.exercises
    texts = {
        "solution": exercise.solution[0],
        "starter": exercise.starter,
        "wrong": exercise.wrong["axpy.nothing.cpp"][0],
    }
    jobs = {kind: Job("axpy", text, exercise.solution[1]) for kind, text in texts.items()}
    known: dict[tuple[str, bool], Outcome] = {}

    def keep(outcome: Outcome) -> None:
        known[outcome.key, outcome.timed] = outcome

    judge(lab, list(jobs.values()), "run", keep, known, How(1, None, False, QUICK, False))
    for kind, job in jobs.items():
        outcome = known[job.key, False]
        found = _trial(exercise, kind, kind, outcome.marks, outcome.not_graded, "parity" if kind == "wrong" else "", "")
        assert found.ok, found


def _tried(lab: Lab) -> dict[str, bool]:
    found = li.lab.selftest(lab, mutants=False, workers=1, compiler=QUICK, progress=False)
    return {trial.name: trial.ok for trial in found.trials}


@pytest.mark.full
def test_a_lab_with_a_gap(tmp_path: Path) -> None:
    """A wrong kernel that falls by nothing, or by another criterion, is told, and the lab grades nobody; mended, it does."""
    text = KERNEL.partition("\n")[2]
    wrong = {
        "wrong__axpy_dot_right_dot_cpp": f"// parity: is not wrong at all\n{text}",
        "wrong__axpy_dot_other_dot_cpp": f"// gradient x: falls by parity alone\n{text.replace('A * x + y', 'A * x + y + 1')}",
    }
    lab = lab_in(tmp_path / "lab", notebook=book(), **wrong)
    tried = _tried(lab)
    assert not tried.pop("axpy.right.cpp") and not tried.pop("axpy.other.cpp") and all(tried.values())
    assert not read_lab(lab.folder).tested
    shutil.rmtree(lab.folder / "wrong")
    assert all(_tried(read_lab(lab.folder)).values()) and read_lab(lab.folder).tested
    li.lab.make(lab.folder)
    assert read_lab(lab.folder / "lab.zip").tested


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_the_labs_that_ship_are_green(tmp_path: Path, name: str) -> None:
    """Their solutions get all points, their starters and wrong kernels fall as they say, hardly a mutant survives.

    Of a CUDA text each access is looked at, and so mutants of it would take hours.
    """
    shutil.copytree(LABS / name, tmp_path / name)
    compiler = QUICK if name in ("axpy", "lltm_backward") else None  # the others are timed, or are CUDA
    found = li.lab.selftest(tmp_path / name, mutants=name not in CUDA, compiler=compiler, progress=False)
    assert found.green, str(found)
    if name in CUDA:
        return
    tried = [trial for trial in found.trials if trial.kind == "mutant"]
    assert tried and len(found.survivors) <= 0.05 * len(tried), str(found)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in NAMES if name not in CUDA])
def test_no_cheat_of_the_catalogue_passes(name: str) -> None:
    """Each loses points for the reason that it names, or by what it computes, and none because it merely does not compile."""
    lab, known = read_lab(LABS / name), dict[tuple[str, bool], Outcome]()
    tried = [
        (Job(one.grade_id, cheat.text, one.solution[1]), one, cheat)
        for one in lab.exercises
        for cheat in cheats(one, one.solution[0])
    ]

    def keep(outcome: Outcome) -> None:
        known[outcome.key, outcome.timed] = outcome

    judge(lab, [job for job, _, _ in tried], "run", keep, known, How(None, None, False, QUICK, False))
    assert len(tried) > 20
    for job, exercise, cheat in tried:
        marks, said = marks_of(exercise, [known.get((job.key, timed)) for timed in (False, True)])
        lost = [mark.reason for mark in marks if mark.points < mark.of]
        assert lost and not said, (cheat.name, said)
        assert any(cheat.says in reason for reason in lost) and (cheat.says or _ran(marks)), (cheat.name, lost)


@pytest.mark.full
def test_teaching_with_this(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make, break, hand out, collect, grade, report: every cell of the notebook runs, and its claims are asserted in it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    notebook = nbformat.read(LABS / "teaching.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(
        notebook, timeout=1500, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    said = json.dumps([cell.get("outputs") for cell in notebook.cells])
    assert "5 students" in said and "NOT SANDBOXED" not in said
