"""The panel in a real JupyterLab: an edit on its way through build, check and benchmark; stop, crash, reload, restart."""

from __future__ import annotations

import re

import psutil
import pytest
from playwright.sync_api import expect

import lltm_inline as li
from tests.browser.page import BUILD_PATIENCE, NotebookPage
from tests.browser.panel import Panel
from tests.browser.texts import CRASH, ENDLESS, GOOD, TYPO, TYPO_LINE, WRONG
from tests.run.worker.crash_rows import wait_for_kernel

pytestmark = pytest.mark.full

LOAD = f"""
import os
import lltm_inline as li
if "axpy/mine" not in li.registry:
    li.registry.register(li.Kernel("axpy/mine", cpp={GOOD!r}))
kept, pid = list(range(19)), os.getpid()
"""
SHOW = "li.playground('axpy/mine', sizes=[(1000,)], seconds=0.1)"
STILL_THERE = "print(kept == list(range(19)) and pid == os.getpid(), pid)"
LLTM = """
import torch
import lltm_inline as li

torch.set_num_threads(1)  # so that other work on this machine disturbs less
li.playground('lltm', sizes=[(16, 32, 128), (64, 32, 128)], seconds=0.5)
"""

#: Waits for what marks are made with while somebody types.
HEADER = """
import lltm_inline as li
from lltm_inline.compiling import header, job, toolchain
found = toolchain.find_toolchain()
header.wait(found, job.make_job(li.registry["axpy/cpp"], found).prelude)
"""

ACTIVE_CELL = "window.jupyterapp.shell.currentWidget.content.activeCellIndex"
#: Keeps how far the cell below is from this one's top at each moment, beginning with this one at the top of the page, and
#: how high the panel's parts are: Lab may scroll as it likes, as long as nothing in the page changes its size.
WATCH_PLACE = """
cell => {
  cell.scrollIntoView();
  const places = window.places = [];
  const top = place => Math.round(place.getBoundingClientRect().top);
  const look = () => {
    const parts = [...cell.querySelectorAll('.lltm-panel > *')].map(part => part.offsetHeight);
    places.push([top(cell.nextElementSibling) - top(cell), parts.join(' ')]);
    requestAnimationFrame(look);
  };
  look();
}
"""
#: Keeps the plots that have been on the screen.
WATCH_PLOT = """
place => {
  const seen = window.plots = new Set();
  new MutationObserver(() => seen.add(place.innerHTML)).observe(place, {subtree: true, childList: true, characterData: true});
}
"""


def line_of(text: str, words: str) -> int:
    """Return the number of the one line that has these words."""
    (number,) = (number for number, line in enumerate(text.split("\n"), 1) if words in line)
    return number


def test_edit_error_fix_check_benchmark(notebook: NotebookPage) -> None:
    """A typo in `lltm/fused` is marked below its line and mended by a click; a wrong sign names its gradients; the plot grows."""
    text = li.registry["lltm/fused"].cpp
    notebook.open(notebook.lab.write("panel.ipynb", [LLTM]))
    notebook.run(0)
    panel = Panel(notebook, 0)
    gate = line_of(text, "const V o = sigmoid(")
    panel.type_line(gate, "const V o = sigmoid(load(bias_q + S + s) + load(gate_o));")
    notebook.page.keyboard.press("Control+Enter")
    panel.becomes(1, "failed")
    mark = panel.part("mark").first
    expect(mark).to_contain_text(f"line {gate}")
    expect(mark).to_contain_text("bias_p")
    line, below = panel.place.locator(".cm-line", has_text="bias_q").bounding_box(), mark.bounding_box()
    assert line and below and abs(line["y"] + line["height"] - below["y"]) < line["height"] / 2
    notebook.shot("panel-does-not-compile")
    mark.get_by_text("apply").click()
    expect(panel.editor()).not_to_contain_text("bias_q")
    panel.press("build")
    panel.becomes(2, "right")
    notebook.shot("panel-right")
    notebook.wide()

    sign = line_of(text, "c * i * (V(1) - i)")
    panel.type_line(sign, "const V d_i = d_cell * c * i * (V(1) + i);")
    panel.press("build")
    panel.becomes(3, "wrong")
    for name in ("d_weights", "d_bias"):
        panel.says("report", name)
    notebook.shot("panel-wrong")
    notebook.shot("panel-wrong-alone", panel.place)
    notebook.dark()
    notebook.shot("panel-wrong-dark")

    panel.part("revision-2").click()
    expect(panel.part("revision-2")).to_have_attribute("aria-pressed", "true")
    panel.says("report", "lltm/fused@2")
    expect(panel.part("report")).not_to_contain_text("lltm/fused@3")
    panel.part("plot").evaluate(WATCH_PLOT)
    panel.press("benchmark")
    notebook.wait("[...window.plots].some(plot => /round \\d/.test(plot))")
    expect(panel.part("verdict")).to_be_in_viewport(ratio=1)
    notebook.shot("panel-benchmark")
    panel.idle()
    for words in ("lltm/fused@2", "lltm/python", "B=16", "B=64"):
        panel.says("plot", words)
    expect(panel.part("plot")).not_to_contain_text("round")
    expect(panel.part("verdict")).not_to_be_empty()
    notebook.shot("panel-benchmark-dark")
    notebook.shot("panel-benchmark-alone", panel.place)


def test_machine_code_and_marks_while_typing(notebook: NotebookPage) -> None:
    """A line and what became of it light up together; a typo is underlined before anything is built, and moves nothing."""
    optimised = "import os; del os.environ['CXX']  # the compiler of users, which makes vectors"
    notebook.open(notebook.lab.write("panel-code.ipynb", [f"{HEADER}\n{optimised}", "li.playground('axpy/cpp')"]))
    notebook.run(0)
    notebook.run(1)
    panel = Panel(notebook, 1)
    panel.part("option-check_first").uncheck()
    panel.part("option-assembly").check()
    panel.press("build")
    panel.says("assembly", "floats at a time")
    loop = panel.part("assembly").locator(".li-looped").first
    loop.hover()
    expect(panel.editor().locator(".lltm-lit")).to_have_count(1)
    number = int(loop.get_attribute("data-line") or 0)
    loop.click()
    expect(panel.editor().locator(".cm-activeLine")).to_have_text(li.registry["axpy/cpp"].cpp.split("\n")[number - 1])
    expect(loop).to_have_class(re.compile("lltm-lit"))
    expect(loop).to_be_in_viewport()
    for theme in ("light", "dark"):
        notebook.shot(f"panel-machine-code-{theme}", panel.place)
        notebook.dark()
    number = line_of(li.registry["axpy/cpp"].cpp, "return {d_x, d_y};")
    panel.type_line(number, "return {d_x, not_there};")
    expect(panel.editor().locator(".lltm-under-error").first).to_have_text("not_there", timeout=BUILD_PATIENCE)
    expect(panel.part("mark")).to_have_count(0)
    panel.says("log", f"line {number}: 'not_there' was not declared")
    notebook.shot("panel-typing", panel.place)


def test_stop_and_crash_leave_the_notebook_alone(notebook: NotebookPage) -> None:
    """Stop ends an endless loop, a crash is marked at its line, cells run on, and the next text builds."""
    notebook.open(notebook.lab.write("panel-stop.ipynb", [LOAD, SHOW, STILL_THERE]))
    notebook.run(0)
    notebook.run(1)
    pid = int(notebook.run(2).split()[1])
    panel = Panel(notebook, 1)
    panel.paste(ENDLESS)
    panel.press("build")
    wait_for_kernel(pid)
    assert notebook.run(2).split() == ["True", str(pid)]  # other cells run while the panel is busy
    notebook.shot("panel-endless")
    panel.press("stop")
    panel.idle()
    panel.says("log", "stopped")
    panel.paste(CRASH)
    panel.press("build")
    panel.becomes(2, "crashed")
    expect(panel.part("mark").first).to_contain_text(f"line {line_of(CRASH, '*nowhere = 1')}")
    notebook.shot("panel-crashed")
    assert notebook.run(2).split() == ["True", str(pid)] and psutil.pid_exists(pid)
    panel.paste(WRONG)
    panel.press("check")
    panel.becomes(3, "wrong")


def test_keys_in_the_panel_are_the_panels(notebook: NotebookPage) -> None:
    """After a click in the panel no key acts on the notebook's cells, the arrows move a slider, and Control-S still saves."""
    notebook.open(notebook.lab.write("panel-keys.ipynb", [LLTM, "1"]))
    notebook.run(0)
    panel = Panel(notebook, 0)
    before, press = len(notebook.counts()), notebook.page.keyboard.press
    panel.part("option-check_first").uncheck()
    for part in ("build", "revision-0", "option-check_first"):
        panel.part(part).click()
        for key in ("b", "a", "d", "d", "Shift+Enter"):
            press(key)
        panel.idle()
    assert len(notebook.counts()) == before
    slider = panel.place.locator("input[type=range]").first
    slider.click()
    chosen, value = notebook.page.evaluate(ACTIVE_CELL), slider.input_value()
    press("ArrowDown")
    expect(slider).not_to_have_value(value)
    assert notebook.page.evaluate(ACTIVE_CELL) == chosen
    notebook.page.evaluate("window.jupyterapp.shell.currentWidget.context.model.dirty = true")
    notebook.save()


def test_a_cell_that_runs_again_moves_nothing(notebook: NotebookPage) -> None:
    """While the panel is taken away and a new one comes, what stands below it stays where it is."""
    notebook.open(notebook.lab.write("panel-again.ipynb", ["print('\\n' * 60)", LOAD, SHOW, "'below'"]))
    notebook.run_all()
    Panel(notebook, 2)
    notebook.focus(2)
    notebook.cell(2).evaluate(WATCH_PLACE)
    before = notebook.counts()
    notebook.page.keyboard.press("Control+Enter")
    notebook.wait_for_end(before)
    expect(Panel(notebook, 2).part("build")).to_be_visible()
    places = notebook.page.evaluate("window.places")
    far = [height for height, _ in places]
    told = "\n".join(f"{height}: parts {parts or 'gone'}" for height, parts in places)
    assert len(far) > 1 and max(far) - min(far) <= 8, told


def test_a_saved_panel_is_a_picture_when_the_file_is_opened_again(notebook: NotebookPage) -> None:
    """Its text stands there, which says how to have the panel, and no word of a widget that was not found."""
    name = notebook.lab.write("panel-saved.ipynb", [LOAD, SHOW])
    notebook.open(name)
    notebook.run_all()
    expect(Panel(notebook, 1).part("build")).to_be_visible()
    notebook.save()
    notebook.lab.reset()
    notebook.open(name)
    error = notebook.page.get_by_text("Error displaying widget", exact=False)
    expect(error).to_have_count(1)  # it is there by now
    expect(error).to_be_hidden()
    expect(notebook.output(1)).to_contain_text("run the cell for the panel itself")
    notebook.shot("panel-saved")


def test_reload_and_restart_lose_nothing(notebook: NotebookPage) -> None:
    """What was typed and never built outlives F5 and Restart Kernel, and so do the revisions, under their numbers."""
    notebook.open(notebook.lab.write("panel-restart.ipynb", [LOAD, SHOW]))
    notebook.run(0)
    notebook.run(1)
    panel = Panel(notebook, 1)
    panel.paste(TYPO)
    panel.press("build")
    panel.becomes(1, "failed")
    panel.type_line(TYPO_LINE, "return z;  // not built yet")
    expect(panel.part("journal")).to_contain_text("saved")
    notebook.save()
    notebook.reload()
    expect(panel.editor()).to_contain_text("not built yet", timeout=BUILD_PATIENCE)
    expect(panel.part("revision-1")).to_have_attribute("data-state", "failed")
    expect(panel.place.locator(f'[data-testid=mark][data-line="{TYPO_LINE}"]')).to_have_count(0)
    notebook.shot("panel-reloaded")
    notebook.restart()
    expect(panel.place).to_contain_text("run the cell again")
    expect(panel.editor()).to_contain_text("not built yet")
    notebook.shot("panel-kernel-gone")
    notebook.run(0)
    notebook.run(1)
    expect(panel.editor()).to_contain_text("not built yet", timeout=BUILD_PATIENCE)
    expect(panel.part("revision-1")).to_have_attribute("data-state", "failed")
    notebook.shot("panel-recovered")
    panel.press("build")
    panel.becomes(2, "right")
