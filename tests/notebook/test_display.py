"""Results in a real notebook: what each shows, as it stands in a static export, light and dark, and how errors read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.browser.chromium import find_chromium, running_chromium
from tests.html_checks import contrast, over, read, rgb
from tests.needs import need

pytestmark = [pytest.mark.full, pytest.mark.together]

ROOT = Path(__file__).resolve().parents[2]

START = """
import torch
import lltm_inline as li
from tests import tiny

torch.set_num_threads(2)
tiny.register()
k = li.registry.register(tiny.kernel())
wrong = k.replace(params={"FACTOR": 3})
broken = li.registry.register(k.replace(cpp=tiny.BROKEN))
crashes = k.edit("return to;", "return *static_cast<Tensor*>(nullptr);")
noisy = k.edit("return to;", 'std::puts("hello"); return to;').edit("#include", "#include <cstdio>\\n#include")
limits = li.Limits(seconds=60)

def caught(function, *arguments):
    try:
        function(*arguments)
    except li.errors.LltmInlineError as error:
        return error
"""
#: The line about what is being done, from its first moment on.
LIVE = """
import threading
import IPython.display
from lltm_inline.base import progress

progress.QUIET_SECONDS, begun, display = 0.0, threading.Event(), IPython.display.display
IPython.display.display = lambda *shown, **how: (begun.set(), display(*shown, **how))[1]
with progress.LiveLine("at <work>"):
    begun.wait()
IPython.display.display = display
"""
#: A kernel that prints at each of many calls.
NOISY = "li.benchmark(noisy, sizes=[(50,)], seconds=0.01, check=False)"
#: What is shown, and words that a person finds in it.
SHOWN = {
    "li.registry": ("registry:", "lltm/fused", "tiny/stable"),
    'li.registry.ops["lltm"]': ("Tensor old_cell", "3S S+F"),
    "k": ("tiny/stable", "FACTOR = 2", "2 #include <torch/csrc/stable/ops.h>"),
    "li.diff(k, broken)": ("1 line added, 1 removed", "FACTORY"),
    "li.build(k)": ("tiny/stable", "flags", "-O3"),
    "li.load(k)": ("loaded", "tiny/stable(Tensor x)"),
    "caught(li.build, broken)": (
        "did not compile",
        "▶ 20",
        "Did you mean 'FACTOR'?",
        "1 line differs from tiny/stable@0",
        "full log",
    ),
    "li.check(k)": ("✓ right", "✓right parity"),
    "li.check(wrong)": ("✗ wrong", "✗wrong parity", "got is 1.5 times want throughout"),
    "caught(lambda: li.benchmark(wrong, sizes=[(50,)]))": ("✗ wrong", "tiny/stable@1"),
    "caught(li.call, crashes, torch.ones(3))": ("crashed in forward: SIGSEGV", "likely cause"),
    'li.benchmark(["tiny/python", k], sizes=[(50,), (70,)], seconds=0.1)': (
        "tiny/stable",
        "N=50, forward",
        "conditions",
    ),
    'li.memory(["tiny/python", k], sizes=[(999,)])': ("tiny/stable holds 1.00x of what tiny/python holds", "peak"),
    "li.doctor()": ("Ready: kernels can be built", "C++ compiler"),
}
ERRORS = {
    "li.build(broken)": (
        "Cell In",
        "----> 1 li.build(broken)",
        "BuildError: kernel 'tiny/stable@2' did not compile",
        "-> 20",
    ),
    "def mine(kernel):\n    return li.check(kernel, device='tpu')\nmine(k)": (
        "----> 3 mine(k)",
        "in mine",
        "InputError",
        "tpu",
    ),
    "li.call(crashes, torch.ones(3))": ("CrashError", "SIGSEGV", "likely cause:"),
    "%xmode Minimal\nli.build(broken)": ("BuildError",),
    "%tb Verbose": ("compiler.py", "BuildError"),
}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """Run one notebook with everything in it."""
    texts = [START, LIVE, NOISY, *SHOWN, *ERRORS]
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in texts]
    for cell in cells[-len(ERRORS) :]:
        cell.metadata["tags"] = ["raises-exception"]
    made = nbformat.v4.new_notebook(cells=cells)
    folder = tmp_path_factory.mktemp("jupyter")
    names = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | {name: str(folder / name.lower()) for name in names}
    NotebookClient(made, timeout=240, kernel_name="python3", shutdown_kernel="immediate").execute(env=environment)
    return made


def result(book: nbformat.NotebookNode, source: str) -> dict[str, str]:
    """Return what a cell shows by media type."""
    [cell] = [cell for cell in book.cells if cell.source == source]
    [output] = [output for output in cell.outputs if output.output_type == "execute_result"]
    return dict(output.data)


@pytest.mark.parametrize("source", SHOWN)
def test_every_result_shows_itself(book: nbformat.NotebookNode, source: str) -> None:
    """HTML that is well formed and says what is to be said, and a plain text of the same beside it."""
    data = result(book, source)
    found = read(data["text/html"])
    assert not found.problems
    for words in SHOWN[source]:
        assert words in found.text, words
    assert data["text/plain"] and "<div" not in data["text/plain"]


@pytest.mark.parametrize("source", ERRORS)
def test_error_reads_as_a_message(book: nbformat.NotebookNode, source: str) -> None:
    """An error shows the user's own lines and then the message; `%tb Verbose` has all frames."""
    [cell] = [cell for cell in book.cells if cell.source == source]
    outputs = [output for output in cell.outputs if output.output_type == "error"] or cell.outputs
    text = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(outputs[-1].get("traceback", [])) or outputs[-1].text)
    for words in ERRORS[source]:
        assert words in text, f"{words} in {text}"
    if source != "%tb Verbose":
        assert ".py" not in text and "Traceback" not in text and "During handling" not in text
        assert text.count("Cell In") == ("Minimal" not in source) + ("in mine" in text)


def test_what_is_printed_in_a_benchmark_is_folded(book: nbformat.NotebookNode) -> None:
    """Beside the timings, and no line of it stands in the cell until it is opened."""
    shown = [output.data["text/html"] for output in book.cells[2].outputs if "what the kernel" in str(output)]
    assert (
        len(shown) == 1 and "hello" in read(shown[0]).text and "<details><summary>what the kernel printed" in shown[0]
    )


def test_nothing_stays_of_the_live_line(book: nbformat.NotebookNode) -> None:
    """The line with the elapsed time is one output, updated in place, and empty when all is done."""
    [output] = book.cells[1].outputs
    assert output.output_type == "display_data" and output.data == {"text/plain": "", "text/html": "<span></span>"}
    assert not any(output.output_type == "stream" for cell in book.cells[: -len(ERRORS)] for output in cell.outputs)


@pytest.fixture(scope="module", params=["light", "dark"])
def exported(request: pytest.FixtureRequest, book: nbformat.NotebookNode, tmp_path_factory: Any) -> Path:
    """Export the notebook to a page without scripts from elsewhere."""
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter(template_name="lab", theme=request.param).from_notebook_node(book)
    path = tmp_path_factory.mktemp("export") / f"results-{request.param}.html"
    path.write_text(re.sub(r'<script[^>]*src="https?://[^>]*></script>', "", html), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page(exported: Path) -> Iterator[Any]:
    """Open the export in Chromium."""
    need("Chromium")
    with running_chromium(str(find_chromium())) as browser:
        opened = browser.new_page(viewport={"width": 1100, "height": 900})
        opened.goto(exported.as_uri(), wait_until="domcontentloaded")
        yield opened
        folder = Path(os.environ.get("LLTM_INLINE_SCREENSHOTS", exported.parent))
        folder.mkdir(parents=True, exist_ok=True)
        opened.screenshot(path=folder / f"{exported.stem}.png", full_page=True)


#: Each text of the results with its colour, its opacity, and the grounds behind it from the front to the back.
_TEXTS = """() => [...document.querySelectorAll('.lltm-inline')].flatMap(root => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.closest('style') || !element.checkVisibility()) continue;
    const grounds = [];
    for (let e = element; e; e = e.parentElement) grounds.push(getComputedStyle(e).backgroundColor);
    found.push([node.data.trim().slice(0, 40), getComputedStyle(element).color, grounds]);
  }
  return found;
})"""


def test_every_text_of_an_export_can_be_read(page: Any) -> None:
    """As Chromium computes them, colours of text have a contrast of 4.5 to 1 or more to what lies behind them."""
    texts = page.evaluate(_TEXTS)
    assert len(texts) > 500
    poor = [(text, round(found, 2)) for text, colour, grounds in texts if (found := _contrast(colour, grounds)) < 4.5]
    assert not poor
    colours = {colour for _, colour, _ in texts}
    assert len(colours) >= 8, "the style sheet was applied"


def _contrast(colour: str, grounds: list[str]) -> float:
    under: Any = (255.0, 255.0, 255.0)
    for ground in reversed(grounds):
        under = over(_computed(ground), under)
    return contrast(over(_computed(colour), under), under)


def _computed(colour: str) -> tuple[float, ...]:
    """Read a colour as a browser tells it: `rgba(0, 0, 0, 0.5)`, or `color(srgb 0.1 0.2 0.3 / 0.9)` for a mixture."""
    if not colour.startswith("color("):
        return rgb(colour)
    red, green, blue, *alpha = (
        float(number) for number in re.findall(r"[\d.]+(?:e-\d+)?", colour.partition("srgb")[2])
    )
    return (red * 255, green * 255, blue * 255, *alpha)


def test_export_folds_and_does_not_spread(page: Any) -> None:
    """Details open at a click, and nothing is wider than the page: what is too wide scrolls in its own place."""
    log = page.locator("summary", has_text="full log").first
    body = log.locator("xpath=following-sibling::div").first
    assert not body.is_visible()
    log.click()
    assert body.is_visible()
    widths = page.evaluate("[...document.querySelectorAll('.lltm-inline')].map(e => e.scrollWidth - e.clientWidth)")
    assert max(widths) <= 1
    rows = page.locator(".li-source:visible").first.locator(".li-row")
    first, second = (rows.nth(number).bounding_box() for number in (0, 1))
    assert abs(first["height"] - second["height"]) < 2 and second["y"] - first["y"] < first["height"] + 2
