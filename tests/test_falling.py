"""Nothing that falls stops falling: the list of planted errors and refusals is that of the tests that stand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiling.mistakes import STUDENTS
from tests.compiling.mistakes_cuda import STUDENTS as CUDA_STUDENTS
from tests.conftest import COLLECTED
from tests.falling import LIST, ROOT, listing, read, written
from tests.ops.rooms import AT_ONCE


def test_list_is_what_the_tests_catch(request: pytest.FixtureRequest) -> None:
    """tests/falling.txt names every planted error with its tests: one that goes shows in it, and in the diff of a commit."""
    items = request.config.stash[COLLECTED]
    files = {item.nodeid.partition("::")[0] for item in items}
    if any(str(path.relative_to(ROOT)) not in files for path in (ROOT / "tests").rglob("test_*.py")):
        pytest.skip("only a run of all tests has collected what is compared")
    listed = "".join(line for line in LIST.read_text().splitlines(keepends=True) if not line.startswith("lost "))
    assert listing(items) == listed, "write it anew: python -m tests.falling --write"


#: The ops, and the CUDA texts, of which three planted kernels fall in `make test`, and the others in `make test-all`.
SMALL = ("axpy", "batch_norm2d", "complex_abs2", "conv2d", "conv_bn", "cube", "d_sigmoid", "graph_conv", "linear", "lltm_cuda",
         "mul_constant", "sin_add", "trace")  # fmt: skip


def is_later(row: str) -> bool:
    """Whether what stands in a row of the list falls in `make test-all` alone."""
    return all(test.endswith("(all)") for test in row.split("  ")[-1].split(", "))


def test_what_is_planted_falls_in_make_test() -> None:
    """Nobody has to wait for `make test-all` to learn that a planted error is no longer found.

    But for the mistakes collected from students, in C++ and in CUDA: the common ones are not among them. Of the CUDA kernels for
    device cuda-cpu each kind of mistake falls, but not in each op, of the snippets for `load_inline` some, of the cheats one of
    each kind, and of the kernels planted in an op three.
    """
    students = {f"diagnostics: {mistake.name}" for mistake in STUDENTS} | {
        f"nvcc: {mistake.name}" for mistake in CUDA_STUDENTS
    }
    lines = [line.split(maxsplit=1) for line in LIST.read_text().splitlines() if not line.startswith("lost ")]
    later = (*students, "cuda_cpu: ", "shared_memory: ", "defences: ", "judge: ", "speed: ", *map("{}: ".format, SMALL))
    planted = [rest for what, rest in lines if what not in ("refusal", "snippet") and not rest.startswith(later)]
    assert len(planted) > 200
    assert [rest for rest in planted if is_later(rest)] == []
    for op in SMALL:
        assert (
            sum(not is_later(rest) for what, rest in lines if what == "kernel" and rest.startswith(f"{op}: "))
            == AT_ONCE
        )


OLD = """\
kernel   axpy: lost                                                   ops/test_axpy.py::test_falls (all)
kernel   axpy: wrong                                                  ops/test_axpy.py::test_falls, ops/test_axpy.py::test_parity (all)
mistake  diagnostics: forgotten std:: on a type                       compiling/test_diagnostics.py::test_cause
refusal  test_cli.py::test_refused                                    5 cases
"""


def test_the_list_is_read_as_it_is_written() -> None:
    """Names may have colons and blanks, and what is lost is none."""
    assert read(OLD + "lost     kernel axpy: gone: the op is gone\n") == {
        "kernel axpy: lost": 1,
        "kernel axpy: wrong": 1,
        "mistake diagnostics: forgotten std:: on a type": 1,
        "refusal test_cli.py::test_refused": 5,
    }
    assert len(read(LIST.read_text())) == sum(not line.startswith("lost ") for line in LIST.read_text().splitlines())


def test_what_is_new_must_have_been_caught() -> None:
    """A test that stands and has not run, or failed when it ran last, catches nothing; what the list has, stays without a run."""
    new = (
        OLD
        + "trap     a_new_one                                                    compiling/test_traps.py::test_a_new_one\n"
    )
    assert written(OLD, OLD, {}) == OLD and written(OLD, new, {"trap a_new_one": True}) == new
    for caught, names in (
        ({}, "trap a_new_one"),
        ({"trap a_new_one": False, "kernel axpy: wrong": False}, "kernel axpy: wrong, trap a_new_one"),
    ):
        with pytest.raises(SystemExit) as refused:
            written(OLD, new, caught)
        assert str(refused.value) == (
            f"{len(names.split(', '))} of 5 are not caught: their tests have not run here yet, or failed when they ran last. "
            f"Run them with pytest, then write the list: {names}"
        )


def test_a_loss_needs_its_reason() -> None:
    """A name that goes, and cases of a refusal that go; with a reason, which the list keeps from then on."""
    new = "".join(OLD.splitlines(keepends=True)[1:]).replace("5 cases", "4 cases")
    with pytest.raises(SystemExit) as refused:
        written(OLD, new, {})
    assert str(refused.value) == (
        "2 of 4 would be lost, as their tests are gone, or some of their cases. Bring these back, or say why: "
        "python -m tests.falling --write --lose 'kernel axpy: lost' --lose 'refusal test_cli.py::test_refused' --because '...'"
    )
    lose = ["kernel   axpy: lost", "refusal test_cli.py::test_refused"]
    with pytest.raises(SystemExit, match=r"^--lose needs a reason, which the list keeps: --because '...'$"):
        written(OLD, new, {}, lose, " ")
    with pytest.raises(SystemExit, match=r"^'kernel axpy: wrong' is not lost; what is: 'kernel axpy: lost', 'refusal"):
        written(OLD, new, {}, ["kernel axpy: wrong"], "so")
    text = written(OLD, new, {}, lose, "they tried\nthe same")
    assert text == new + (
        "lost     kernel axpy: lost: they tried the same\n"
        "lost     refusal test_cli.py::test_refused (5 cases, now 4): they tried the same\n"
    )
    assert written(text, new, {}) == text


@pytest.mark.full
def test_a_run_keeps_what_it_has_caught(tmp_path: Path) -> None:
    """Passed and failed for the list, in the process that hears of all tests; what it tried and has not caught, or skipped, is said."""
    first, second, third = [name.partition(" ")[2] for name in read(LIST.read_text()) if name.startswith("trap ")][:3]
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_traps.py").write_text(
        f"import pytest\ndef test_{first}(): pass\ndef test_{second}(): assert 0\ndef test_{third}(): pytest.skip('needs perf')\n"
    )

    def run(*options: str) -> tuple[int, str]:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        plugins = ["-p", "tests.falling", "-p", "xdist"]
        command = [sys.executable, "-m", "pytest", *plugins, *options, str(tmp_path)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def record() -> dict[str, bool]:
        return dict(json.loads((tmp_path / ".pytest_cache" / "v" / "lltm_inline" / "falling").read_text()))

    status, said = run("-n", "2")
    assert status == 1 and record() == {f"trap {first}": True, f"trap {second}": False}
    missed = "what tests/falling.txt has, and no test has caught in this run"
    assert f"trap {second}, trap {third}" in said.partition(missed)[2]
    status, said = run("-k", first)
    assert status == 0 and missed not in said and record() == {f"trap {first}": True, f"trap {second}": False}
    status, said = run("-k", third)
    assert status == 0 and f"trap {third}" in said.partition(missed)[2] and f"trap {third}" not in record()
