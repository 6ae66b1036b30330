"""The README and the pages in docs/ are a test subject: their Python runs, their links lead somewhere, and their numbers were measured."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lltm_inline as li
from tests.quick import QUICK

ROOT = Path(__file__).resolve().parent.parent
README, GUIDE, NUMBERS, SPEED = (
    ROOT / name for name in ("README.md", "docs/guide.md", "docs/numbers.md", "docs/speed.md")
)
PAGES = [README, *sorted((ROOT / "docs").glob("*.md")), ROOT / "notebooks" / "README.md"]
#: The examples of the pages that have some, in their order; those of docs/agents.md need files, see judging/test_agents.py.
EXAMPLES = {
    page.stem: blocks
    for page in PAGES
    if page.stem != "agents" and (blocks := re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S))
}

#: Runs examples from standard input, each with names of its own.
_RUN = """
import json, sys
for number, block in enumerate(json.load(sys.stdin), 1):
    exec(compile(block, f"example {number}", "exec"), {"__name__": "__main__"})
"""

every_page = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])


def test_there_are_examples() -> None:
    """The pattern finds them; none would make the next test pass for nothing."""
    assert {page: len(blocks) for page, blocks in EXAMPLES.items()} == {"README": 1, "guide": 12}


@pytest.mark.full
@pytest.mark.parametrize(
    ("page", "compiler"),
    [
        *(pytest.param(page, {"CXX": QUICK}, id=page) for page in EXAMPLES),
        pytest.param("README", {}, id="README as its users do"),
    ],
)
def test_examples_run(page: str, compiler: dict[str, str], tmp_path: Path) -> None:
    """The examples of a page run as they stand, one after the other."""
    environment = {**os.environ, "LLTM_INLINE_NO_HEADER": "1", **compiler}
    result = subprocess.run(
        [sys.executable, "-c", _RUN],
        input=json.dumps(EXAMPLES[page]),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert result.returncode == 0, result.stderr


def test_an_op_takes_twenty_lines() -> None:
    """The example of an op of one's own is as short as the guide says."""
    blocks = [block for blocks in EXAMPLES.values() for block in blocks if "li.Op(" in block]
    assert blocks and all(len([line for line in block.splitlines() if line.strip()]) <= 20 for block in blocks)


def test_the_guide_names_every_kernel_that_ships() -> None:
    """Its table has a row for each op, and in it each variant but the reference, in their order in the registry."""
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+` ?)+)\|", GUIDE.read_text(), re.M)
    listed = {op: re.findall(r"`(\w+)`", variants) for op, variants in rows}
    code = "import lltm_inline as li; print(*(name for name in li.registry if not name.endswith('/python')))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    shipped: dict[str, list[str]] = {}
    for name in names:
        op, _, variant = name.partition("/")
        shipped.setdefault(op, []).append(variant)
    assert listed == shipped


def headings(page: Path) -> set[str]:
    """List the anchors of a page, as GitHub spells them."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-") for line in lines}


@every_page
def test_links_and_pictures_exist(page: Path) -> None:
    """Every local file that a page links to is there, and so is the heading behind a `#`."""
    for target, _, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(#([\w-]+))?\)", page.read_text()):
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in headings(file), f"{target}#{anchor}"


def test_the_readme_is_short_and_leads_on() -> None:
    """It fits on a few screens, and links to every page of docs/, to the course, and to the tutorials that it is about."""
    text = README.read_text()
    assert len(text.splitlines()) <= 140 and max(map(len, text.splitlines())) <= 140
    for page in PAGES[1:]:
        assert f"]({page.relative_to(ROOT)})" in text
    assert "https://docs.pytorch.org/tutorials/advanced/cpp_extension.html" in text


@pytest.mark.full
def test_the_first_screen_shows_the_race_that_a_check_names() -> None:
    """The picture stands before all else that is to be read, and what it shows is still found so."""
    assert "(docs/race.png)" in "\n".join(README.read_text().splitlines()[:12])
    racy = li.registry["block_sum/cuda@0"].edit("parts[t + reach];\n      __syncthreads();", "parts[t + reach];")
    found = li.check(racy, device="cuda-cpu", compiler=QUICK, progress=False)
    assert "race: parts[32] is written" in str(found) and "Put __syncthreads() between them" in str(found)


def unreadable(text: str, *, tables: bool = True) -> list[str]:
    """List the lines of Markdown that are longer than 120 characters, and the paragraphs and items longer than six lines.

    Code is passed over, and tables if `tables` is False.
    """
    found, code, length = [], False, 0
    for line in text.splitlines():
        if line.startswith("```"):
            code, length = not code, 0
        elif not code:
            is_row, begins = line.startswith("|"), re.match(r"\s*([-*] |\d+\. |#|>)", line)
            length = 0 if is_row or not line.strip() else 1 if begins else length + 1
            if length == 7 or (len(line) > 120 and (tables or not is_row)):
                found.append(line)
    return found


@pytest.mark.parametrize("page", PAGES[:-1], ids=[page.name for page in PAGES[:-1]])
def test_pages_read_well_as_they_are(page: Path) -> None:
    """No line is longer than 120 characters and no paragraph longer than six lines; docs/speed.md has a column for each kernel."""
    assert unreadable(page.read_text(), tables=page != SPEED) == []


def test_long_lines_and_paragraphs_are_found() -> None:
    """The seventh line of a paragraph or an item is, a long line and a long row, but neither code nor a list of many items."""
    long, row = "word " * 25, f"| {'word ' * 25}|"
    assert unreadable(f"{long}\n\n{row}\n") == [long, row] and unreadable(row, tables=False) == []
    assert unreadable("zero\n\n" + "one\n" * 6 + "seven\neight\n") == ["seven"]
    assert unreadable("* one\n" + "  two\n" * 5 + "  seven\n") == ["  seven"]
    assert unreadable("* one\n" * 9 + f"```\n{long}\n```\n") == []


def test_numbers_are_the_ones_that_were_measured() -> None:
    """Each figure in the table of numbers stands in the results under benchmarks/results."""
    rows = re.findall(r"^\| .* \| `([a-z_]+)` \| ([\d.]+) \|", NUMBERS.read_text(), re.MULTILINE)
    assert rows
    for name, figure in rows:
        results = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())
        measured = [ratio["value"] for ratio in results["ratios"]]
        digits = len(figure.partition(".")[2])
        assert any(f"{value:.{digits}f}" == figure for value in measured), (name, figure)


def ratio(kernel: str, size: str, direction: str) -> str:
    """Look a ratio up in docs/speed.md: the column of the kernel, in the rows of the size."""
    (table,) = re.findall(rf"^## {kernel.partition('/')[0]}\n(.*?)(?=^## |\Z)", SPEED.read_text(), re.M | re.S)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    column = rows[0].index(f"`{kernel}`")
    here = ""
    for cells in rows[2:]:
        here = cells[0] or here
        if (here, cells[1]) == (size, direction):
            return re.findall(r"[\d.]+x", cells[column])[0]
    raise AssertionError((kernel, size, direction))


def test_ratios_of_the_readme_stand_in_the_page_of_speed() -> None:
    """The README shows three ratios, one of them a loss, as docs/speed.md has them."""
    rows = re.findall(r"^\| `(\w+/\w+)` \| ([a-z +]+) \| (.*?) \| ([\d.]+x) \|$", README.read_text(), re.M)
    assert len(rows) == 3 and any(float(said[:-1]) < 1 for *_, said in rows)
    for kernel, direction, size, said in rows:
        assert said == ratio(kernel, size, direction)
