"""What a machine lacks is skipped, and said; where the run demands all, it fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.needs import ALWAYS, REQUIRE, TRUE, is_true, lacks

ROOT = Path(__file__).resolve().parents[1]
TESTS = """
import pytest
from tests.needs import need, needs

@needs("no-such-program", "two such programs")
def test_marked(): pass

@pytest.fixture
def tool(): need("no-such-program")

def test_fixture(tool): pass

def test_anyhow(): pytest.skip("I am tired")

def test_hardware(): pytest.skip("needs a GPU: torch finds none")

@pytest.mark.xfail
def test_expected(): assert False

def test_there(): need("sh")
"""


def run(folder: Path, *, require: str | None, text: str = TESTS, path: str | None = None) -> tuple[int, str]:
    """Run the tests of a folder, with or without the demand."""
    (folder / "test_some.py").write_text(text)
    environment = {name: value for name, value in os.environ.items() if name != REQUIRE}
    environment |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}
    environment |= {} if require is None else {REQUIRE: require}
    environment |= {} if path is None else {"PATH": path}
    command = [sys.executable, "-m", "pytest", "-p", "tests.needs", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_run_counts_what_it_skips(tmp_path: Path) -> None:
    """Without the demand it passes, and each reason stands at its end."""
    status, said = run(tmp_path, require=None)
    assert status == 0 and "1 passed, 4 skipped, 1 xfailed" in said
    counted = said.partition("what was skipped, and why")[2].splitlines()
    assert sorted(line.removeprefix("    1  ") for line in counted if line.startswith("    1  ")) == [
        "I am tired",
        "needs a GPU: torch finds none",
        "needs no-such-program",
        "needs no-such-program; needs two such programs",
    ]


def test_a_run_that_demands_all_fails(tmp_path: Path) -> None:
    """A skip is a failure there, in a mark, a fixture, a test or a whole file; hardware that is not there is none."""
    status, said = run(tmp_path, require="all")
    assert status == 1 and "1 failed, 1 passed, 1 skipped, 1 xfailed, 2 errors" in said
    assert f"{REQUIRE}=all, and this is skipped: needs no-such-program; needs two such programs" in said
    assert f"{REQUIRE}=all, and this is skipped: I am tired" in said
    file = 'import pytest\npytest.skip("never", allow_module_level=True)\n'
    status, said = run(tmp_path, require="all", text=file)
    assert status == 2 and f"{REQUIRE}=all, and this is skipped: never" in said


def test_a_machine_without_a_tool_fails(tmp_path: Path) -> None:
    """Also where no test asks for it: some look at what is there."""
    text = "def test_nothing(): pass\n"
    status, said = run(tmp_path, require="all", text=text, path=str(tmp_path))
    assert status == 1 and "1 passed" in said
    assert all(f"{REQUIRE}=all, and this machine needs {name}" in said for name in ("g++", "clang++", "cmake"))
    assert run(tmp_path, require=None, text=text, path=str(tmp_path))[0] == 0


def test_a_demand_that_is_none_is_refused(tmp_path: Path) -> None:
    """A word that demands nothing is a mistake."""
    status, said = run(tmp_path, require="always")
    assert status == 4 and f"ERROR: {REQUIRE} is 'always', want 'all', or no such variable" in said


def test_reasons_are_told_apart() -> None:
    """Details may follow a true reason; one that is not true is not hidden behind one that is."""
    assert is_true("needs perf") and is_true("Skipped: needs the right to mount: permission; denied")
    assert is_true("needs root; needs perf") and not is_true("needs root; needs nvcc") and not is_true("needs perfume")
    assert not {f"needs {name}" for name in ALWAYS} & set(TRUE)


def test_what_is_and_is_not() -> None:
    """Of two that exclude each other a machine lacks one."""
    one, other = lacks("a GPU"), lacks("that there is no GPU")
    assert bool(one) != bool(other) and (one or other).startswith("needs ") and ": torch " in (one or other)
