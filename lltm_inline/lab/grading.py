"""A class is graded: each different text once, on all cores or a cluster; what is known is on disk at once, and never lost."""

from __future__ import annotations

import ast
import hashlib
import hmac
import importlib
import json
import math
import os
import platform
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from ..base.arguments import boolean, integer, path_of, plural, require_choices, shown, string, using_file
from ..base.packages import OF_LABS, OF_WORKERS, missing_of, pip_command
from ..base.processors import processors
from ..base.progress import showing
from ..errors import FileError, InfraError, InputError
from ..model.op import FrozenDict
from .doctor import doctor
from .grades import GRADES, LINES, Grade, Grades, Mark
from .judge import grade_text
from .lab import SELFTEST, Exercise, Lab, Question, read_lab, speed_of
from .submissions import Answer, Submission, collect, own_result

#: How often an answer is graded again where the grader itself has failed, and how many workers it may take with it.
_RETRIES = 2
_DAY = 86400.0


@dataclass(frozen=True)
class Job:
    """A text to be judged.

    Attributes:
        exercise: its `grade_id`.
        text, params: of the kernel.
        timed: whether this is about speed alone, with nothing else running; else about all the rest.
    """

    exercise: str
    text: str
    params: Mapping[str, float]
    timed: bool = False

    @property
    def key(self) -> str:
        """Its digest: what is the same for all who wrote the same."""
        parts = [self.exercise, self.text, json.dumps(dict(self.params), sort_keys=True)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What became of a job: its marks, or why there are none."""

    key: str
    timed: bool
    marks: tuple[Mark, ...] = ()
    not_graded: str = ""


@dataclass(frozen=True)
class How:
    """How texts are judged, as for `grade`; looked at before anything is read or written."""

    workers: Any
    scheduler: str | None
    trust: bool
    compiler: str | None
    progress: Any

    def __post_init__(self) -> None:
        require_choices(compiler=self.compiler, progress=self.progress)
        if self.scheduler is not None:
            string("scheduler", self.scheduler)
        count = processors() if self.workers is None else integer("workers", self.workers, least=1)
        object.__setattr__(self, "workers", count)
        # Asked now: each text would fail for want of them, one after another.
        several = count > 1 or self.scheduler is not None
        if missing := missing_of({**OF_LABS, **(OF_WORKERS if several else {})}):
            alone = "" if missing_of(OF_LABS) else f", which {count} workers need; workers=1 goes without"
            raise InputError(f"not installed: {', '.join(missing)}{alone}. {pip_command('lltm-inline[lab]')}")


def grade(
    lab: Lab | str | os.PathLike[str],
    submissions: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    trust: bool = False,
    compiler: str | None = None,
    progress: Any = None,
) -> Grades:
    """Grade a class. No Python of a student runs, and no kernel of one outside of the sandbox.

    Args:
        lab: its folder or its `lab.zip`; `selftest` must have found this very lab to be right.
        submissions: as for `collect`.
        to: a folder for what is found: a line for each text as soon as it is judged, then all of it.
        workers: how many texts are judged at a time: 1 for one after another in this process; default: one for each core.
        scheduler: address of a scheduler of dask in place of processes here, `tcp://...`.
        resume: go on where another run into this folder has ended; what was not graded is tried again.
        trust: run kernels also where this machine cannot lock them in. Every report says so.
        compiler: as for `check`.
        progress: as for `check`; called with how many texts are judged, of how many.

    Returns:
        The grades. They are in the folder, too, for `report`.

    Raises:
        InputError: the lab was not tested, the folder holds other grades, or an argument makes no sense.
        InfraError: kernels cannot be locked in here. FileError, DefinitionError: as for `collect`.
    """
    lab, folder = read_lab(lab), path_of("to", to)
    resume, how = boolean("resume", resume), How(workers, scheduler, trust, compiler, progress)
    require_tested(lab)
    require_sandbox(trust)
    found = collect(lab, submissions).submissions
    jobs: dict[str, Job] = {}
    for submission in found:
        for answer in submission.answers:
            if job := own_result(partial(_job, lab, answer))[0]:
                jobs.setdefault(job.key, job)
    with using_file(folder):
        folder.mkdir(parents=True, exist_ok=True)
    locked = not trust or _locked()
    run, known = _known(folder / LINES, lab, locked, resume)

    def keep(outcome: Outcome) -> None:
        with using_file(folder / LINES), (folder / LINES).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
        known[outcome.key, outcome.timed] = outcome

    judge(lab, list(jobs.values()), run, keep, known, how)
    grades = _grades(lab, found, known, locked)
    new = grades.to_json(folder / f"{GRADES}.new")
    with using_file(folder):
        new.replace(folder / GRADES)
    return grades


def require_tested(lab: Lab) -> None:
    """Refuse a lab of which nobody knows that it is right.

    Raises:
        InputError: `selftest` was not run, was not green, or was run before the lab was changed.
    """
    if not lab.tested:
        why = (
            "its selftest is of another state of it, or was not green" if SELFTEST in lab.files else "it was not tested"
        )
        raise InputError(
            f"lab {lab.name!r} grades nobody: {why}. Run: lab selftest {lab.folder}; lab make makes lab.zip anew"
        )


def require_sandbox(trust: Any) -> None:
    """Refuse to run students' kernels where they could do as they like.

    Raises:
        InfraError: this machine cannot lock them in, and nobody has said that this is all right.
    """
    if not boolean("trust", trust) and not _locked():
        raise InfraError(
            "kernels cannot be locked in on this machine: see lab doctor. With trust=True they run as you do"
        )


@cache
def _locked() -> bool:
    return doctor().locked


@cache
def grader() -> str:
    """Return the digest of what grades: another version of it, of torch or of Python may give other grades."""
    digest = hashlib.sha256(f"{torch.__version__} {platform.python_version()}".encode())
    package = Path(__file__).parents[1]
    for file in sorted(package.rglob("*.py")):
        digest.update(f"{file.relative_to(package)}".encode() + file.read_bytes())
    return digest.hexdigest()


def _job(lab: Lab, answer: Answer) -> Job | None:
    """Return what is to be judged of an answer; None where no kernel is to be run."""
    kernels = {exercise.grade_id for exercise in lab.exercises}
    judged = answer.exercise in kernels and not answer.reason and not answer.not_graded
    job = Job(answer.exercise, answer.text, answer.params) if judged else None
    return job if job and job.key else None  # a key that cannot be made is found here


def _known(path: Path, lab: Lab, locked: bool, resume: bool) -> tuple[str, dict[tuple[str, bool], Outcome]]:
    """Read the outcomes of an earlier run, and what its seeds were made of; or begin a new file."""
    first = {"run": secrets.token_hex(16), "lab": lab.digest, "grader": grader() + " unlocked" * (not locked)}
    if path.exists() and not path.is_file():  # a device may have no end
        raise FileError(f"{shown(str(path))} is no file: give another folder")
    with using_file(path):
        data = path.read_bytes() if path.exists() else b""
        # A line that was being written when the machine went down is no line.
        whole, _, torn = data.rpartition(b"\n")
        if not whole or torn:
            path.write_bytes(whole + b"\n" if whole else json.dumps(first).encode() + b"\n")
    if not whole:
        return first["run"], {}
    if not resume:
        raise FileError(f"{shown(str(path))} holds grades: resume=True goes on with them; or give another folder")
    known = {}
    try:
        head, *lines = map(json.loads, whole.splitlines())
        for name in ("lab", "grader"):
            if head[name] != first[name]:
                raise InputError(
                    f"{shown(str(path))} holds grades by another state of this {name}: give another folder"
                )
        for line in lines:
            outcome = Outcome(**{**line, "marks": tuple(Mark(**mark) for mark in line["marks"])})
            if not outcome.not_graded:
                known[outcome.key, outcome.timed] = outcome
        return head["run"], known
    except (ValueError, TypeError, KeyError) as error:
        raise (
            error if isinstance(error, InputError) else InputError(f"{shown(str(path))} is no file of grades: {error}")
        ) from None


def judge(
    lab: Lab,
    jobs: Sequence[Job],
    run: str,
    keep: Callable[[Outcome], None],
    known: Mapping[tuple[str, bool], Outcome],
    how: How,
) -> None:
    """Judge texts: all but speed first, then that of the right ones, one at a time on each machine.

    Args:
        lab: the lab.
        jobs: what to judge.
        run: from which, with the lab's secret, the seeds are derived.
        keep: called with each outcome as it comes.
        known: outcomes that are there already; `keep` may add to it.
        how: they are judged.
    """
    first = [job for job in jobs if (job.key, False) not in known]
    timed = {exercise.grade_id for exercise in lab.exercises if any(map(speed_of, exercise.points))}
    later = [job for job in jobs if job.exercise in timed]
    total = len(first) + sum((job.key, True) not in known for job in later)
    before = len(jobs) - len(first)
    title = f"grading {lab.name}" + f", {plural(before, 'text')} known from before" * bool(before)
    work = partial(outcome_of, lab=lab, run=run, trust=how.trust, compiler=how.compiler)
    with pool(how.workers, how.scheduler, work, _lost) as each, showing(title, how.progress, total) as show:
        for outcome in each(first):
            keep(outcome)
            show(plural(total, "text"), 1)
        ready = [job for job in later if (job.key, True) not in known]
        right = [replace(job, timed=True) for job in ready if _is_full(known.get((job.key, False)))]
        for outcome in each(right):
            keep(outcome)
            show(f"timing {plural(len(right), 'text')}", 1)
        show("done", len(ready) - len(right))


def _is_full(outcome: Outcome | None) -> bool:
    return outcome is not None and not outcome.not_graded and all(mark.points == mark.of for mark in outcome.marks)


def _lost(job: Job, error: Exception) -> Outcome:
    return Outcome(job.key, job.timed, (), f"the grader failed: {type(error).__name__}: {error}")


@contextmanager
def pool(
    workers: int, scheduler: str | None, work: Callable[[Any], Any], lost: Callable[[Any, Exception], Any]
) -> Iterator[Callable[[Sequence[Any]], Iterator[Any]]]:
    """Give what judges jobs, and yields their outcomes as they come: a loop here, or processes of dask.

    Args:
        workers, scheduler: as for `grade`.
        work: called with a job.
        lost: the outcome of a job that took its process with it.
    """
    if scheduler is None and workers == 1:
        yield lambda jobs: map(work, jobs)
        return
    dask, distributed = importlib.import_module("dask"), importlib.import_module("distributed")
    # Whoever is logged in here reaches a port of this machine, and a scheduler executes what it is sent: so it knows its own
    # by keys that are made for this run, and are in the memory of its processes alone.
    keys = None if scheduler else distributed.Security.temporary()
    # A judge has processes of its own, which a daemon may not. What the scheduler serves stays on this machine, at any free port.
    settings: dict[str, Any] = {"distributed.worker.daemon": False, "distributed.scheduler.allowed-failures": _RETRIES}
    # And over HTTP, where nobody is asked for keys, there is nothing.
    settings |= {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
    with dask.config.set(settings):
        local = nullcontext() if scheduler else distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=0, silence_logs=50, security=keys,
            host="127.0.0.1", protocol="tls://", scheduler_kwargs={"dashboard": False},
        )  # fmt: skip
        with local as cluster, distributed.Client(scheduler or cluster) as client:
            yield lambda jobs: _by_dask(client, distributed, jobs, work, lost)


def _by_dask(
    client: Any,
    distributed: Any,
    jobs: Sequence[Any],
    work: Callable[[Any], Any],
    lost: Callable[[Any, Exception], Any],
) -> Iterator[Any]:
    """Judge jobs on the workers of dask; one that takes its workers with it is not graded, and holds up no other.

    The lab goes along with each job: what was sent to a worker ahead is gone when that is killed.
    """
    # What is timed has all machines to itself.
    batches = [[job] for job in jobs] if jobs and getattr(jobs[0], "timed", False) else [jobs]
    for batch in batches:
        futures = {client.submit(work, job, pure=False): job for job in batch}
        for future in distributed.as_completed(futures):
            try:
                yield future.result()
            except Exception as error:  # the worker's end, or what keeps a result from coming back
                yield lost(futures[future], error)
            future.release()


def outcome_of(job: Job, lab: Lab, run: str, trust: bool, compiler: str | None) -> Outcome:
    """Judge one text; what the grader itself fails at is tried again, and is no grade in the end."""
    exercise = next(one for one in lab.exercises if one.grade_id == job.exercise)
    points = {name: value for name, value in exercise.points.items() if bool(speed_of(name)) is job.timed}
    exercise = replace(exercise, points=FrozenDict(points))
    # The same for the whole class, and for nobody to know before the run, even with the secret.
    seed = hmac.new(lab.secret, f"{job.exercise} {run}".encode(), "sha256").digest()
    said = ""
    for _ in range(1 + _RETRIES):
        try:
            marks = grade_text(lab, exercise, job.text, job.params, seed=seed, trust=trust, compiler=compiler)
            return Outcome(job.key, job.timed, _sound(marks, points))
        except Exception as error:  # whatever it is, it is not the student's
            said = f"the grader failed: {type(error).__name__}: {error}"
    return Outcome(job.key, job.timed, (), said)


def _sound(marks: Sequence[Mark], points: Mapping[str, float]) -> tuple[Mark, ...]:
    """Refuse marks that are not those which were asked for."""
    if [(mark.criterion, mark.of) for mark in marks] != list(points.items()):
        raise InfraError(f"marks for {[mark.criterion for mark in marks]}, want {list(points)}")
    for mark in marks:
        if not (math.isfinite(mark.points) and 0 <= mark.points <= mark.of):
            raise InfraError(f"{mark.criterion}: {mark.points} of {mark.of} points")
    return tuple(marks)


def marks_of(exercise: Exercise, outcomes: Sequence[Outcome | None]) -> tuple[tuple[Mark, ...], str]:
    """Put the marks of both phases together, in the order of the lab; or say why there are none."""
    plain, timed = outcomes
    said = "it was not judged: the run has ended before" if plain is None else plain.not_graded
    marks = list(plain.marks if plain else ())
    if (of_speed := list(filter(speed_of, exercise.points))) and not said:
        if not _is_full(plain):
            why = "it was not timed: only what is right is"
            marks += [Mark(name, 0.0, exercise.points[name], why) for name in of_speed]
        elif timed is None or timed.not_graded:
            said = timed.not_graded if timed else "it was not timed: the run has ended before"
        else:
            marks += timed.marks
    by_name = {mark.criterion: mark for mark in marks}
    return ((), said) if said else (tuple(by_name[name] for name in exercise.points), "")


def _grades(
    lab: Lab, found: Sequence[Submission], known: Mapping[tuple[str, bool], Outcome], sandboxed: bool
) -> Grades:
    """Hand each student the outcome of what they wrote."""
    cells = {cell.grade_id: cell for cell in lab.cells}
    grades, texts = [], {}
    for submission in found:
        for answer in submission.answers:
            job, lost = own_result(partial(_job, lab, answer))
            digest = job.key if job else ""
            if job:
                texts[digest] = answer.text
            answer = replace(answer, not_graded=answer.not_graded or lost)
            marked, lost = own_result(partial(_marked, cells[answer.exercise], answer, digest, known))
            marks, said = marked or ((), lost)
            grades.append(Grade(submission.student, answer.exercise, marks, said, lab.digest, digest, sandboxed))
    handed_in = {one.student: one.handed_in for one in found if one.handed_in}
    penalty = {student: share for student, when in handed_in.items() if (share := _penalty(lab, when))}
    of = {cell.grade_id: cell.of for cell in lab.cells}
    rewritten = {one.student: list(one.rewritten) for one in found if one.rewritten}
    return Grades(lab.name, tuple(grades), of, handed_in, penalty, texts, lab.due, rewritten)


def _marked(
    cell: Exercise | Question, answer: Answer, digest: str, known: Mapping[tuple[str, bool], Outcome]
) -> tuple[tuple[Mark, ...], str]:
    """Return the marks of an answer, or why there are none."""
    if answer.not_graded:
        return (), answer.not_graded
    if isinstance(cell, Question):
        right = not answer.reason and _equal(ast.literal_eval(answer.text), cell.answer, cell.tolerance)
        reason = "" if right else answer.reason or "not this"
        return (Mark("value", 0.0 if reason else cell.points, cell.points, reason),), ""
    if not digest:
        return tuple(Mark(name, 0.0, of, answer.reason) for name, of in cell.points.items()), ""
    return marks_of(cell, [known.get((digest, timed)) for timed in (False, True)])


def _penalty(lab: Lab, when: str) -> float:
    """Return the share that is lost for each day begun after the due date. The clock of this machine has no say in it."""
    if not lab.due:
        return 0.0
    late = (datetime.fromisoformat(when) - datetime.fromisoformat(lab.due)).total_seconds()
    return min(1.0, lab.late * math.ceil(late / _DAY)) if late > 0 else 0.0


def _equal(given: Any, wanted: Any, tolerance: float) -> bool:
    """Compare a student's value with the instructor's: numbers within the tolerance, all else exactly."""
    if isinstance(wanted, list | tuple):
        whole = isinstance(given, list | tuple) and len(given) == len(wanted)
        return whole and all(_equal(one, other, tolerance) for one, other in zip(given, wanted, strict=True))
    if type(wanted) in (int, float) and type(given) in (int, float):
        try:
            return abs(given - wanted) <= tolerance
        except OverflowError:  # an integer beyond all floating-point numbers
            return False
    return type(given) is type(wanted) and given == wanted
