"""The rooms of `block_sum`, `softmax` and `matmul_tiled`: their CUDA texts, run on the CPU."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import lltm_inline as li
from tests.needs import needs
from tests.ops.rooms import gradients, randn
from tests.planted.shared_memory import PLANTED, Planted
from tests.quick import QUICK

NAMES = ("block_sum/cuda", "softmax/cuda", "matmul_tiled/cuda")


def test_a_sum_without_a_gpu() -> None:
    """The text for a GPU gives the sums of rows and their gradients on tensors of the CPU."""
    x = randn(3, 300)
    block_sum = li.load("block_sum/cuda", device="cuda-cpu", trust=True, compiler=QUICK)
    torch.testing.assert_close(block_sum(x), x.sum(1))
    assert torch.equal(gradients(block_sum, [x])[0], torch.ones(3, 300).double())
    assert torch.autograd.gradcheck(block_sum, randn(2, 5).requires_grad_())


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_shipped_kernels_are_right(name: str) -> None:
    """What ships passes every section of the check, in which all accesses are looked at; every section has looked at something."""
    report = li.check(name, device="cuda-cpu", progress=False, compiler=QUICK)
    assert report.ok, str(report)
    assert all(section.cases > 0 for section in report.sections)


@pytest.mark.full
@needs("nvcc")
@pytest.mark.parametrize("with_widths", [False, True])
def test_nvcc_takes_the_same_texts(with_widths: bool) -> None:
    """The very texts compile for a GPU, with all widths that their docstrings name."""
    base = {name: li.registry[name] for name in NAMES}
    widths = [
        *(base["block_sum/cuda"].replace(params={"THREADS": threads}) for threads in (64, 1024)),
        base["softmax/cuda"].replace(params={"THREADS": 32}),
        *(base["matmul_tiled/cuda"].replace(params={"TILE": tile}) for tile in (8, 32)),
    ]
    li.build(widths if with_widths else [*base.values()], device="cuda", compile_only=True, progress=False)


@pytest.mark.full
def test_softmax_does_not_overflow() -> None:
    """Large numbers, infinities and NaN give what PyTorch gives."""
    softmax = li.load("softmax/cuda", device="cuda-cpu", trust=True, compiler=QUICK)
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([[1e4, 0.0, -1e4], [-inf, 1.0, 2.0], [inf, 0.0, 0.0], [nan, 0.0, 1.0], [-inf, -inf, -inf]])
    torch.testing.assert_close(softmax(x), x.softmax(1), equal_nan=True)


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(
            one,
            id=one.name,
            marks=() if one.name == "block_sum:missing_barrier" else pytest.mark.full,
        )
        for one in PLANTED.values()
    ],
)
def test_planted_error_is_found(planted: Planted) -> None:
    """Each wrong kernel is rejected for its own reason, at its line."""
    how: Any = {"device": "cuda-cpu", "sizes": [planted.size], "trust": True, "compiler": QUICK}
    report = li.check(planted.kernel(), progress=False, **how)
    assert not report.ok
    assert re.search(planted.says, str(report)), f"want {planted.says} in\n{report}"


@pytest.mark.full
def test_what_they_ask_of_the_memory() -> None:
    """Loads are coalesced, no two lanes want different words of one bank, and a tile saves what its docstring says."""
    sums = li.counts("block_sum/cuda", [(4, 1024)], progress=False, compiler=QUICK)
    assert sums.total("global load", "extra") == sums.total("shared", "extra") == 0
    assert sums.total("barrier", "requests") == 4 * 4  # two around the tree of 256, one for each of its two steps
    soft = li.counts("softmax/cuda", [(4, 1024)], progress=False, compiler=QUICK).select(direction="forward")
    assert soft.total("shared", "extra") == 0 and soft.total("global load", "accesses") == 3 * 4 * 1024
    tiles = li.counts("matmul_tiled/cuda", [(32, 32, 32)], progress=False, compiler=QUICK).select(direction="forward")
    assert tiles.total("global load", "accesses") == 2 * 32**3 // 16 and tiles.total("shared", "extra") == 0
