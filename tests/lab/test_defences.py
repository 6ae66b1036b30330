"""Each cheat works where nothing is done against it: so the tests of the judge can fail. And behind the locks no act does."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lltm_inline.checking.runner import threads
from lltm_inline.compiling.compiler import Build, build
from lltm_inline.errors import InfraError
from lltm_inline.lab import builder, collect, sandbox
from lltm_inline.lab.builder import blind, toolchain_of
from lltm_inline.lab.doctor import doctor
from lltm_inline.lab.inside import ESCAPES, Ask, Library
from lltm_inline.lab.locked import Answer, Gone, Kept, _Clock
from lltm_inline.lab.runner import Runner
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.workers.limits import Limits
from tests.lab.shared import book, hand_in, lab_in
from tests.needs import need, needs
from tests.planted.cheats import (
    ACTS,
    FASTER,
    HARMLESS,
    NOT_PLANTED,
    NOTEBOOKS,
    RIGHT,
    SLOW,
    TRICKS,
    WRONG,
    Act,
    Cheat,
    all_acts,
    naive,
)  # fmt: skip
from tests.quick import QUICK

pytestmark = needs("Landlock and seccomp")

#: One of each kind, for a run that takes no minute.
FIRST = {
    "patches_through_a_global",
    "remembers_by_address",
    "reads_a_file",
    "forks",
    "makes_shared_memory",
    "takes_a_signal",
}
FULL = [pytest.mark.full]


def test_every_row_is_planted() -> None:
    """Of each cheat in the list there is one here, or the reason why there is none; and no two have one name."""
    rows = [*TRICKS, *FASTER, *ACTS]
    numbers = {row.number for row in rows} | {number for number, _, _ in NOTEBOOKS.values()}
    assert sorted(numbers | NOT_PLANTED.keys()) == list(range(1, 40)) and not numbers & NOT_PLANTED.keys()
    names = [row.name for row in rows] + [*NOTEBOOKS]
    assert len(set(names)) == len(names) >= 40


def _built(text: str) -> tuple[str, str]:
    built = build(Kernel("axpy/cheat", cpp=text), compiler=QUICK, progress=False)
    return str(built.path), built.namespace


@pytest.mark.parametrize(
    "cheat",
    [
        pytest.param(one, id=one.name, marks=[] if one.name in FIRST else FULL)
        for one in (*TRICKS, *FASTER)
        if one.naive
    ],
)
def test_a_cheat_works_against_a_simple_grader(cheat: Cheat) -> None:
    """It has full points there, or ends it well."""
    other = {"next": WRONG, "speed": SLOW}.get(cheat.how)
    want = (cheat.ends, "") if cheat.ends is not None else (0, "full")
    tries = 3 if cheat.how == "speed" else 1  # its clock runs for milliseconds, which a busy neighbour may have
    for _ in range(tries):
        found = naive.run(cheat.how, *_built(cheat.text), *(_built(other) if other else ()))
        if found == want:
            break
    assert found == want


@pytest.mark.full
@pytest.mark.parametrize(("how", "text"), [("grade", WRONG), ("ahead", WRONG), ("next", RIGHT), ("speed", SLOW)])
def test_a_simple_grader_can_tell(how: str, text: str) -> None:
    """What does not cheat has no points there where it should not: a grader that gives them to all would show nothing."""
    other = {"next": WRONG, "speed": SLOW}.get(how)
    assert naive.run(how, *_built(text), *(_built(other) if other else ())) == (0, "nought")


@pytest.mark.full
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_python_of_a_student(tmp_path: Path, name: str) -> None:
    """It makes a wrong kernel right where notebooks are run; here the answer is the same as without it."""
    _, cell, files = NOTEBOOKS[name]
    lab, honest, cheating = lab_in(tmp_path / "lab"), book(), book()
    cheating["cells"].insert(0, {**honest["cells"][1], "metadata": {}, "source": cell})
    for folder, notebook in (("honest", honest), ("cheating", cheating)):
        hand_in(tmp_path / folder / "ann", axpy=notebook)
    for file, text in files.items():
        (tmp_path / "cheating" / "ann" / file).write_text(text)
    assert naive.run("notebook", tmp_path / "cheating" / "ann" / "axpy.ipynb") == (0, "full")
    one, other = (collect(lab, tmp_path / folder) for folder in ("honest", "cheating"))
    assert one == other and one.submissions[0].answers[0].text


@pytest.fixture(scope="module")
def acts() -> Library:
    """Build all acts into one library, which no defence has looked at."""
    toolchain = toolchain_of(QUICK)
    kernel = Kernel("axpy/acts", cpp=all_acts())
    made: Build = build(kernel, compiler=QUICK, progress=False)
    return Library(kernel, blind(registry.ops["axpy"]), toolchain, made)


@pytest.mark.parametrize("act", [pytest.param(one, id=one.name, marks=FULL) for one in ACTS])
def test_an_act_works_without_locks(acts: Library, act: Act) -> None:
    """It gets what it wants: without that, the next test would show nothing."""
    status, said = naive.run("act", acts.build.path, acts.build.namespace, ACTS.index(act))
    assert (status, said) == (0, "True")


@pytest.mark.parametrize(
    "act", [pytest.param(one, id=one.name, marks=[] if one.name in FIRST else [pytest.mark.full]) for one in ACTS]
)
def test_no_act_works_behind_the_locks(acts: Library, act: Act) -> None:
    """It gets nothing, or its process ends by what it asks for; what is harmless reaches nothing of anybody's."""
    x = torch.zeros(ACTS.index(act) + 1)
    with Runner(acts, registry.ops["axpy"], Limits(seconds=20)) as runner:
        if act.ends:
            with pytest.raises(Gone, match="asks the system for what is closed to it"):
                runner.function(x, x)
        else:
            worked = bool(runner.function(x, x).all())
            assert worked == (act.name in HARMLESS)


def test_all_calls_together_have_a_limit(acts: Library) -> None:
    """A kernel that takes a little less than it may, each time, is ended, and so is what comes in its place."""
    x = torch.zeros(1)
    with Runner(acts, registry.ops["axpy"], Limits(seconds=20)) as runner:
        runner.function(x, x)
        assert 0 < runner.spent < 20
        runner.spent = 601.0
        for _ in range(2):
            with pytest.raises(Gone, match="does not come back within 600 s, all its calls together"):
                runner.function(x, x)


def test_the_threads_of_a_kernel_are_its_own(acts: Library) -> None:
    """The judge copies on one: its others would spin until the kernel is back, and take the cores from it."""
    seen: list[tuple[int, int]] = []

    class Watched(Runner):
        """Notes with how many threads a call is asked for, and how many are here meanwhile."""

        def _answer(self, ask: Ask, kept: Kept) -> Answer:
            seen.append((ask.threads, torch.get_num_threads()))
            return super()._answer(ask, kept)

    x = torch.zeros(1, requires_grad=True)
    with Watched(acts, registry.ops["axpy"], Limits(seconds=20)) as runner, threads(3):
        runner.function(x, x).sum().backward()
        assert torch.get_num_threads() == 3
    assert seen == [(3, 1), (3, 1)]


def test_a_machine_that_is_busy_has_patience() -> None:
    """The limit is on what a process does: while others have the cores, it does not run out; for one that sleeps it does."""
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this system does not count how long a process waits for a core")
    core = min(os.sched_getaffinity(0))
    pin = f"import os; os.sched_setaffinity(0, {{{core}}})"
    spin, asleep = f"{pin}\nprint(flush=True)\nwhile True: pass", f"{pin}\nprint(flush=True)\ninput()"
    ones = [
        subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for text in (spin, spin, spin, asleep)
    ]
    try:
        for one in ones:
            assert one.stdout and one.stdout.readline()
        starved, sleeping = _Clock(ones[0].pid, 0.5), _Clock(ones[3].pid, 0.5)
        while sleeping.left() > 0:
            assert starved.left() > 0
        assert starved.left() > 0
        while starved.left() > 0:  # it ends all the same
            pass
    finally:
        for one in ones:
            one.kill()
            one.communicate()


def test_where_a_lock_is_missing_nothing_is_run(acts: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is said that all of it is trusted."""
    monkeypatch.setattr(sandbox, "NEEDED", ("Landlock", "seccomp", "another lock"))
    with (
        pytest.raises(InfraError, match="this machine has no another lock"),
        Runner(acts, registry.ops["axpy"], Limits()) as runner,
    ):
        runner.start()
    with Runner(acts, registry.ops["axpy"], Limits(), trust=True) as runner:
        runner.start()


def test_a_library_that_was_changed_is_not_believed() -> None:
    """It is compiled anew."""
    toolchain = toolchain_of(QUICK)
    op = registry.ops["axpy"]
    kernel = Kernel("axpy/cheat", cpp=next(one for one in TRICKS if one.name == "half_precision").text)
    first = builder.build(kernel, op, toolchain, ())
    before = first.build.path.read_bytes()
    first.build.path.write_bytes(before + b"x")
    again = builder.build(kernel, op, toolchain, ())
    assert not again.build.cached and again.build.path.read_bytes() != before + b"x"
    assert builder.build(kernel, op, toolchain, ()).build.cached


#: Tries to have files read into what is compiled, behind the locks of the builder; prints what could not be kept from it.
_READS = """
import json, os, subprocess, sys
from lltm_inline.lab import sandbox
compiler, read, directory, files = json.loads(sys.argv[1])
os.environ["TMPDIR"] = directory
sandbox.lock_in(read, directory, memory=1 << 32, seconds=300, file=1 << 26)
def compiles(text):
    command = [compiler, "-std=c++20", "-shared", "-fPIC", "-x", "c++", "-", "-o", f"{directory}/x.so"]
    return subprocess.run(command, input=text, text=True, capture_output=True, cwd=directory).returncode == 0
print(json.dumps([
    name for file in files for name, text in {
        f"{file} by include": f'#include "{file}"',
        f"{file} by the assembler": f'asm(".incbin \\"{file}\\"");',
        f"{file} by a macro": f'#define X "{file}"\\n#include X',
    }.items() if compiles(text)
] + ["nothing compiles"] * (not compiles("#include <cmath>\\n#include <vector>\\nint f() { return std::vector<int>(3).size(); }"))))
"""


@pytest.mark.parametrize("compiler", ["clang++", "g++", "g++-11"])
def test_a_compiler_reads_no_file_of_anybody(tmp_path: Path, compiler: str) -> None:
    """Headers and libraries alone: no file beside them, in the folder of Python's environment, or beside this package."""
    need(compiler)
    read = builder._readable(toolchain_of(compiler))
    beside = [Path(sys.prefix), Path(builder.__file__).parents[2], tmp_path]
    planted = [folder / "lltm_inline_planted.h" for folder in beside]
    for folder in (
        *beside,
        *map(Path, ("/opt", "/usr/share", "/usr/local/share", "/usr/home", "/home", "/etc", "/root", "/tmp")),
    ):
        assert not any((folder / "x").resolve().is_relative_to(Path(place).resolve()) for place in read), folder
    directory = tmp_path / "build"
    directory.mkdir()
    try:
        for file in planted:
            file.write_text("int planted;\n")
        given = json.dumps([compiler, read, str(directory), list(map(str, planted))])
        done = subprocess.run([sys.executable, "-c", _READS, given], capture_output=True, text=True, timeout=300)
    finally:
        for file in planted:
            file.unlink(missing_ok=True)
    assert json.loads(done.stdout or '"nothing"') == [], done.stderr


def test_doctor_tries_every_way_out() -> None:
    """Each is told, and none leads anywhere here."""
    found = doctor()
    assert found.locked and len(ESCAPES) == 11
    assert [finding.what for finding in found.findings[-11:]] == list(ESCAPES)
    assert found.headline.startswith("Locked")


@pytest.mark.full
def test_where_user_namespaces_are_denied() -> None:
    """The other locks hold without them: nothing gets out."""
    doctor_alone = shlex.join([sys.executable, "-m", "lltm_inline", "lab", "doctor"])
    denied = f"echo 0 > /proc/sys/user/max_user_namespaces && echo denied && {doctor_alone}"
    need("unshare")
    done = subprocess.run(["unshare", "-Ur", "sh", "-c", denied], capture_output=True, text=True, timeout=300)
    if "denied" not in done.stdout:
        pytest.skip(f"needs the right to deny user namespaces: {done.stderr.strip()}")
    assert done.returncode == 0 and "Locked: a submission that runs here reaches no file" in done.stdout
    assert "denied here; the other locks hold without" in done.stdout
