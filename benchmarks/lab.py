"""What grading costs: a runner forked and locked in, and how many submissions a core grades in a minute, beside plain load_inline.

A submission is a text of its own (a comment tells them apart), so each is compiled. `plain` is what people write: load_inline,
one comparison, and torch.autograd.gradcheck, one after the other in one process; it locks nothing in, and tries one size. It takes
so long that it is sampled: two texts with each compiler, and never a class.

A class of 300 hands in three kernels each, right ones and such with the usual mistakes; thirty of these kernels are hostile: they
crash, hang, fork, take memory, processors and disk, mislead whoever reads the compiler, or count their calls. Its judge is killed in
the middle, and goes on: nothing may be lost, nobody may be without a grade, and each gets what is theirs. It is graded on all cores,
with clang++ where that is, which is quicker. With `--cuda` a class of as many hands in one CUDA kernel each, for the lab `warp_sum`,
and nothing else is measured. With `--alone` a class hands in one kernel each, and those who do no harm are graded again without the
others: each must have the same points for each criterion. `--students 100` takes a third of the time. It says each minute how far
it is; with `--folder DIR` a run that was cut off begins again with the kernel that it was at.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from common import ROOT, Results, compilers, li
from torch.utils import cpp_extension

from lltm_inline.compiling import header
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.lab import Exercise, Lab
from lltm_inline.lab.builder import build, toolchain_of
from lltm_inline.lab.cells import grade_id, source_of
from lltm_inline.lab.grading import LINES
from lltm_inline.lab.inside import ProbeTask
from lltm_inline.lab.judge import grade_text
from lltm_inline.lab.lab import SELFTEST
from lltm_inline.lab.locked import Locked, server
from lltm_inline.lab.making import handed_out
from lltm_inline.lab.runner import Runner
from lltm_inline.lab.selftesting import mutants_of
from tests.planted.cheats.catalogue import cheats
from tests.planted.cheats.holes import HOLES

TEXT = li.registry["axpy/cpp"].cpp
PARAMS = {"A": 2, "GRAIN": 32768}
POINTS = {
    "builds": 1.0,
    "signature": 1.0,
    "parity": 4.0,
    "gradient x": 1.0,
    "gradient y": 1.0,
    "safety": 1.0,
    "forbidden": 1.0,
}
EXERCISE = Exercise("axpy", li.registry.ops["axpy"], "axpy/mine", POINTS, forbid=("aten",))
LAB = Lab("lab", Path("/"), (EXERCISE,), li.Limits(seconds=5), b"secret")


def locks(results: Results, count: int) -> None:
    """Fork a process and lock it in, and load a library there."""
    toolchain = toolchain_of(None)
    library = build(li.Kernel("axpy/mine", cpp=TEXT, params=PARAMS), EXERCISE.op, toolchain, ("aten",))
    x = torch.ones(1000)
    for number in range(count + 3):
        started = time.perf_counter()
        with Locked(ProbeTask("read a file of yours", "/etc/passwd", 1, 1), 1 << 20) as process:
            process.receive(0, 10)
            locked = time.perf_counter() - started
        with Runner(library, EXERCISE.op, li.Limits()) as runner:
            started = time.perf_counter()
            runner.start()
            loaded = time.perf_counter() - started
            runner.function(x, x)
            started = time.perf_counter()
            runner.function(x, x)
            called = time.perf_counter() - started
        if number >= 3:
            results.add("a process forked and locked in", locked)
            results.add("the same with memory to share, and a kernel loaded", loaded)
            results.add("one call", called)
    results.require("forked and locked in: seconds", results.median("a process forked and locked in"), 0.030)


def graded(results: Results, compiler: str, count: int, target: float) -> None:
    """Grade submissions one after another, and count the seconds of a core that each takes: judge, compiler and runner."""
    header.wait(find_toolchain(compiler), "light")
    for number in range(count + 1):
        started, before = time.perf_counter(), _cpu_seconds()
        marks = grade_text(LAB, EXERCISE, f"{TEXT}// {number} {time.time()}\n", PARAMS, seed=b"seed", compiler=compiler)
        seconds = time.perf_counter() - started
        assert all(mark.points == mark.of for mark in marks), [mark.reason for mark in marks if mark.reason]
        if number:  # the first starts what forks, and draws the inputs of all
            results.add(f"a submission, {compiler}", seconds)
            results.add(f"a submission, seconds of a core, {compiler}", _cpu_seconds() - before)
    results.require(
        f"submissions a minute a core, {compiler}",
        60 / results.median(f"a submission, seconds of a core, {compiler}"),
        target,
        at_least=True,
    )


def _cpu_seconds() -> float:
    """Return what this process has taken of its cores, and the server of labs with all of its processes that have ended."""
    ticks = Path(f"/proc/{server().pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    return time.process_time() + sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def plain(results: Results, compiler: str, count: int) -> None:
    """Grade as people do: load_inline, allclose, gradcheck."""
    os.environ["CXX"] = compiler
    for number in range(count):
        started = time.perf_counter()
        text = f"#define A 2\n#define GRAIN 32768\n{TEXT}// {number} {time.time()}\n"
        module = cpp_extension.load_inline(
            f"plain_{compiler.strip('+')}_{number}_{int(time.time())}",
            text.replace("std::array<bool, 2> wanted", "std::vector<bool> wanted"),
            functions=["forward", "backward"],
            extra_cflags=["-O3", "-march=native"],
        )

        axpy = _differentiable(module)
        x, y = (torch.randn(23, dtype=torch.float64, requires_grad=True) for _ in range(2))
        assert torch.allclose(axpy(x, y), 2 * x + y) and torch.autograd.gradcheck(axpy, (x, y))
        results.add(f"plain load_inline and gradcheck, {compiler}", time.perf_counter() - started)


def _differentiable(module: Any) -> Any:
    """Make a function of autograd out of a module, as the tutorials do."""

    class Axpy(torch.autograd.Function):
        """The kernel, for autograd."""

        @staticmethod
        def forward(ctx, x, y):
            return module.forward(x, y)

        @staticmethod
        def backward(ctx, d_z):
            return tuple(module.backward(d_z, [True, True]))

    return Axpy.apply


#: Texts that a core is to grade in a minute.
_TARGETS = {"g++": 15, "clang++": 30}
#: What a class computes, and those of its texts that do harm.
OPS = ("axpy", "cube", "d_sigmoid")
#: Of these few texts do harm.
MILD = OPS[1:]
#: And in CUDA: a lab that is shipped.
CUDA = ("warp_sum",)
LABS = ROOT / "notebooks" / "labs"
HARMFUL = ("crashes", "hangs", "forks", "eats_memory", "ends_the_process")
#: What stands at the top of a right text to take the machine, or to be taken for a fault of the machine.
HOSTILE = {
    "spins": "#include <thread>\n#include <vector>\nstatic const bool spins = [] { std::vector<std::thread> all;\n"
    "  for (int i = 0; i < 480; ++i) all.emplace_back([] { for (volatile long n = 0;; n = n + 1) {} });\n"
    "  for (auto& one : all) one.join();\n  return true; }();",
    "says_that_the_disk_is_full": '#error "x.s: No space left on device"',
    "says_that_it_was_killed": 'static_assert(false, "Killed signal terminated program cc1plus");',
    "reads_a_file": 'asm(".section .rodata\\nkept: .incbin \\"/etc/passwd\\"\\n.text");',
    "fills_the_disk": "char all[200 << 20] = {1};",
    "includes_itself": "#include __FILE__",
    "never_ends_to_compile": "template <int N, int M> struct T { static constexpr long v = T<N - 1, M>::v + T<N - 1, M + 1>::v; };\n"
    "template <int M> struct T<0, M> { static constexpr long v = M; };\nstatic_assert(T<400, 0>::v > 0);",
    "is_quotes": '"\\' * 20_000,
    "is_brackets": "(" * 30_000,
}
GRADE = """import sys, time, lltm_inline as li

told = [0.0]


def tell(*said):
    if len(said) == 1 or said[0] == said[1] or time.monotonic() - told[0] > 60:
        told[0] = time.monotonic()
        print(time.strftime("%H:%M:%S"), sys.argv[1], *said, flush=True)


if __name__ == "__main__":
    li.lab.grade(*sys.argv[1:4], resume=True, compiler=sys.argv[4], progress=tell)
"""


def a_class(results: Results, students: int, folder: Path, names: tuple[str, ...] = OPS) -> None:
    """Grade a class; what was graded in this folder before is not graded again."""
    what = "a class with CUDA" if names == CUDA else "a class"
    compiler, seconds, passed = compilers()[-1], 0.0, 0
    folder.mkdir(parents=True, exist_ok=True)
    for op in names:
        kept = folder / f"{op}-{students}-{compiler}.json"
        if not kept.exists():
            harm = min(students // 2, 5 if op in MILD else 20)
            with tempfile.TemporaryDirectory(prefix="lltm-inline-class-") as directory:
                kept.write_text(json.dumps(_one_kernel(Path(directory), op, students, harm, compiler)))
        took, missed = json.loads(kept.read_text())
        seconds, passed = seconds + took, passed + missed
    cores = len(os.sched_getaffinity(0))
    rate = 60 * students * len(names) / seconds / cores
    if names == OPS:
        row = f"{what}, its judge killed: texts a minute a core, {compiler}"
        results.require(row, rate, _TARGETS[compiler], at_least=True)
    else:
        results.note(f"{what}, its judge killed: texts a minute a core, {compiler}", rate)
    results.note(f"{what}: students, texts of each {len(names)}", students)
    results.note(f"{what}: minutes", seconds / 60)
    results.note(f"{what}: changes of a right text that no criterion has seen", passed)


def _one_kernel(folder: Path, op: str, students: int, harmful: int, compiler: str) -> tuple[float, int]:
    """Grade one kernel of each student, kill the judge when a third is done, let it go on, and see that nothing is lost.

    Returns:
        The seconds that it took, and how many changes of a right text had all points.
    """
    if (LABS / op).is_dir():
        shutil.copytree(LABS / op, folder / op)
    else:
        li.lab.new(folder / op, op)
    lab = li.lab.read_lab(folder / op)
    (folder / op / SELFTEST).write_text(json.dumps({"lab": lab.digest, "green": True}))
    kinds = _hand_in(lab, folder / "class", students, harmful, random.Random(op))
    started = time.perf_counter()
    command = _command(folder, op, compiler)
    before = _lines_when_killed(folder, command, 1 + students // 3)
    subprocess.run(command, env=_environment(), check=True)
    seconds = time.perf_counter() - started
    lines = (folder / "grades" / LINES).read_text().splitlines()
    assert lines[: len(before)] == before and len(lines) == 1 + students, (len(before), len(lines))
    grades = li.lab.Grades.from_json(folder / "grades" / "grades.json")
    missing = [name for name in kinds if grades.score(name) is None]
    assert not missing and len(grades.students) == students, missing
    (exercise,) = lab.exercises  # who has not answered the lab's question may have all points of the kernel
    full = {
        one.student
        for one in grades.grades
        if one.exercise == exercise.grade_id and one.points == grades.of[one.exercise]
    }
    right = {name for name, kind in kinds.items() if kind == "right"}
    assert right <= full, sorted(right - full)
    assert {kinds[name] for name in full} <= {"right", "mistake"}, sorted({kinds[name] for name in full})
    return seconds, sum(kinds[name] == "mistake" for name in full)


def alone(results: Results, students: int) -> None:
    """Grade one kernel of a class, hostile ones among them, and then the honest ones without these: nobody's points may differ."""
    op, compiler, harmful = OPS[0], compilers()[-1], min(students // 2, 20)
    with tempfile.TemporaryDirectory(prefix="lltm-inline-class-") as directory:
        folder = Path(directory)
        seconds, _ = _one_kernel(folder, op, students, harmful, compiler)
        among = li.lab.Grades.from_json(folder / "grades" / "grades.json").students
        for number in range(harmful):
            (folder / "class" / f"{_student(number)}.ipynb").unlink()
        shutil.move(folder / "grades", folder / "among")
        subprocess.run(_command(folder, op, compiler), env=_environment(), check=True)
        without = li.lab.Grades.from_json(folder / "grades" / "grades.json").students
    other = [name for name, grades in without.items() if grades != among[name]]
    differ = [name for name in other if _points(among[name]) != _points(without[name])]
    for name in differ:
        print(name, *among[name], *without[name], sep="\n  ")
    results.note("students who do harm", harmful)
    results.note("honest students", len(without))
    results.note("minutes with those who do harm", seconds / 60)
    results.note("honest students of whom a reason names other drawn values", len(other) - len(differ))
    results.require("honest students who have other points without them", len(differ), 0)


def _points(grades: list[li.lab.Grade]) -> list[tuple[str, float | None, list[tuple[str, float]]]]:
    """Take from grades all that counts: inputs are drawn anew in each run, so reasons name other values."""
    return [(one.exercise, one.points, [(mark.criterion, mark.points) for mark in one.marks]) for one in grades]


def _hand_in(lab: Lab, folder: Path, students: int, harmful: int, draw: random.Random) -> dict[str, str]:
    """Write a notebook for each student, no two the same; say of which kind each is."""
    folder.mkdir()
    (exercise,) = lab.exercises
    solution = exercise.solution[0]
    wrong = list(mutants_of(solution))
    harm = {one.name: one.text for one in cheats(exercise, solution) if one.name in HARMFUL}
    if exercise.op.name == "axpy":
        harm |= {one.name: one.text for one in HOLES if one.criterion == "parity"}
    if exercise.op.name not in MILD:
        harm |= {name: f"{top}\n{solution}" for name, top in HOSTILE.items()}
    kinds: dict[str, str] = {}
    for number, (kind, text) in enumerate(_texts(solution, exercise.starter, wrong, harm, students, harmful, draw)):
        name = _student(number)
        book = handed_out(lab)
        cell = next(cell for cell in book["cells"] if grade_id(cell) == exercise.grade_id)
        cell["source"] = f"{source_of(cell).partition(chr(10))[0]}\n{text.lstrip()}\n// {name}, {time.time_ns()}\n"
        (folder / f"{name}.ipynb").write_text(json.dumps(book))
        kinds[name] = kind
    return kinds


def _student(number: int) -> str:
    return f"student{number:03}"


def _texts(
    solution: str,
    starter: str,
    wrong: list[str],
    harm: dict[str, str],
    students: int,
    harmful: int,
    draw: random.Random,
) -> Iterator[tuple[str, str]]:
    """Draw what a class hands in: six of ten are right, three have a mistake, one does not compile or is as it was."""
    for number in range(students):
        if number < harmful:
            name = list(harm)[number % len(harm)]
            yield name, harm[name]
        else:
            typing = ("typing", solution.replace(";\n", "\n", 1))
            yield draw.choices(
                [("right", solution), ("mistake", draw.choice(wrong)), typing, ("starter", starter)],
                weights=[60, 30, 7, 3],
            )[0]


def _command(folder: Path, op: str, compiler: str) -> list[str]:
    (folder / "grade.py").write_text(GRADE)
    return [sys.executable, *(str(folder / name) for name in ("grade.py", op, "class", "grades")), compiler]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _lines_when_killed(folder: Path, command: list[str], count: int) -> list[str]:
    """Grade until so many lines are there, kill the judge, and return those of its lines that are whole."""
    path = folder / "grades" / LINES
    judge = subprocess.Popen(command, env=_environment())
    while judge.poll() is None and (not path.exists() or path.read_text().count("\n") < count):
        time.sleep(0.05)
    judge.send_signal(signal.SIGKILL)
    judge.wait()
    return [line.rstrip("\n") for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples: to see that it runs, not to quote")
    parser.add_argument("--students", type=int, help="of the class (default: 300; with --quick 4)")
    parser.add_argument("--cuda", action="store_true", help="a class with a CUDA kernel, and nothing else")
    parser.add_argument("--alone", action="store_true", help="a class with hostile texts and without, and nothing else")
    parser.add_argument("--folder", type=Path, help="keeps what was measured of the class")
    given = parser.parse_args()
    quick = given.quick
    students = given.students or (4 if quick else 300)
    if given.cuda:
        results = Results("lab_cuda", quick, script="lab.py --cuda")
        with tempfile.TemporaryDirectory() as temporary:
            a_class(results, students, given.folder or Path(temporary), CUDA)
        results.save()
        return
    if given.alone:
        results = Results("lab_alone", quick, script="lab.py --alone")
        alone(results, students)
        results.save()
        return
    results = Results("lab", quick)
    locks(results, 10 if quick else 50)
    for compiler in compilers():
        graded(results, compiler, 2 if quick else 8, _TARGETS[compiler])
        plain(results, compiler, 1 if quick else 2)
        row, beside = f"a submission, {compiler}", f"plain load_inline and gradcheck, {compiler}"
        results.note(f"plain over graded, {compiler}", results.median(beside) / results.median(row))
    with tempfile.TemporaryDirectory() as temporary:
        a_class(results, students, given.folder or Path(temporary))
    results.save()


if __name__ == "__main__":
    main()
