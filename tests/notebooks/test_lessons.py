"""Each lesson in `notebooks/` is well-formed, runs from top to bottom, and its exercises can be told solved from unsolved."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

import lltm_inline as li
from tests.notebooks.player import BLOCK, exercises, play, said, tags
from tests.quick import QUICK

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))

#: Lessons in which neither the speed of what a compiler has made matters nor its words: they teach the same with any.
ANY_COMPILER = {
    "00_tour",
    "01_first_kernel",
    "03_lltm_in_aten",
    "04_gradients",
    "07_memory_conv_and_batch_norm",
    "08_cuda_without_a_gpu",
    "09_shared_memory",
    "10_pointers_accessors_launchers",
    "11_bindings",
    "12_extending_torch",
    "13_your_own_op",
    "14_crash_it_on_purpose",
    "15_leaving_home",
    "16_bring_your_own_kernel",
}

every_lesson = pytest.mark.parametrize("path", LESSONS, ids=[path.stem for path in LESSONS])


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a lesson's kernel import the package, and keep Jupyter's settings out of the user's."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # Where other programs want the cores too, many threads that wait for each other take a hundred times as long.
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    # The precompiled headers that other tests make are used; one that a lesson alone wants takes longer than it saves here.
    monkeypatch.setenv("LLTM_INLINE_NO_HEADER", "1")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


def read(path: Path) -> NotebookNode:
    """Read a lesson."""
    return nbformat.read(path, as_version=4)


def test_the_lessons_are_there() -> None:
    """Lessons are numbered from 00, each number once."""
    assert [path.name[:2] for path in LESSONS] == [f"{n:02d}" for n in range(18)]
    assert all(re.fullmatch(r"\d\d_[a-z0-9_]+\.ipynb", path.name) for path in LESSONS)


def test_the_table_names_every_lesson() -> None:
    """notebooks/README.md has a row for each lesson, with the title and the minutes that the lesson itself states."""
    rows = re.findall(
        r"^\| \[(.*?)\]\((.*?)\) \| (.*?) \| (\d+) \|$", (ROOT / "notebooks" / "README.md").read_text(), re.M
    )
    stated = []
    for path in LESSONS:
        head = read(path).cells[0].source
        (title,) = re.findall(r"^# (.*)$", head, re.M)
        (minutes,) = re.findall(r"^\*\*Time\.\*\* (\d+) minutes", head, re.M)
        stated.append((title, path.name, minutes))
    assert [(title, name, minutes) for title, name, _, minutes in rows] == stated


def test_the_tour_names_the_right_line() -> None:
    """The line that the tour asks for in the panel is the one with that text, and the text occurs there once."""
    texts = "\n".join(cell.source for cell in read(LESSONS[0]).cells)
    ((line, text),) = re.findall(r"in line (\d+), change `(.*?)`", texts)
    assert li.registry["lltm/fused@0"].cpp.split("\n")[int(line) - 1].count(text) == 1


@every_lesson
def test_form(path: Path) -> None:
    """A lesson states goal and time, has three exercises of one shape, and holds no output and no trace of a run."""
    book = read(path)
    nbformat.validate(book)
    assert (book.nbformat, book.nbformat_minor) == (4, 5)
    assert book.metadata.kernelspec.name == "python3" and set(book.metadata) <= {"kernelspec", "language_info"}
    assert len({cell.id for cell in book.cells}) == len(book.cells)
    for cell in book.cells:
        # What a self-check compares with is the answer: it is folded.
        hidden = {"jupyter": {"source_hidden": True}} if tags(cell) == ("self-check",) else {}
        assert {**cell.metadata, "tags": None} == {**hidden, "tags": None}, cell.id
        # Lab shows the first line of a folded cell: that is none of the answer.
        assert not hidden or re.match(r"li\.self_check\(\n|# Self-check \d\d\.\d\n", cell.source), cell.source
        assert cell.cell_type == "markdown" or (cell.execution_count is None and not cell.outputs), cell.id
    head = book.cells[0].source
    assert head.startswith(f"# {path.name[:2]} · ") and "**Goal.**" in head
    (minutes,) = re.findall(r"^\*\*Time\.\*\* (\d+) minutes", head, re.M)
    assert 5 <= int(minutes) <= 20


@every_lesson
def test_exercises(path: Path) -> None:
    """Each exercise is a task, a cell to fill in, a folded solution of one block, and a self-check."""
    book = read(path)
    assert len(exercises(book)) == 3
    for number, index in enumerate(exercises(book), 1):
        task, exercise, solution, check = book.cells[index - 1 : index + 3]
        assert re.match(rf"#+ Exercise {number}\b", task.source), task.id
        assert exercise.cell_type == "code" and tags(solution) == ("solution",) and tags(check) == ("self-check",)
        assert solution.source.startswith("<details><summary>Solution</summary>\n\n```python\n"), solution.id
        assert solution.source.rstrip().endswith("</details>") and len(BLOCK.findall(solution.source)) == 1, solution.id
        assert f'self_check(\n    "{path.name[:2]}.{number}"' in check.source or (
            f'self_check("{path.name[:2]}.{number}"' in check.source
        ), check.id


@every_lesson
def test_links(path: Path) -> None:
    """Every file that a lesson links to is there."""
    texts = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    for target in re.findall(r"\]\(([\w./-]+\.\w+)\)", "\n".join(texts)):
        assert (path.parent / target).is_file(), target


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem == "13_your_own_op" else [pytest.mark.full])
        for path in LESSONS
    ],
)
def test_lesson(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """Run all: no cell fails but those that are to, each self-check says what is missing, and praises the solution."""
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / path.name))  # as the Jupyter server does
    if path.stem in ANY_COMPILER:
        monkeypatch.setenv("CXX", QUICK)
    started = time.perf_counter()
    problems = play(read(path), tmp_path)
    record_property(f"lesson {path.stem}", time.perf_counter() - started)
    assert not problems, "\n".join(problems)


def check_cell(number: int, answer: str) -> NotebookNode:
    """Make a self-check over a variable, which wants 1."""
    source = (
        f'li.self_check("99.{number}", value={answer}, praise="It is one.", advice="Put one there.",'
        ' also=[("It is not one.", lambda n: n == 1)])'
    )
    return nbformat.v4.new_code_cell(source, id=f"self-check-{number}", metadata={"tags": ["self-check"]})


def exercise_cells(number: int, before: str, after: str, *more: str) -> list[NotebookNode]:
    """Make the last three cells of an exercise."""
    v4, answer = nbformat.v4, f"answer_{number}"
    return [
        v4.new_code_cell(f"{answer} = {before}", id=f"exercise-{number}", metadata={"tags": ["exercise", *more]}),
        v4.new_markdown_cell(f"```python\n{answer} = {after}\n```", metadata={"tags": ["solution"]}),
        check_cell(number, answer),
    ]


def test_a_faulty_lesson_is_found(tmp_path: Path) -> None:
    """A cell that fails, an exercise that was solved all along, one whose solution is none: each is told, nothing else is."""
    v4 = nbformat.v4
    book = v4.new_notebook(
        cells=[
            v4.new_code_cell("import lltm_inline as li"),
            v4.new_code_cell("1 / 0", id="fails"),
            v4.new_code_cell("2 / 0", id="may-fail", metadata={"tags": ["raises-exception"]}),
            v4.new_code_cell("3 / 1", id="is-to-fail", metadata={"tags": ["raises-exception"]}),
            v4.new_code_cell("four / 0", id="fails-otherwise", metadata={"tags": ["raises-exception"]}),
            *exercise_cells(1, "...", "1"),
            *exercise_cells(2, "1", "1"),
            *exercise_cells(3, "...", "2"),
            *exercise_cells(4, "1 / 0", "1", "raises-exception"),
        ]
    )
    # The fourth is undefined until it is solved, and so its self-check fails too.
    problems = play(book, tmp_path)
    assert [text.partition(" ")[0].rstrip(",") for text in problems] == [
        "fails", "is-to-fail", "fails-otherwise", "self-check-2", "self-check-4", "self-check-4", "self-check-3",
    ]  # fmt: skip
    assert "ZeroDivisionError" in problems[0] and "was to raise and did not" in problems[1]
    assert "unsolved, says 'Exercise 99.2: solved. It is one.'" in problems[3] and "NameError" in problems[4]
    assert "solved, says 'Exercise 99.3: not yet. It is not one.'" in problems[6]
    assert said(book.cells[-1]) == "Exercise 99.4: solved. It is one."
