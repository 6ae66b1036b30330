"""A real notebook, run through nbclient, survives every row of the table of crashes; closing it leaves no process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient

import lltm_inline as li
from tests.notebook.sessions import reply
from tests.planted.crashes import GOOD, ROWS, register
from tests.run.worker import crash_table
from tests.run.worker.crash_rows import build_all, wait_for_kernel, wait_until_gone

ROOT = Path(__file__).resolve().parents[2]

FIRST = """
import os
import torch
import lltm_inline as li
from tests.planted.crashes import GOOD, ROWS, register
from tests.run.worker.crash_rows import next_call_is_right, perform, problems

register()
pid = os.getpid()
weights = torch.arange(1000, dtype=torch.float64)
part = weights[::7]
names = {"a": [1, 2], "b": None}
seen = []

def untouched():
    assert next_call_is_right()
    assert os.getpid() == pid
    assert torch.equal(weights, torch.arange(1000, dtype=torch.float64)) and part.data_ptr() == weights.data_ptr()
    assert names == {"a": [1, 2], "b": None}
"""
ROW = """
row = ROWS[{name!r}]
told = perform(row)
seen.append((row.name, problems(row, told)))
untouched()
told
"""
UNTOUCHED = """
untouched()
"""
LAST = """
assert [name for name, _ in seen] == list(ROWS)
wrong = [item for item in seen if item[1]]
assert not wrong, wrong
"""
UNCAUGHT = """
li.call(ROWS["null_write"].kernel, torch.arange(19.0))
"""
IDLE = """
import lltm_inline as li
from tests.planted.crashes import register
from tests.run.worker.crash_rows import next_call_is_right

register()
assert next_call_is_right()
"""
AT_WORK = """
import torch
import lltm_inline as li
from tests.planted.crashes import ROWS, register

register()
li.call(ROWS["endless_loop"].kernel, torch.arange(19.0), limits=li.Limits(seconds=600))
"""


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build what most of these tests run, so that no cell of theirs shows a line of progress."""
    register()
    li.build([GOOD, ROWS["null_write"].kernel, ROWS["endless_loop"].kernel], progress=False)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a notebook's kernel import the tests, and keep its settings out of the user's."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


def notebook(*cells: str) -> nbformat.NotebookNode:
    """Make a notebook of these cells."""
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in cells])


@pytest.mark.full
def test_notebook_survives_every_row(environment: None) -> None:
    """One kernel runs a cell for each row, keeps its process and variables, and gets the next call right after each."""
    build_all()
    cells = [ROW.format(name=name) for name in ROWS]
    book = notebook(FIRST, *cells, LAST)
    NotebookClient(book, timeout=120, kernel_name="python3", shutdown_kernel="immediate").execute()
    assert all(cell.execution_count == number for number, cell in enumerate(book.cells, 1))


def test_uncaught_crash_is_an_ordinary_error_of_a_cell(environment: None) -> None:
    """A crash that nobody catches shows as a traceback with the words of the report, and the next cells run."""
    book = notebook(FIRST, UNCAUGHT, UNTOUCHED)
    book.cells[1].metadata["tags"] = ["raises-exception"]
    NotebookClient(book, timeout=120, kernel_name="python3", shutdown_kernel="immediate").execute()
    # Beside the line of progress that a slow machine shows.
    (error,) = (output for output in book.cells[1].outputs if output.output_type == "error")
    row = ROWS["null_write"]
    assert error.ename == "CrashError" and "SIGSEGV" in error.evalue, error.evalue
    assert f"{row.kernel.name}:{row.lines[0]}" in error.evalue
    assert not book.cells[2].outputs


def test_stop_button_ends_the_call_and_keeps_the_variables(environment: None) -> None:
    """Interrupted while C++ loops without end, a cell ends in KeyboardInterrupt, and the next cells run."""
    with kernel() as (manager, client):
        assert reply(client, client.execute(FIRST))["status"] == "ok"
        # A kernel that stops at an error drops what comes right behind it, and here the next cell may be too fast.
        at_work = client.execute(AT_WORK, stop_on_error=False)
        wait_for_kernel(manager.provisioner.process.pid)
        manager.interrupt_kernel()
        assert reply(client, at_work)["ename"] == "KeyboardInterrupt"
        assert reply(client, client.execute(UNTOUCHED))["status"] == "ok"


@contextmanager
def kernel() -> Iterator[tuple[KernelManager, Any]]:
    """Start a kernel as JupyterLab does."""
    manager, client = start_new_kernel(kernel_name="python3")
    manager.shutdown_wait_time = 1.0
    try:
        yield manager, client
    finally:
        client.stop_channels()
        if manager.has_kernel:
            manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


@pytest.mark.full
@pytest.mark.parametrize(("code", "works"), [(IDLE, False), (AT_WORK, True)], ids=["idle", "at_work"])
def test_closed_notebook_leaves_no_process(environment: None, code: str, works: bool) -> None:
    """Closing a notebook ends the worker and its server, also in the middle of a call that never ends."""
    with kernel() as (manager, client):
        cell = client.execute(code)
        pid = manager.provisioner.process.pid
        if works:
            family = wait_for_kernel(pid)
        else:
            assert reply(client, cell)["status"] == "ok"
            family = psutil.Process(pid).children(recursive=True)
        assert family
        manager.shutdown_kernel()
        took = wait_until_gone(family)
    if works:
        says = "none of its processes is left"
        crash_table.hold(crash_table.NOTEBOOK_CLOSED, "dies, as was asked", "call", says, took)
