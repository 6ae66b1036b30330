"""`make quick`: an edited module selects its tests, what matters runs first, and what was kept is used for the same only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests import loop
from tests.compiling import logs
from tests.compiling.mistakes import Mistake
from tests.loop import Candidate, Record, changed, choose, order
from tests.planted.contract import KINDS
from tests.planted.kernels import PLANTED
from tests.planted.rare import PLANTED as RARE

ROOT = Path(__file__).resolve().parents[1]
MISTAKE = Mistake("missing semicolon", "int f() { return 1 }\n", 1, ("';'",))


def test_every_module_has_tests_that_are_there() -> None:
    """Whatever is edited in the package, the table names tests for it, and each of them exists."""
    names = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "lltm_inline"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(names) > 250
    for name in names:
        assert any(place.startswith("tests/") for place in choose([name]).places), name
    rows = {place.rstrip("*") for places in loop.ROWS.values() for place in places}
    assert [place for place in rows if not (ROOT / "tests" / f"{place}.py").is_file()] == []
    assert [room for room in loop.ROWS if not (ROOT / "lltm_inline" / room).exists()] == []
    with pytest.raises(SystemExit, match=r"no row of tests/loop.py names tests for lltm_inline/attic.py. Add one"):
        choose(["lltm_inline/attic.py"])


def test_every_file_of_tests_is_in_a_row() -> None:
    """A new file of tests is put into the table, or here, where what needs minutes or looks at other files stands."""
    rows = {place.rstrip("*") for places in loop.ROWS.values() for place in places}
    files = {
        path.relative_to(ROOT / "tests").with_suffix("").as_posix() for path in (ROOT / "tests").rglob("test_*.py")
    }
    ops = {name for name in files if name.startswith("ops/")}  # chosen by the name of the op
    elsewhere = {
        *("test_readme", "test_benchmarks", "test_ceilings", "test_falling", "test_loop", "test_needs", "test_turns"),
        *("test_surroundings", "platforms/test_platforms", "run/worker/test_crash_table"),
        *("browser/test_kernel_cells", "browser/test_lab", "browser/test_lesson"),
        *("export/test_golden", "export/test_command_line"),
        *("notebook/test_crash_notebook", "notebook/test_panel_kernel"),
        *("notebooks/test_cuda_answers", "notebooks/test_kernel_answers", "notebooks/test_lessons"),
    }
    assert files - ops - rows - elsewhere == set()


def test_what_was_edited_chooses_its_tests(tmp_path: Path) -> None:
    """Edits, staged ones and new files count, and those elsewhere do not; a section of the check chooses what is planted for it."""

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True)

    git("init", "-q")
    for name in ("lltm_inline/checking/purity.py", "lltm_inline/base/stop.py", "tests/test_stop.py", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one\n")
    git("add", ".")
    git("commit", "-qm", "one")
    assert changed(tmp_path) == []
    (tmp_path / "README.md").write_text("two\n")
    (tmp_path / "lltm_inline/checking/purity.py").write_text("two\n")
    (tmp_path / "tests/test_stop.py").write_text("two\n")
    git("add", "tests/test_stop.py")
    (tmp_path / "lltm_inline/lab").mkdir()
    (tmp_path / "lltm_inline/lab/symbols.py").write_text("new\n")
    edited = changed(tmp_path)
    assert edited == ["lltm_inline/checking/purity.py", "lltm_inline/lab/symbols.py", "tests/test_stop.py"]
    chosen = choose(edited)
    assert {"tests/run/test_contract.py", "tests/lab/test_symbols.py", "tests/test_stop.py"} < set(chosen.places)
    assert chosen.words == {"purity", "symbols"}
    with pytest.raises(SystemExit, match=r"git does not say what was edited .*Name it: ARGS=lltm_inline/"):
        changed(tmp_path / "lltm_inline" / "nowhere")


def test_each_section_of_the_check_has_a_module_that_chooses_its_planted_kernels() -> None:
    """An edit of a section runs the kernels that are planted for it before all others."""
    kinds = [one for kind in KINDS.values() for one in kind.planted]
    sections = {kernel.section for kernel in (*PLANTED.values(), *RARE.values(), *kinds)}
    modules = [f"lltm_inline/checking/{path.name}" for path in (ROOT / "lltm_inline" / "checking").glob("*.py")]
    assert sections >= {"parity", "purity", "gradcheck", "interface"}
    assert sections <= choose([*modules, "lltm_inline/run/cases/tried.py"]).words
    assert choose(["lltm_inline/run/cases/tried.py"]).words == {"parity"}


def test_all_mistakes_are_tried_for_diagnosis() -> None:
    """Those of students among them, which otherwise only `make test-all` tries."""
    assert "tests/compiling/test_diagnostics.py" in choose(["lltm_inline/diagnosis/advice_names.py"]).whole
    assert "tests/run/test_sizes.py" not in choose(["lltm_inline/run/cases/case.py"]).whole


def test_order(tmp_path: Path) -> None:
    """What fell runs first, then what is named, then the files in turns, cheap tests first; what fits stays in its file's order."""
    record = Record(tmp_path / "times.json")
    for _ in range(2):
        for name, took in {"a::1": 3.0, "a::2": 1.0, "a::3": 9.0, "b::1": 2.0, "b::2": 2.0}.items():
            record.note(name, took, name != "b::2")
    record.write()
    tests = [Candidate("a::1"), Candidate("a::2"), Candidate("a::3", named=True), Candidate("b::1"), Candidate("b::2")]
    assert order(tests, Record(record.path), 0) == ["b::2", "a::3", "a::2", "b::1", "a::1"]
    assert order(tests, record, 15) == ["b::2", "a::3", "a::2", "b::1", "a::1"]
    assert order(tests, record, 99) == ["b::2", "a::3", "a::1", "a::2", "b::1"]


def test_the_first_time_of_a_test_says_nothing(tmp_path: Path) -> None:
    """As all was compiled then; later times fall at once, and rise slowly, as the machine may be busy."""
    record = Record(tmp_path / "times.json")
    found = []
    for took in (60.0, 4.0, 2.0, 6.0):
        record.note("a::1", took, True)
        found.append(record.seconds("a::1"))
    assert found == [1, 4, 2, 4] and not record.fell("a::1")
    record.note("a::1", 1.0, False)
    assert record.fell("a::1")


def test_a_log_is_kept_for_the_same_text_flags_and_version_alone(tmp_path: Path) -> None:
    """A text is compiled once; another text, other flags, or another version in the same place of the compiler have it compiled anew."""
    real = shutil.which("g++")
    if real is None:
        pytest.skip("needs g++")
    compiler, calls = tmp_path / "g++", tmp_path / "calls"

    def install(version: str) -> None:
        compiler.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo {version} && exit\necho run >> {calls}\nexec {real} "$@"\n'
        )
        compiler.chmod(0o755)

    def count() -> int:
        return len(calls.read_text().splitlines())

    install("one")
    kept = logs.Logs(tmp_path / "logs")
    log = kept.of(MISTAKE, str(compiler))
    assert "expected ';' before '}' token" in log and count() == 1
    assert logs.Logs(tmp_path / "logs").of(MISTAKE, str(compiler)) == log and count() == 1
    kept.of(replace(MISTAKE, text=MISTAKE.text + "\n"), str(compiler))
    assert count() == 2
    logs.Logs(tmp_path / "logs", lambda name: ["-std=c++17"]).of(MISTAKE, str(compiler))
    assert count() == 3
    install("two")
    assert kept.of(MISTAKE, str(compiler)) == log and count() == 4
    assert kept.of(MISTAKE, str(compiler)) == log and count() == 4


@pytest.mark.full
def test_a_run_says_what_fell_and_what_it_had_no_time_for(tmp_path: Path) -> None:
    """As it is typed: the first run has no limit, what fell is counted, and without time tests are said to be left."""
    (tmp_path / "kernels").mkdir()
    environment = {**os.environ, "LLTM_INLINE_TEST_CACHE": str(tmp_path)}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "tests.loop", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ).stdout

    tests = "tests/test_shell.py"
    first = run(tests)
    assert f"the first run of {tests}, which compiles for minutes" in first and "quick: 0 of 4 fell" in first
    assert all(stood for _, stood in Record(tmp_path / "times.json").rows.values())
    assert f"quick: 4 did not run, as the time was up: {tests} 4" in run(tests, "--seconds", "0")
    assert "no file or folder 'tests/nowhere.py'" in run("tests/nowhere.py")
