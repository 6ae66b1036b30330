"""Lists what must fall: planted errors and input that makes no sense, each with the tests that catch it.

    python -m tests.falling            the list, as tests/falling.txt holds it
    python -m tests.falling --write    write it there

One line for each: what it is, its name, the tests; `(all)` stands behind those that only `make test-all` runs. What is planted is
found by the type of a test's parameter, or by the mark `falls` of a test that tries many at once; traps and refusals by the tests
themselves: a new one needs no word here.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.wild import Wild

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "falling.txt"
#: What is planted, by the name of its type.
_PLANTED = {"Planted": "kernel", "Row": "crash", "Mistake": "mistake", "Cheat": "cheat", "Act": "cheat"}
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
    """Say what falls in a test, and by which name: nothing, one or many."""
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


if __name__ == "__main__":
    if "--write" in sys.argv:
        LIST.write_text(listing(collect()))
    else:
        sys.stdout.write(listing(collect()))
