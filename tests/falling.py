"""Lists what must fall: planted errors and input that makes no sense, each with the tests that catch it.

    python -m tests.falling            the list, as tests/falling.txt holds it
    python -m tests.falling --write    write it there
    python -m tests.falling --write --lose 'kernel axpy: lost' --because 'axpy has no such variant any more'

One line for each: what it is, its name, the tests; `(all)` stands behind those that only `make test-all` runs. What is planted is
found by the type of a test's parameter, or by the mark `falls` of a test that tries many at once; traps and refusals by the tests
themselves: a new one needs no word here.

That a test stands catches nothing: it must have run. Each run keeps in pytest's cache what its tests have caught, and says what they
have not, as they were skipped. `--write` takes a new name once its test has passed here, and keeps those that the list has, of which
CI tries all in eight runs (tests/turns.py). What goes, or was not caught when it was tried last, is a loss: it is refused without a
reason, which then stands in the list.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import json
import re
import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.wild import Wild

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "falling.txt"
#: What is planted, by the name of its type.
_PLANTED = {"Planted": "kernel", "Row": "crash", "Mistake": "mistake", "Cheat": "cheat", "Act": "cheat"}
#: From the best to the worst.
_OUTCOMES = ("passed", "failed", "skipped")
#: Where pytest's cache has whether a name was caught when it was tried last.
_RECORD = "lltm_inline/falling"
#: A line of the list: what and its name, and then tests, or their number.
_LINE = re.compile(r"(\S+) +(.+?) +((?:\S+::\w+(?: \(all\))?(?:, |$))+|(\d+) cases)$")
#: Stands before what was lost and why, at the end of the list.
_LOST = "lost     "
#: A test that expects an error of a public name, itself or through the helpers that do.
_REFUSES = re.compile(r"pytest\.raises\(|\brefuse[sd]\(|\banswer\(")


class _Collector:
    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = list(session.items)


def collect() -> list[pytest.Item]:
    """Collect all tests, and run none."""
    collector = _Collector()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = pytest.main(
            ["--collect-only", "-q", "-p", "no:cacheprovider", str(ROOT / "tests")], plugins=[collector]
        )
    if status:
        raise SystemExit(said.getvalue())
    return collector.items


def what_falls(item: pytest.Item) -> list[tuple[str, str]]:
    """Say what falls in a test, and by which name: nothing, one or many; on a GPU nothing, as no machine has tried it."""
    if item.get_closest_marker("gpu"):
        return []
    file, _, test = item.nodeid.removeprefix("tests/").partition("::")
    room = Path(file).stem.removeprefix("test_")
    if many := item.get_closest_marker("falls"):
        return [("kernel", f"{room}: {name}") for name in many.args]
    for value in item.callspec.params.values() if hasattr(item, "callspec") else ():
        if type(value).__name__ in _PLANTED:
            return [(_PLANTED[type(value).__name__], value.name if room == "crashes" else f"{room}: {value.name}")]
        if isinstance(value, Wild) and value.wrong[0] and value.device == "cpu":
            return [("snippet", value.name)]
    function = test.partition("[")[0]
    if room == "traps":
        return [("trap", function.removeprefix("test_"))]
    if isinstance(item, pytest.Function) and _REFUSES.search(inspect.getsource(item.function)):
        return [("refusal", f"{file}::{function}")]
    return []


def listing(items: Sequence[pytest.Item]) -> str:
    """Write the list."""
    tests: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for item in items:
        if not item.nodeid.startswith("tests/"):
            continue
        for what, name in what_falls(item):
            test = item.nodeid.removeprefix("tests/").partition("[")[0]
            tests[what, name][test if item.get_closest_marker("full") is None else f"{test} (all)"] += 1
    lines = []
    for (what, name), where in sorted(tests.items()):
        caught = [f"{sum(where.values())} cases"] if what == "refusal" else sorted(where)
        lines.append(f"{what:8} {name:60} {', '.join(caught)}".rstrip())
    return "\n".join(lines) + "\n"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Say in the report of a test what falls in it, to the process that hears of all tests."""
    report = yield
    if report.when == "call" or not report.passed:
        report.falls = [f"{what} {name}" for what, name in what_falls(item)]
    return report


def pytest_configure(config: pytest.Config) -> None:
    """Keep what falls, in the process that hears of all tests."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Record(), "record of what falls")


class Record:
    """What a run has caught: by name, the best outcome of its tests."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Hear of a test."""
        for name in getattr(report, "falls", ()):
            self.outcomes[name] = min(self.outcomes.get(name, "skipped"), report.outcome, key=_OUTCOMES.index)

    @property
    def missed(self) -> list[str]:
        """What the list has, and this run tried, or would have tried, and did not catch."""
        return sorted(name for name in read(LIST.read_text()) if self.outcomes.get(name, "passed") != "passed")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep what was tried: what was skipped is as the last run has left it."""
        cache = getattr(session.config, "cache", None)
        if cache is not None:
            tried = {name: outcome == "passed" for name, outcome in self.outcomes.items() if outcome != "skipped"}
            cache.set(_RECORD, cache.get(_RECORD, {}) | tried)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what the list has and this run has not."""
        if missed := self.missed:
            terminalreporter.section("what tests/falling.txt has, and no test has caught in this run")
            terminalreporter.write_line(", ".join(missed))


def read(text: str) -> dict[str, int]:
    """Read from a list what falls, and by how many cases, if they are counted."""
    lines = [line for line in text.splitlines() if not line.startswith(_LOST)]
    found = [_LINE.fullmatch(line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    return {f"{match[1]} {match[2]}": int(match[4] or 1) for match in found if match}


def written(old: str, new: str, caught: Mapping[str, bool], lose: Sequence[str] = (), because: str = "") -> str:
    """Return the text of the list, if all that is new in it has been caught, and each loss has its reason.

    Args:
        old: the list as it is.
        new: that of the tests as they stand.
        caught: whether a name was caught when it was tried here last.
        lose: names that go, or of which there are fewer cases.
        because: why.
    """
    before, after = read(old), read(new)
    losses = {name for name, cases in before.items() if after.get(name, 0) < cases}
    given = {re.sub(" +", " ", name) for name in lose}
    if unknown := sorted(given - losses):
        raise SystemExit(f"{unknown[0]!r} is not lost; what is: {', '.join(map(repr, sorted(losses))) or 'nothing'}")
    if given and not because.strip():
        raise SystemExit("--lose needs a reason, which the list keeps: --because '...'")
    if silent := sorted(losses - given):
        options = " ".join(f"--lose {shlex.quote(name)}" for name in silent)
        raise SystemExit(
            f"{len(silent)} of {len(before)} would be lost, as their tests are gone, or some of their cases. Bring these back, "
            f"or say why: python -m tests.falling --write {options} --because '...'"
        )
    if untried := sorted(name for name in after if not caught.get(name, name in before)):
        raise SystemExit(
            f"{len(untried)} of {len(after)} are not caught: their tests have not run here yet, or failed when they ran last. "
            f"Run them with pytest, then write the list: {', '.join(untried)}"
        )
    lost = [line for line in old.splitlines() if line.startswith(_LOST)]
    for name in sorted(given):
        fewer = f" ({before[name]} cases, now {after[name]})" if name in after else ""
        lost.append(f"{_LOST}{name}{fewer}: {' '.join(because.split())}")
    return new + "".join(f"{line}\n" for line in lost)


def main() -> None:
    """Print or write the list."""
    parser = argparse.ArgumentParser(prog="python -m tests.falling", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write tests/falling.txt")
    parser.add_argument(
        "--lose", action="append", default=[], metavar="NAME", help="what may go, as in 'kernel axpy: lost'"
    )
    parser.add_argument("--because", default="", metavar="WHY", help="the reason, which the list keeps")
    chosen = parser.parse_args()
    new = listing(collect())
    if not chosen.write:
        sys.stdout.write(new)
        return
    record = ROOT / ".pytest_cache" / "v" / _RECORD
    caught = json.loads(record.read_text()) if record.exists() else {}
    LIST.write_text(written(LIST.read_text(), new, caught, chosen.lose, chosen.because))


if __name__ == "__main__":
    main()
