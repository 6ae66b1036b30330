"""A JupyterLab of the tests' own: one process, free port, token, home and settings, asked nothing from the network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import nbformat
import psutil

ROOT = Path(__file__).resolve().parents[2]

#: No pop-up asks about news, nothing looks for a newer version or for extensions, and a file is written only when told.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
    "@jupyterlab/extensionmanager-extension/plugin": {"enabled": False, "disclaimed": False},
}
OPTIONS = (
    "--no-browser",
    "--allow-root",
    "--ServerApp.port=0",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.open_browser=False",
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
    "--LabApp.expose_app_in_browser=True",
)


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: where it answers, with which token, and the folder that it shows."""

    url: str
    token: str
    folder: Path
    pid: int

    def write(self, name: str, cells: Sequence[str]) -> str:
        """Put a notebook of these code cells into the folder, and return its name."""
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip("\n")) for cell in cells])
        book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        (self.folder / name).write_text(nbformat.writes(book))
        return name

    def address(self, name: str) -> str:
        """Return the page that shows one notebook in a new workspace."""
        return f"{self.url}lab/tree/{name}?token={self.token}&reset"

    def reset(self) -> None:
        """End the kernels of all notebooks, as closing them does, and forget the theme that somebody chose."""
        theme = self.folder.parent / "settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings"
        theme.unlink(missing_ok=True)
        for kernel in json.loads(self.ask("GET", "api/kernels")):
            self.ask("DELETE", f"api/kernels/{kernel['id']}")

    def ask(self, method: str, path: str) -> bytes:
        """Ask the server, and return what it answers."""
        headers = {"Authorization": f"token {self.token}"}
        request = Request(self.url + path, method=method, headers=headers)
        with urlopen(request, timeout=60) as answer:
            return bytes(answer.read())


@contextmanager
def running_lab(directory: Path, variables: Mapping[str, str] = {}) -> Iterator[Lab]:
    """Start JupyterLab with everything that it writes below `directory`; end it and all that it has started.

    Args:
        directory: An empty folder. Its `notebooks` is what Lab shows.
        variables: Environment variables for the server and the notebooks' kernels, beside those of this process.

    Yields:
        The Lab, once it answers.

    Raises:
        RuntimeError: The server ended, or did not answer within a minute and a half; with what it printed.
    """
    folder = directory / "notebooks"
    folder.mkdir()
    log = directory / "lab.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *OPTIONS, f"--ServerApp.root_dir={folder}"],
            cwd=folder,
            env={**os.environ, **private(directory), "PYTHONPATH": str(ROOT), **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield answered(process, folder, directory / "runtime", log)
    finally:
        end(process)


def private(directory: Path) -> dict[str, str]:
    """Name a home and the folders of Jupyter and IPython below `directory`, and write Lab's settings there."""
    for name, values in SETTINGS.items():
        file = directory / "settings" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    names = {
        "HOME": "home",
        "XDG_CONFIG_HOME": "home/config",
        "XDG_DATA_HOME": "home/data",
        "IPYTHONDIR": "home/ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    for name in names.values():
        (directory / name).mkdir(parents=True, exist_ok=True)
    return {variable: str(directory / name) for variable, name in names.items()}


def answered(process: subprocess.Popen[bytes], folder: Path, runtime: Path, log: Path) -> Lab:
    """Wait for the file in which the server says its port and token, and then for its first answer."""
    until = time.monotonic() + 90
    while time.monotonic() < until and process.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            with suppress(ValueError, URLError):  # half written; not listening yet
                said = json.loads(file.read_text())
                lab = Lab(said["url"], said["token"], folder, process.pid)
                lab.ask("GET", "api/status")
                return lab
        time.sleep(0.05)
    raise RuntimeError(f"JupyterLab does not answer (exit status {process.poll()}); it printed:\n{log.read_text()}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End the server, its notebooks' kernels, and their workers."""
    family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for child in family:
        with suppress(psutil.Error):
            child.kill()
    psutil.wait_procs(family, timeout=10)
