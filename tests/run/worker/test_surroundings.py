"""What the worker shares with its caller's process: modules as they are now, modes, directory, exceptions; and what it lets go."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from lltm_inline.model.registry import registry
from lltm_inline.workers import safe_pickle
from lltm_inline.workers.client import Worker
from lltm_inline.workers.worker import Modes
from tests.run.worker import jobs

Write = Callable[[str, str], ModuleType]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a module, an hour ago by its date, and import it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names: list[str] = []

    def write(name: str, text: str) -> ModuleType:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        os.utime(path, (time.time() - 3600,) * 2)
        names.append(name)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield write
    for name in names:
        sys.modules.pop(name, None)


_COUNTS = "served = []\ndef f():\n    served.append(1)\n    return len(served)\n"


def test_an_edited_module_is_imported_anew(worker: Worker, write: Write, tmp_path: Path) -> None:
    """So is one that has taken a function from it and was not edited itself; until then both stay what they were."""
    write("li_edited", _COUNTS)
    module = write("li_takes", "from li_edited import f\ndef g():\n    return f()\n")
    assert [worker.run(module.g).value for _ in range(3)] == [1, 2, 3]
    (tmp_path / "li_edited.py").write_text("def f():\n    return 'edited'\n")
    importlib.reload(sys.modules["li_edited"])
    importlib.reload(module)
    assert worker.run(module.g).value == "edited"


def test_a_module_that_registers_operators_can_be_edited(worker: Worker, write: Write, tmp_path: Path) -> None:
    """What the old one has registered is taken back before the new one registers it."""
    text = (
        "import torch\n"
        "library = torch.library.Library('li_registers', 'DEF')\n"
        "library.define('twice(Tensor x) -> Tensor')\n"
        "library.impl('twice', lambda x: 2 * x, 'CPU')\n"
        "@torch.library.custom_op('li_registers_too::f', mutates_args=())\n"
        "def g(x: torch.Tensor) -> torch.Tensor:\n    return x.clone()\n"
        "def f():\n    return torch.ops.li_registers.twice(torch.ones(())).item()\n"
    )
    module = write("li_registers", text)
    del module.library  # or this process would know the operator, too
    assert worker.run(module.f).value == 2
    (tmp_path / "li_registers.py").write_text(text.replace("2 * x", "30 * x"))
    assert worker.run(module.f).value == 30


def test_a_module_that_registers_an_op_can_be_edited(worker: Worker, write: Write, tmp_path: Path) -> None:
    """The worker's registry forgets what the old one has put there; what ships stays."""
    text = (
        "import lltm_inline as li\n"
        "def reference(x):\n    return 2 * x\n"
        "def f():\n    return li.registry.ops['li_mine'].reference(1), 'axpy' in li.registry.ops\n"
        "li.registry.register(li.Op('li_mine', '(Tensor x) -> Tensor y', reference, {'x': 'N', 'y': 'N'}))\n"
    )
    before = registry.snapshot()
    module = write("li_mine", text)
    registry.restore(before)
    assert worker.run(module.f).value == (2, True)
    (tmp_path / "li_mine.py").write_text(text.replace("2 * x", "30 * x"))
    assert worker.run(module.f).value == (30, True)


def test_a_module_that_was_edited_while_it_was_imported_is_not_trusted(
    worker: Worker, write: Write, tmp_path: Path
) -> None:
    """Nobody knows what was read of it: the next request imports it again."""
    module = write("li_hasty", "def f(path):\n    open(path, 'w').write('def f(path): return 2')\n    return 1\n")
    path = str(tmp_path / "li_hasty.py")
    assert [worker.run(module.f, path).value for _ in range(2)] == [1, 2]


def _modes() -> Modes:
    return Modes.here()


def test_modes_of_torch_are_the_callers(worker: Worker) -> None:
    """Deterministic algorithms, autocast and the default device; and they are taken back with the caller's."""
    plain = Modes.here()
    assert worker.run(_modes).value == plain
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    try:
        with torch.autocast("cpu", torch.float16), torch.device("meta"):
            mine = Modes.here()
            assert worker.run(_modes).value == mine != plain
    finally:
        torch._C._set_deterministic_algorithms(False)
    assert (mine.device, mine.deterministic[:2], mine.autocast[0]) == (
        torch.device("meta"),
        (True, True),
        ("cpu", True, torch.float16),
    )
    assert worker.run(_modes).value == plain


def test_directory_that_is_gone_is_no_obstacle(worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has removed the directory in which the notebook was started."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert worker.run(jobs.add, 1, 1).value == 2


def test_idle_worker_keeps_nothing(worker: Worker) -> None:
    """Inputs and results are let go when the answer was sent."""
    result = worker.run(jobs.double, tensors=[torch.ones(1000)]).value
    deadline = time.monotonic() + 60  # a limit for hangs alone
    while "lltm_inline tensors" in (maps := Path(f"/proc/{worker.pid}/maps").read_text()):
        assert time.monotonic() < deadline, maps
        time.sleep(0.01)
    assert result[0].sum() == 2000


def _raise(module: str, name: str, *arguments: Any) -> None:
    raise getattr(importlib.import_module(module), name)(*arguments)


def test_exceptions_of_modules_that_are_not_imported_here(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their names are in the text; and they are themselves once this process has imported the module."""
    monkeypatch.delitem(sys.modules, "sqlite3", raising=False)
    monkeypatch.delitem(sys.modules, "zipimport", raising=False)
    with pytest.raises(RuntimeError, match=r"^sqlite3\.OperationalError: no such table"):
        worker.run(_raise, "sqlite3", "OperationalError", "no such table")
    with pytest.raises(ImportError, match=r"^zipimport\.ZipImportError: no such file"):  # the class it derives from
        worker.run(_raise, "zipimport", "ZipImportError", "no such file")
    import sqlite3

    with pytest.raises(sqlite3.OperationalError, match=r"^no such table"):
        worker.run(_raise, "sqlite3", "OperationalError", "no such table")


def test_exceptions_of_a_notebook_come_back_as_themselves(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was defined in `__main__` is found there."""

    class Mine(Exception):
        """Of a cell."""

    Mine.__module__, Mine.__qualname__ = "__main__", "Mine"
    monkeypatch.setattr(sys.modules["__main__"], "Mine", Mine, raising=False)

    def fail() -> None:
        raise Mine("of a cell", 3)

    with pytest.raises(Mine) as caught:
        worker.run(fail)
    assert caught.value.args == ("of a cell", 3)


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(2, "No such file", "weights.pt"),
        SyntaxError("invalid syntax", ("cell", 3, 1, "x = = 2", 3, 2)),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        ExceptionGroup("two", [ValueError("one"), KeyError("other")]),
        StopIteration(3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_builtin_exceptions_are_made_again_whole(error: Exception) -> None:
    """With what their constructors make of their arguments."""
    again = safe_pickle.unwrap(safe_pickle.wrap(error, ""))
    assert type(again) is type(error)
    assert str(again) == str(error) and repr(again) == repr(error)
    assert getattr(again, "filename", None) == getattr(error, "filename", None)


def test_arguments_that_are_unknown_here_do_not_hide_the_exception() -> None:
    """Then its text is its argument."""
    raised = safe_pickle.wrap(ValueError("the text"), "")
    damaged = safe_pickle.Raised(raised.names, pickle.dumps((print,)), raised.text, "")
    again = safe_pickle.unwrap(damaged)
    assert type(again) is ValueError and again.args == ("the text",)
