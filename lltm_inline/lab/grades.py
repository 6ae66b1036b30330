"""What grading gives: a mark for each criterion, with the reason where points are missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self
from unicodedata import normalize

from ..base.above import Sheet, printable
from ..base.arguments import plural, shown
from ..errors import InputError
from ..model.op import FrozenDict
from ..tables.table import JsonFile

#: The file in which the grades of a class are kept.
GRADES = "grades.json"
#: And that to which each is added as soon as it is known.
LINES = "grades.jsonl"
#: The first letter of a cell, which ends at a semicolon where the comma is that of numbers; what begins a formula, in any form of it.
_FIRST, _LEADS = re.compile(r"((?:^|;) *)([^ ;])"), "=+-@|%\N{MINUS SIGN}"
#: How a reason begins where a text was not run: of what the criterion is about nothing is known.
NOT_RUN = ("it is not compiled", "it is not run")


def plain_cell(text: str) -> str:
    """Write a text for a cell of a CSV file: no control characters, and a quote before what a spreadsheet may take for a formula.

    Example:
        >>> plain_cell("=1+1"), plain_cell("\\tann\\x1b"), plain_cell("ann; @bob")
        ("'=1+1", ' ann ', "ann; '@bob")
    """
    return _FIRST.sub(lambda m: f"{m[1]}'{m[2]}" if normalize("NFKC", m[2])[0] in _LEADS else m[0], printable(text))


@dataclass(frozen=True)
class Mark:
    """What one criterion of an exercise gave.

    Attributes:
        criterion: its name in `lab.toml`: `builds`, `parity`, `gradient x`, `safety`, `forbidden`, `speed 2`, ...
        points: that were earned.
        of: the most that can be earned.
        reason: why points are missing, in one sentence for the student; empty for full points.
    """

    criterion: str
    points: float
    of: float
    reason: str = ""


@dataclass(frozen=True)
class Grade:
    """What became of one student's answer to one exercise.

    Attributes:
        student: the name of the submission.
        exercise: its `grade_id`.
        marks: one for each criterion, in the order of the lab; empty if it was not graded.
        not_graded: why there is no grade: the grader failed, or there is no one cell to grade. Never nought and never full points.
        lab: digest of the lab that it was graded with.
        text: digest of what was graded; equal texts have equal grades.
        sandboxed: whether the runner was locked in; False is shown on every report.
    """

    student: str
    exercise: str
    marks: tuple[Mark, ...] = ()
    not_graded: str = ""
    lab: str = ""
    text: str = ""
    sandboxed: bool = True

    @property
    def points(self) -> float | None:
        """The sum of the marks; None if it was not graded."""
        return None if self.not_graded else sum(mark.points for mark in self.marks)


@dataclass(frozen=True, repr=False)
class Grades(JsonFile, Sheet):
    """The grades of a class.

    Attributes:
        lab: its name.
        grades: one for each student and cell.
        of: the most points, by cell.
        handed_in: by student when, in UTC as ISO 8601; who is not in it has no time.
        penalty: by student the share of the points that is lost because it was late.
        texts: what was graded, by its digest.
        due: when it was due.
        rewritten: by student the locked cells that were rewritten: what stands in them is not what was graded.

    Example:
        >>> grades = Grades("axpy", (Grade("ann", "axpy", (Mark("builds", 1, 1), Mark("parity", 0, 4, "z differs"))),), {"axpy": 5})
        >>> print(grades)
        lab axpy: 1 student, mean 1 of 5 points.
          student  points  axpy
          ann      1/5     1
    """

    lab: str
    grades: tuple[Grade, ...]
    of: Mapping[str, float]
    handed_in: Mapping[str, str] = field(default_factory=FrozenDict)
    penalty: Mapping[str, float] = field(default_factory=FrozenDict)
    texts: Mapping[str, str] = field(default_factory=FrozenDict)
    due: str = ""
    rewritten: Mapping[str, Sequence[str]] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        for name in ("of", "handed_in", "penalty", "texts", "rewritten"):
            object.__setattr__(self, name, FrozenDict(getattr(self, name)))

    @property
    def students(self) -> dict[str, list[Grade]]:
        """The grades of each student."""
        found: dict[str, list[Grade]] = {}
        for grade in self.grades:
            found.setdefault(grade.student, []).append(grade)
        return found

    @property
    def sandboxed(self) -> bool:
        """Whether every runner was locked in."""
        return all(grade.sandboxed for grade in self.grades)

    def raw(self, student: str) -> float | None:
        """What a student has earned, not counting that it was late; None if something was not graded."""
        points = [grade.points for grade in self.students[student]]
        return None if None in points else sum(filter(None, points))

    def score(self, student: str) -> float | None:
        """What a student gets."""
        raw = self.raw(student)
        return None if raw is None else round(raw * (1 - self.penalty.get(student, 0.0)), 6)

    @property
    def fallen(self) -> Counter[str]:
        """How many students have lost points by each criterion."""
        return Counter(
            f"{grade.exercise}: {mark.criterion}"
            for grade in self.grades
            for mark in grade.marks
            if mark.points < mark.of
        )

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        scores = [score for score in map(self.score, self.students) if score is not None]
        mean = f", mean {sum(scores) / len(scores):.4g} of {sum(self.of.values()):g} points" if scores else ""
        missing = len(self.students) - len(scores)
        trust = "" if self.sandboxed else " NOT SANDBOXED: kernels ran unlocked."
        return f"lab {self.lab}: {plural(len(self.students), 'student')}{mean}{f'; {missing} not graded' * bool(missing)}.{trust}"

    def sheet(self) -> tuple[Sequence[str], list[Sequence[str]]]:
        """The points of each student, by cell."""
        rows: list[Sequence[str]] = []
        whole = sum(self.of.values())
        for student, grades in self.students.items():
            score = self.score(student)
            total = "not graded" if score is None else f"{score:g}/{whole:g}"
            by_cell = {grade.exercise: grade.points for grade in grades}
            rows.append(
                [student, total, *("-" if by_cell.get(key) is None else f"{by_cell[key]:g}" for key in self.of)]
            )
        return ["student", "points", *self.of], rows

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain lists and dicts."""
        return {"format": 1, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Rebuild what `to_dict` gave.

        Raises:
            InputError: it is something else.
        """
        try:
            values = dict(data)
            version = values.pop("format")
            if version != 1:
                raise InputError(f"grades of format {shown(version)}, want 1")
            grades = tuple(
                Grade(**{**grade, "marks": tuple(Mark(**mark) for mark in grade["marks"])})
                for grade in values.pop("grades")
            )
            return cls(grades=grades, **values)
        except (TypeError, KeyError, ValueError) as error:
            raise error if isinstance(error, InputError) else InputError(f"these are no grades: {error}") from None
