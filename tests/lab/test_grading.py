"""A class is graded: what is known is on disk at once, equal texts are judged once, and nobody gets what is not theirs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import psutil
import pytest

import lltm_inline as li
from lltm_inline.errors import FileError, InfraError, InputError
from lltm_inline.lab import Lab, Mark, grading
from lltm_inline.lab.grading import LINES, Job, Outcome, _by_dask, _equal, _penalty, _sound, marks_of
from lltm_inline.lab.lab import read_lab
from lltm_inline.lab.selftesting import Selftest, Trial
from lltm_inline.model.op import FrozenDict
from tests.lab.shared import KERNEL, TOML, book, hand_in, lab_in, ready
from tests.needs import needs

pytestmark = needs("Landlock and seccomp")

WRONG = KERNEL.replace("A * x + y", "A * x")
CRASHES = KERNEL.replace("return A * x + y;", "*(volatile int*)8 = 1; return x;")
NO_CODE = KERNEL.replace("A * x + y", "A * x + why")
SAME = KERNEL.replace("--check ", "")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def _quickly(quick_compiler: None) -> Iterator[None]:
    yield


def lines(folder: Path) -> list[dict[str, Any]]:
    """Read what a run has noted."""
    return [json.loads(line) for line in (folder / LINES).read_text().splitlines()]


def test_what_a_lab_must_be(tmp_path: Path) -> None:
    """A lab that was not tested, was found wrong, or was changed since grades nobody."""
    lab = lab_in(tmp_path / "lab")
    folder = hand_in(tmp_path / "class", ann=book())

    def refused(says: str) -> None:
        with pytest.raises(InputError, match=says):
            li.lab.grade(tmp_path / "lab", folder, tmp_path / "grades")

    refused("grades nobody: it was not tested. Run: lab selftest")
    for record in (
        "",
        "[]",
        '{"green": true}',
        '{"green": true, "lab": "other"}',
        json.dumps({"green": 1, "lab": lab.digest}),
    ):
        (tmp_path / "lab" / "selftest.json").write_text(record)
        refused("its selftest is of another state of it, or was not green")
    assert ready(lab).tested
    (tmp_path / "lab" / "axpy.ipynb").write_text(json.dumps(book(), indent=2))
    refused("another state")
    assert not (tmp_path / "grades").exists()


def test_late(tmp_path: Path) -> None:
    """A quarter is lost for each day begun, all of it at most; who was in time, or has no time, loses nothing."""
    lab = lab_in(tmp_path)
    times = (
        "2026-11-20T12:00:00+00:00",
        "2026-11-20T12:00:01+00:00",
        "2026-11-21T12:00:01+00:00",
        "2030-01-01T00:00:00+00:00",
    )
    assert [_penalty(lab, when) for when in times] == [0, 0.25, 0.5, 1]
    assert _penalty(replace(lab, due=""), times[-1]) == 0


@pytest.mark.parametrize(
    ("given", "share"),
    [("2026-11-20T13:30:00+02:00", 0), ("2026-11-20T11:30:00-01:00", 0.25), ("1970-01-01 00:00:00", 0),
     ("9999-12-31T23:59:59Z", 1), ("2026-11-20 13:30:00 +0130", 0), ("2026-11-20 12:00:01 GMT", 0.25)],
)  # fmt: skip
def test_the_clock_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, share: float) -> None:
    """The time of a submission counts, in any zone, on a machine whose clock was set back."""
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(time, "tzname", ("CET", "CEST"))
    lab = lab_in(tmp_path / "lab")
    hand_in(tmp_path / "class" / "ann" / "axpy", axpy=book())
    (tmp_path / "class" / "ann" / "axpy" / "timestamp.txt").write_text(given)
    (submission,) = li.lab.collect(lab, tmp_path / "class").submissions
    assert (_penalty(lab, submission.handed_in) if submission.handed_in else 0) == share


def test_a_machine_that_cannot_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It grades nobody, and writes nothing, unless it is said that all is trusted."""
    monkeypatch.setattr(grading, "_locked", lambda: False)
    lab = ready(lab_in(tmp_path / "lab"))
    hand_in(tmp_path / "class", ann=book())
    with pytest.raises(InfraError, match=r"cannot be locked in on this machine: see lab doctor\. With trust=True they"):
        li.lab.grade(lab, tmp_path / "class", tmp_path / "grades")
    assert not (tmp_path / "grades").exists()
    monkeypatch.setattr(grading, "judge", lambda *_: None)
    assert not li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", trust=True).sandboxed


def test_a_disk_that_is_full_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An outcome that cannot be noted ends the run with the file's name; those before it are kept, and the next run ends it."""
    lab = ready(lab_in(tmp_path / "lab"))
    hand_in(tmp_path / "class", ann=book(), bob=book(WRONG))
    full, opened = [False, True], Path.open
    judged: list[str] = []

    def judge(lab: Lab, jobs: list[Job], run: str, keep: Any, known: Any, how: Any) -> None:
        for job in jobs:
            if (job.key, False) not in known:
                judged.append(job.key)
                keep(Outcome(job.key, False, tuple(Mark(name, of, of) for name, of in lab.exercises[0].points.items())))

    def no_space(path: Path, mode: str = "r", **how: Any) -> Any:
        return opened(Path("/dev/full") if mode == "a" and full and full.pop(0) else path, mode, **how)

    monkeypatch.setattr(grading, "judge", judge)
    monkeypatch.setattr(Path, "open", no_space)
    with pytest.raises(FileError, match=r"grades\.jsonl.*No space left"):
        li.lab.grade(lab, tmp_path / "class", tmp_path / "grades")
    assert len(lines(tmp_path / "grades")) == 2 and not (tmp_path / "grades" / "grades.json").exists()
    grades = li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", resume=True)
    assert _scores(grades) == {"ann": 9.0, "bob": 9.0} and len(judged) == 3


@pytest.mark.parametrize(
    ("given", "wanted", "same"),
    [(12, 12.4, True), (12, 12.6, False), (float("inf"), 12, False), (1e400 - 1e400, 12, False), (10**400, 12.0, False),
     (True, 1, False), ("a", "a", True), ("a", 1, False), ([1, 2], (1, 2.2), True), ([1], [1, 2], False), (None, 0, False),
     ([1, [2]], [1, [2]], True), (1 + 0j, 1, False)],
)  # fmt: skip
def test_values(given: Any, wanted: Any, same: bool) -> None:
    """Numbers count within the tolerance, all else exactly; NaN and infinity are no answer."""
    assert _equal(given, wanted, 0.5) is same


def test_marks_that_are_none(tmp_path: Path) -> None:
    """Marks for other criteria, of other points, doubled, beyond what there is, or NaN are the grader's failure."""
    points = {"builds": 1.0, "parity": 4.0}
    good = (Mark("builds", 1, 1), Mark("parity", 0, 4, "wrong"))
    assert _sound(good, points) == good
    for bad in ((), good[:1], good[::-1], (*good, good[1]), (good[0], Mark("parity", 5, 4)), (good[0], Mark("parity", -1, 4)),
                (good[0], Mark("parity", float("nan"), 4)), (good[0], Mark("parity", 4, 40))):  # fmt: skip
        with pytest.raises(InfraError):
            _sound(bad, points)


def test_both_phases(tmp_path: Path) -> None:
    """Speed is graded where all else is right; where a phase has no outcome, nothing is graded."""
    exercise = replace(lab_in(tmp_path).exercises[0], points=FrozenDict({"speed 2": 2, "parity": 4, "speed 4": 1}))
    right, wrong = Outcome("k", False, (Mark("parity", 4, 4),)), Outcome("k", False, (Mark("parity", 0, 4, "no"),))
    fast = Outcome("k", True, (Mark("speed 2", 2, 2), Mark("speed 4", 0, 1, "slow")))
    failed = Outcome("k", True, (), "the grader failed")
    assert [mark.points for mark in marks_of(exercise, [right, fast])[0]] == [2, 4, 0]
    assert [mark.points for mark in marks_of(exercise, [wrong, None])[0]] == [0, 0, 0]
    assert [mark.points for mark in marks_of(exercise, [wrong, fast])[0]] == [0, 0, 0]
    for outcomes in ([None, None], [None, fast], [right, None], [right, failed], [replace(failed, timed=False), fast]):
        marks, said = marks_of(exercise, outcomes)
        assert said and not marks


class _Future(NamedTuple):
    """A job that a cluster has been given."""

    job: Job

    def result(self) -> Outcome:
        return Outcome(self.job.key, self.job.timed)

    def release(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize(("timed", "together"), [(False, [3]), (True, [1, 1, 1])])
def test_what_is_timed_has_a_cluster_to_itself(timed: bool, together: list[int]) -> None:
    """All else is judged at once."""
    jobs = [Job("axpy", text, FrozenDict(), timed) for text in "abc"]
    client = SimpleNamespace(submit=lambda call, job, *, pure: _Future(job))
    found: list[int] = []
    distributed = SimpleNamespace(as_completed=lambda futures: found.append(len(futures)) or list(futures))
    outcomes = list(_by_dask(client, distributed, jobs, grading.outcome_of, grading._lost))
    assert [one.key for one in outcomes] == [job.key for job in jobs] and found == together


def _broken(folder: Path) -> Path:
    """Write a class of texts that do not compile, which takes no time, each in another way."""
    return hand_in(
        folder, **{name: book(KERNEL.replace("A * x", name)) for name in ("ann", "bob", "cem", "dot", "eve")}
    )


def _scores(grades: li.lab.Grades) -> dict[str, float | None]:
    return {name: grades.score(name) for name in grades.students}


@pytest.mark.full
@pytest.mark.parametrize("workers", [1, 2])
def test_a_class(tmp_path: Path, workers: int) -> None:
    """Here as on processes of dask: equal texts are judged once; what a text does to its process is its own loss, and nobody else's."""
    texts = {"ann": KERNEL, "bob": WRONG, "cem": SAME, "dot": CRASHES, "eve": NO_CODE}
    hand_in(tmp_path / "class", fay=b"{", **{name: book(text, "moved = 11.7") for name, text in texts.items()})
    lab = ready(lab_in(tmp_path / "lab"))
    with socket.socket() as taken, warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # dask warns where the port that it likes best is taken
        with suppress(OSError):
            taken.bind(("", 8787))
            taken.listen()
        grades = li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", workers=workers, progress=False)
    assert _scores(grades) == {"ann": 9.0, "bob": 5.0, "cem": 9.0, "dot": 3.0, "eve": 2.0, "fay": None}
    assert len(lines(tmp_path / "grades")) == 1 + 4


def test_a_second_run_finds_it_all(tmp_path: Path) -> None:
    """It judges nothing again, and says so; other grades, and a folder with some that nobody wants to go on with, are left alone."""
    lab = ready(lab_in(tmp_path / "lab"))
    hand_in(tmp_path / "class", ann=book(NO_CODE), bob=book(NO_CODE))
    grades = li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", workers=1, progress=False)
    assert _scores(grades) == {"ann": 2.0, "bob": 2.0} and len(lines(tmp_path / "grades")) == 2
    with pytest.raises(FileError, match="holds grades: resume=True"):
        li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", workers=1)
    before = (tmp_path / "grades" / LINES).read_bytes()
    said: list[Any] = []
    again = li.lab.grade(
        lab, tmp_path / "class", tmp_path / "grades", workers=1, resume=True, progress=lambda *to: said.extend(to)
    )
    assert said[0] == f"grading {lab.name}, 1 text known from before"
    assert again == grades and (tmp_path / "grades" / LINES).read_bytes() == before
    (tmp_path / "lab" / "secret.txt").write_text("22" * 32)
    with pytest.raises(InputError, match="grades by another state of this lab"):
        li.lab.grade(ready(read_lab(tmp_path / "lab")), tmp_path / "class", tmp_path / "grades", resume=True)


@pytest.mark.full
def test_a_torn_line_is_judged_again(tmp_path: Path) -> None:
    """What was being written when the machine went down is no outcome, and an outcome without a grade is tried again."""
    lab = ready(lab_in(tmp_path / "lab"))
    hand_in(tmp_path / "class", ann=book(NO_CODE), bob=book(NO_CODE.replace("why", "where")))
    grades = li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", workers=1, progress=False)
    path = tmp_path / "grades" / LINES
    head, first, second = path.read_text().splitlines()
    path.write_text(
        "\n".join(
            [head, json.dumps({**json.loads(first), "marks": [], "not_graded": "the grader failed"}), second[:50]]
        )
    )
    again = li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", workers=1, resume=True, progress=False)
    assert again == grades and len(lines(tmp_path / "grades")) == 4
    path.write_text("nothing\n")
    with pytest.raises(InputError, match="is no file of grades"):
        li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", workers=1, resume=True)


@pytest.mark.full
def test_a_full_disk(tmp_path: Path) -> None:
    """What cannot be written is an error with the file's name; what was judged until then is kept, and is not judged again."""
    lab = ready(lab_in(tmp_path / "lab"))
    hand_in(tmp_path / "class", ann=book(NO_CODE))
    (tmp_path / "grades").mkdir()
    (tmp_path / "grades" / "grades.json.new").symlink_to("/dev/full")
    with pytest.raises(FileError, match=r"grades.json.new.*No space left"):
        li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", workers=1, progress=False)
    (tmp_path / "grades" / "grades.json.new").unlink()
    before = lines(tmp_path / "grades")
    li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", workers=1, resume=True, progress=False)
    assert lines(tmp_path / "grades") == before and len(before) == 2
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / LINES).symlink_to("/dev/zero")
    with pytest.raises(FileError, match="is no file"):
        li.lab.grade(lab, tmp_path / "class", tmp_path / "other", workers=1)


def test_selftest_tells() -> None:
    """Green means that each text ended as expected; mutants that survive are listed and stop nothing."""
    good, mutant = (
        Trial("axpy", "solution", "solution", True, "all points"),
        Trial("axpy", "mutant", "line 3: + -> -", False, "all points"),
    )
    found = Selftest("axpy", (good, mutant))
    assert found.green and found.survivors == (mutant,) and "ready to grade; 0 of 1 mutant fell" in str(found)
    bad = Selftest("axpy", (replace(good, ok=False), mutant))
    assert not bad.green and "NOT ready: 1 trial did not end as expected" in str(bad) and "survived" in str(bad)


RUN = """
import sys, lltm_inline as li
if __name__ == "__main__":
    li.lab.grade(*sys.argv[1:4], workers=int(sys.argv[4]), resume=True, progress=False)
"""


@pytest.mark.full
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_goes_on(tmp_path: Path, sign: int) -> None:
    """A run that is killed, or stopped by Ctrl-C, after its first outcome keeps it; the next one ends with all grades."""
    lab = ready(lab_in(tmp_path / "lab"))
    folder = _broken(tmp_path / "class")
    (tmp_path / "run.py").write_text(RUN)
    command = [sys.executable, tmp_path / "run.py", tmp_path / "lab", folder, tmp_path / "grades", "1"]
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": root}, start_new_session=True, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < until:
        if (tmp_path / "grades" / LINES).exists() and len(lines_so_far(tmp_path / "grades")) > 1:
            process.send_signal(sign)
            break
        time.sleep(0.02)
    _, said = process.communicate(timeout=60)
    assert process.returncode, said
    before = lines_so_far(tmp_path / "grades")
    assert 2 <= len(before) < 6
    grades = li.lab.grade(lab, folder, tmp_path / "grades", workers=1, resume=True, progress=False)
    assert _scores(grades) == dict.fromkeys(("ann", "bob", "cem", "dot", "eve"), 2.0)
    assert lines(tmp_path / "grades")[: len(before)] == before


def lines_so_far(folder: Path) -> list[dict[str, Any]]:
    """Read the lines that are whole."""
    return [json.loads(line) for line in (folder / LINES).read_text().splitlines(keepends=True) if line.endswith("\n")]


def test_no_more_workers_than_make_sense(tmp_path: Path) -> None:
    """Arguments are looked at before anything is judged."""
    lab = ready(lab_in(tmp_path / "lab"))
    for name, value in (
        ("workers", 0),
        ("workers", True),
        ("scheduler", 3),
        ("trust", "yes"),
        ("resume", 1),
        ("progress", 3),
    ):
        with pytest.raises(InputError, match=f"{name}="):
            li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", **{name: value})


@pytest.mark.full
def test_the_same_seed_for_a_class(tmp_path: Path) -> None:
    """A run keeps what its seeds are made of, and another run has another."""
    lab: Lab = ready(lab_in(tmp_path / "lab"))
    hand_in(tmp_path / "class", ann=book(NO_CODE))
    runs = []
    for name in ("one", "two"):
        li.lab.grade(lab, tmp_path / "class", tmp_path / name, workers=1, progress=False)
        runs.append(lines(tmp_path / name)[0]["run"])
    assert runs[0] != runs[1] and len(runs[0]) == 32


@pytest.mark.full
def test_gradescope_grades(tmp_path: Path) -> None:
    """What `make` packs grades a submission where Gradescope mounts it; without a grade there is no results.json."""
    lab = ready(lab_in(tmp_path / "lab"))
    li.lab.make(lab.folder)
    at = tmp_path / "autograder"
    (at / "venv" / "bin").mkdir(parents=True)
    (at / "venv" / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (at / "venv" / "bin" / "python").chmod(0o755)
    with zipfile.ZipFile(lab.folder / "gradescope.zip") as archive:
        archive.extractall(at / "source")
    script = at / "source" / "run_autograder"
    script.write_text(script.read_text().replace("/autograder", str(at)))
    found = []
    for notebook in (book(WRONG), {"nbformat": 4, "cells": []}):
        (at / "submission_metadata.json").write_text(
            json.dumps({"created_at": "2026-11-20T11:00:00Z", "users": [{"name": "Ann", "email": "ann@x.org"}]})
        )
        hand_in(at / "submission", axpy=notebook)
        (at / "results").mkdir(exist_ok=True)
        (at / "results" / "results.json").unlink(missing_ok=True)
        ended = subprocess.run(["bash", script], capture_output=True, text=True).returncode
        results = at / "results" / "results.json"
        found.append((ended, json.loads(results.read_text())["score"] if results.exists() else None))
    assert found == [(0, 5.0), (1, None)]


ONE_CELL = TOML.partition("[values.moved]")[0].replace("due =", "# due =").replace("late =", "# late =")
TEXT = "#include <ATen/ATen.h>\nat::Tensor forward(const at::Tensor& x, const at::Tensor& y) { return A * x + y; }\n"


@pytest.mark.full
@pytest.mark.parametrize("program", ["PrairieLearn", "Autolab"])
def test_graders_of_others(program: str, tmp_path: Path) -> None:
    """The commands of docs/labs.md grade a text where these programs lay it, and write what they read."""
    lab = ready(lab_in(tmp_path / "lab", ONE_CELL))
    li.lab.make(lab.folder)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tmp_path / "bin" / "python").chmod(0o755)
    docs = (ROOT / "docs" / "labs.md").read_text()
    script = textwrap.dedent(
        docs.partition(f"* **{program}.**")[2].partition("```")[2].partition("\n")[2].partition("```")[0]
    )
    at = tmp_path / "grade"
    if program == "PrairieLearn":
        for name in ("tests", "student", "results"):
            (at / name).mkdir(parents=True)
        shutil.copy(lab.folder / "lab.zip", at / "tests")
        (at / "student" / "submission.cpp").write_text(TEXT)
        command = ["bash", "-c", script.replace("/grade", str(at))]
    else:
        at.mkdir()
        subprocess.run(["tar", "cf", at / "autograde.tar", "-C", lab.folder, "lab.zip"], check=True)
        (at / "submission.cpp").write_text(TEXT)
        (at / "Makefile").write_text(script.replace("submission.cu", "submission.cpp"))
        command = ["make", "autograde"]
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    ran = subprocess.run(
        command, cwd=at, env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert not ran.returncode, ran.stderr
    if program == "Autolab":
        assert json.loads(ran.stdout.splitlines()[-1]) == {"scores": {"axpy": 7.0}}
    else:
        found = json.loads((at / "results" / "results.json").read_text())
        assert (found["gradable"], found["score"], len(found["tests"])) == (True, 1.0, 3), found


@pytest.mark.full
def test_workers_that_are_killed(tmp_path: Path) -> None:
    """A scheduler of one's own serves as well; a text that takes its worker with it again and again is not graded, and nothing waits."""
    import distributed

    lab = ready(lab_in(tmp_path / "lab"))
    hand_in(tmp_path / "class", ann=book(), bob=b"{")
    stop = threading.Event()
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:

        def kill() -> None:
            # One that has work: a worker that is killed while it starts, on a busy machine, would never come to any.
            while not stop.wait(0.5):
                busy = any(one.processing for one in [*cluster.scheduler.workers.values()])
                if busy and (nanny := cluster.workers.get(0)) and nanny.pid:
                    os.kill(nanny.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            address = cluster.scheduler_address
            grades = li.lab.grade(lab, tmp_path / "class", tmp_path / "grades", scheduler=address, progress=False)
        finally:
            stop.set()
            killer.join()
    (kernel, _) = grades.students["ann"]
    assert kernel.points is None and "KilledWorker" in kernel.not_graded and grades.score("ann") is None


@pytest.mark.full
def test_nobody_else_gets_work_done_by_the_grader() -> None:
    """Its processes listen at ports that every user of this machine reaches: they know each other by keys of this run."""
    import distributed

    def is_heard(port: int, context: ssl.SSLContext) -> bool:
        """Tell whether a process goes on with somebody who has these keys, beyond the certificates."""
        with socket.create_connection(("127.0.0.1", port), timeout=15) as plain:
            try:
                with context.wrap_socket(plain) as link:
                    link.sendall(bytes(8))
                    return bool(link.recv(1))
            except (ssl.SSLError, ConnectionError, TimeoutError):
                return False

    own, other = distributed.Security.temporary(), distributed.Security.temporary()
    nobody = ssl.create_default_context()
    nobody.check_hostname, nobody.verify_mode = False, ssl.CERT_NONE
    stranger = other.get_connection_args("client")["ssl_context"]
    stranger.verify_mode = ssl.CERT_NONE

    def listening() -> set[int]:
        ours = [psutil.Process(), *psutil.Process().children(recursive=True)]
        found = (one for process in ours for one in process.net_connections("tcp"))
        return {one.laddr.port for one in found if one.status == psutil.CONN_LISTEN}

    others = listening()  # of other tests
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed.Security, "temporary", lambda: own)
        with grading.pool(2, None, grading.outcome_of, grading._lost):
            ports = listening() - others
            keyed = {port for port in ports if is_heard(port, own.get_connection_args("client")["ssl_context"])}
            assert len(keyed) >= 3  # the scheduler's, and two of workers
            assert not any(is_heard(port, nobody) or is_heard(port, stranger) for port in keyed)
            for port in ports - keyed:
                for path in ("", "health", "info/main/workers.html", "json/counts.json", "api/v1/retire_workers"):
                    with pytest.raises(urllib.error.HTTPError, match="404"):
                        urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=20)
