"""The loop as a person feels it, in JupyterLab in a browser: from Shift-Enter to the verdict on the screen.

One notebook, one Jupyter kernel, one compiler. `lltm/fused` stands in a `%%kernel --check` cell, and the same text in a cell
with plain `load_inline` and `torch.autograd.gradcheck`, as everybody writes it. In turns, a number in one line of `forward`
is typed anew and Shift-Enter is pressed. The clock is the browser's own: it starts with the key and stops when the
frame after the verdict's has been drawn. Plain gradcheck is asked for one size; `--check` looks at all that it always does.
At last the same edits are made in the panel of `li.playground`.

Needs Chromium, and playwright from the extra `test`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from common import Results, arguments, edited, fresh, li, plain_text, scratch
from playwright.sync_api import TimeoutError

from tests.browser.chromium import CURE, find_chromium, running_chromium
from tests.browser.lab import running_lab
from tests.browser.page import NotebookPage, opened
from tests.browser.panel import Panel

NAME = "lltm/fused"
EDIT = "const double edit = "
SETUP = "import torch\nimport lltm_inline as li\n%load_ext lltm_inline"
PLAIN = '''
from torch.utils.cpp_extension import load_inline

source = r"""{text}"""
module = load_inline(name="plain_fused", cpp_sources=[source], functions=["forward", "backward"])


class Plain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weights, bias, old_h, old_cell):
        new_h, new_cell, gates = module.forward(input, weights, bias, old_h, old_cell)
        ctx.save_for_backward(input, weights, old_h, new_cell, gates)
        return new_h, new_cell

    @staticmethod
    def backward(ctx, d_new_h, d_new_cell):
        return module.backward(d_new_h, d_new_cell, *ctx.saved_tensors, list(ctx.needs_input_grad))


B, F, S = 3, 17, 5
sizes = (B, F), (3 * S, F + S), (3 * S,), (B, S), (B, S)
inputs = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes]
print("gradcheck says", torch.autograd.gradcheck(Plain.apply, inputs))
'''
#: Where the notebook has its cells, and what their output says at the end.
OURS, BASE, PANEL = 1, 2, 3
VERDICT = {OURS: r"right\s+lltm/fused@\d+ on", BASE: "gradcheck says True"}
ERROR = r"lltm/fused@\d+' did not compile"

#: Starts a stopwatch for one cell: from the keydown of Shift-Enter to the second frame after the words are there.
WATCH = """
([index, part, words]) => {
  const cell = window.jupyterapp.shell.currentWidget.content.widgets[index].node;
  const place = cell.querySelector(part), wanted = new RegExp(words, 's');
  const watch = window.stopwatch = {start: 0, seconds: 0};
  const observer = new MutationObserver(() => {
    if (!watch.start || !wanted.test(place.innerText)) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(now => { watch.seconds = (performance.now() - watch.start) / 1000; }));
  });
  observer.observe(place, {subtree: true, childList: true, characterData: true});
  addEventListener('keydown', function key(event) {
    if (event.key !== 'Enter' || !event.shiftKey) return;
    removeEventListener('keydown', key, true);
    watch.start = performance.now();
  }, true);
}
"""


def type_number(page: NotebookPage, index: int, number: str) -> None:
    """Put the cursor behind the number of the edited line, and type another one."""
    lines = page.source(index).split("\n")
    line = next(n for n, text in enumerate(lines) if EDIT in text)
    end = lines[line].index(";")
    page.focus(index)
    page.page.evaluate(
        """([index, line, column]) => window.jupyterapp.shell.currentWidget.content.widgets[index].editor
             .setCursorPosition({line, column})""",
        [index, line, end],
    )
    for _ in range(end - lines[line].index(EDIT) - len(EDIT)):
        page.page.keyboard.press("Backspace")
    page.page.keyboard.type(number)
    assert f"{EDIT}{number};" in page.source(index)


def loop(page: NotebookPage, index: int, number: str, words: str) -> float:
    """Edit a cell, press Shift-Enter, and return the seconds until the words are on the screen."""
    type_number(page, index, number)
    page.page.evaluate("window.jupyterapp.commands.execute('notebook:clear-cell-output')")
    page.page.evaluate(WATCH, [index, ".jp-Cell-outputWrapper", words])
    before = page.counts()
    page.page.keyboard.press("Shift+Enter")
    page.wait_for_end(before)
    return stopped(page, words, lambda: page.text(index))


def panel_loop(page: NotebookPage, panel: Panel, line: int, number: str, revision: int) -> float:
    """Edit a line in the panel, press Shift-Enter, and return the seconds until the new revision is said to be right."""
    panel.type_line(line, f"[[maybe_unused]] {EDIT}{number};")
    page.page.evaluate(WATCH, [PANEL, "[data-testid=panel]", rf"@{revision} ✓"])
    page.page.keyboard.press("Shift+Enter")
    panel.becomes(revision, "right")
    return stopped(page, f"@{revision} ✓", panel.place.inner_text)


def stopped(page: NotebookPage, words: str, shown: Callable[[], str]) -> float:
    """Return what the stopwatch says, or end with what is shown in the place of the words."""
    try:
        page.page.wait_for_function("window.stopwatch.seconds > 0", timeout=5000)
    except TimeoutError:
        raise SystemExit(f"it ended without {words!r}; on the screen is:\n{shown()}") from None
    return float(page.page.evaluate("window.stopwatch.seconds"))


def cells() -> list[str]:
    """Write the notebook."""
    kernel = li.registry[NAME]
    ours = edited(kernel.cpp, fresh())
    plain = edited(plain_text(kernel), fresh())
    return [SETUP, f"%%kernel {NAME} --check{ours}", PLAIN.format(text=plain), f"li.playground({NAME!r})"]


def compare(results: Results) -> None:
    """Add the ratios, with the issue's target."""
    plain = f"{NAME} load_inline + gradcheck"
    for row in (f"{NAME} %%kernel --check", f"{NAME} in the panel, build and check"):
        results.compare(f"{row} over plain load_inline and gradcheck", row, plain, 1 / 6)


def take(results: Results, page: NotebookPage, number: Iterator[int]) -> None:
    """Take the samples: cells in turns, then the panel."""
    quick = results.quick
    page.run(0)
    loop(page, OURS, str(next(number)), VERDICT[OURS])  # bridge, precompiled header and worker are made once
    for _ in range(1 if quick else 3):
        for _ in range(2 if quick else 4):
            results.add(f"{NAME} %%kernel --check", loop(page, OURS, str(next(number)), VERDICT[OURS]))
        results.add(f"{NAME} %%kernel, does not compile", loop(page, OURS, f"x{next(number)}", ERROR))
        results.add(f"{NAME} load_inline + gradcheck", loop(page, BASE, str(next(number)), VERDICT[BASE]))
    lines = page.source(OURS).split("\n")
    page.run(PANEL)
    panel = Panel(page, PANEL)
    chips = panel.place.locator("[data-testid^=revision-]")
    made = 1 + max(int(chip.get_attribute("data-testid").removeprefix("revision-")) for chip in chips.all())
    line = next(n for n, text in enumerate(lines, 1) if EDIT in text)
    for revision in range(made, made + (2 if quick else 8)):
        results.add(f"{NAME} in the panel, build and check", panel_loop(page, panel, line, str(next(number)), revision))


def main() -> None:
    """Start a Lab with a cache of its own, take the samples and save them."""
    quick = arguments(__doc__).quick
    program = find_chromium()
    if program is None:
        raise SystemExit(CURE)
    results = Results("browser_loop", quick)
    with scratch() as directory, running_chromium(program) as browser:
        results.more["browser"] = f"Chromium {browser.version}"
        names = {"TORCH_EXTENSIONS_DIR": "plain", "LLTM_INLINE_CACHE": "cache"}
        variables = {"CXX": "g++", **{variable: str(directory / name) for variable, name in names.items()}}
        with running_lab(directory, variables) as lab, opened(browser, lab, directory) as page:
            page.open(lab.write("loop.ipynb", cells()))
            take(results, page, itertools.count(fresh() % 10**9))
    compare(results)
    results.save()


if __name__ == "__main__":
    main()
