"""Why a result is wrong, in measured words: to what a kernel does not answer as its reference does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import lltm_inline as li
from lltm_inline.model.registry import Kernel, Op, registry
from tests import tiny

#: What is wrong, the quantity, and what is measured; nothing where that is no answer to any one change.
Row = tuple[Callable[..., Any], str, str]


def normalised(x: Tensor, w: Tensor, b: Tensor, eps: float) -> Tensor:
    """Normalise rows."""
    mean, variance = x.mean(1, keepdim=True), x.var(1, correction=0, keepdim=True)
    return (x - mean) / (variance + eps).sqrt() * w + b


def first_columns(x: Tensor, w: Tensor, b: Tensor, eps: float) -> Tensor:
    """Leave the last column out of the sum."""
    mean, variance = x[:, :-1].mean(1, keepdim=True).detach(), x[:, :-1].var(1, correction=0, keepdim=True)
    y = (x - mean) / (variance + eps).sqrt() * w + b
    return torch.cat([y[:, :-1], b[:-1].mean().expand(x.shape[0], 1)], 1)


class NoGradient(torch.autograd.Function):
    """Forget the incoming gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, b: Tensor, eps: float) -> Tensor:
        """Normalise rows."""
        ctx.save_for_backward(x, w, b)
        ctx.eps = eps
        return normalised(x, w, b, eps)

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> tuple[Any, ...]:
        """Return right gradients but the last."""
        with torch.enable_grad():
            leaves = [one.detach().requires_grad_() for one in ctx.saved_tensors]
            found = torch.autograd.grad(normalised(*leaves, ctx.eps), leaves, d_y)
        return (*found[:2], torch.full_like(leaves[2], len(d_y)), None)


WRONG: dict[str, Row] = {
    "a_fixed_epsilon": (lambda x, w, b, eps: normalised(x, w, b, 1e-5), "y", "eps changes nothing in y"),
    "no_weight": (lambda x, w, b, eps: normalised(x, w**0, b, eps), "y", "w changes nothing in y"),
    "one_weight": (lambda x, w, b, eps: normalised(x, w[:1].expand_as(w), b, eps), "y", "w[1:] changes nothing in y"),
    "one_row": (lambda x, *more: normalised(x[:1].expand_as(x), *more), "y", "x[1:, :] changes nothing in y"),
    "the_last": (first_columns, "y", "x[:, M-1] changes nothing in y"),
    "a_sign": (lambda x, w, b, eps: normalised(x, w, -b, eps), "y", "b counts -1 times as much in y as it should"),
    "twice": (lambda x, w, b, eps: normalised(x, w, b, eps) + b, "y", "b counts 2 times as much in y as it should"),
    "an_epsilon_elsewhere": (
        lambda x, w, b, eps: (x - x.mean(1, keepdim=True)) / (x.std(1, correction=0, keepdim=True) + eps) * w + b,
        "y",
        "y is right where eps is 0: what depends on it is wrong",
    ),
    "one_for_the_other": (
        lambda x, w, b, eps: normalised(x, b, w, eps),
        "y",
        "y is right where w is b: one may be taken for the other",
    ),
    "another_term": (
        lambda x, w, b, eps: normalised(x, w, b, eps) - 0.25 * w * b,
        "y",
        "y is 0.25 * w * b less than it should be",
    ),
    "by_one": (lambda x, w, b, eps: normalised(x, w, b.roll(1), eps), "y", "b[1] changes y[0, 2], and not y[0, 1]"),
    "no_gradient": (NoGradient.apply, "d_b", "d_y changes nothing in d_b"),
    "all_signs": (lambda *given: -normalised(*given), "y", ""),
}

#: Those that `make test` tries.
AT_ONCE = ("a_fixed_epsilon", "the_last", "twice")


@pytest.fixture(autouse=True)
def _op() -> Iterator[None]:
    with tiny.registry_as_before():
        shapes = {"x": "N M", "w": "M", "b": "M", "y": "N M"}

        def inputs(randn: Callable[..., Tensor], N: int, M: int) -> tuple[Any, ...]:
            return randn(N, M), randn(M), randn(M), 0.01

        registry.register(
            Op("tiny_norm", "(Tensor x, Tensor w, Tensor b, float eps) -> Tensor y", normalised, shapes, inputs=inputs)
        )
        yield


@pytest.mark.filterwarnings("ignore:var")  # of one column
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] * (name not in AT_ONCE)) for name in WRONG]
)
def test_a_mistake_is_measured(name: str) -> None:
    """The first hint is what was measured; none is said where nothing is."""
    function, quantity, says = WRONG[name]
    report = li.check(Kernel(f"tiny_norm/{name}", python=function), progress=False, trust=True)
    finding = next(one for one in report["parity"].findings if one.quantity == quantity)
    told = [hint for hint in finding.hints if re.search("changes|counts|than it should|is right where", hint)]
    assert told == ([says] if says else []) and finding.hints[: bool(says)] == tuple(told), report


def bounded(x: Tensor, limit: float) -> Tensor:
    """Compute x sigmoid(x), and no more than a limit."""
    return (x * x.sigmoid()).clamp(max=limit)


class _Gradient(torch.autograd.Function):
    """A right result, with a gradient of one's own."""

    gradient: Callable[[Tensor, Tensor, float], Tensor]

    @staticmethod
    def forward(ctx: Any, x: Tensor, limit: float) -> Tensor:
        """Compute what the reference does."""
        ctx.save_for_backward(x)
        ctx.limit = limit
        return bounded(x, limit)

    @classmethod
    def backward(cls, ctx: Any, d_y: Tensor) -> tuple[Tensor, None]:
        """Call the gradient."""
        (x,) = ctx.saved_tensors
        return cls.gradient(d_y, x, ctx.limit), None


class Unsquared(torch.autograd.Function):
    """tanh with 1 - y for 1 - y^2."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Compute the tanh."""
        y = x.tanh()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> Tensor:
        """Forget the square."""
        (y,) = ctx.saved_tensors
        return d_y * (1 - y)


def test_the_terms_of_a_gradient_are_measured() -> None:
    """What a gradient has too much is told as products of what goes in and comes out, each once."""
    shapes = {"x": "N M", "y": "N M"}
    registry.register(Op("tiny_tanh", "(Tensor x) -> Tensor y", torch.tanh, shapes))
    report = li.check(Kernel("tiny_tanh/unsquared", python=Unsquared.apply), progress=False, trust=True)
    finding = next(one for one in report["parity"].findings if one.quantity == "d_x")
    assert finding.hints[0] == "d_x is d_y * y * y - d_y * y more than it should be"


class Inverted(_Gradient):
    """Hand on the gradient where it is to be zero, and the other way round."""

    @staticmethod
    def gradient(d_y: Tensor, x: Tensor, limit: float) -> Tensor:
        """Take one condition for the other."""
        s = x.sigmoid()
        return torch.where(x * s > limit, d_y * (s + x * s * (1 - s)), torch.zeros_like(d_y))


LIMITS: dict[str, Row] = {
    "a_clamped_exponent": (
        lambda x, limit: (x * x.clamp(min=-1).sigmoid()).clamp(max=limit),
        "y",
        r"wrong where x <= -\S+, right where x >= -\S+",
    ),
    "another_limit": (
        lambda x, limit: bounded(x, 0.3 if limit < 0.7 else 1.2),
        "y",
        "a little more of limit changes nothing in y",
    ),
    "the_other_mask": (
        Inverted.apply,
        "d_x",
        r"(x|d_y)\[.*\] changes d_x\[.*\], and should change nothing",
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_and_masks_are_measured(name: str) -> None:
    """Numbers beyond which it is wrong, a number that decides between two ways alone, and gradients that come where none should."""
    shapes = {"x": "N M", "y": "N M"}
    op = Op(
        "tiny_bound",
        "(Tensor x, float limit) -> Tensor y",
        bounded,
        shapes,
        inputs=lambda randn, N, M: (2 * randn(N, M), 0.6),
    )
    registry.register(op)
    function, quantity, says = LIMITS[name]
    report = li.check(Kernel(f"tiny_bound/{name}", python=function), progress=False, trust=True)
    finding = next(one for one in report["parity"].findings if one.quantity == quantity)
    assert re.fullmatch(says, finding.hints[0]), report


def test_a_number_that_makes_nan_matters() -> None:
    """A kernel that has no number at all where the reference has one does not ignore what was changed."""
    op = Op(
        "tiny_decay",
        "(Tensor x, float a, float b) -> Tensor y",
        lambda x, a, b: a * x + b * x * x / torch.tensor(1 - b**2, dtype=x.dtype).sqrt(),
        {"x": "N", "y": "N"},
        inputs=lambda randn, N: (randn(N), 0.6, 0.9),
    )
    registry.register(op)

    def forward(x: Tensor, a: float, b: float) -> Tensor:
        return a * x + b * x * x / torch.tensor(1 - a**2, dtype=x.dtype).sqrt()

    wrong = Kernel("tiny_decay/mine", python=forward)
    report = li.check(registry.register(wrong), progress=False, trust=True)
    (finding,) = [one for one in report["parity"].findings if one.quantity == "y"]
    assert "a changes nothing" not in str(finding)
    assert "y is right where a is b: one may be taken for the other" in finding.hints
