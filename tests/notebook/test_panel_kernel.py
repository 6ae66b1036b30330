"""The panel in a real notebook's kernel, spoken to as a browser does: through the widget's comm."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.html_checks import read
from tests.notebook.sessions import Session, reply, session
from tests.run.worker.crash_rows import wait_for_kernel
from tests.tiny import STABLE

pytestmark = [pytest.mark.full, pytest.mark.together]

PATIENCE = 180.0
OPEN = """
import lltm_inline as li
from tests import tiny
tiny.register()
if "tiny/stable" not in li.registry:
    li.registry.register(tiny.kernel())
panel = li.playground("tiny", sizes=[(7,)], seconds=0.05)
panel
"""
ENDLESS = """
import lltm_inline as li
from tests.planted.crashes import ROWS, register
register()
endless = li.playground(ROWS["endless_loop"].kernel)
endless
"""
BUSY = """
import time
from pathlib import Path
until = time.monotonic() + 120
while not Path("{flag}").exists() and time.monotonic() < until:
    time.sleep(0.01)
"""


class Browser:
    """The other end of a panel: holds its values, and sends what buttons send; `subshell` as JupyterLab does."""

    def __init__(self, kernel: Session, subshell: str | None = None) -> None:
        self.kernel = kernel
        self.subshell = subshell
        self.comm = ""
        self.values: dict[str, Any] = {}
        self.heard: list[dict[str, Any]] = []
        #: What the notebook's file keeps of the panel, drawing by drawing.
        self.kept: list[str] = []

    def open(self, cell: str) -> None:
        """Run a cell that shows a panel, take in its values, and say hello.

        ipykernel hands a comm's messages to the thread that last sent one: to the cell's, until the panel has answered the
        subshell. Two messages sent at once would be taken by two threads; so the page's code begins with a ping as well.
        """
        client = self.kernel.client
        answer = reply(client, client.execute(cell))
        assert answer["status"] == "ok", answer
        self.until(lambda: self.comm)
        self.send("ping")
        self.until(lambda: self.heard)
        self.heard.clear()

    def send(self, do: str, **message: Any) -> None:
        """Press a button."""
        self._post({"method": "custom", "content": {"do": do, **message}})

    def write(self, **values: Any) -> None:
        """Set values, as the editor does."""
        self._post({"method": "update", "state": values, "buffer_paths": []})

    def _post(self, data: dict[str, Any]) -> None:
        message = self.kernel.client.session.msg("comm_msg", {"comm_id": self.comm, "data": data})
        if self.subshell is not None:
            message["header"]["subshell_id"] = self.subshell
        self.kernel.client.shell_channel.send(message)

    def until(self, condition: Callable[[], Any]) -> None:
        """Take in what the kernel says until something is so."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"it did not happen; the log: {self.values.get('log')}"
            try:
                message = self.kernel.client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                continue
            self._take(message["msg_type"], message["content"])

    def _take(self, kind: str, content: dict[str, Any]) -> None:
        data = content.get("data", {})
        if kind == "comm_open" and "_esm" in data.get("state", {}):
            self.comm, self.values = content["comm_id"], data["state"]
        elif kind == "comm_msg" and content["comm_id"] == self.comm:
            if data["method"] == "custom":
                self.heard.append(data["content"])
            else:
                self.values |= data.get("state", {})
        elif self.values and self.values["snapshot"] in data.get("text/html", ""):
            self.kept.append(data["text/html"])

    def press(self, do: str, **message: Any) -> dict[str, Any]:
        """Press a button, wait until something was done and is over, and return the last line of the log."""
        before = len(self.values["log"])
        self.send(do, **message)
        self.until(lambda: len(self.values["log"]) > before and not self.values["busy"]["verb"])
        return dict(self.values["log"][-1])


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Start one kernel for a notebook of its own."""
    folder = tmp_path_factory.mktemp("panel")
    with session(folder, str(folder / "panel.ipynb")) as running:
        yield running


@pytest.fixture(scope="module")
def subshell(kernel: Session) -> str:
    """Make a subshell, through which JupyterLab sends what widgets say."""
    client = kernel.client
    if "kernel subshells" not in client.kernel_info(reply=True, timeout=PATIENCE)["content"].get(
        "supported_features", ()
    ):
        pytest.skip("needs ipykernel 7: before it, messages of widgets wait for the cell that runs")
    client.control_channel.send(client.session.msg("create_subshell_request", {}))
    return str(client.control_channel.get_msg(timeout=PATIENCE)["content"]["subshell_id"])


@pytest.fixture
def browser(kernel: Session, subshell: str) -> Browser:
    """Show a panel."""
    one = Browser(kernel, subshell)
    one.open(OPEN)
    return one


def test_the_panel_brings_all_that_it_needs(browser: Browser) -> None:
    """What the kernel sends is the whole panel: code, style and values, and nothing is fetched from elsewhere."""
    assert "render" in browser.values["_esm"] and ".lltm-panel" in browser.values["_css"]
    assert browser.values["current"]["name"] == "tiny/stable" and browser.values["title"] == "tiny"
    browser.send("ping")
    browser.until(lambda: any(heard.get("tell") == "pong" for heard in browser.heard))


def test_typing_and_building_through_the_comm(browser: Browser) -> None:
    """What the editor writes is the draft, Build makes it a revision, and the report comes back."""
    browser.write(texts={"cpp": STABLE + "\n// typed in a browser"}, params={"FACTOR": 2})
    browser.until(lambda: browser.values["dirty"])
    assert "is right in" in browser.press("build")["text"]
    assert not browser.values["dirty"] and "tiny/stable@" in browser.values["report"]
    assert browser.values["revisions"][-1]["state"] == "right"
    browser.write(options={"check_first": False})
    assert "is in the cache" in browser.press("build")["text"]


def test_the_file_keeps_what_the_panel_has_shown(browser: Browser) -> None:
    """Beside the panel stands an output without widgets, drawn anew when something has ended: text and report."""
    browser.until(lambda: browser.kept)
    assert "times(x" in read(browser.kept[0]).text and "✓" not in browser.kept[0]
    browser.press("check")
    browser.until(lambda: len(browser.kept) > 1)
    shown = read(browser.kept[-1])
    assert not shown.problems and "parity" in shown.text and "times(x" in shown.text
    assert f'class="{browser.values["snapshot"]}"' in browser.kept[-1]
    browser.send("select", name="tiny/python")
    browser.until(lambda: "tiny/python" in read(browser.kept[-1]).text)


def test_a_late_text_is_put_back(browser: Browser) -> None:
    """The browser wrote while Python chose another text: it gets that one again, and knows of no edit."""
    before, text = browser.values["generation"], browser.values["texts"]
    browser.send("select", name="tiny/python")
    browser.send("select", name="tiny/stable")
    browser.write(texts={"cpp": "late"}, seen=before)
    browser.until(lambda: browser.values["log"] and "left out" in browser.values["log"][-1]["text"])
    browser.until(lambda: browser.values["texts"] == text)
    assert not browser.values["dirty"]


def test_benchmark_tells_while_it_runs(browser: Browser) -> None:
    """Tables come while rounds run, and the verdict in the end."""
    browser.send("benchmark")
    browser.until(lambda: browser.values["plot"])
    browser.until(lambda: browser.values["plot"] and not browser.values["busy"]["verb"])
    assert "<table" in browser.values["plot"] and "tiny/python" in browser.values["plot"]


def test_stop_ends_an_endless_loop(kernel: Session) -> None:
    """Stop is taken while C++ loops without end, though the browser knows nothing of subshells."""
    one = Browser(kernel)
    one.open(ENDLESS)
    one.send("check")
    wait_for_kernel(kernel.pid)
    assert "was stopped after" in one.press("stop")["text"]
    assert kernel.run("1 + 1").texts == ["2"]


def test_stop_is_taken_while_a_cell_runs(kernel: Session, subshell: str, tmp_path: Path) -> None:
    """A cell that runs keeps nobody from pressing Stop: the panel's messages go past it."""
    one = Browser(kernel, subshell)
    one.open(ENDLESS)
    one.send("check")
    wait_for_kernel(kernel.pid)
    cell = kernel.client.execute(BUSY.format(flag=tmp_path / "flag"))
    one.until(lambda: one.values["busy"]["text"].endswith("parity"))
    assert "was stopped after" in one.press("stop")["text"]
    (tmp_path / "flag").touch()
    assert reply(kernel.client, cell)["status"] == "ok"


def test_a_cell_runs_while_the_panel_works(kernel: Session, subshell: str) -> None:
    """While a verb runs in the panel's thread, cells give their results."""
    one = Browser(kernel, subshell)
    one.open(ENDLESS)
    one.send("check")
    wait_for_kernel(kernel.pid)
    assert kernel.run("6 * 7").texts == ["42"]
    one.press("stop")


def test_restart_brings_revisions_and_typed_text_back(kernel: Session) -> None:
    """After "Restart kernel" the same cell shows the same revisions, what is known of them, and the text not built yet."""
    one = Browser(kernel)
    one.open(OPEN)
    one.press("build", texts={"cpp": STABLE + "\n// before the restart"})
    one.write(texts={"cpp": STABLE + "\n// typed before the restart"})
    one.until(lambda: one.values["dirty"])
    before = one.values["revisions"]
    kernel.restart()
    again = Browser(kernel)
    again.open(OPEN)
    assert again.values["revisions"][1:] == before[1:] and len(before) > 1
    assert again.values["texts"]["cpp"].endswith("// typed before the restart") and again.values["dirty"]
    assert "brought back" in again.values["journal"]["note"]
    assert "not built yet" in again.values["log"][-1]["text"]
    assert "is right in" in again.press("build")["text"]
