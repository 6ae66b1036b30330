"""`--eighth=N`: every test has its turn, the same everywhere, and a run says what it took."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.turns import SHARES, number, takes

ROOT = Path(__file__).resolve().parents[1]
TESTS = """
import pytest

@pytest.mark.full
@pytest.mark.parametrize("n", range(40))
def test_full(n): pass

def test_quick(): pass
"""
TOGETHER = """
import pytest

@pytest.mark.full
@pytest.mark.together
@pytest.mark.parametrize("n", range(9))
def test_one(n): pass
"""


def run(folder: Path, *options: str) -> str:
    """Run the tests of a folder with the option."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  full\n  together\n")
    if not list(folder.glob("test_*.py")):
        (folder / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.turns", "-p", "xdist", "-rA", *options, str(folder)]
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def passed(output: str) -> list[str]:
    """List what ran."""
    return sorted(line.removeprefix("PASSED test_some.py::") for line in output.splitlines() if "PASSED test_" in line)


def test_a_run_takes_its_turns(tmp_path: Path) -> None:
    """An eighth of the full tests, all that are not full; and how many these were is said."""
    ran = passed(run(tmp_path, "--eighth=12"))
    want = [name for name in (f"test_full[{n}]" for n in range(40)) if takes(12, f"test_some.py::{name}")]
    assert ran == sorted([*want, "test_quick"])
    full = len(ran) - 1
    said = f"--eighth=12 took {full} of 40 tests marked full (part 4 of 8)"
    assert said in run(tmp_path, "--eighth=12", "-q").splitlines() and 0 < full < 10


def test_a_file_has_one_turn(tmp_path: Path) -> None:
    """Where its tests are marked so, as they share what takes long to make: all in one run of eight, none in the others."""
    (tmp_path / "test_some.py").write_text(TOGETHER)
    name = "test_some.py"
    assert len(passed(run(tmp_path, f"--eighth={number(name)}"))) == 9
    (tmp_path / "test_more.py").write_text("def test_quick(): pass\n")
    assert passed(run(tmp_path, f"--eighth={number(name) + 1}")) == ["PASSED test_more.py::test_quick"]


def test_workers_take_the_same(tmp_path: Path) -> None:
    """A run in two processes takes what a run in one takes, and says so once."""
    one, two = run(tmp_path, "--eighth=3", "-m", "full"), run(tmp_path, "--eighth=3", "-m", "full", "-n", "2")
    assert passed(two) == passed(one)
    (said,) = (line for line in one.splitlines() if line.startswith("--eighth=3 took "))
    assert two.splitlines().count(said) == 1


def test_without_the_option_all_run(tmp_path: Path) -> None:
    """`make test-all` leaves nothing out, and says nothing of turns."""
    output = run(tmp_path)
    assert len(passed(output)) == 41 and "--eighth" not in output


def test_shares_are_even() -> None:
    """A part is no twice as large as another, also of names that differ in one character; and a name's number never changes."""
    names = [f"tests/ops/test_axpy.py::test_parity[{n}-cpu]" for n in range(800)]
    parts = [sum(takes(run, name) for name in names) for run in range(SHARES)]
    assert sum(parts) == 800 and max(parts) < 2 * min(parts)
    assert {sum(takes(run, name) for run in range(5, 13)) for name in names} == {1}, "eight in a row have all"
    assert number("tests/test_turns.py::test_shares_are_even[long]") == 6496045436577267067


def test_runs_of_ci_count_on(tmp_path: Path) -> None:
    """On one machine by one, whatever is committed; a machine's first run, and one that can keep nothing, by the commits."""

    def turn(home: Path) -> int:
        environment = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
        command = [str(ROOT / ".ci" / "turn")]
        done = subprocess.run(
            command, env=environment | {"HOME": str(home)}, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    counted = subprocess.run(["git", "-C", str(ROOT), "rev-list", "--count", "HEAD"], capture_output=True, text=True)
    if counted.returncode:
        pytest.skip("not a git checkout")
    commits = int(counted.stdout)
    assert [turn(tmp_path) for _ in range(3)] == [commits, commits + 1, commits + 2]
    (tmp_path / ".cache" / "lltm_inline-ci" / "turn").write_text("nine\n")
    assert turn(tmp_path) == turn(Path("/dev/null")) == commits
