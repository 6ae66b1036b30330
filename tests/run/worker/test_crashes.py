"""Whatever a kernel does, the caller's process lives, keeps its variables, goes on, and is told the truth."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.errors import CrashError
from tests.planted.crashes import GOOD, ROWS, Row
from tests.run.worker import crash_table
from tests.run.worker.crash_rows import (
    build_all,
    next_call_is_right,
    perform,
    problems,
    wait_for_kernel,
    wait_until_gone,
)
from tests.texts import bodies

PLAIN_PROCESS = Path(__file__).with_name("plain_process.py")
#: Runs until it is killed, and says nothing.
AT_WORK = """
import torch
import lltm_inline as li
from tests.planted.crashes import ROWS, register

register()
li.call(ROWS["endless_loop"].kernel, torch.arange(19.0), limits=li.Limits(seconds=600))
"""


TEXTS = bodies(__file__)
#: Writes past its output, into memory that nobody uses (malloc's blocks end 8 bytes past a multiple of 16), and dies
#: later of something else. What the heap keeps is not overwritten: which step would notice that is the heap's choice.
LATE = Row(
    "late",
    "",
    TEXTS["late"],
    (),
    verb="check",
    what=("SIGABRT", "run again between guard pages, it writes element 16, 1 element past the end of a tensor"),
    cause=("goes past the last of 16 elements",),
    smallest="N=16, float64",
)


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build all rows at once."""
    build_all()


@pytest.fixture(scope="module")
def plain(built: None) -> dict[str, str]:
    """Tell what becomes of a process that runs each row without a worker."""
    rows = list(ROWS.values())
    builds = li.build([row.kernel for row in rows], progress=False)
    jobs = [
        {"path": str(build.path), "namespace": build.namespace}
        | {name: getattr(row, name) for name in ("name", "calls", "step", "signal")}
        for row, build in zip(rows, builds, strict=True)
    ]
    done = subprocess.run(
        [sys.executable, str(PLAIN_PROCESS)],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # it forks, and so must not have threads
    )
    return dict(json.loads(done.stdout))


def _warm() -> None:
    """Have a worker in which another kernel has run, and which stays."""
    deadline = time.monotonic() + 30
    while not (next_call_is_right() and li.worker._idle and li.worker._idle.warm):  # one that is not may be replaced
        assert time.monotonic() < deadline


@pytest.fixture
def variables() -> Iterator[dict[str, Any]]:
    """Make variables as a notebook has them, and hold them to be what they were."""
    tensor = torch.arange(1000, dtype=torch.float64)
    kept = {"tensor": tensor, "view": tensor[::7], "names": ["a", "b"], "pid": os.getpid()}
    yield kept
    assert torch.equal(tensor, torch.arange(1000, dtype=torch.float64))
    assert kept == {"tensor": tensor, "view": kept["view"], "names": ["a", "b"], "pid": os.getpid()}
    assert kept["view"].data_ptr() == tensor.data_ptr()


def test_good_kernel_is_right() -> None:
    """What all rows are made of is right: each is reported for the one thing that is planted."""
    assert li.check(GOOD, progress=False).ok


@pytest.mark.full
@pytest.mark.together
@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_kernel_does_to_a_plain_process_what_the_table_says(row: Row, plain: dict[str, str]) -> None:
    """Without the worker the kernel really kills, hangs, fills or lies: none of it was taken away by the compiler."""
    assert plain[row.name] in row.plain


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_caller_lives_and_is_told_the_truth(row: Row, variables: dict[str, Any]) -> None:
    """What happened, in which step, at which line, and why, is said, and the next call is right."""
    told = perform(row)
    assert not problems(row, told), told
    assert next_call_is_right()
    crash_table.hold(row.does, row.plainly, row.verb, told.line, told.noticed)


def test_scribbling_kernel_leaves_the_callers_tensors() -> None:
    """A kernel that writes into its input writes into the worker's copy of it."""
    x = torch.arange(19.0)
    y = li.call(ROWS["scribbles"].kernel, x)
    assert torch.equal(x, torch.arange(19.0)) and torch.equal(y, 2 * x)


def test_write_past_the_end_is_found_after_a_later_crash(variables: dict[str, Any]) -> None:
    """What died in ordinary memory is run again between guard pages, from the smallest size on to one that tells the line."""
    told = perform(LATE)
    assert not problems(LATE, told), told


def test_damage_that_another_call_did_is_blamed_on_none() -> None:
    """Where others have run before, what is right in a new worker is not called broken; alone in one, it is."""
    row = ROWS["heap_two_calls_later"]
    x = torch.arange(19.0)
    _warm()
    with pytest.warns(RuntimeWarning, match="what had run in it before has damaged its memory") as caught:
        results = [li.call(row.kernel, x) for _ in range(row.calls)]
    assert all(torch.equal(y, 2 * x) for y in results)
    assert f"({row.kernel.label} itself, {GOOD.label}" in str(caught[0].message)
    with pytest.raises(CrashError, match="heap's own data were overwritten"):
        for _ in range(row.calls - 1):  # the first was that in the new worker
            li.call(row.kernel, x)
    assert next_call_is_right()


def test_a_call_that_somebody_told_to_quit_is_not_tried_again() -> None:
    """SIGQUIT, as Ctrl-\\ sends it, is not the kernel's: others that ran before it have not damaged its memory."""
    _warm()
    quit_ = replace(ROWS["killed"], signal="SIGQUIT", what=("SIGQUIT (told to end from outside)",))
    told = perform(quit_)
    assert not problems(quit_, told), told


def test_killed_parent_leaves_no_process(start: Callable[..., Any]) -> None:
    """When SIGKILL ends the caller's process in the middle of a call, the worker and its server end by themselves."""
    script = start(AT_WORK)
    family = wait_for_kernel(script.process.pid)
    os.kill(script.process.pid, signal.SIGKILL)
    took = wait_until_gone(family)
    crash_table.hold(crash_table.PARENT_KILLED, "dies, as was asked", "call", "none of its processes is left", took)
