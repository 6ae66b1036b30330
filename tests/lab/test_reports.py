"""What goes out: tables that spreadsheets and gradebooks take, pages that show a student's text and never run it."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import lltm_inline as li
from lltm_inline.errors import FileError, InputError
from lltm_inline.lab import Grade, Grades, Mark
from lltm_inline.lab.reporting import ALONE, _once, _reasons, class_page, likenesses, student_page
from lltm_inline.show.parts import page
from tests.html_checks import read

TEXT = """
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  at::Tensor z = at::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) z.data_ptr<float>()[i] = A * x.data_ptr<float>()[i] + y.data_ptr<float>()[i];
  return z;
}
"""
RENAMED = TEXT.replace("z", "result").replace("i ", "k ").replace("\n  return", "  // mine\n  return")
OTHER = "at::Tensor forward(const at::Tensor& x, const at::Tensor& y) { return at::add(y, x, A); }  // </pre><script>alert(1)</script>"
FULL = (Mark("builds", 1, 1), Mark("parity", 4, 4))
HALF = (Mark("builds", 1, 1), Mark("parity", 0, 4, "z differs in <b>all</b> elements"))
EVIL = '=HYPERLINK("http://x")\n</td><script>alert(1)</script>'


def class_of(**more: tuple[Mark, ...]) -> Grades:
    """Make a class: right, wrong, not graded, late, and one with a name that means harm."""
    graded = [
        Grade("ann", "axpy", FULL, "", "lab", "1"),
        Grade("bob", "axpy", HALF, "", "lab", "2"),
        Grade("cat", "axpy", (), "cell 'axpy' is missing", "lab"),
        Grade("dan@x.org", "axpy", FULL, "", "lab", "3"),
        Grade(EVIL, "axpy", HALF, "", "lab", "3"),
    ]
    late = {"dan@x.org": "2026-11-22T10:00:00+00:00"}
    texts = {"1": TEXT, "2": RENAMED, "3": OTHER}
    return Grades("axpy", tuple(graded), {"axpy": 5}, late, {"dan@x.org": 0.5}, texts, "2026-11-20T12:00:00+00:00")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a class as `grade` does, and report it."""
    class_of().to_json(tmp_path / "grades.json")
    li.lab.report(tmp_path)
    return tmp_path


def rows(path: Path) -> list[dict[str, str]]:
    """Read a CSV file as other programs do."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_grades_go_and_come_back(tmp_path: Path) -> None:
    """What is written is what is read; what is something else is refused."""
    grades = class_of()
    assert Grades.from_json(grades.to_json(tmp_path / "grades.json")) == grades and hash(grades)
    assert str(grades).startswith("lab axpy: 5 students, mean 2.375 of 5 points; 1 not graded.\n")
    for bad in (
        [],
        {},
        {**grades.to_dict(), "format": 2},
        {**grades.to_dict(), "grades": [3]},
        {**grades.to_dict(), "more": 1},
    ):
        with pytest.raises(InputError, match=r"these are no grades|of format 2"):
            Grades.from_dict(bad)
    with pytest.raises(FileError):
        li.lab.report(tmp_path / "nothing")


def test_tables(folder: Path) -> None:
    """nbgrader, Canvas and Moodle find their columns; nobody who was not graded has a number; no cell is a formula."""
    ours = {row["student_id"]: row for row in rows(folder / "nbgrader.csv")}
    assert list(ours["ann"])[-4:] == ["raw_score", "late_submission_penalty", "score", "max_score"]
    assert [ours["dan@x.org"][key] for key in list(ours["ann"])[-4:]] == ["5", "2.5", "2.5", "5"]
    assert (ours["cat"]["raw_score"], ours["cat"]["score"]) == ("", "")
    assert (ours["ann"]["score"], ours["bob"]["score"]) == ("5.0", "1.0")
    canvas = rows(folder / "canvas.csv")
    assert list(canvas[0]) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "axpy"]
    assert canvas[0]["Student"] == "Points Possible" and canvas[0]["axpy"] == "5" and canvas[3]["axpy"] == ""
    moodle = rows(folder / "moodle.csv")
    assert moodle[1]["ID number"] == "bob" and "z differs" in moodle[1]["Feedback comments"]
    for path in folder.glob("*.csv"):
        assert not re.search(r'(^|,)"?[\s]*[=+@]', path.read_text(), re.MULTILINE)
        assert all("\n" not in cell for row in rows(path) for cell in row.values())


def test_a_student_called_like_a_row_of_canvas(tmp_path: Path) -> None:
    """Whose points are nobody's maximum."""
    grades = replace(
        class_of(), grades=tuple(replace(one, student="points possible ") for one in class_of().grades[:1])
    )
    grades.to_json(tmp_path / "grades.json")
    li.lab.report(tmp_path)
    first, only = rows(tmp_path / "canvas.csv")
    assert (first["Student"], only["Student"], only["SIS Login ID"]) == (
        "Points Possible", "student points possible ", "points possible ",
    )  # fmt: skip


def test_pages(folder: Path) -> None:
    """Each page is well formed, stands alone, shows every reason and runs nothing, whatever a student has written."""
    grades = class_of()
    files = sorted(path.name for path in (folder / "students").iterdir())
    assert len(files) == 5 and "ann.html" in files and all(re.fullmatch(r"[\w.-]+", name) for name in files)
    shown = {student: student_page(grades, student) for student in grades.students}
    for html in (*shown.values(), class_page(grades, {})):
        checked = read(page(html))
        assert not checked.problems
        assert "alert(1)" not in html or "&lt;script" in html
    assert (
        "z differs in &lt;b&gt;all" in shown["bob"] and "5 of 5 points" in shown["ann"] and "50%" in shown["dan@x.org"]
    )
    assert (
        "Not graded: cell &#x27;axpy&#x27; is missing" in shown["cat"]
        and "x.data_ptr" not in shown["bob"] + shown["cat"]
    )
    for path in folder.rglob("*.html"):
        text = path.read_text()
        assert text.startswith("<!doctype html>") and "default-src 'none'" in text and "<script" not in text
    links = re.findall(r'href="([^"]+)"', (folder / "class.html").read_text())
    assert len(links) == 5 and all((folder / link).is_file() for link in links)


def test_a_locked_cell_that_was_rewritten() -> None:
    """It is said on the student's page and in the instructor's, and nobody else's."""
    told = replace(class_of(), rewritten={"ann": ["op"]})
    assert Grades.from_dict(json.loads(json.dumps(told.to_dict()))) == told
    assert "rewritten what was locked: op" in student_page(told, "ann")
    assert "locked cells were rewritten: op" in class_page(told, {})
    assert "rewritten" not in class_page(class_of(), {}) + student_page(class_of(), "ann")


def test_a_cause_is_told_once() -> None:
    """What keeps a text from being run costs all points, and is one reason; two exercises have two."""
    lost = (
        Mark("builds", 0, 1, "line 3"),
        Mark("parity", 0, 4, "it is not run: line 3"),
        Mark("safety", 0, 1, "other"),
    )
    grades = Grades(
        "lab", (Grade("ann", "one", lost), Grade("ann", "two", lost[:1])), {"one": 6, "two": 1}, penalty={"ann": 0.5}
    )
    reasons = [
        "builds, parity: line 3",
        "safety: other",
        "builds: line 3",
        "50% of the points are lost, as it was late.",
    ]
    assert _reasons(grades, "ann") == reasons and reasons[-1] in class_page(grades, {})
    same = Mark("safety", 0, 1, "line 3")
    assert [*_once((*lost, same, FULL[0]))] == ["line 3", "it is not run", "other", "the same", ""]


def test_a_part_of_a_class_is_not_reported(tmp_path: Path) -> None:
    """Where grading was broken off the next step is to go on with it."""
    (tmp_path / "grades.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"results of a part of the class: lab grade \.\.\. --resume goes on"):
        li.lab.report(tmp_path)


def test_nearly_the_same() -> None:
    """Renamed variables and a comment hide nothing; another way to compute the same is another text."""
    pairs = likenesses(class_of())
    assert {(one.student, other.student) for _, one, other in pairs} == {("ann", "bob"), ("dan@x.org", EVIL)}
    assert all(share > 0.9 for share, _, _ in pairs)


def test_one_submission_for_a_program(tmp_path: Path) -> None:
    """Each program's own words for a test of each criterion, and the score with its penalty; without a grade there is no file."""
    grades = class_of()
    mine = replace(grades, grades=tuple(one for one in grades.grades if one.student == "dan@x.org"))
    gradescope, prairielearn, autolab = (json.loads(json.dumps(make(mine))) for make in ALONE.values())
    whole = sum(mine.of.values())
    assert gradescope["score"] == 2.5 and prairielearn["score"] == 2.5 / whole and autolab == {"scores": {"axpy": 2.5}}
    assert (
        [test["max_score"] for test in gradescope["tests"]]
        == [1, 4]
        == [t["max_points"] for t in prairielearn["tests"]]
    )
    assert set(gradescope["tests"][0]) == {"name", "number", "score", "max_score", "output", "visibility"}
    assert set(prairielearn["tests"][0]) == {"name", "points", "max_points", "message"} and prairielearn["gradable"]
    grades.to_json(tmp_path / "grades.json")
    for name in ALONE:
        with pytest.raises(InputError, match="want grades of one submission, and these are of 5 students"):
            li.lab.report(tmp_path, **{name: tmp_path / "found.json"})
    replace(grades, grades=grades.grades[2:3]).to_json(tmp_path / "grades.json")
    with pytest.raises(InputError, match="not graded: axpy: cell 'axpy' is missing"):
        li.lab.report(tmp_path, gradescope=tmp_path / "found.json", autolab=tmp_path / "found.json")
    assert not (tmp_path / "found.json").exists()


def test_unlocked_is_said_everywhere(tmp_path: Path) -> None:
    """Grades of kernels that ran unlocked say so on every page, in the terminal and to Gradescope."""
    grades = class_of()
    grades = replace(grades, grades=tuple(replace(one, sandboxed=False) for one in grades.grades[:1]))
    grades.to_json(tmp_path / "grades.json")
    li.lab.report(tmp_path)
    said = [path.read_text() for path in tmp_path.rglob("*.html")] + [ALONE["gradescope"](grades)["output"]]
    assert len(said) == 3 and all("Not sandboxed" in text for text in said) and "NOT SANDBOXED" in str(grades)
