"""`%%kernel` in a real JupyterLab: typed, run with Shift-Enter, looked at on the screen."""

from __future__ import annotations

import re
import shutil

import psutil
import pytest
from playwright.sync_api import expect

from tests.browser.page import BUILD_PATIENCE, NotebookPage
from tests.browser.texts import CRASH, ENDLESS, GOOD, TYPO, TYPO_LINE, WRONG
from tests.run.worker.crash_rows import wait_for_kernel

LOAD = "import os\nimport lltm_inline as li\n%load_ext lltm_inline\nkept, pid = list(range(19)), os.getpid()"
STILL_THERE = "print(kept == list(range(19)) and pid == os.getpid(), pid)"
CELL = "%%kernel axpy/mine --check"
#: What the compiler of these notebooks says of the typo.
UNKNOWN = (
    "use of undeclared identifier 'retrun'" if shutil.which("clang++") else "'retrun' was not declared in this scope"
)


def test_typo_stops_run_all_and_is_marked_where_it_was_typed(notebook: NotebookPage) -> None:
    """Run All ends at a cell that does not compile; the card shows that cell's own line; mended, it is right."""
    notebook.open(notebook.lab.write("typo.ipynb", [LOAD, CELL + TYPO, "print('after it')"]))
    notebook.run_all()
    card = notebook.output(1)
    assert notebook.counts()[2] is None and "after it" not in notebook.text(2)
    expect(card).to_contain_text(f"axpy/mine:{TYPO_LINE}:3: {UNKNOWN}")
    expect(card).to_contain_text("Did you mean 'return'?")
    assert "retrun" in notebook.source(1).split("\n")[TYPO_LINE - 1]
    assert "Traceback" not in notebook.text(1) and "ninja" not in notebook.text(1)
    notebook.cell(1).scroll_into_view_if_needed()
    notebook.shot("cell-does-not-compile")
    notebook.write(1, CELL + GOOD)
    assert re.search(r"right\s+axpy/mine@1", notebook.run(1))
    notebook.run_all()
    expect(notebook.output(2)).to_contain_text("after it")
    notebook.shot("cell-right")


@pytest.mark.full
def test_wrong_kernel_shows_what_is_wrong(notebook: NotebookPage) -> None:
    """A kernel that multiplies by three is wrong in output and gradient; both themes show it."""
    notebook.open(notebook.lab.write("wrong.ipynb", [LOAD, CELL + WRONG, "print('after it')"]))
    notebook.run_all()
    said = notebook.text(1)
    assert re.search(r"wrong\s+axpy/mine", said) and "CheckError" in said and notebook.counts()[2] is None
    notebook.shot("cell-wrong")
    notebook.dark()
    notebook.shot("cell-wrong-dark")


@pytest.mark.full
def test_crash_and_stop_button_leave_the_notebook_alone(notebook: NotebookPage) -> None:
    """A kernel that writes to address 0, and one that never returns and is stopped by Lab's button, cost no variable."""
    cells = [LOAD, STILL_THERE, CELL + CRASH, "%%kernel axpy/endless --check" + ENDLESS]
    notebook.open(notebook.lab.write("crash.ipynb", cells))
    notebook.run(0)
    pid = int(notebook.run(1).split()[1])
    assert "SIGSEGV" in notebook.run(2)
    notebook.shot("cell-crashed")
    assert notebook.run(1).split() == ["True", str(pid)]
    before = notebook.counts()
    notebook.start(3)
    wait_for_kernel(pid)
    notebook.page.locator("[data-command='notebook:interrupt-kernel'], [title^='Interrupt']").first.click()
    notebook.wait_for_end(before)
    expect(notebook.output(3)).to_contain_text("KeyboardInterrupt")
    assert notebook.run(1).split() == ["True", str(pid)] and psutil.pid_exists(pid)
    notebook.shot("cell-stopped")


@pytest.mark.full
def test_restart_recovers_the_revisions(notebook: NotebookPage) -> None:
    """After Restart Kernel the registry knows nothing of this notebook's revisions; `recover` brings them back as they were."""
    look = "print([k.label for k in li.registry.history('axpy/mine')], repr(li.registry['axpy/mine'].cpp[-30:]))"
    cells = [LOAD, CELL + GOOD, CELL + TYPO, look, "li.registry.recover()"]
    notebook.open(notebook.lab.write("restart.ipynb", cells))
    for index in range(3):
        notebook.run(index)
    known = notebook.run(3)
    assert "axpy/mine@1" in known and "retrun" in known
    notebook.restart()
    notebook.run(0)
    assert "UnknownKernelError" in notebook.run(3)
    assert "axpy/mine" in notebook.run(4)
    notebook.shot("cell-recovered")
    assert notebook.run(3) == known


@pytest.mark.full
def test_tab_completes_names_and_options(notebook: NotebookPage) -> None:
    """Tab behind `%%kernel ax` offers the kernels of axpy, and behind `--` the options."""
    notebook.open(notebook.lab.write("tab.ipynb", [LOAD, "x"]))
    notebook.run(0)
    box = notebook.page.locator(".jp-Completer")
    for typed, offered in (
        ("%%kernel ax", "axpy/aten"),
        ("%%kernel axpy/aten --ch", "--check"),
        ("%kernel hist", "history"),
    ):
        notebook.write(1, typed)
        notebook.page.keyboard.press("Tab")
        expect(box.or_(notebook.cell(1).locator(".cm-content"))).to_contain_text([offered], timeout=BUILD_PATIENCE)
        notebook.shot(f"cell-tab-{offered.strip('-').replace('/', '-')}")
        notebook.page.keyboard.press("Escape")
