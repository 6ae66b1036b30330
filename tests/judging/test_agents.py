"""What docs/agents.md has for programs works as it stands there: the loop, the skill, the fixture, the hook."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lltm_inline.__main__ import main
from lltm_inline.judging.verdict import CHEATS, CODES
from tests.judging.twins import TWINS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "agents.md").read_text()


def blocks(language: str) -> list[str]:
    """Return the blocks of the page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.full
def test_the_loop_mends_a_kernel(tmp_path: Path) -> None:
    """An index past the end is found, edited by the program, and the file is right; in the lines that the page promises."""
    (loop,) = [block for block in blocks("python") if "improve" in block]
    assert len([line for line in loop.splitlines() if line]) <= 20
    shutil.copy(TWINS / "relu.py", tmp_path / "relu.py")
    shutil.copy(TWINS / "relu_out_of_bounds.py", tmp_path / "relu_new.py")
    (tmp_path / "loop.py").write_text(loop)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "loop.py"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert [line.partition(" ")[0] for line in done.stdout.splitlines()] == ["wrong", "right"], done
    assert "out of bounds" in done.stdout


@pytest.mark.full
def test_the_fixture_lets_a_test_fall_with_the_verdict(tmp_path: Path) -> None:
    """And pass where the file is right."""
    (fixture,) = [block for block in blocks("python") if "lltm.right" in block]
    shutil.copy(TWINS / "relu.py", tmp_path / "relu.py")
    shutil.copy(TWINS / "relu_new.py", tmp_path / "relu_new.py")
    shutil.copy(TWINS / "relu_decoy.py", tmp_path / "relu_decoy.py")
    (tmp_path / "test_it.py").write_text(fixture + fixture.replace("test_mine", "test_other").replace("_new", "_decoy"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "CHEATS (KernelBench" in done.stdout and "reference called" in done.stdout


def test_the_skill_is_printed_and_names_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Each verdict, with its exit code; the page names each cheat."""
    assert main(["skill"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("---\nname: lltm-inline-judge\n")
    for word, code in CODES.items():
        assert re.search(rf"^\| .*\b{word}\b.* \| {code} \|", said, re.MULTILINE), word
        assert re.search(rf"^\| {word} \| {code} \|", PAGE, re.MULTILINE), word
    assert all(f"**{cheat}**" in PAGE for cheat in CHEATS)


def test_the_hook_and_the_step_call_what_there_is(tmp_path: Path) -> None:
    """The commands of both YAML examples end with the exit code of a verdict: of several files the worst."""
    hook, step = map(yaml.safe_load, blocks("yaml"))
    entry = hook["repos"][0]["hooks"][0]["entry"]
    (tmp_path / "kernels").mkdir()
    for name in ("a_new.py", "kernels/b_new.py"):
        (tmp_path / name).write_text("class ModelNew: pass\n")
        assert re.search(hook["repos"][0]["hooks"][0]["files"], name)
    assert main([*shlex.split(entry)[3:], str(tmp_path / "a_new.py"), str(tmp_path / "kernels" / "b_new.py")]) == 4
    words = [
        str(tmp_path / word) if "kernels" in word or ".sarif" in word else word
        for word in shlex.split(step[0]["run"])[3:]
    ]
    assert main(words) == 4
    assert (tmp_path / step[1]["with"]["sarif_file"]).exists()
