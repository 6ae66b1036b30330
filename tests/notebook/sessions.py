"""A notebook's kernel as JupyterLab runs it, for tests: cells go in, outputs and replies come out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 180


@dataclass(frozen=True)
class Ran:
    """What came of a cell.

    Attributes:
        reply: what the kernel says of it, with `status`.
        outputs: as a frontend holds them in the end: later ones of the same display in the place of the earlier.
    """

    reply: dict[str, Any]
    outputs: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return bool(self.reply["status"] == "ok")

    @property
    def texts(self) -> list[str]:
        """The outputs as plain text, errors and streams apart."""
        return [output["data"].get("text/plain", "") for output in self.outputs if "data" in output]

    @property
    def pages(self) -> list[str]:
        """The outputs as HTML."""
        return [output["data"]["text/html"] for output in self.outputs if "text/html" in output.get("data", {})]

    @property
    def printed(self) -> str:
        """What went to the standard streams."""
        return "".join(output["text"] for output in self.outputs if "text" in output)

    @property
    def error(self) -> str:
        """The error as `Name: message`; nothing where there is none."""
        return "" if self.ok else f"{self.reply['ename']}: {self.reply['evalue']}"

    @property
    def traceback(self) -> str:
        """What the frontend shows of the error."""
        return "\n".join(self.reply.get("traceback", ()))


def reply(client: Any, cell: str) -> dict[str, Any]:
    """Return what a kernel says of a cell that `client.execute` has sent.

    A kernel that is slow to start is asked more than once who it is: answers to that may come before.
    """
    while (message := client.get_shell_msg(timeout=600))["parent_header"].get("msg_id") != cell:
        pass
    return dict(message["content"])


class Session:
    """A kernel with a client."""

    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self._connect()

    def _connect(self) -> None:
        self.client: Any = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=_SECONDS)

    def run(self, *lines: str) -> Ran:
        """Run a cell of these lines and wait for its end."""
        outputs: list[dict[str, Any]] = []
        places: dict[str, int] = {}

        def take(message: dict[str, Any]) -> None:
            content = message["content"]
            place = places.get(content.get("transient", {}).get("display_id", ""))
            if message["msg_type"] == "update_display_data" and place is not None:
                outputs[place] = content
            elif message["msg_type"] in ("display_data", "execute_result", "stream", "error"):
                if content.get("transient", {}).get("display_id"):
                    places[content["transient"]["display_id"]] = len(outputs)
                outputs.append(content)

        # A kernel that stops at an error drops what comes right behind it, as "Run all" wants; here the next cell may be too fast.
        how = {"output_hook": take, "timeout": _SECONDS, "allow_stdin": False, "stop_on_error": False}
        told = self.client.execute_interactive("\n".join(lines), **how)
        return Ran(told["content"], outputs)

    def complete(self, code: str) -> list[str]:
        """Press the tabulator where `code` has a `|`; return what the line could become."""
        place = code.index("|")
        code = code.replace("|", "", 1)
        answer = self.client.complete(code, place, reply=True, timeout=_SECONDS)["content"]
        return [code[: answer["cursor_start"]] + match + code[answer["cursor_end"] :] for match in answer["matches"]]

    def restart(self) -> None:
        """Restart the kernel, as the menu does."""
        self.client.stop_channels()
        self.manager.restart_kernel(now=True)
        self._connect()

    @property
    def pid(self) -> int:
        """The process of the kernel."""
        return int(self.manager.provisioner.process.pid)


@contextmanager
def session(directory: Path, notebook: str = "", cells: Sequence[str] = ()) -> Iterator[Session]:
    """Start a kernel, and run cells in it that must go well.

    Args:
        directory: for IPython's and Jupyter's settings.
        notebook: the path that the Jupyter server tells the kernel.
        cells: to begin with.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
            patch.setenv(name, str(directory / name.lower()))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "JPY_SESSION_NAME": notebook}
        manager = KernelManager(kernel_name="python3")
        manager.shutdown_wait_time = 1.0
        manager.start_kernel(env=environment)
        running = Session(manager)
        try:
            for cell in cells:
                ran = running.run(cell)
                assert ran.ok, ran.error
            yield running
        finally:
            running.client.stop_channels()
            if manager.has_kernel:
                manager.shutdown_kernel(now=True)
            manager.cleanup_resources()


def wait_until(condition: Any, seconds: float = 60) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
