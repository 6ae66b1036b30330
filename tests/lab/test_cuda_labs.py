"""A lab's kernel may be CUDA: what is found and counted of it stands where its text does not reach, and each way to try falls."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline.base import packages
from lltm_inline.checking.report import Finding
from lltm_inline.compiling import cache
from lltm_inline.doctor import packages_of_labs
from lltm_inline.errors import InputError
from lltm_inline.lab import Exercise, Lab
from lltm_inline.lab.builder import Refused, build, refusal_of_nvcc, toolchain_of
from lltm_inline.lab.grading import How
from lltm_inline.lab.judge import _told, grade_text
from lltm_inline.model.registry import Kernel
from lltm_inline.workers.limits import Limits
from tests.needs import needs
from tests.planted.cheats.cuda import FOUND, REFUSED, text
from tests.quick import QUICK

pytestmark = needs("Landlock and seccomp")

OP = li.Op(
    "square", "(Tensor x) -> Tensor y", lambda x: x * x, {"x": "N", "y": "N"}, dtypes=("float32",), differentiable=False,
    benchmark_sizes=((1000,),),
)  # fmt: skip
POINTS = {
    "builds": 1, "parity": 2, "races": 1, "bounds": 1, "barriers": 1, "uninitialised": 1, "sectors 1.2": 1, "conflicts 0": 1,
    "divergent 1": 1, "syncs 0": 1, "launches 1": 1,
}  # fmt: skip
EXERCISE = Exercise("square", OP, "square/mine", POINTS, kind="cuda")


def reasons(source: str, op: Any = OP, **points: float) -> dict[str, str]:
    """Grade a text; return why each criterion is not met."""
    exercise = replace(EXERCISE, op=op, points=points or POINTS)
    lab = Lab("square", Path("/"), (exercise,), Limits(seconds=30.0), bytes(32))
    marks = grade_text(lab, exercise, source, {}, seed=b"seed", compiler=QUICK)
    return {mark.criterion: mark.reason for mark in marks}


def test_a_right_kernel_has_all_points() -> None:
    """And one that wants something of each kind: shared memory, a barrier, a shuffle, an atomic, a constant, an assertion."""
    assert not any(reasons(text()).values())
    head = "#include <ATen/Dispatch.h>\n__device__ int seen; __constant__ float one = 1.0f;"
    kernel = """__shared__ float tile[128]; tile[threadIdx.x] = one; __syncthreads(); assert(tile[threadIdx.x ^ 1] == 1.0f);
      float most = __shfl_xor_sync(0xffffffffu, tile[threadIdx.x], 1); if (threadIdx.x == 0) atomicAdd(&seen, int(most));"""
    host = "const float one_[1] = {1.0f}; cudaMemcpyToSymbol(one, one_, 4); TORCH_CHECK(x.is_cuda());"
    host += 'AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "square", [&] { (void)sizeof(scalar_t); });'
    found = reasons(text(head, kernel, host))
    # The constant and the variable are read from global memory, too.
    assert {name for name, reason in found.items() if reason} == {
        "sectors 1.2",
        "syncs 0",
    } and "1 barriers per block" in found["syncs 0"]


def test_what_ends_every_launch_earns_nothing_by_it() -> None:
    """Races, barriers and first reads were not seen behind it; where one launch runs to its end, they were."""
    source = text().replace("if (i < n) y", "if (i <= n) y")
    points = dict.fromkeys(("bounds", "races", "barriers", "uninitialised"), 1)
    found = reasons(source, **points)
    assert "out of bounds: y[" in found.pop("bounds")
    assert set(found.values()) == {"nothing of it was seen: no launch ran to its end"}
    found = reasons(source.replace("i <= n", "i < n || (n > 100 && i == n)"), **points)
    assert [name for name, reason in found.items() if reason] == ["bounds"]


@needs("nvcc")
def test_nvcc_is_asked_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it refuses of a text that is right here is the text's fault, at its line; a machine without it asks nobody."""
    source = text("float own_copy(float v) { return v; }", "volatile float v = own_copy(1.0f); (void)v;")
    assert {name: reason for name, reason in reasons(source, builds=1, parity=1).items() if reason} == {
        "builds": "nvcc does not take it: line 6: calling the __host__ function 'own_copy' from the __global__ function 'square' "
        "is not allowed"
    }
    library = build(Kernel("square/mine", cuda=source), OP, toolchain_of(QUICK, "cuda"), ())
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(refusal_of_nvcc, library, QUICK)
        while not asked.done():
            cache.sweep()  # as whoever builds does: it ends what works where nobody holds the lock
            time.sleep(0.05)
    assert "own_copy" in asked.result()
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    places = os.environ["PATH"].split(os.pathsep)
    monkeypatch.setenv("PATH", os.pathsep.join(one for one in places if not Path(one, "nvcc").exists()))
    assert refusal_of_nvcc(library, QUICK) == ""


@pytest.mark.full
def test_a_wrong_result_is_told_where_it_is_counted() -> None:
    """With what it gave: a count of what computes something else says nothing."""
    found = reasons(text(kernel="n = n > 300 ? n - 1 : n;"), **{"launches 1": 1})["launches 1"]
    assert re.match(r"what it gives while it is counted is wrong: forward raises .*unwritten", found), found
    found = reasons(text().replace("own * own", "own + own"), **{"launches 1": 1})["launches 1"]
    assert re.match(r"what it gives while it is counted is wrong: y \(\d+,\) float32 differs in", found), found


#: Those that take no compiler, or show that all that comes after it is looked at; the others take minutes.
QUICKLY = {"turns_the_checks_off", "puts_the_name_together", "declares_the_counters", "defines_what_looks", "switches_it_off",
           "switches_it_off_by_a_pragma", "lets_a_launch_be_another", "swallows_what_is_found"}  # fmt: skip
LATER = [pytest.mark.full]


def marked(names: Iterable[str]) -> list[Any]:
    """Leave what takes long to the full run."""
    return [pytest.param(name, marks=[] if name in QUICKLY else LATER) for name in names]


@pytest.mark.parametrize("name", marked(REFUSED))
def test_what_is_refused(name: str) -> None:
    """Before anything of it runs, with what it has tried."""
    source, says = REFUSED[name]
    with pytest.raises(Refused) as caught:
        build(Kernel("square/mine", cuda=source), OP, toolchain_of(QUICK, "cuda"), ())
    assert says in caught.value.reason


@pytest.mark.parametrize("name", marked(FOUND))
def test_what_is_found_out(name: str) -> None:
    """While it runs, by the criterion that it was about."""
    source, criterion, says = FOUND[name]
    reason = reasons(source)[criterion]
    assert reason and re.search(says if "|" in says else re.escape(says), reason)


@pytest.mark.parametrize(
    ("gone", "workers", "says"),
    [
        ({"elftools"}, 1, "not installed: pyelftools. "),
        ({"distributed"}, 2, "not installed: distributed, which 2 workers need; workers=1 goes without. "),
    ],
)
def test_packages_are_asked_for_first(gone: set[str], workers: int, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first trial, with the command; and the doctors name them."""
    find = packages.find_spec
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name in gone else find(name))
    with pytest.raises(InputError, match=re.escape(says) + ".*pip install 'lltm-inline"):
        How(workers, None, False, None, False)
    assert (workers > 1 and How(1, None, False, None, False).workers == 1) or "elftools" in gone
    found = packages_of_labs("missing")
    assert found.state == ("missing" if "elftools" in gone else "optional") and "lltm-inline[lab]" in found.cure


def test_all_hints_are_told() -> None:
    """A wrong stride may read "it is transposed" in the first one, and something else in the next."""
    told = _told(Finding("a/b", "parity", "y", "y differs", hints=("it is transposed", "strides are ignored")), set())
    assert told == "y differs; it is transposed; strides are ignored"
