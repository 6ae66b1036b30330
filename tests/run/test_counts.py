"""What launches ask of the memory is counted as a person would: on kernels that somebody has counted by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

import lltm_inline as li
from lltm_inline.errors import CheckError, CrashError, DefinitionError, InputError, ToolchainError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.tables.counts import Counts, CountsRow
from lltm_inline.tables.timings import Row
from tests.csv_files import is_whole
from tests.needs import needs
from tests.quick import QUICK
from tests.tiny import forget

TEXT = (Path(__file__).parents[1] / "planted" / "counted.cu").read_text()
N = 1024


def _sums(x: Tensor) -> Tensor:
    return torch.cat([x.view(4, 256).sum(1), torch.zeros(N - 4)])


def _every_other(x: Tensor) -> Tensor:
    rows, even = x[:128].view(4, 32), torch.arange(32) % 2 == 0
    return torch.where(even, rows[0] + rows[2], rows[1] + rows[3]).repeat(N // 32)


#: The kernels by their number: what each computes.
COMPUTES: dict[str, Callable[[Tensor], Tensor]] = {
    "copy": lambda x: x,
    "strided": lambda x: x,
    "transpose": lambda x: x.view(32, 32).t().reshape(-1),
    "tiled": lambda x: x.view(32, 32).t().reshape(-1),
    "padded": lambda x: x.view(32, 32).t().reshape(-1),
    "interleaved": _sums,
    "sequential": _sums,
    "histogram": lambda x: torch.cat([torch.full((8,), N / 8), torch.zeros(N - 8)]),
    "turns": lambda x: torch.cat([torch.zeros(1), x[:3].cumsum(0)]).repeat(N // 4),
    "every_other": _every_other,
    "two_ways": lambda x: 2 * x,
    "vectors": lambda x: x,
    "guarded": lambda x: torch.cat([x[:1000], torch.zeros(24)]),
}
NAMES = list(COMPUTES)

#: Counted by hand: accesses of threads, requests of warps, transactions, and those at best.
BY_HAND: dict[str, dict[str, tuple[int, int, int, int]]] = {
    "copy": {"global load": (1024, 32, 128, 128), "global store": (1024, 32, 128, 128)},
    # 8 floats apart: each of the 32 lanes has a sector of its own.
    "strided": {"global load": (1024, 32, 1024, 128), "global store": (1024, 32, 1024, 128)},
    "transpose": {"global load": (1024, 32, 128, 128), "global store": (1024, 32, 1024, 128)},
    # A column of 32 words lies in one bank.
    "tiled": {
        "global load": (1024, 32, 128, 128),
        "global store": (1024, 32, 128, 128),
        "shared store": (1024, 32, 32, 32),
        "shared load": (1024, 32, 1024, 32),
        "barrier": (1024, 1, 0, 0),
    },
    "padded": {
        "global load": (1024, 32, 128, 128),
        "global store": (1024, 32, 128, 128),
        "shared store": (1024, 32, 32, 32),
        "shared load": (1024, 32, 32, 32),
        "barrier": (1024, 1, 0, 0),
    },
    # 4 blocks. Of the steps s = 1, 2, 4 ... 128, with 4, 2, 1, 1, 1, 1, 1, 1 warps at work, each access takes 2, 4, 8, 8, 8, 4, 2, 1
    # passes: 47 in all, and 12 at best. The lanes of a warp part from s = 8 on, and at the end, where one writes.
    "interleaved": {
        "global load": (1024, 32, 128, 128),
        "global store": (4, 4, 4, 4),
        "shared load": (4 * 511, 4 * 25, 4 * 95, 4 * 25),
        "shared store": (4 * 511, 4 * 20, 4 * 55, 4 * 20),
        "barrier": (4 * 9 * 256, 4 * 9, 0, 0),
        "divergent branch": (0, 4 * 6, 0, 0),
    },
    "sequential": {
        "global load": (1024, 32, 128, 128),
        "global store": (4, 4, 4, 4),
        "shared load": (4 * 511, 4 * 25, 4 * 25, 4 * 25),
        "shared store": (4 * 511, 4 * 20, 4 * 20, 4 * 20),
        "barrier": (4 * 9 * 256, 4 * 9, 0, 0),
        "divergent branch": (0, 4 * 6, 0, 0),
    },
    # 8 bins: 4 of the 32 lanes want the same one.
    "histogram": {"global atomic": (1024, 32, 128, 32)},
    # Three turns: in each the lanes that are left read one number. They part at the end of each turn but the last.
    "turns": {
        "global load": (32 * 48, 32 * 3, 32 * 3, 32 * 3),
        "global store": (1024, 32, 128, 128),
        "divergent branch": (0, 32 * 3, 0, 0),
    },
    # Every other of 32 floats touches all four sectors, for which half of the bytes would do.
    "every_other": {
        "global load": (32 * 64, 32 * 4, 32 * 16, 32 * 8),
        "global store": (1024, 32, 128, 128),
        "divergent branch": (0, 32 * 4, 0, 0),
    },
    "two_ways": {
        "global load": (1024, 64, 128, 128),
        "global store": (1024, 32, 128, 128),
        "divergent branch": (0, 32, 0, 0),
    },
    "vectors": {"global load": (256, 8, 128, 128), "global store": (256, 8, 128, 128)},
    # The last of 32 warps has 8 lanes below 1000.
    "guarded": {
        "global load": (1000, 32, 125, 125),
        "global store": (1000, 32, 125, 125),
        "divergent branch": (0, 1, 0, 0),
    },
}


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """All kernels in one text; the second letter of a size chooses one."""
    registry.register(
        Op(
            "tallied",
            "(Tensor x, Tensor which) -> Tensor y",
            lambda x, which: list(COMPUTES.values())[len(which)](x),
            {"x": "N", "which": "W", "y": "N"},
            dtypes=("float32",),
        )
    )
    yield registry.register(Kernel("tallied/all", cuda=TEXT))
    forget("tallied")


def counted(kernel: Kernel, compiler: str = QUICK) -> Counts:
    """Count what all kernels do, in this process."""
    sizes = [(N, which) for which in range(len(NAMES))]
    return li.counts(kernel, sizes, progress=False, compiler=compiler, trust=True)


def by_name(found: Counts) -> dict[str, dict[str, tuple[int, int, int, int]]]:
    """Bring totals into the form of `BY_HAND`."""
    totals: dict[str, dict[str, tuple[int, int, int, int]]] = {name: {} for name in NAMES}
    for row in found.totals():
        if row.what != "launch":
            figures = row.accesses, row.requests, row.transactions, row.least
            totals[NAMES[row.size["W"]]][row.what] = figures
    return totals


def test_counts_are_those_of_a_person(kernel: Kernel) -> None:
    """Each figure of each kernel is the one that was counted by hand; and a second time, in the worker, it is the same."""
    found = counted(kernel)
    assert by_name(found) == BY_HAND
    assert {row.most for row in found.rows if row.what == "global atomic"} == {128}
    at = {NAMES[row.size["W"]]: row for row in found.rows if row.what == "shared load"}
    assert TEXT.split("\n")[at["tiled"].line - 1].strip().startswith("y[threadIdx.y * 32 + threadIdx.x] = tile[")
    assert at["tiled"].lanes == tuple(128 * lane for lane in range(32)) and at["tiled"].array == "tile"
    assert at["padded"].lanes == tuple(132 * lane for lane in range(32))
    again = li.counts(kernel, [(N, NAMES.index("interleaved"))], progress=False, compiler=QUICK)
    assert set(again.rows) <= set(found.rows)


@pytest.mark.full
@needs("clang++")  # without it the others compile with g++
def test_counts_are_the_same_with_gcc(kernel: Kernel) -> None:
    """Another compiler lays out the code in another way, and no figure differs."""
    assert by_name(counted(kernel, "g++")) == BY_HAND


@needs("g++")
def test_a_check_may_be_the_last_line_with_gcc() -> None:
    """g++ takes it for a missing return where nothing is optimised; a return that is missing is told where it is reached."""
    axpy = registry["axpy/cuda"]
    last = axpy.edit("  return z;", "  if (N != 5) return z;\n  TORCH_CHECK(false, N);")
    assert li.counts(last, [(64,)], compiler="g++", progress=False).total("load", "accesses") > 0
    none = axpy.edit("  return z;", "  if (N == 5) return z;")
    with pytest.raises(CrashError, match=r"a function ends without a return at line axpy/cuda:\d+"):
        li.counts(none, [(64,)], compiler="g++", progress=False)


def test_what_cannot_be_counted_is_refused(kernel: Kernel) -> None:
    """A kernel without a CUDA text, one in Python, a launch that is wrong: each is an error and no count."""
    with pytest.raises(DefinitionError, match=r"'axpy/cpp' has no cuda text: device 'cuda-cpu' needs one"):
        li.counts("axpy/cpp")
    with pytest.raises(DefinitionError, match="is a Python function"):
        li.counts("axpy/python")
    with pytest.raises(InputError, match="what='loads', want one of"):
        Counts((), "tallied/all").total("loads")


@pytest.mark.full
@needs("g++-11")
def test_a_compiler_that_does_not_tell_of_branches_is_refused() -> None:
    """With g++ 11 a check works on cuda-cpu, but nothing can be counted: it says so, and what to do, before it compiles."""
    with pytest.raises(
        ToolchainError,
        match=r"li\.counts needs g\+\+ 12 or newer, or clang\+\+: g\+\+ 11\.\S+ does not tell which branches are taken\. "
        r"Install one, and name it: compiler='clang\+\+'",
    ):
        li.counts("axpy/cuda", compiler="g++-11")


def test_a_wrong_kernel_is_not_counted(kernel: Kernel) -> None:
    """What runs out of bounds, or computes something else, is a CheckError that says where."""
    outside = kernel.edit("if (i < count) y[i] = x[i];", "y[i + 24] = x[i];")
    with pytest.raises(CheckError, match=r"(?s)out of bounds: .*It was not counted"):
        li.counts(outside, [(N, NAMES.index("guarded"))], progress=False, compiler=QUICK)
    other = kernel.edit("y[i] = x[i];\n}\n\n__global__ void strided", "y[i] = 2 * x[i];\n}\n\n__global__ void strided")
    with pytest.raises(CheckError, match="It was not counted"):
        li.counts(other, [(N, 0)], progress=False, compiler=QUICK)


WHAT = {
    "op": "axpy", "size": {"N": 1000}, "dtype": "float32", "device": "cuda-cpu", "direction": "forward",
}  # fmt: skip


def test_two_revisions_beside_each_other(tmp_path: Path) -> None:
    """Totals have ratios, the worst lines are named with their cure, and all of it comes back from files."""
    more = {
        **WHAT,
        "launch": 1,
        "function": "k",
        "grid": (4, 1, 1),
        "block": (256, 1, 1),
        "accesses": 1000,
        "requests": 32,
    }
    lanes = tuple(range(0, 1024, 32))
    far = CountsRow(
        "axpy/cuda", **more, line=9, what="global load", array="x", width=4, transactions=1000, least=125, lanes=lanes
    )
    near = CountsRow("axpy/cuda@1", **more, line=9, what="global load", array="x", width=4, transactions=125, least=125)
    found = Counts((far, near), "axpy/cuda")
    assert "axpy/cuda:9: global load x takes 1000 sectors, 125 would do: let neighbouring" in found.verdict()
    assert found.verdict().endswith("axpy/cuda@1 takes 0.12x of the sectors of axpy/cuda: forward, global load")
    for part in (
        "axpy, float32, cuda-cpu",
        "Counts, not times",
        "N=1000, forward: global load",
        "1000 sectors",
        "0.12x",
    ):
        assert part in str(found), part
    assert "line by line" in found._repr_html_() and "axpy/cuda:9" in found._repr_html_()
    assert found.total("global load", kernel="axpy/cuda@1") == found.total("load", "least", kernel="axpy/cuda") == 125
    assert found.total("load", "extra") == 875
    assert Counts.from_json(found.to_json(tmp_path / "a.json")) == found and is_whole(found, tmp_path / "a.csv")


def test_a_time_on_the_cpu_says_that_it_is_no_gpus() -> None:
    """Table, verdict and picture of CUDA source that was timed on a CPU say so; those of other devices do not."""
    speed = {
        "median": 1e-6,
        "q1": 1e-6,
        "q3": 1e-6,
        "samples": 9,
        "calls": 9,
        "speedup": 1,
        "speedup_low": 1,
        "speedup_high": 1,
    }
    said = "times of a CPU that runs CUDA source, not of a GPU"
    for device, count in (("cuda-cpu", 1), ("cpu", 0), ("cuda", 0)):
        timings = li.Timings((Row("axpy/cuda", **{**WHAT, **speed, "device": device}),), "axpy/cuda")
        figure = li.plot(timings)
        head = " ".join(text.get_text() for text in figure.texts)
        for text in (str(timings), timings.verdict(), timings._repr_html_(), head, figure.words):  # type: ignore[attr-defined]
            assert (said in text) == bool(count), (device, text)
