"""Whatever one student hands in, and however it is named, the others get what they get without it, and the class its reports."""

from __future__ import annotations

import csv
import json
import os
import re
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lltm_inline as li
from lltm_inline.cpp import masks
from lltm_inline.diagnosis.source_text import python_line
from lltm_inline.errors import InputError
from lltm_inline.lab import Grade, Grades, Mark, grading, reporting, submissions
from lltm_inline.lab.cells import read_notebook
from lltm_inline.lab.grades import plain_cell
from lltm_inline.lab.grading import Job, Outcome
from tests.lab.shared import KERNEL, book, hand_in, lab_in, ready


@pytest.fixture
def graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Grades]:
    """Grade a class from its folder to its reports; the judge gives all points for whatever comes to it."""

    def judge(lab: Any, jobs: list[Job], run: str, keep: Any, known: Any, how: Any) -> None:
        for job in jobs:
            if (job.key, False) not in known:
                keep(Outcome(job.key, False, tuple(Mark(name, of, of) for name, of in lab.exercises[0].points.items())))

    monkeypatch.setattr(grading, "judge", judge)
    monkeypatch.setattr(grading, "_locked", lambda: True)
    lab = ready(lab_in(tmp_path / "lab"))
    runs = iter(range(1_000_000))

    def grade(source: Path) -> Grades:
        to = tmp_path / f"grades{next(runs)}"
        first = li.lab.grade(lab, source, to)
        assert li.lab.grade(lab, source, to, resume=True) == first
        li.lab.report(to)
        assert Grades.from_json(to / "grades.json") == first
        assert [row["student_id"] for row in rows(to / "nbgrader.csv")] == [
            plain_cell(student) for student in first.students
        ]
        pages = sorted(path.name for path in (to / "students").iterdir())
        assert len({name.casefold() for name in pages}) == len(pages) == len(first.students)
        return first

    return grade


def rows(path: Path) -> list[dict[str, str]]:
    """Read a CSV file as other programs do."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def said(grades: Grades, student: str) -> list[str]:
    """Return what is said of each answer of a student."""
    return [
        one.not_graded or "; ".join(mark.reason for mark in one.marks if mark.reason)
        for one in grades.students[student]
    ]


TEXTS = {
    "infinite": (book(moved="moved = 1e999"), 7.0, "want one value"),
    "an ellipsis in a list": (book(moved="moved = [...]"), 7.0, "want one value"),
    "complex and infinite": (book(moved="moved = -1e999j"), 7.0, "want one value"),
    "infinite in a dict": (book(moved="moved = {1: [1e999]}"), 7.0, "want one value"),
    "bytes": (book(moved="moved = b'12'"), 7.0, "want one value"),
    "half a character": (book(moved=r"moved = '\ud800'"), 7.0, "not this"),
    "an integer beyond all numbers": (book(moved=f"moved = 0x{'f' * 900}"), 7.0, "not this"),
    "a param beyond all numbers": (book(KERNEL.replace("A=2", f"A=1{'0' * 400}")), 2.0, "want a number"),
    "a param of no number": (book(KERNEL.replace("A=2", "A=nan")), 2.0, "want a number"),
    "an infinite param": (book(KERNEL.replace("A=2", "B=1e999")), 2.0, "want a number"),
    "lines that end otherwise": (book("%%kernel axpy/mine\n\r\r\fx = 1"), 2.0, "line 4 of the cell looks like Python"),
    "a cell of line ends": (book("\r\r\f", "\r\r\f"), 0.0, "there is no answer"),
    "a first line without an end": (book(KERNEL.replace("--check", "--check " * 3000)), 2.0, "letters, want at most 2000"),
    "a name without an end": (book(KERNEL.replace("axpy/mine", "'" * 1900)), 2.0, "is in quotes"),
    "a million cells": ({**book(), "cells": [{}] * 1_000_000}, None, "has 1000000 cells, want at most"),
    "a format beyond all numbers": (b'{"nbformat": ' + b"4" * 5000 + b"}", None, "is no notebook"),
    "a format of no number": (b'{"nbformat": NaN, "cells": []}', None, "format nan, want 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_one_text(graded: Callable[..., Grades], tmp_path: Path, name: str) -> None:
    """It is read for what it is, in one submission alone."""
    content, score, says = TEXTS[name]
    grades = graded(hand_in(tmp_path / "class", ann=content, bob=book()))
    assert (grades.score("ann"), grades.score("bob")) == (score, 9.0)
    assert any(says in each for each in said(grades, "ann")) and said(grades, "bob") == ["", ""]


@pytest.mark.parametrize(("module", "name"), [(submissions, "kernel_cell"), (submissions, "read_notebook"), (submissions, "_may_be"),
                                              (grading, "_job"), (grading, "_marked"), (grading, "_equal")])  # fmt: skip
def test_what_nobody_expects(
    graded: Callable[..., Grades], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    """Where a reader, or what marks, raises anything at all over one submission, that one is not graded, and says by what."""
    usual = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: 1 // 0 if "7654321" in repr(given) else usual(*given))
    ann = book(KERNEL.replace("A=2", "A=7654321"), "moved = 7654321")
    grades = graded(
        hand_in(tmp_path / "class", **{"ann" + "7654321" * (name in ("read_notebook", "_may_be")): ann, "bob": book()})
    )
    (ann_, bob) = grades.students
    assert grades.score(ann_) is None and grades.score(bob) == 9.0
    assert any("it cannot be read: ZeroDivisionError: " in each for each in said(grades, ann_))


ODD = st.sampled_from(["", "\0", "\r\r\f", "\ud800", "\x1b[2J", "=1+1", "...", '"\\' * 50, "'\"\\" * 50, 'R"(', "%%kernel",
"--params A=1e999", "\u2028",
                       "moved = 1e999", "moved = [...]", "(" * 500, "-" * 900, "// BEGIN SOLUTION\n",
                       "\N{FULLWIDTH EQUALS SIGN}1"])  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), ODD, st.text(st.characters(), max_size=8),
    st.sampled_from([10**400, -(10**4000), 4, "code", "markdown", "axpy", "moved", {"nbgrader": {"grade_id": "axpy"}}]),
)  # fmt: skip
THINGS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3), max_leaves=6
)


PARTS = st.sampled_from(
    [
        "moved = ",
        "[",
        "]",
        "-",
        "1e999",
        "...",
        "{1: ",
        "}",
        "12",
        "%%kernel axpy/mine --params A=",
        "\n",
        "\r",
        "\f",
        "x = 1",
        "0" * 400,
        " --",
        "B=2",
    ]
)

VALUES = st.recursive(
    st.sampled_from(["12", "1e999", "...", "1e999j", "b'x'", r"'\ud800'", f"0x{'f' * 900}", "None"]),
    lambda inner: st.one_of(*(inner.map(form.format) for form in ("[{}]", "{{1: {}}}", "-{}", "({}, 1)"))),
)
ANYTHING = st.lists(PARTS | ODD, max_size=6).map("".join)
NUMBERS = st.sampled_from(["1e999", "1" + "0" * 400, "nan", "2"])
KERNELS = st.one_of(ANYTHING, st.builds("%%kernel axpy/mine --params A={}\n{}".format, NUMBERS, ANYTHING))
FUZZ = settings(
    max_examples=60, derandomize=True, database=None, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip


@st.composite
def notebooks(draw: st.DrawFn) -> bytes:
    """Change a right notebook in a few places, whatever stands there: texts, metadata, types, nesting, keys."""
    root: Any = {"": json.loads(json.dumps(book()))}
    for _ in range(draw(st.integers(1, 4))):
        at, key = root, ""
        while isinstance(at[key], dict | list) and at[key] and draw(st.integers(0, 4)):
            at = at[key]
            key = draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        how = draw(st.sampled_from(["put", "insert", "nest", "text"]))
        if how == "text" and isinstance(at[key], str):
            place = draw(st.integers(0, len(at[key])))
            at[key] = at[key][:place] + draw(PARTS | ODD) + at[key][place + draw(st.integers(0, 9)) :]
        elif how == "insert" and isinstance(at, list):
            at.insert(key, draw(st.sampled_from(at) | THINGS))
        else:
            at[key] = [at[key]] if how == "nest" else draw(THINGS)
    return json.dumps(root[""]).encode()


def _fare(graded: Callable[..., Grades], folder: Path, data: Any) -> None:
    """Hand it in beside a right one: that gets all points, and the class its files."""
    grades = graded(hand_in(folder, ann=data, bob=book()))
    assert list(grades.students) == ["ann", "bob"] and grades.score("bob") == 9.0 and said(grades, "bob") == ["", ""]


@FUZZ
@given(data=notebooks())
def test_any_notebook(graded: Callable[..., Grades], tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Whatever is changed in a notebook, nobody else loses by it."""
    _fare(graded, tmp_path_factory.mktemp("class"), data)


@FUZZ
@given(kernel=KERNELS, value=st.one_of(ANYTHING, VALUES.map("moved = {}".format)))
def test_any_cells(
    graded: Callable[..., Grades], tmp_path_factory: pytest.TempPathFactory, kernel: str, value: str
) -> None:
    """Whatever stands in the cells, nobody else loses by it."""
    _fare(graded, tmp_path_factory.mktemp("class"), book(kernel, value))


ALPHABETS = [
    '"\\',
    "'\"\\",
    "'/*",
    'R"(',
    "//",
    "\\\n",
    "{",
    "<",
    '"',
    "'",
    "/*",
    "\\",
    "ragma ",
    "constructor)",
    "CAT",
    "'a\"",
    "[[",
    " \n",
    "#",
    "a(",
    "1'",
]


class Counted(str):
    """A text that counts the letters over which `find` has walked."""

    walked = 0

    def find(self, *given: Any) -> int:  # type: ignore[override]
        at = str.find(self, *given)
        self.walked += (at if at >= 0 else len(self)) - given[1]
        return at


class Counting:
    """A pattern that counts the letters over which it has walked; one that finds nothing has walked to the end of the line."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.walked = pattern, 0

    def match(self, text: str, at: int) -> re.Match[str] | None:
        found = self.pattern.match(text, at)
        # Of a word in single quotes a look ahead has ended at the next quote.
        stop = min((place for end in "\n'" if (place := str.find(text, end, at)) >= 0), default=len(text))
        self.walked += (found.end() if found else stop if "'" in self.pattern.pattern[:20] else len(text)) - at
        return found


@pytest.mark.parametrize("alphabet", [*ALPHABETS, "many raw strings"])
def test_a_text_is_walked_over_once(monkeypatch: pytest.MonkeyPatch, alphabet: str) -> None:
    """However many strings and comments begin in a text and do not end: each letter is looked at a few times."""
    made = "".join(f'R"{n}(' for n in range(2000)) if alphabet == "many raw strings" else alphabet * 5000
    counting = {sign: Counting(pattern) for sign, pattern in masks._ENDS.items()}
    monkeypatch.setattr(masks, "_ENDS", counting)
    text = Counted(made)
    masks.opaque.__wrapped__(text)  # what it has kept of an equal text is not walked over
    assert text.walked + sum(one.walked for one in counting.values()) <= 4 * len(made)


@pytest.mark.parametrize(
    ("text", "plain"),
    [('"a', '"a'), ('"\\"\\"\n"b"', '"\\"\\"\n   '), ("'\"\\' x\n'\"'", "'\"\\' x\n   "), ('R"a"b(x)a"b" y', " " * 13 + "y"),
    ('R"a(x)b" y', "R        y"),
     ('"\\" R"(x)" "', '      (x)   '), ("/* a /* b */ c */", "             c */"), ('/* "', '/* "')],
)  # fmt: skip
def test_what_does_not_end(text: str, plain: str) -> None:
    """A string, a raw string or a comment without its end is code, and what stands behind is read as ever."""
    assert masks.unquoted(text) == plain


def test_a_long_text_is_not_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """What colours a text goes back and forth in it: a text of more letters than that is shown plain, and whole."""
    seen = []
    monkeypatch.setattr(reporting, "source", lambda text, *, language, label: seen.append(language) or "")
    for letters in (9_000, 20_000):
        grades = Grades(
            "axpy", (Grade("ann", "axpy", (Mark("builds", 1, 1),), text="1"),), {"axpy": 1}, texts={"1": "x" * letters}
        )
        reporting.student_page(grades, "ann")
    assert seen == ["cpp", "text"]


def test_python_counts_lines_otherwise() -> None:
    """A carriage return ends a line of Python's, too."""
    assert python_line("\r\r\fx = 1") == (3, "\fx = 1") and python_line("\r\nimport torch") == (2, "import torch")


def _submitted(root: Path, **times: str | bytes) -> Path:
    for student, when in times.items():
        hand_in(root / "submitted" / student / "axpy", axpy=book())
        (root / "submitted" / student / "axpy" / "timestamp.txt").write_bytes(
            when.encode() if isinstance(when, str) else when
        )
    return root


NO_TIMES = {
    "CET": "2026-11-20 13:00:00 CET", "question marks": "??", "empty": "", "a day": "2026-11-20", "a week": "2026-W47-5T12:00",
    "month 13": "2026-13-01 00:00:00",
    "beyond all years": "9999-12-31T23:59:59-12:00", "digits of another script": "\uff12\uff10\uff12\uff16-11-20 12:00:00",
    "two": "2026-11-19 12:00:00 UTC\n2026-11-21 12:00:00 UTC",
    "UTF-16": "2026-11-20 12:00:00".encode("utf-16"), "a zone of two words": "2026-11-20 12:00:00 +01:00 CET",
    "an offset of one digit": "2026-11-20 12:00:00 +1",
}  # fmt: skip


@pytest.mark.parametrize("name", NO_TIMES)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_time_that_cannot_be_read(graded: Callable[..., Grades], tmp_path: Path, name: str, zipped: bool) -> None:
    """It is not taken for none, with which nobody is late: the submission is not graded, and says what stands in which file."""
    source = _submitted(tmp_path / "class", ann=NO_TIMES[name], bob="2026-11-21 11:00:00.123 UTC\n")
    if zipped:
        with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
            for file in source.rglob("*"):
                archive.write(file, file.relative_to(source.parent))
        source = tmp_path / "class.zip"
    grades = graded(source)
    assert grades.score("ann") is None and all(
        each.startswith("timestamp.txt has ") and "want a time such as" in each for each in said(grades, "ann")
    )
    assert grades.score("bob") == 6.75 and grades.penalty == {"bob": 0.25}


def test_a_time_that_is_a_link(graded: Callable[..., Grades], tmp_path: Path) -> None:
    """Neither a link nor a pipe is read."""
    folder = _submitted(tmp_path / "class", ann="", bob="", cat="2026-11-20T12:00:00Z")
    for student, make in (("ann", lambda path: path.symlink_to("../../cat/axpy/timestamp.txt")), ("bob", os.mkfifo)):
        (path := folder / "submitted" / student / "axpy" / "timestamp.txt").unlink()
        make(path)
    grades = graded(folder)
    assert ["is a link" in said(grades, "ann")[0], "is no file" in said(grades, "bob")[0], grades.score("cat")] == [
        True,
        True,
        9.0,
    ]


def test_whose_time_it_is(graded: Callable[..., Grades], tmp_path: Path) -> None:
    """A timestamp.txt counts where nbgrader lays it, and nowhere else: no student sets a time, of their own or of the class."""
    folder = hand_in(tmp_path / "class", ann=book())
    hand_in(folder / "bob", axpy=book())
    for place in (folder, folder / "bob"):
        (place / "timestamp.txt").write_text("1999-01-01 00:00:00")
    hand_in(folder / "cat" / "axpy", axpy=book())
    (folder / "cat" / "timestamp.txt").write_text("no time")
    (folder / "cat" / "axpy" / "timestamp.txt").write_text("2026-11-20 14:00:00+02:00")
    grades = graded(folder)
    assert dict(grades.handed_in) == {"cat": "2026-11-20T12:00:00+00:00"} and not grades.penalty
    assert {student: grades.score(student) for student in grades.students} == {"ann": 9.0, "bob": 9.0, "cat": 9.0}


def test_files_without_an_end(graded: Callable[..., Grades], tmp_path: Path) -> None:
    """Of a timestamp of 1.5 GB, and of Gradescope's metadata, no more is read than what could be one."""
    folder = _submitted(tmp_path / "class", ann="", bob="2026-11-20 12:00:00 UTC" + " " * 1000)
    os.truncate(folder / "submitted" / "ann" / "axpy" / "timestamp.txt", 1_500_000_000)
    tracemalloc.start()
    grades = graded(folder)
    hand_in(tmp_path / "at" / "submission", axpy=book())
    (tmp_path / "at" / "submission_metadata.json").touch()
    os.truncate(tmp_path / "at" / "submission_metadata.json", 1_500_000_000)
    with pytest.raises(InputError, match="not as Gradescope writes it"):
        li.lab.collect(tmp_path / "lab", tmp_path / "at")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "timestamp.txt has " in said(grades, "ann")[0] and grades.score("bob") == 9.0 and peak < 200_000_000


def test_a_student_is_no_gradescope(graded: Callable[..., Grades], tmp_path: Path) -> None:
    """A file of the name of its metadata makes no mount of a class; a time that Gradescope does not write is refused."""
    folder = hand_in(tmp_path / "class", ann=book())
    (folder / "submission_metadata.json").write_text("{")
    assert graded(folder).score("ann") == 9.0
    hand_in(folder / "submission", axpy=book())
    for name, when in (("Ann \ud800", "2026-11-20 13:00:00 CET"), ("Ann \ud800/../x", "2026-11-20T13:00:00+01:00")):
        (folder / "submission_metadata.json").write_text(json.dumps({"created_at": when, "users": [{"name": name}]}))
        if "CET" in when:
            with pytest.raises(InputError, match="created_at has '2026-11-20 13:00:00 CET', want a time"):
                graded(folder)
        else:
            assert graded(folder).score(r"Ann \ud800/../x") == 9.0


def test_many_files_of_one(graded: Callable[..., Grades], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who hands in more files than anybody looks through, or folders without end, is not graded, and nobody else is kept from it."""
    monkeypatch.setattr(submissions, "_MOST_FILES", 5)
    folder = hand_in(tmp_path / "class", bob=book())
    for name in "abcdefgh":
        hand_in(folder / "ann", **{name: "x"})
    deep = [folder / "cat" / "/".join("d" * depth) for depth in range(1500)]
    for each in deep:
        each.mkdir()
    try:
        grades = graded(folder)
    finally:
        for each in reversed(deep):
            each.rmdir()
    assert said(grades, "ann")[0] == "there are more than 5 files" and grades.score("bob") == 9.0
    assert said(grades, "cat")[0] == "there is no notebook in the folder"


def test_each_name_has_a_row(graded: Callable[..., Grades], tmp_path: Path) -> None:
    """Names that a person, a gradebook or a file system takes for one: each has a row, a page, no grade, and the reason."""
    same = [
        ["Bob", "bob"],
        ["Zoë", "Zoe\u0308", "ZOË"],
        ["a b", "a\nb", "a\u200bb"],
        ["=1", "\N{FULLWIDTH EQUALS SIGN}1", "'=1"],
        ["straße", "STRASSE"],
    ]
    apart = ["con", "nul", "..", "..a", "x" * 240, "eve-0123456789abcdef", "Points Possible", "-", "\x1b[2J", "ann"]
    folder = tmp_path / "class"
    for name in [name for names in same for name in names] + apart[:2] + apart[3:]:
        hand_in(folder, **{name: book()})
    grades = graded(folder)
    for names in same:
        assert [said(grades, name)[0].partition(" of one name")[0] for name in names] == [
            f"{len(names)} students"
        ] * len(names)
    assert [grades.score(name) for name in apart if name != ".."] == [9.0] * (len(apart) - 1)


def test_who_is_in_a_zip(graded: Callable[..., Grades], tmp_path: Path) -> None:
    """Who has a folder in it without a notebook has a row, as in a folder; what lies beside them is nobody's."""
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for name in ("ann/axpy.ipynb", "bob.ipynb"):
            archive.writestr(name, json.dumps(book()))
        for name in ("cat/", "dan/notes.txt", "README.txt", "../eve/axpy.ipynb"):
            archive.writestr(name, "")
    grades = graded(tmp_path / "class.zip")
    assert {name: grades.score(name) for name in grades.students} == {
        "..": None,
        "ann": 9.0,
        "bob": 9.0,
        "cat": None,
        "dan": None,
    }
    assert said(grades, "cat")[0] == said(grades, "dan")[0] == "there is no notebook in the folder"


def test_a_page_is_of_one_student() -> None:
    """Whoever takes the name that a page of another has gets a page of another name."""
    names = ["Zoë", "zoë", "con", "COM1", "con.x", "..", "", "x" * 300, "a/b", "a\\b", "ann", "Ann"]
    files = [reporting._file_name(name) for name in names]
    files += [reporting._file_name(name) for name in files if name != "ann"]
    assert len({name.casefold() for name in files}) == len(files)
    assert all(re.fullmatch(r"(?!(con|prn|aux|nul|com\d|lpt\d)$)[a-z0-9_-]{1,80}", name) for name in files)


@pytest.mark.parametrize(
    ("text", "cell"),
    [("=1", "'=1"), ("\N{FULLWIDTH EQUALS SIGN}1", "'\N{FULLWIDTH EQUALS SIGN}1"), ("\N{FULLWIDTH PLUS SIGN}",
    "'\N{FULLWIDTH PLUS SIGN}"),
     ("\N{SMALL COMMERCIAL AT}x", "'\N{SMALL COMMERCIAL AT}x"), ("\N{TWO CONSECUTIVE EQUALS SIGNS}",
     "'\N{TWO CONSECUTIVE EQUALS SIGNS}"),
     ("\N{SUPERSCRIPT MINUS}1", "'\N{SUPERSCRIPT MINUS}1"), ("\t=1", " '=1"), ("\r\n@x", "  '@x"), ("\ufeff=1", " '=1"),
     ("\xa0-1", " '-1"), ("\x1b[2J", " [2J"),
     ("ann\0", "ann "), ("\u202ecod", " cod"), ("ann;=1", "ann;'=1"), ("a=1; b-c", "a=1; b-c"), ("ann", "ann"), ("", ""),
     ("é-1", "é-1")],
)  # fmt: skip
def test_no_cell_is_a_formula(text: str, cell: str) -> None:
    """What a spreadsheet may take for a formula has a quote ahead, also behind what it leaves out; a control character is a blank."""
    assert plain_cell(text) == cell


def test_all_cells_of_all_tables(tmp_path: Path) -> None:
    """Names, reasons and the name of the lab, in each of the files."""
    bad = "\x1b\N{FULLWIDTH EQUALS SIGN}1\r;+2"
    Grades(
        bad,
        (Grade(bad, bad, (), bad), Grade("ann", bad, (Mark(bad, 0, 1, f"{bad} \udc80"),))),
        {bad: 1},
        {bad: bad},
        due=bad,
    ).to_json(tmp_path / "grades.json")
    li.lab.report(tmp_path)
    for path in tmp_path.glob("*.csv"):
        for row in rows(path):
            for cell in (*row, *row.values()):
                assert all(letter.isprintable() for letter in cell) and not re.search(
                    "(^|;) *[\N{FULLWIDTH EQUALS SIGN}+]", cell
                )
    assert len(list(tmp_path.glob("*.csv"))) == 3


def test_the_lab_itself() -> None:
    """A lab with as many cells as no notebook has is refused by name."""
    with pytest.raises(InputError, match="x has 100001 cells, want at most 100000"):
        read_notebook(json.dumps({"nbformat": 4, "cells": [{}] * 100_001}).encode(), "x")
