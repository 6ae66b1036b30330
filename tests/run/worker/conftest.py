"""A worker of their own for the tests here; and the table of crashes behind the results of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lltm_inline.workers.client import Worker
from tests.run.worker import crash_table


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """Give the module a worker of its own, so that its deaths are nobody else's."""
    one = Worker()
    one.warm()
    yield one
    one.stop()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what was measured: the kernel, what was said of it, and after how long."""
    if not crash_table.MEASURED:
        return
    terminalreporter.section("what broken kernels did (docs/crashes.md)")
    for line in crash_table.MEASURED.values():
        says = line.says.replace("**", "")
        terminalreporter.write_line(f"{line.noticed:>13}  {line.does}: {says}"[: terminalreporter._tw.fullwidth])
