"""The README is a test subject: its Python runs, and its numbers are those of the results that are kept."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_there_are_blocks() -> None:
    """The pattern finds the examples; an empty list would make the next test pass for nothing."""
    assert len(BLOCKS) == 5


@pytest.mark.full
@pytest.mark.parametrize("block", BLOCKS, ids=[f"block {number}" for number in range(1, len(BLOCKS) + 1)])
def test_examples_run(block: str, tmp_path: Path) -> None:
    """Each example runs as it stands, in a process and a directory of its own."""
    result = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_an_op_takes_twenty_lines() -> None:
    """The example of an op of one's own is as short as the README says."""
    (block,) = (block for block in BLOCKS if "li.Op(" in block)
    assert len([line for line in block.splitlines() if line.strip()]) <= 20


def test_links_and_pictures_exist() -> None:
    """Every local file that the README names is there."""
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_numbers_are_the_ones_that_were_measured() -> None:
    """Each figure in the README's table of numbers stands in the results under benchmarks/results."""
    rows = re.findall(r"^\| .* \| `([a-z_]+)` \| ([\d.]+) \|", README, re.MULTILINE)
    assert rows
    for name, figure in rows:
        results = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())
        measured = [ratio["value"] for ratio in results["ratios"]]
        digits = len(figure.partition(".")[2])
        assert any(f"{value:.{digits}f}" == figure for value in measured), (name, figure)
