"""Grades go out: CSV for nbgrader, Canvas and Moodle, JSON for Gradescope, PrairieLearn and Autolab, pages for students and class."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import combinations
from statistics import median
from typing import Any

from ..base.arguments import path_of, plural, using_file
from ..cpp.masks import mask
from ..errors import InputError
from ..show.parts import Cell, Html, badge, bar, fold, join, note, page, paragraph, table, tag
from ..show.source import source
from .grades import GRADES, LINES, NOT_RUN, Grade, Grades, Mark, plain_cell
from .making import Made

#: As nbgrader exports it.
_NBGRADER = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
    "late_submission_penalty", "score", "max_score",
)  # fmt: skip
_UNLOCKED = "Not sandboxed: this was graded with --trust, on a machine that could not lock kernels in."
#: Names that Windows has for devices, and those that others may have got.
_TAKEN = re.compile(r"con|prn|aux|nul|(?:com|lpt)\d|.*-[0-9a-f]{16}")
#: Of a longer text no line is coloured: what colours it can be kept busy.
_MOST_COLOURED = 10_000
#: Texts are likened by the runs of so many tokens that they have in common.
_RUN = 8
_ALIKE = 0.6
_MOST_PAIRS = 10
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\S")


def report(
    folder: str | os.PathLike[str],
    *,
    gradescope: str | os.PathLike[str] | None = None,
    prairielearn: str | os.PathLike[str] | None = None,
    autolab: str | os.PathLike[str] | None = None,
) -> Made:
    """Write what `grade` found as files for people and for other programs.

    Args:
        folder: into which `grade` has written.
        gradescope, prairielearn: where to write the `results.json` of the one submission that is graded there.
        autolab: where to write the line with its scores, which must be the last one that Autolab's grader prints.

    Returns:
        What was written: `nbgrader.csv`, `canvas.csv`, `moodle.csv`, `class.html`, and a page in `students/` for each; or the files
        for one submission alone.

    Raises:
        InputError: the folder holds no grades; or for one submission, they are not of one student, or not complete.
        FileError: a file cannot be read or written.
    """
    folder = path_of("folder", folder)
    if not (folder / GRADES).exists() and (folder / LINES).exists():
        raise InputError(
            f"{folder} holds results of a part of the class: lab grade ... --resume goes on, and then report them"
        )
    grades = Grades.from_json(folder / GRADES)
    wanted = {"gradescope": gradescope, "prairielearn": prairielearn, "autolab": autolab}
    targets = {name: path_of(name, path) for name, path in wanted.items() if path is not None}
    # All before the first file: half of one is a grade of nought.
    texts = {name: json.dumps(ALONE[name](_of_one(grades))) + "\n" for name in targets}
    for name, target in targets.items():
        with using_file(target):
            target.write_text(texts[name], encoding="utf-8")
    if targets:
        return Made(folder, tuple((str(target), f"for {name}") for name, target in targets.items()))
    pages = {student: f"students/{_file_name(student)}.html" for student in grades.students}
    everybody = class_page(grades, pages)
    nbgrader, canvas, moodle = map(_csv, _tables(grades))
    files = {
        "nbgrader.csv": (nbgrader, "as nbgrader exports it"),
        "canvas.csv": (canvas, "for Canvas: Grades, Import"),
        "moodle.csv": (moodle, "for Moodle: Grades, Import, CSV file"),
        "class.html": (
            _document(f"{grades.lab}: class", everybody),
            "for you: points, criteria that failed, sources that are nearly the same",
        ),
    }
    for student, name in pages.items():
        files[name] = _document(f"{grades.lab}: {student}", student_page(grades, student)), f"for {student}"
    with using_file(folder):
        (folder / "students").mkdir(exist_ok=True)
        for name, (text, _) in files.items():
            (folder / name).write_text(text, encoding="utf-8", errors="replace")
    said = [(name, what) for name, (_, what) in files.items() if not name.startswith("students/")]
    return Made(folder, (*said, ("students/", plural(len(pages), "page"))))


def _file_name(student: str) -> str:
    """Return a name of a file that any system takes, and that no two students share."""
    plain = re.sub(r"[^a-z0-9_-]+", "_", student.lower()).strip("_")[:60] or "student"
    digest = hashlib.sha256(student.encode()).hexdigest()[:16]
    return plain if plain == student and not _TAKEN.fullmatch(plain) else f"{plain}-{digest}"


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    """Write a table that a spreadsheet shows as it is."""
    out = StringIO()
    writer = csv.writer(out)
    for row in rows:
        writer.writerow([plain_cell(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()


def _tables(grades: Grades) -> tuple[list[Sequence[Any]], ...]:
    """Return the rows of the tables for nbgrader, Canvas and Moodle."""
    whole, by_mail = sum(grades.of.values()), all("@" in student for student in grades.students)
    nbgrader: list[Sequence[Any]] = [_NBGRADER]
    canvas: list[Sequence[Any]] = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", grades.lab]]
    canvas.append(["Points Possible", "", "", "", "", whole])
    moodle: list[Sequence[Any]] = [["Email address" if by_mail else "ID number", grades.lab, "Feedback comments"]]
    for student in grades.students:
        raw, score = grades.raw(student), grades.score(student)
        points = ["", "", ""] if raw is None or score is None else [raw, round(raw - score, 6), score]
        mail, when = student if "@" in student else "", grades.handed_in.get(student, "")
        nbgrader.append([grades.lab, grades.due, when, student, "", "", mail, *points, whole])
        # Canvas knows a student by the login, and the row of points by what stands in front.
        name = f"student {student}" if student.strip().lower() == "points possible" else student
        canvas.append([name, "", "", student, "", points[2]])
        moodle.append([student, points[2], "; ".join(_reasons(grades, student))])
    return nbgrader, canvas, moodle


def _reasons(grades: Grades, student: str) -> list[str]:
    """Say why points are missing: each reason once, with all the criteria that failed for it."""
    fallen: dict[tuple[str, str], list[str]] = {}
    for grade in (ones := grades.students[student]):
        for mark in grade.marks:
            if mark.points < mark.of:
                fallen.setdefault((grade.exercise, _parted(mark.reason)[1]), []).append(mark.criterion)
    lost = [f"{', '.join(criteria)}: {reason}" for (_, reason), criteria in fallen.items()]
    lost += [f"{grade.exercise} was not graded: {grade.not_graded}" for grade in ones if grade.not_graded]
    return [*lost, *_late(grades.penalty.get(student, 0.0))]


def _parted(reason: str) -> tuple[str, str]:
    """Part a reason for which nothing was run from the words that say so."""
    ahead = next((said for said in NOT_RUN if reason.startswith(f"{said}: ")), "")
    return ahead, reason.removeprefix(f"{ahead}: ")


def _once(marks: Iterable[Mark]) -> Iterator[str]:
    """Yield the reasons of marks, each in full once."""
    known = set()
    for ahead, reason in (_parted(mark.reason) for mark in marks):
        yield (ahead or "the same") * bool(reason) if reason in known else f"{ahead}: {reason}" if ahead else reason
        known.add(reason)


def _late(lost: float) -> list[str]:
    return [f"{lost:.0%} of the points are lost, as it was late."] * bool(lost)


def _of_one(grades: Grades) -> Grades:
    """See that there is one submission and that all of it is graded: a program that asks for one must give no points otherwise."""
    if len(grades.students) != 1:
        raise InputError(f"want grades of one submission, and these are of {plural(len(grades.students), 'student')}")
    if missing := [f"{grade.exercise}: {grade.not_graded}" for grade in grades.grades if grade.not_graded]:
        raise InputError(f"not graded: {'; '.join(missing)}")
    return grades


def _results(grades: Grades, about: str, score: str, most: str, said: str) -> dict[str, Any]:
    """Return a `results.json`: a test for each criterion in the words of whoever reads it, and what is to be said about all."""
    lost = max(grades.penalty.values(), default=0.0)
    words = [_UNLOCKED] * (not grades.sandboxed) + _late(lost)
    tests = [
        {"name": f"{grade.exercise}: {mark.criterion}", score: mark.points, most: mark.of, said: mark.reason}
        for grade in grades.grades
        for mark in grade.marks
    ]
    (student,) = grades.students
    return {"score": grades.score(student) or 0.0, about: " ".join(words), "tests": tests}


def _gradescope(grades: Grades) -> dict[str, Any]:
    found = _results(grades, "output", "score", "max_score", "output")
    tests = [{**test, "number": str(n), "visibility": "visible"} for n, test in enumerate(found["tests"], 1)]
    extra = {"lab": grades.grades[0].lab, "sandboxed": grades.sandboxed}
    return {**found, "tests": tests, "visibility": "visible", "stdout_visibility": "hidden", "extra_data": extra}


def _prairielearn(grades: Grades) -> dict[str, Any]:
    """Its score is a share of the points."""
    found = _results(grades, "message", "points", "max_points", "message")
    return {**found, "gradable": True, "score": found["score"] / (sum(grades.of.values()) or 1.0)}


def _autolab(grades: Grades) -> dict[str, Any]:
    """The points of each cell, which is a problem there."""
    kept = 1 - max(grades.penalty.values(), default=0.0)
    return {"scores": {grade.exercise: round((grade.points or 0.0) * kept, 6) for grade in grades.grades}}


#: What programs read that grade one submission at a time: https://gradescope-autograders.readthedocs.io/en/latest/specs/,
#: https://docs.prairielearn.com/externalGrading/ and https://docs.autolabproject.com/lab/.
ALONE = {"gradescope": _gradescope, "prairielearn": _prairielearn, "autolab": _autolab}


def _document(title: str, body: Html) -> str:
    """Write a page that stands alone, light or dark as its reader has it."""
    head = Html(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">'
        # A student's text is on it: whatever it were, nothing of it would run or load.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    )
    look = tag("style", Html("body{max-width:70em;margin:2em auto;padding:0 1em;font-family:system-ui,sans-serif}"))
    return Html(
        head + tag("title", title) + look + Html("</head><body><main>") + page(body) + Html("</main></body></html>\n")
    )


def student_page(grades: Grades, student: str) -> Html:
    """Show a student what was graded, mark by mark, beside the text."""
    score = grades.score(student)
    whole = sum(grades.of.values())
    parts: list[object] = [tag("h1", grades.lab), paragraph(tag("b", student), ": ", _points(score, whole))]
    said = [_UNLOCKED] * (not grades.sandboxed)
    if lost := grades.penalty.get(student, 0.0):
        said.append(f"Handed in {grades.handed_in[student]}, due {grades.due}: {lost:.0%} of the points are lost.")
    if cells := grades.rewritten.get(student):
        said.append(f"You have rewritten what was locked: {', '.join(cells)}. You were graded by what was handed out.")
    parts += [note("plain", one) for one in said]
    for grade in grades.students[student]:
        parts.append(tag("h2", grade.exercise))
        if grade.not_graded:
            parts.append(note("plain", "Not graded: ", grade.not_graded))
            continue
        points = [(f"{mark.points:g}/{mark.of:g}", "good" if mark.points >= mark.of else "bad") for mark in grade.marks]
        each = zip(grade.marks, points, _once(grade.marks), strict=True)
        rows = [[mark.criterion, Cell(*of, "num"), reason] for mark, of, reason in each]
        head = ["criterion", Cell("points", align="num"), "what is missing"]
        parts.append(table(head, rows, caption=f"marks for {grade.exercise}"))
        if text := grades.texts.get(grade.text):
            parts.append(fold("what was graded", _source(text, "your text")))
    return join(parts)


def _source(text: str, label: str) -> Html:
    return source(text, language="cpp" if len(text) <= _MOST_COLOURED else "text", label=label)


def _points(score: float | None, whole: float) -> Html:
    if score is None:
        return badge("not graded")
    return badge(f"{score:g} of {whole:g} points", "good" if score >= whole else "plain")


def class_page(grades: Grades, pages: Mapping[str, str]) -> Html:
    """Show an instructor the class: how the points are spread, what fell most, who wrote nearly the same, and everybody."""
    whole = sum(grades.of.values())
    scores = [score for score in map(grades.score, grades.students) if score is not None]
    parts: list[object] = [
        tag("h1", f"{grades.lab}: {plural(len(grades.students), 'student')}"),
        paragraph(grades.headline),
    ]
    if not grades.sandboxed:
        parts.append(note("bad", _UNLOCKED))
    if scores and whole:
        parts.append(paragraph(f"median {median(scores):g} of {whole:g} points"))
        tenths = Counter(min(9, int(10 * score / whole)) for score in scores)
        most = max(tenths.values())
        rows = [
            [f"{10 * n} to {10 * (n + 1)} %", Cell(tenths[n], align="num"), bar(tenths[n] / most)] for n in range(10)
        ]
        parts.append(
            table(["share of the points", Cell("students", align="num"), ""], rows, caption="how the points are spread")
        )
    if fallen := grades.fallen.most_common():
        rows = [[name, Cell(count, align="num"), bar(count / fallen[0][1], kind="bad")] for name, count in fallen]
        parts.append(table(["criterion", Cell("students", align="num"), ""], rows, caption="criteria that failed most"))
    parts += [_pair(grades, *pair) for pair in likenesses(grades)]
    people: list[list[object]] = []
    for student in grades.students:
        link = tag("a", student, href=pages[student]) if student in pages else student
        cells = ", ".join(grades.rewritten.get(student, ()))
        said = [*_reasons(grades, student), *[f"locked cells were rewritten: {cells}"] * bool(cells)]
        people.append([link, _points(grades.score(student), whole), "; ".join(said)])
    parts.append(table(["student", "points", "what is missing"], people, caption="students"))
    return join(parts)


def likenesses(grades: Grades) -> list[tuple[float, Grade, Grade]]:
    """List the pairs of students whose texts have most in common, names of variables, comments and what most have apart.

    Returns:
        Of each how much it is, 1 for the same tokens, and the two.
    """
    found = []
    by_exercise: dict[str, list[tuple[Grade, set[int]]]] = {}
    for grade in grades.grades:
        if grade.text in grades.texts:
            runs = _runs(grades.texts[grade.text])
            by_exercise.setdefault(grade.exercise, []).append((grade, runs))
    for ones in by_exercise.values():
        # What half of the class has is not taken from each other.
        usual = {
            run for run, n in Counter(run for _, runs in ones for run in runs).items() if n > max(2, len(ones) / 2)
        }
        for (one, mine), (other, theirs) in combinations(((grade, runs - usual) for grade, runs in ones), 2):
            both = len(mine & theirs)
            share = both / max(1, len(mine) + len(theirs) - both)
            if share >= _ALIKE:
                found.append((share, one, other))
    return sorted(found, key=lambda pair: -pair[0])[:_MOST_PAIRS]


def _runs(text: str) -> set[int]:
    """Return what identifies each run of tokens; a name counts as a name, whatever it is."""
    tokens = ["n" if token[0].isalpha() or token[0] == "_" else token for token in _TOKEN.findall(mask(text))]
    return {hash(tuple(tokens[at : at + _RUN])) for at in range(len(tokens) - _RUN + 1)}


def _pair(grades: Grades, share: float, one: Grade, other: Grade) -> Html:
    """Show two texts side by side."""
    title = f"{one.exercise}: {one.student} and {other.student} have {share:.0%} in common"
    both = [
        tag("div", paragraph(tag("b", grade.student)), _source(grades.texts[grade.text], grade.student), cls="li-wide")
        for grade in (one, other)
    ]
    return fold(title, tag("div", *both, style="display:grid;grid-template-columns:1fr 1fr;gap:1em"))
