"""Training with different kernels gives the same curve: whole sequences, many steps, weights that move."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def remember(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Give the task that benchmarks/training.py trains on, with one thread."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import remember

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield remember
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), pytest.param(torch.float32, 1e-4, marks=pytest.mark.full)]
)
def test_every_kernel_learns_along_the_same_curve(remember, dtype, tolerance):
    """Python, ATen and fused LLTM give the same losses to rounding, step by step, and these fall."""
    runs = remember.train(["lltm/python", "lltm/aten", "lltm/fused"], 100, B=32, T=6, S=32, dtype=dtype)
    base = runs[0].losses
    for run in runs[1:]:
        assert run.losses == pytest.approx(base, rel=tolerance), run.kernel
    assert len(base) == 100 == len(runs[2].seconds)
    assert sum(base[-5:]) < 0.8 * sum(base[:5])


def test_the_fused_kernel_finished_first():
    """In the results that are kept, training with the fused kernel took less time than with either of the others."""
    results = json.loads((BENCHMARKS / "results" / "training.json").read_text())
    ratios = {
        entry["name"]: entry["value"] for entry in results["ratios"] if "seconds of the whole training" in entry["name"]
    }
    assert len(ratios) == 4 and all("lltm/fused over" in what and value < 1 for what, value in ratios.items())


def test_the_curves_tell_kernels_apart_that_are_not_the_same(remember):
    """The comparison can fail: an LLTM whose gates are off by a millionth leaves the curve."""
    import lltm_inline as li
    from lltm_inline.model.registry import Kernel

    reference = li.registry["lltm/python"].python
    assert reference is not None

    def off(input: torch.Tensor, weights: torch.Tensor, *rest: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return reference(input, weights * (1 + 1e-6), *rest)

    kernel = Kernel("lltm/off", python=off)
    runs = remember.train(["lltm/python", kernel], 10, B=16, T=8, S=24, dtype=torch.float64)
    assert runs[1].losses != pytest.approx(runs[0].losses, rel=1e-12)


def test_the_task_can_only_be_solved_by_remembering(remember):
    """What is wanted is the first value, a fair coin; nothing later tells of it."""
    sequence, wanted = remember.draw(torch.Generator().manual_seed(1), 4000, 8, torch.float64)
    assert sequence.shape == (8, 4000, 2) and torch.equal(wanted[:, 0], sequence[0, :, 0])
    assert set(wanted.unique().tolist()) == {-1.0, 1.0} and abs(wanted.mean().item()) < 0.1
    later = sequence[1:, :, 0] @ wanted[:, 0] / 4000
    assert later.abs().max() < 0.1 and sequence[1:, :, 1].abs().max() == 0
