"""Each cheat works where nothing is done against it: so the tests of the judge can fail. And behind the locks no act does."""

from __future__ import annotations

import pytest
import torch

from lltm_inline.build.compiler import Build, build
from lltm_inline.errors import InfraError
from lltm_inline.lab import builder, sandbox
from lltm_inline.lab.builder import Library, blind, toolchain_of
from lltm_inline.lab.doctor import doctor
from lltm_inline.lab.inside import ESCAPES
from lltm_inline.lab.locked import Gone
from lltm_inline.lab.runner import Runner
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.workers.limits import Limits
from tests.lab.shared import needs_locks
from tests.planted.cheats import ACTS, HARMLESS, TRICKS, Act, Cheat, all_acts, naive
from tests.quick import QUICK

pytestmark = needs_locks

#: One of each kind, for a run that takes no minute.
FIRST = {
    "patches_through_a_global",
    "remembers_by_address",
    "reads_a_file",
    "forks",
    "makes_shared_memory",
    "takes_a_signal",
}
FULL = [pytest.mark.full, pytest.mark.long]


@pytest.mark.parametrize(
    "cheat", [pytest.param(one, id=one.name, marks=[] if one.name in FIRST else FULL) for one in TRICKS if one.naive]
)
def test_a_cheat_works_against_a_simple_grader(cheat: Cheat) -> None:
    """It has full points there, or ends it well."""
    built = build(Kernel("axpy/cheat", cpp=cheat.text), compiler=QUICK, progress=False)
    status, said = naive.run("grade", built.path, built.namespace)
    assert (status, said) == ((cheat.ends, "") if cheat.ends is not None else (0, "full"))


@pytest.fixture(scope="module")
def acts() -> Library:
    """Build all acts into one library, which no defence has looked at."""
    toolchain = toolchain_of(QUICK)
    kernel = Kernel("axpy/acts", cpp=all_acts())
    made: Build = build(kernel, compiler=QUICK, progress=False)
    return Library(kernel, blind(registry.ops["axpy"]), toolchain, made)


@pytest.mark.parametrize("act", [pytest.param(one, id=one.name, marks=FULL) for one in ACTS])
def test_an_act_works_without_locks(acts: Library, act: Act) -> None:
    """It gets what it wants: without that, the next test would show nothing."""
    status, said = naive.run("act", acts.build.path, acts.build.namespace, ACTS.index(act))
    assert (status, said) == (0, "True")


@pytest.mark.parametrize(
    "act", [pytest.param(one, id=one.name, marks=[] if one.name in FIRST else [pytest.mark.full]) for one in ACTS]
)
def test_no_act_works_behind_the_locks(acts: Library, act: Act) -> None:
    """It gets nothing, or its process ends by what it asks for; what is harmless reaches nothing of anybody's."""
    x = torch.zeros(ACTS.index(act) + 1)
    with Runner(acts, registry.ops["axpy"], Limits(seconds=20)) as runner:
        if act.ends:
            with pytest.raises(Gone, match="asks the system for what is closed to it"):
                runner.function(x, x)
        else:
            worked = bool(runner.function(x, x).all())
            assert worked == (act.name in HARMLESS)


def test_where_a_lock_is_missing_nothing_is_run(acts: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is said that all of it is trusted."""
    monkeypatch.setattr(sandbox, "NEEDED", ("Landlock", "seccomp", "another lock"))
    with (
        pytest.raises(InfraError, match="this machine has no another lock"),
        Runner(acts, registry.ops["axpy"], Limits()) as runner,
    ):
        runner.start()
    with Runner(acts, registry.ops["axpy"], Limits(), trust=True) as runner:
        runner.start()


def test_a_library_that_was_changed_is_not_believed() -> None:
    """It is compiled anew."""
    toolchain = toolchain_of(QUICK)
    op = registry.ops["axpy"]
    kernel = Kernel("axpy/cheat", cpp=next(one for one in TRICKS if one.name == "half_precision").text)
    first = builder.build(kernel, op, toolchain, ())
    before = first.build.path.read_bytes()
    first.build.path.write_bytes(before + b"x")
    again = builder.build(kernel, op, toolchain, ())
    assert not again.build.cached and again.build.path.read_bytes() != before + b"x"
    assert builder.build(kernel, op, toolchain, ()).build.cached


def test_doctor_tries_ten_ways_out() -> None:
    """Each is told, and none leads anywhere here."""
    found = doctor()
    assert found.locked and len(ESCAPES) == 10
    assert [finding.what for finding in found.findings[-10:]] == list(ESCAPES)
    assert found.headline.startswith("Locked")
