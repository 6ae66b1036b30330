"""A build, check or benchmark in another thread is stopped as Ctrl-C stops one in the main thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

import lltm_inline as li
from lltm_inline.base.stop import raise_if_stopped, stoppable
from lltm_inline.tables.partial import Partial
from lltm_inline.workers.client import Worker
from tests.conftest import Watched
from tests.planted.crashes import ROWS, register
from tests.run.worker.crash_rows import wait_for_kernel
from tests.stopping import PATIENCE, SLEEPY, compilers, until
from tests.tiny import entries


class Other:
    """Something that runs in a thread of its own, where it can be stopped."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.stop = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with stoppable(self.stop):
                self.result = self._work()
        except BaseException as error:
            self.error = error

    def ended(self) -> BaseException | None:
        """Wait for its end and return what it raised."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self.error


@pytest.fixture
def endless() -> Iterator[li.Kernel]:
    """Give a kernel that loops without end."""
    register()
    li.build(ROWS["endless_loop"].kernel, progress=False)
    yield ROWS["endless_loop"].kernel


def test_compile_is_stopped_and_leaves_no_trace(
    tiny: Callable[..., li.Kernel], fresh_cache: Path, watched: Watched
) -> None:
    """Stopped while a compiler runs, a build raises KeyboardInterrupt, kills the compiler, and can be done again."""
    watched.slow()
    other = Other(lambda: li.build(tiny(3), progress=False))
    until(compilers)
    other.stop.set()
    assert isinstance(other.ended(), KeyboardInterrupt)
    assert not compilers()
    assert not entries() and not list((fresh_cache / "tmp").glob("*"))
    watched.honest()
    assert not li.build(tiny(3), progress=False).cached


def test_endless_kernel_is_stopped_and_the_next_call_works(endless: li.Kernel) -> None:
    """Stopped while C++ loops without end, a call raises KeyboardInterrupt, and the next one finds a new worker."""
    other = Other(lambda: li.call(endless, torch.arange(19.0), limits=li.Limits(seconds=600)))
    wait_for_kernel(psutil.Process().pid)
    pid = li.worker.pid
    other.stop.set()
    assert isinstance(other.ended(), KeyboardInterrupt)
    assert li.check("axpy/python", progress=False).ok and li.worker.pid != pid


def test_check_of_an_endless_kernel_is_stopped(endless: li.Kernel) -> None:
    """Stopped in a check, the look for the smallest size does not begin either."""
    other = Other(lambda: li.check(endless, limits=li.Limits(seconds=600), progress=False))
    wait_for_kernel(psutil.Process().pid)
    other.stop.set()
    assert isinstance(other.ended(), KeyboardInterrupt)


def test_benchmark_keeps_its_rows(tiny: Callable[..., li.Kernel]) -> None:
    """Stopped in its second case, a benchmark hands over the rows of the first."""
    second = threading.Event()

    def watch(partial: Partial) -> None:
        if partial.running is not None and partial.running.case == 2:
            second.set()

    def work() -> Any:
        what: dict[str, Any] = {"directions": ["forward"], "check": False, "progress": False}
        return li.benchmark(["tiny/python", tiny(text=SLEEPY)], [(7,), (100,)], seconds=20, watch=watch, **what)

    other = Other(work)
    assert second.wait(PATIENCE)
    other.stop.set()
    error = other.ended()
    assert isinstance(error, KeyboardInterrupt)
    rows = error.timings.rows  # type: ignore[attr-defined]
    assert [(row.kernel, dict(row.size)) for row in rows] == [("tiny/python", {"N": 7}), ("tiny/stable", {"N": 7})]


def test_start_of_the_worker_is_stopped() -> None:
    """Stopped while the worker still starts, a call raises KeyboardInterrupt, and the worker serves the next one."""
    own = Worker()
    stop = threading.Event()
    stop.set()
    try:
        with pytest.raises(KeyboardInterrupt), stoppable(stop):
            own.run(abs, -3)
        assert own.run(abs, -3).value == 3
    finally:
        own.stop()


def test_one_press_is_one_exception() -> None:
    """A press is taken once, so that what tidies up afterwards is not stopped by it too."""
    stop = threading.Event()
    stop.set()
    with stoppable(stop):
        with pytest.raises(KeyboardInterrupt):
            raise_if_stopped()
        raise_if_stopped()
    assert not stop.is_set()


def test_only_its_own_thread_is_stopped() -> None:
    """A thread that nobody made stoppable goes on, also while another one is stopped."""
    other = Other(lambda: until(raise_if_stopped))
    other.stop.set()
    raise_if_stopped()
    assert isinstance(other.ended(), KeyboardInterrupt)
