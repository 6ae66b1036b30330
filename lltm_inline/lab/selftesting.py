"""A lab is tested before it grades anybody: what is right must get all points, and what is wrong must fall for its reason."""

from __future__ import annotations

import json
import os
import random
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from ..base.above import Sheet
from ..base.arguments import plural, using_file
from ..cpp.masks import mask
from ..model.op import FrozenDict
from .cells import BEGIN, cut
from .grades import NOT_RUN, Mark
from .grading import How, Job, Outcome, judge, marks_of, require_sandbox
from .lab import SELFTEST, Exercise, Lab, own_folder, read_lab, speed_of

#: What is changed into what, with the word for it. Each pattern finds a place in the code of a text.
_CHANGES = (
    ("operator", r"(?<=[\w)\]] )\+(?= [\w(])", ("-", "*")),
    ("operator", r"(?<=[\w)\]] )-(?= [\w(])", ("+",)),
    ("operator", r"(?<=[\w)\]] )\*(?= [\w(])", ("+", "/")),
    ("operator", r"(?<=[\w)\]] )/(?= [\w(])", ("*",)),
    ("operator", r"(?<= )\+=(?= )", ("-=", "=")),
    ("operator", r"(?<= )-=(?= )", ("+=",)),
    ("operator", r"(?<= )&&(?= )", ("||",)),
    ("bound", r"(?<=[\w)] )<(?= [\w(])(?!.*>)", ("<=",)),
    ("bound", r"(?<=[\w)] )<=(?= [\w(])", ("<",)),
    ("bound", r"(?<=[\w)] )>(?= [\w(])(?<!-> )", (">=", "<")),
    ("bound", r"(?<=[\w)] )>=(?= [\w(])", (">",)),
    ("bound", r"(?<=\w = )0(?=; )", ("1",)),
    ("index", r"(?<=\[)([a-z]\w*)(?=\])", (r"\1 + 1", r"\1 - 1", "0")),
    ("constant", r"(?<![\w.\[$#])(\d+\.\d+)(?![\w.])", (r"(\1 + 0.5)", r"(-\1)")),
    ("constant", r"(?<=[(*/+,-] )([2-9])(?=[\s;),])", (r"(\1 + 1)",)),
    ("function", r"\b(?:std::)?tanh\b(?=\()", ("std::sin",)),
    ("function", r"\b(?:std::)?exp\b(?=\()", ("std::expm1",)),
)


@dataclass(frozen=True)
class Trial:
    """A text, and what became of it.

    Attributes:
        exercise: its `grade_id`.
        kind: `solution`, `starter`, `wrong` or `mutant`.
        name: of the text.
        ok: whether it ended as expected; of a mutant, whether it fell.
        said: what became of it.
    """

    exercise: str
    kind: str
    name: str
    ok: bool
    said: str


@dataclass(frozen=True, repr=False)
class Selftest(Sheet):
    """What `selftest` found.

    Attributes:
        lab: its name.
        trials: one for each text; changes of the solution that do not compile are left out.
    """

    lab: str
    trials: tuple[Trial, ...]

    @property
    def green(self) -> bool:
        """Whether the lab may grade; mutants that survive are for the instructor to look at."""
        return all(trial.ok for trial in self.trials if trial.kind != "mutant")

    @property
    def survivors(self) -> tuple[Trial, ...]:
        """The changes of the solution that no criterion has seen: some do not matter, others are a gap."""
        return tuple(trial for trial in self.trials if trial.kind == "mutant" and not trial.ok)

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        fell = [trial for trial in self.trials if not trial.ok and trial.kind != "mutant"]
        said = f"NOT ready: {plural(len(fell), 'trial')} did not end as expected" if fell else "ready to grade"
        if any(trial.kind == "solution" for trial in fell):
            return f"lab {self.lab}: {said}; the solution must get all points before mutants are tried."
        mutants = sum(trial.kind == "mutant" for trial in self.trials)
        fallen = (
            f"{mutants - len(self.survivors)} of {plural(mutants, 'mutant')} fell" if mutants else "no mutant was tried"
        )
        return f"lab {self.lab}: {said}; {fallen}."

    def sheet(self) -> tuple[Sequence[str], list[Sequence[str]]]:
        """What did not end as expected comes first; mutants that fell are left out."""
        shown = sorted((one for one in self.trials if one.kind != "mutant" or not one.ok), key=lambda one: one.ok)
        signs = {(True, True): "survived", (True, False): "UNEXPECTED", (False, False): "ok", (False, True): "fell"}
        return ["", "exercise", "what", "name", "what became of it"], [
            [signs[not one.ok, one.kind == "mutant"], one.exercise, one.kind, one.name, said]
            for one in shown
            for said in [shorten(one.said, 160) if one.ok else one.said]
        ]


def selftest(
    lab: Lab | str | os.PathLike[str],
    *,
    mutants: bool = True,
    workers: int | None = None,
    trust: bool = False,
    compiler: str | None = None,
    progress: Any = None,
) -> Selftest:
    """Try a lab on its solution, its starter, its wrong kernels, and small changes of the solution.

    Args:
        lab: its folder. A result that is green is noted there, and only then `grade` takes the lab.
        mutants: whether to try the changes of the solution, too; they take longest.
        workers, trust, compiler, progress: as for `grade`.

    Returns:
        What was found: the solution must get all points, the starter must compile and get fewer, each wrong kernel must fall for
        its reason.

    Raises:
        InfraError: kernels cannot be locked in here. DefinitionError, FileError, InputError: as for `grade`.
    """
    folder = own_folder(lab)
    lab = read_lab(folder)
    how = How(workers, None, trust, compiler, progress)
    require_sandbox(trust)
    trials = [trial for exercise in lab.exercises for trial in _trials(exercise, lab, mutants)]
    known: dict[tuple[str, bool], Outcome] = {}
    made: list[Trial] = []
    for changes in (False, True):
        if changes and (not mutants or any(one.kind == "solution" and not one.ok for one in made)):
            break  # what is wrong with the solution is wrong with each change of it
        now = [one for one in trials if (one[1] == "mutant") is changes]
        jobs = {job.key: job for _, _, _, job, _, _ in now}
        run = secrets.token_hex(16)
        judge(lab, list(jobs.values()), run, lambda one: known.update({(one.key, one.timed): one}), known, how)
        for exercise, kind, name, job, by, why in now:
            marks, said = marks_of(exercise, [known.get((job.key, timed)) for timed in (False, True)])
            if kind != "mutant" or _ran(marks):  # a change that does not compile says nothing of the criteria
                made.append(_trial(exercise, kind, name, marks, said, by, why))
    result = Selftest(lab.name, tuple(made))
    record = {"lab": lab.digest, "green": result.green, "survivors": [trial.name for trial in result.survivors]}
    with using_file(folder / SELFTEST):
        (folder / SELFTEST).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return result


#: Exercise, kind, name, job, the criterion by which it must fall, why.
_Planned = tuple[Exercise, str, str, Job, str, str]


def _trials(exercise: Exercise, lab: Lab, mutants: bool) -> list[_Planned]:
    text, params = exercise.solution
    given = [
        ("solution", "solution", text, "", ""),
        ("starter", "starter", exercise.starter, "", ""),
        *(("wrong", name, wrong, criterion, why) for name, (wrong, criterion, why) in exercise.wrong.items()),
    ]
    if mutants:
        given += [("mutant", change, mutant, "", "") for mutant, change in mutants_of(text, lab.secret).items()]
    return [
        (exercise, kind, name, Job(exercise.grade_id, body, FrozenDict(params)), by, why)
        for kind, name, body, by, why in given
    ]


def _trial(exercise: Exercise, kind: str, name: str, marks: Sequence[Mark], said: str, by: str, why: str) -> Trial:
    """Hold what became of a text against what must become of it."""
    lost = sorted((mark for mark in marks if mark.points < mark.of), key=lambda mark: mark.criterion != by)
    seen = {mark.criterion for mark in lost if not mark.reason.startswith(NOT_RUN)}
    reasons = "; ".join(f"{mark.criterion}: {mark.reason}" for mark in lost) or said
    if said:  # the grader failed: nothing is known
        ok = False
    elif kind == "solution":
        ok = not lost
    elif kind == "starter":
        ok = bool(lost) and _ran(marks)
    elif kind == "wrong":
        # What is wrong is not timed: whether it is slow is not known.
        ok = by in seen and (not speed_of(by) or all(map(speed_of, seen)))
    else:
        ok = bool(lost)
    if not ok and kind == "wrong":
        reasons = f"want it to fall by {by} ({why}); {reasons or 'it got all points'}"
    return Trial(exercise.grade_id, kind, name, ok, reasons or "all points")


def _ran(marks: Sequence[Mark]) -> bool:
    """Tell whether a text was run: one that was not loses every point, and shows nothing but why."""
    lost = [mark for mark in marks if mark.points < mark.of]
    return all(mark.criterion != "builds" and not mark.reason.startswith(NOT_RUN) for mark in lost)


def mutants_of(solution: str, seed: int | bytes = 0, most: int = 40) -> dict[str, str]:
    """Make wrong kernels of a right one, each with one operator, index, bound or constant changed: what grading must notice.

    Args:
        solution: a right text.
        seed: chooses, where there are more.
        most: how many at most.

    Returns:
        By their texts what was changed, in the order of the lines between `// BEGIN SOLUTION` and `// END SOLUTION` where a text
        has such. What changes nothing that can be seen, such as the grain of a loop, may be among them.

    Example:
        >>> sorted({*mutants_of("z[i] = a * x[i] + y[i];").values()})[:2]
        ["line 1: index 'i' -> '0'", "line 1: index 'i' -> 'i + 1'"]
    """
    code = mask(solution)
    # What students are given beside the solution is not what they write, and in the solution it may never be reached.
    given = set(cut(solution, "solution").split("\n")) if BEGIN in solution else set()
    lines = solution.split("\n")
    found: dict[str, tuple[int, str]] = {}
    for word, pattern, into in _CHANGES:
        for match in re.finditer(pattern, code):
            for template in into:
                new = match.expand(template)
                text = solution[: match.start()] + new + solution[match.end() :]
                line = solution.count("\n", 0, match.start()) + 1
                if text != solution and lines[line - 1] not in given:
                    found.setdefault(text, (line, f"{word} {match[0]!r} -> {new!r}"))
    chosen = list(found.items())
    if len(chosen) > most:
        chosen = random.Random(seed).sample(chosen, most)
    return {text: f"line {line}: {change}" for text, (line, change) in sorted(chosen, key=lambda one: one[1])}
