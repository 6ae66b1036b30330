"""A kernel called in the worker: random numbers, modes, layouts, devices, and what was built."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import lltm_inline as li
from lltm_inline.errors import InputError
from lltm_inline.model.registry import Kernel
from lltm_inline.run import built as module
from lltm_inline.run import executor
from lltm_inline.run.setting import Setting
from tests.needs import needs
from tests.planted.crash_row import GOOD, register

pytestmark = pytest.mark.usefixtures("quick_compiler")


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build the one kernel of C++ that these tests call."""
    register()
    li.build(GOOD, progress=False)


def kernel(function: Callable[[Tensor], Any]) -> Kernel:
    """Make a kernel of a function."""
    return Kernel("crash/mine", python=function)


def _drops(x: Tensor) -> Tensor:
    return x * torch.bernoulli(torch.full_like(x, 0.5)) * torch.rand_like(x)


class _Noisy(torch.autograd.Function):
    """Draws in backward, too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(factor := torch.rand_like(x))
        return x * factor

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return gradients[0] * ctx.saved_tensors[0] + torch.rand_like(gradients[0])


@pytest.mark.parametrize("function", [_drops, _Noisy.apply], ids=["forward", "backward"])
def test_random_numbers_are_those_of_a_call_here(function: Callable[[Tensor], Tensor]) -> None:
    """Values, gradients, and where the generator is afterwards: all as the seed of the caller says."""

    def run(call: Callable[[Tensor], Tensor]) -> list[Tensor]:
        torch.manual_seed(3)
        x = torch.ones(50, requires_grad=True)
        y = call(x)
        between = torch.rand(3)
        (gradient,) = torch.autograd.grad(y.sum(), x)
        return [y.detach(), between, gradient, torch.rand(3)]

    with torch.random.fork_rng(devices=()):
        there = run(lambda x: li.call(kernel(function), x))
        assert all(map(torch.equal, there, run(function)))


def test_backward_runs_forward_under_the_modes_of_forward() -> None:
    """Autocast is over when the gradient is asked for, and the forward that is run again for it must not know that."""

    def product(x: Tensor) -> Tensor:
        return x @ (x + 1)

    x = torch.randn(4, 4, requires_grad=True)

    def run(call: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        with torch.autocast("cpu", torch.bfloat16):
            y = call(x)
        return y, torch.autograd.grad(y.float().square().sum(), x)[0]

    (there, d_there), (here, d_here) = run(lambda x: li.call(kernel(product), x)), run(product)
    assert there.dtype == here.dtype == torch.bfloat16
    assert torch.equal(there, here) and torch.equal(d_there, d_here)


@pytest.mark.parametrize(
    "function", [lambda x: x.conj(), lambda x: x.conj().imag, lambda x: x.t().conj()[1:]], ids=["conj", "neg", "view"]
)
def test_what_torch_leaves_undone_travels(function: Callable[[Tensor], Tensor]) -> None:
    """A conjugate or a negative that was not computed yet arrives as such, both ways."""
    x = torch.randn(3, 4, dtype=torch.complex64)
    there, here = li.call(kernel(function), x), function(x)
    assert torch.equal(there, here) and there.stride() == here.stride()
    assert (there.is_conj(), there.is_neg()) == (here.is_conj(), here.is_neg())
    assert torch.equal(li.call(kernel(lambda x: torch.tensor([x.is_conj()])), x.conj()), torch.tensor([True]))


@pytest.mark.parametrize("name", ["to_sparse", "to_mkldnn"])
def test_layouts_that_cannot_travel_are_refused(name: str) -> None:
    """The message says which, and what to return; the worker lives."""
    before = li.worker.pid
    with pytest.raises(InputError, match=r"a result is a Tensor of layout torch\.(sparse_coo|_mkldnn).*to_dense\(\)"):
        li.call(kernel(lambda x: getattr(x, name)()), torch.ones(3))
    assert li.worker.pid == before


def test_results_can_be_changed_in_place() -> None:
    """They are tensors of their own, and no views that autograd would refuse to have changed."""
    x = torch.ones(3, requires_grad=True)
    y = li.call(GOOD, x)
    y.mul_(3)
    assert torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.full((3,), 6.0))


@pytest.mark.parametrize("restart", [False, True], ids=["warm", "fresh"])
def test_what_was_removed_from_the_cache_is_built_again(
    restart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was built is remembered; that must not outlive the files."""
    x = torch.ones(3)
    (good,) = executor.prepare([GOOD], Setting())
    assert good.library
    # In a copy of the cache: in that of the whole run, other tests have just the same recorder.
    for one in (good.library, *good.helpers.values()):
        shutil.copytree(one.path.parent, tmp_path / "cache" / "kernels" / one.digest)
    for place in (tmp_path / "cache", tmp_path / "cache" / "kernels"):
        place.chmod(0o700)
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "cache"))
    li.call(GOOD, x)
    (good,) = executor.prepare([GOOD], Setting())
    recorder = good.helpers["recorder"].path
    assert good.library and good.library.cached and recorder.is_relative_to(tmp_path)
    shutil.rmtree(recorder.parent)
    if restart:
        li.worker.restart()
    assert torch.equal(li.call(GOOD, x, progress=False), 2 * x)
    assert recorder.exists()


def test_functions_of_a_notebook_are_not_remembered() -> None:
    """Each cell that is run again makes new ones: neither they nor what they hold is kept."""
    before = len(module._known)
    for number in range(3):
        li.call(kernel(lambda x, number=number: number * x), torch.ones(3))
    assert len(module._known) == before


@pytest.mark.gpu
@needs("a GPU")
def test_tensors_stay_on_their_device() -> None:
    """Results are where the kernel made them; a tensor on the CPU is not moved for a kernel on the GPU."""
    x = torch.arange(12.0, device="cuda").view(3, 4).t()
    mine = kernel(lambda x: 2 * x)
    result = li.call(mine, x, device="cuda")
    assert result.device == x.device and result.stride() == x.stride() and torch.equal(result, 2 * x)
    assert li.call(mine, x.cpu(), device="cuda").device.type == "cpu"
    torch.cuda.manual_seed(3)
    there = li.call(kernel(torch.rand_like), x, device="cuda")
    torch.cuda.manual_seed(3)
    assert torch.equal(there, torch.rand_like(x))


def test_what_a_kernel_raises_is_shown_without_our_frames() -> None:
    """IPython shows the caller's line, the message, and of the worker's traceback the user's own lines; it can be pickled."""

    def fails(x: Tensor) -> Tensor:
        raise ArithmeticError("of its own")

    with pytest.raises(ArithmeticError) as caught:
        li.call(kernel(fails), torch.ones(2))
    text = "".join(caught.value._render_traceback_())  # type: ignore[attr-defined]
    assert "ArithmeticError\x1b[0m: of its own" in text
    assert "kernel 'crash/mine' in forward at x (2,) float32" in text
    assert "in fails" in text and "lltm_inline/run" not in text
    assert pickle.loads(pickle.dumps(caught.value)).args == ("of its own",)
