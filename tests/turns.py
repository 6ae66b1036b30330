"""Runs that take turns: `--eighth=N` leaves most of what takes long to other runs, and any eight in a row have each test.

Of the tests marked `long` a run takes an eighth, of the others marked `full` a quarter, and of all others all: those whose own number
has the same rest as N when divided by the shares. A test's number is a digest of its name, the same on every machine and whatever
else is collected. The last lines of a run say how many of each kind it took.
"""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

#: In how many parts the tests of a mark are divided. Eight runs in a row have all parts of both.
SHARES = {"long": 8, "full": 4}
#: By mark, how many tests this run takes and of how many: filled where tests are collected, in a run of many by its workers.
_TAKEN = pytest.StashKey[dict[str, list[int]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the number of a run."""
    parser.addoption(
        "--eighth",
        type=int,
        metavar="N",
        help="run an eighth of the tests marked `long` and a quarter of the others marked `full`, those whose turn is in run N; "
        "any eight numbers in a row have all",
    )


def number(nodeid: str) -> int:
    """Give a test a number by its name."""
    return int.from_bytes(hashlib.sha256(nodeid.encode()).digest()[:8], "big")


def takes(run: int, nodeid: str, mark: str) -> bool:
    """Whether a test with this mark has its turn in a run."""
    return number(nodeid) % SHARES[mark] == run % SHARES[mark]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that have no turn in this run."""
    run = config.getoption("eighth")
    if run is None:
        return
    taken: dict[str, list[int]] = {mark: [0, 0] for mark in SHARES}
    kept, left = [], []
    for item in items:
        mark = next((mark for mark in SHARES if item.get_closest_marker(mark)), None)
        on = mark is None or takes(run, item.nodeid, mark)
        (kept if on else left).append(item)
        if mark is not None:
            taken[mark][0] += on
            taken[mark][1] += 1
    items[:] = kept
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
    taken, run = config.stash.get(_TAKEN, {}), config.getoption("eighth")
    if run is None or not taken:
        return
    parts = [
        f"{here} of {all_of_it} tests marked {mark} (part {run % SHARES[mark]} of {SHARES[mark]})"
        for mark, (here, all_of_it) in taken.items()
        if all_of_it
    ]
    terminalreporter.write_line(f"--eighth={run} took {' and '.join(parts) or 'all tests'}")
