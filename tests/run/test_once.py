"""Each thing is made once and handed on: who checks and times, in a cell or in the panel, renders, looks and hashes once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline import journal
from lltm_inline.compiling import cache, job
from lltm_inline.notebook.cell import run
from lltm_inline.notebook.live import Terminal
from lltm_inline.notebook.options import parse
from lltm_inline.notebook.panel import verbs
from lltm_inline.notebook.panel.session import PanelSetting, Session
from lltm_inline.run import built
from tests.run.worker import jobs
from tests.stopping import PATIENCE
from tests.tiny import STABLE


@pytest.fixture
def counts(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Count calls here and in the worker, once our own libraries are built and loaded in both."""
    li.worker.warm()
    server = li.worker._server
    while (
        server is not None and not server.warm and server.alive
    ):  # or the worker that counts would give way to a warm one
        time.sleep(0.02)
        server.poll()
    li.worker.renew()
    assert li.check(tiny(2, text=f"{STABLE}// first\n", variant="first"), progress=False).ok
    for module, name in ((job, "render"), (built, "find_toolchain"), (cache, "hash_file")):
        monkeypatch.setattr(module, name, getattr(module, name))  # to be put back
    li.worker.run(jobs.count_calls)
    yield jobs.count_calls()
    journal.turn_off()
    li.worker.renew()


def test_one_cell_renders_looks_and_hashes_once(counts: dict[str, int], capsys: pytest.CaptureFixture[str]) -> None:
    """Built, checked, timed; in the worker nothing is rendered or looked for, and the hash of each library compared before its load.

    There are two: the kernel's, and that in which it is followed.
    """
    run(parse("tiny/once --params FACTOR=2 --check --benchmark --seconds 0.05 --sizes 7"), STABLE[1:], Terminal())
    assert "check of tiny/once on cpu: right" in capsys.readouterr().out
    assert counts == {"render": 1, "find_toolchain": 1, "hash_file": 2}
    assert li.worker.run(jobs.counts_of_calls).value == {"render": 0, "find_toolchain": 0, "hash_file": 2}


def buttons(session: Session, verb: str, kernel: Any) -> Any:
    """Do what a button asks for, and leave out the reading of what is typed, which has a text of its own."""
    return verbs.work(session, verb, kernel) if verb != "read" else lambda: None


def test_three_buttons_render_look_and_hash_once(tiny: Any, counts: dict[str, int]) -> None:
    """Build alone, then Check, then Benchmark, of one text: each goes on with what was made. What is typed meanwhile is read apart."""
    first = li.registry.register(tiny(2, text=f"{STABLE}// first\n", variant="first"))
    panel = Session(first, setting=PanelSetting(sizes=[(7,)], seconds=0.05), work=buttons)
    panel.right.add((first, "cpu"))
    panel.edit({"cpp": f"{STABLE}// three buttons\n"}, options={"check_first": False})
    for verb, libraries in (("build", 1), ("check", 2), ("benchmark", 2)):  # a check follows it in one of its own
        panel.handle({"do": verb})
        assert panel.wait(PATIENCE) and not [line for line in panel.state["log"] if line["level"] == "bad"]
        assert counts == {"render": 1, "find_toolchain": 1, "hash_file": libraries}, verb
    assert "tiny/first@1" in panel.state["plot"]
