"""Nothing that falls stops falling: the list of planted errors and refusals is that of the tests that stand."""

from __future__ import annotations

import pytest

from tests.build.mistakes_cuda import STUDENTS as CUDA_STUDENTS
from tests.build.mistakes_of_students import STUDENTS
from tests.conftest import COLLECTED
from tests.falling import LIST, ROOT, listing


def test_list_is_what_the_tests_catch(request: pytest.FixtureRequest) -> None:
    """tests/falling.txt names every planted error with its tests: one that goes shows in it, and in the diff of a commit."""
    items = request.config.stash[COLLECTED]
    files = {item.nodeid.partition("::")[0] for item in items}
    if any(str(path.relative_to(ROOT)) not in files for path in (ROOT / "tests").rglob("test_*.py")):
        pytest.skip("only a run of all tests has collected what is compared")
    assert listing(items) == LIST.read_text(), "write it anew: python -m tests.falling --write"


def test_what_is_planted_falls_in_make_test() -> None:
    """Nobody has to wait for `make test-all` to learn that a planted error is no longer found.

    But for the mistakes collected from students, in C++ and in CUDA: the common ones are not among them. Of the CUDA kernels for
    device cuda-cpu each kind of mistake falls, but not in each op, of the snippets for `load_inline` some, and of the cheats one of
    each kind.
    """
    students = {f"diagnostics: {mistake.name}" for mistake in STUDENTS} | {
        f"nvcc: {mistake.name}" for mistake in CUDA_STUDENTS
    }
    lines = [line.split(maxsplit=1) for line in LIST.read_text().splitlines()]
    later = (*students, "cuda_cpu: ", "shared_memory: ", "defences: ", "judge: ", "speed: ")
    planted = [rest for what, rest in lines if what not in ("refusal", "snippet") and not rest.startswith(later)]
    assert len(planted) > 250
    assert [rest for rest in planted if all(test.endswith("(all)") for test in rest.split("  ")[-1].split(", "))] == []
