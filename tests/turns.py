"""Runs that take turns: `--eighth=N` leaves most of what takes long to other runs, and any eight in a row have each test.

Of the tests marked `full` a run takes an eighth, of all others all: those whose own number has the same rest as N when divided by
eight. A test's number is a digest of its name, the same on every machine and whatever else is collected; tests marked `together`
have that of their file, as they share what takes longer to make than they take themselves. The last lines of a run say how many it
took.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

#: In how many parts the tests marked `full` are divided.
SHARES = 8
#: How many of them this run takes, and of how many: filled where tests are collected, in a run of many by its workers.
_TAKEN = pytest.StashKey[list[int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the number of a run."""
    parser.addoption(
        "--eighth",
        type=int,
        metavar="N",
        help="run an eighth of the tests marked `full`, those whose turn is in run N; any eight numbers in a row have all",
    )


def number(nodeid: str) -> int:
    """Give a test a number by its name."""
    return int.from_bytes(hashlib.sha256(nodeid.encode()).digest()[:8], "big")


def takes(run: int, nodeid: str) -> bool:
    """Whether a test marked `full`, or a file of such, has its turn in a run."""
    return number(nodeid) % SHARES == run % SHARES


def turn_of(item: pytest.Item) -> str:
    """Name what has a turn: a test by itself, or its file."""
    return item.nodeid.partition("::")[0] if item.get_closest_marker("together") else item.nodeid


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that have no turn in this run."""
    run = config.getoption("eighth")
    if run is None:
        return
    full = [item for item in items if item.get_closest_marker("full")]
    left = [item for item in full if not takes(run, turn_of(item))]
    taken, away = [len(full) - len(left), len(full)], set(left)
    items[:] = [item for item in items if item not in away]
    config.hook.pytest_deselected(items=left)
    config.stash[_TAKEN] = taken
    if hasattr(config, "workeroutput"):
        config.workeroutput["taken"] = taken


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Learn from a worker what the run takes: all of them collect the same."""
    if taken := getattr(node, "workeroutput", {}).get("taken"):
        node.config.stash[_TAKEN] = taken


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what the run took, and how it is repeated."""
    taken, run = config.stash.get(_TAKEN, None), config.getoption("eighth")
    if run is None or taken is None:
        return
    here, all_of_it = taken
    parts = f"{here} of {all_of_it} tests marked full (part {run % SHARES} of {SHARES})" if all_of_it else "all tests"
    terminalreporter.write_line(f"--eighth={run} took {parts}")
