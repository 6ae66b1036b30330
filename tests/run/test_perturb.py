"""Why a result is wrong, in measured words: to what a kernel does not answer as its reference does."""

from __future__ import annotations

import math
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
    "the_last": (first_columns, "y", "x[:, M-1], w[M-1] and b[M-1] change nothing in y"),
    "a_share": (
        lambda x, w, b, eps: normalised(x, w, -0.3 * b, eps),
        "y",
        "b counts -0.3 times as much in y as it should",
    ),
    "twice": (lambda x, w, b, eps: normalised(x, w, b, eps) + b, "y", "b counts 2 times as much in y as it should"),
    "another_epsilon": (
        lambda x, w, b, eps: normalised(x, w, b, math.sqrt(eps)),
        "y",
        "y is right where eps is 0: what depends on it is wrong",
    ),
    "by_two": (lambda x, w, b, eps: normalised(x, w, b.roll(2), eps), "y", "b[1] changes y[0, 3], and not y[0, 1]"),
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
    told = [hint for hint in finding.hints if re.search("changes? |counts|than it should|is right where", hint)]
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


class OneTerm(_Gradient):
    """x sigmoid(x) without the derivative of sigmoid."""

    @staticmethod
    def gradient(d_y: Tensor, x: Tensor, limit: float) -> Tensor:
        """Forget a term."""
        s = x.sigmoid()
        return torch.where(x * s <= limit, d_y * s, torch.zeros_like(d_y))


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
        r"wrong where x >= \S+, right where x <= \S+",
    ),
    "the_other_mask": (
        Inverted.apply,
        "d_x",
        r"the kernel seems to compute `x \* sigmoid\(x\) > 0\.6` where the reference has `x \* sigmoid\(x\) <= 0\.6`",
    ),
    "a_term_of_the_gradient": (
        OneTerm.apply,
        "d_x",
        r"the kernel seems to leave `where\(.*, d_y, .*\) \* x \* sigmoid\(x\) \* \(1 - sigmoid\(x\)\)` out of `.* \+ .*`",
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


F = torch.nn.functional


def small_or_square(decides: Tensor, small: Tensor, x: Tensor) -> Tensor:
    """Choose between two values."""
    return torch.where(decides <= 0.5, small, x * x)


#: Reference, kernel, and what the kernel computes in place of what; or what it leaves out of what, which has a sign in front.
VARIANTS: dict[str, tuple[Callable[..., Any], Callable[..., Any], str, str]] = {
    "an_epsilon_elsewhere": (
        lambda x: x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 0.01),
        lambda x: x / (x.pow(2).mean(1, keepdim=True).sqrt() + 0.01),
        "1 / (sqrt(sum(x * x, 1) / 17) + 0.01)",
        "rsqrt(sum(x * x, 1) / 17 + 0.01)",
    ),
    "without_a_factor": (
        lambda x: x.exp() * x.sigmoid(),
        lambda x: x.exp(),
        "-sigmoid(x)",
        "exp(x) * sigmoid(x)",
    ),
    "not_clamped": (
        lambda x: (x - 0.5).clamp(min=0).sqrt(),
        lambda x: ((x - 0.5).abs() + x - 0.5).div(2).sqrt() + (x < 0.5) * x,
        "",
        "",
    ),
    "a_factor_too_many": (
        lambda x: x - x.exp() * x.sum(1, keepdim=True),
        lambda x: x - x.exp() * (x * x.exp()).sum(1, keepdim=True),
        "sum(x * exp(x), 1)",
        "sum(x, 1)",
    ),
    "exchanged": (
        lambda x: x.sin() + 0.9 * x.exp(),
        lambda x: x.exp() + 0.9 * x.sin(),
        "exp(x) + sin(x) * 0.9",
        "sin(x) + exp(x) * 0.9",
    ),
    "another_order_of_axes": (
        lambda x: x.cumsum(1),
        lambda x: x.reshape(x.shape[::-1]).t().cumsum(1),
        "x.view([17, 3]).transpose(0, 1)",
        "x",
    ),
    "one_of_several": (
        lambda x: x.unbind(0)[0] * x.unbind(0)[-1] - x.exp(),
        lambda x: x.unbind(0)[0] * x.unbind(0)[-1] + x.exp(),
        "tensor_split(x, 3)[0] * tensor_split(x, 3)[2] + exp(x)",
        "tensor_split(x, 3)[0] * tensor_split(x, 3)[2] - exp(x)",
    ),
    "a_clamp": (lambda x: (x - 0.5).clamp(min=0) * x, lambda x: (x - 0.5) * x, "x - 0.5", "clamp(x - 0.5, 0)"),
    "the_other_part": (
        lambda x: x.cos() * x.sigmoid(),
        lambda x: x.cos() * (1 - x.sigmoid()),
        "1 - sigmoid(x)",
        "sigmoid(x)",
    ),
    "another_value": (
        lambda x: small_or_square(one := x.abs(), one, x),
        lambda x: small_or_square(x, x.abs(), x),
        "x <= 0.5",
        "abs(x) <= 0.5",
    ),
    "by_all": (
        lambda x: torch.where(x > 0, x, 0 * x).sum(1) / (x > 0).sum(),
        lambda x: torch.where(x > 0, x, 0 * x).sum(1) / x.numel(),
        "sum(where(x > 0, x, x * 0), 1) / 51",
        "sum(where(x > 0, x, x * 0), 1) / sum(x > 0, [0, 1])",
    ),
    "at_few_places": (lambda x: x + 1e-3 * (x > 1.6), lambda x: x + 1e-3 * (x > 1.7), "", ""),
    "a_sign": (lambda x: x.exp() + x, lambda x: x.exp() - x, "exp(x) - x", "exp(x) + x"),
    "one_less": (
        lambda x: x.exp().mean(1),
        lambda x: x.exp().sum(1) / (x.shape[1] - 1),
        "sum(exp(x), 1) / 16",
        "sum(exp(x), 1) / 17",
    ),
    "unbiased": (lambda x: x.var(1, correction=0), lambda x: x.var(1), "var(x, 1, 1)", "var(x, 1, 0)"),
    "an_extent_too_many": (
        lambda x: x.exp().sum(1) / x.shape[0],
        lambda x: x.exp().sum(1) / x.numel(),
        "sum(exp(x), 1) / 51",
        "sum(exp(x), 1) / 3",
    ),
    "a_mean": (lambda x: x.exp().sum(1), lambda x: x.exp().mean(1), "sum(exp(x), 1) / 17", "sum(exp(x), 1)"),
    "no_base": (lambda x: x.exp().log2(), lambda x: x, "log(exp(x))", "log2(exp(x))"),
    "cut_off": (
        lambda x: (x / 0.3).round(),
        lambda x: (x / 0.3 + 0.5).trunc(),
        "trunc(x / 0.3 + 0.5)",
        "round(x / 0.3)",
    ),
    "borders": (
        lambda x: F.avg_pool1d(x, 3, 2, 1, count_include_pad=False),
        lambda x: F.avg_pool1d(x, 3, 2, 1),
        "avg_pool2d(x, ceil_mode=False, count_include_pad=True)",
        "avg_pool2d(x, ceil_mode=False, count_include_pad=False)",
    ),
    "the_other_axis": (lambda x: x.cumsum(0), lambda x: x.cumsum(1), "", ""),
    "moved": (lambda x: x.exp() * x, lambda x: x.exp().roll(1, 1) * x, "roll(exp(x), 1, 1) * x", "exp(x) * x"),
    "several_at_once": (lambda x: x.exp() + x, lambda x: 2 * x.exp() - x, "", ""),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] * (name != "one_less")) for name in VARIANTS]
)
@pytest.mark.filterwarnings("ignore:var")  # of one column
def test_what_is_computed_in_place_of_the_reference(name: str) -> None:
    """A kernel that does one operation in another way is told which, as the expression that it computes, and the right one."""
    reference, function, after, before = VARIANTS[name]
    shapes = {"x": "N M", "y": "N" if reference(torch.rand(2, 3)).dim() == 1 else "?"}
    registry.register(Op("tiny_other", "(Tensor x) -> Tensor y", reference, shapes, differentiable=False))
    report = li.check(Kernel(f"tiny_other/{name}", python=function), progress=False, trust=True)
    finding = next(one for one in report["parity"].findings if one.quantity == "y")
    told = [hint for hint in finding.hints if "the kernel seems to" in hint]
    says = f"compute `{after}` where the reference has `{before}`"
    says = f"leave `{after[1:]}` out of `{before}`" if after.startswith("-") else says
    assert told == [f"the kernel seems to {says}"] * bool(after), report


def drawn(x: Tensor, w: Tensor) -> Tensor:
    """Weigh complex numbers."""
    return x * w


class NotConjugate(torch.autograd.Function):
    """A product of complex numbers, whose gradient has a factor as it is."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        """Compute what the reference does."""
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor, Tensor]:
        """Forget a conjugate."""
        x, w = ctx.saved_tensors
        return d_y * w, (d_y * x.conj()).sum(0)


def test_a_forgotten_conjugate_is_named() -> None:
    """Complex inputs and incoming gradients have imaginary parts; without them most cases would be right."""
    shapes = {"x": "N M", "w": "M", "y": "N M"}
    registry.register(Op("tiny_filter", "(Tensor x, Tensor w) -> Tensor y", drawn, shapes, dtypes=("complex64",)))
    report = li.check(Kernel("tiny_filter/mine", python=NotConjugate.apply), progress=False, trust=True)
    finding = next(one for one in report["parity"].findings if one.quantity == "d_x")
    assert finding.hints[0] == "the kernel seems to compute `w` where the reference has `conj(w)`", report
    right = {cell for row in (report.matrix["y"], report.matrix["d_w"]) for cell in row.values()}
    assert right <= {"ok", ""} and report.matrix["d_x"]["gradcheck"] == "51/51", report.matrix


def begun_anew(x: Tensor, z: Tensor) -> Tensor:
    """Add up, and begin anew where z is 1."""
    y = [x[:, 0] + x[:, 0] ** 2 * z[:, 0]]
    for i in range(1, x.shape[1]):
        y.append(x[:, i] * (1 + x[:, i] * z[:, i]) + (1 - z[:, i]) * y[-1])
    return torch.stack(y, 1)


#: Reference, kernel, and the first hint or a part of what the finding says; x is (N, M), z says 0 or 1, n is a number.
OTHERS: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "labels_are_turned_round": (
        lambda x, z: x * x.cumsum(1) * (z > 0.5) + x,
        lambda x, z: x * x.cumsum(1) * (z > 0.4) + 1.1 * x,
        "",
    ),
    "labels": (
        begun_anew,
        lambda x, z: x.cumsum(1) + x * x * z,
        "y is right where z is 0: what depends on it is wrong",
    ),
    "another_element": (
        lambda x, z: torch.cat([x, x[:, -2:-1]], 1) if x.shape[1] > 1 else torch.cat([x, x], 1),
        lambda x, z: torch.cat([x, x[:, -1:]], 1),
        r"x\[\d, \d+\] changes y\[\d, \d+\], where the reference takes x\[\d, \d+\]",
    ),
    "each_row_its_own": (
        lambda x, z: x.exp() + 0 * z,
        lambda x, z: x.exp() * (2 + torch.arange(x.shape[0])).unsqueeze(1),
        "got is another number of times want in each row: 2, 3, 4",
    ),
    "every_second_one": (
        lambda x, z: x.sin() + x.exp().cumsum(1),
        lambda x, z: x.sin() + x.exp().cumsum(1) * (1 + torch.arange(x.shape[1]) % 2 * x.cos()),
        r"all in columns 1:\d+:2; worst",
    ),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.full] * (name != "labels")) for name in OTHERS])
def test_what_else_is_measured(name: str) -> None:
    """Labels are turned round and not moved; which element stands in the place of which; where every second column is wrong."""
    reference, function, says = OTHERS[name]

    def inputs(randn: Callable[..., Tensor], N: int, M: int) -> tuple[Tensor, Tensor]:
        return randn(N, M), (randn(N, M) > 0).to(randn(1).dtype)

    shapes = {"x": "N M", "z": "N M", "y": "?"}
    signature = "(Tensor x, Tensor z) -> Tensor y"
    registry.register(Op("tiny_labels", signature, reference, shapes, inputs=inputs, differentiable=False))
    report = li.check(Kernel(f"tiny_labels/{name}", python=function), progress=False, trust=True)
    finding = next(one for one in report["parity"].findings if one.quantity == "y")
    assert re.search(says, str(finding)) and "z changes nothing" not in str(finding), report


class Assigned(torch.autograd.Function):
    """A maximum of windows that overlap, whose gradient is stored where it is to be added."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute what the reference does."""
        y, places = pooled(x)
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        ctx.shape = x.shape
        return y, places

    @staticmethod
    def backward(ctx: Any, d_y: Tensor, _: Tensor) -> Tensor:
        """Store."""
        (places,) = ctx.saved_tensors
        d_x = d_y.new_zeros(ctx.shape).flatten(2)
        for one in range(places[0, 0].numel()):
            d_x.scatter_(2, places.flatten(2)[..., one : one + 1], d_y.flatten(2)[..., one : one + 1])
        return d_x.view(ctx.shape)


def pooled(x: Tensor) -> tuple[Tensor, Tensor]:
    """Take the maximum of windows that overlap."""
    return F.max_pool2d(x, 3, 1, 1, return_indices=True)


def test_no_index_is_made_up() -> None:
    """Where torch's own operation looks up what an index leads to, unseen, no other index goes in: that ended the process."""
    shapes = {"x": "N C H W", "y": "?", "places": "?"}
    registry.register(Op("tiny_pool", "(Tensor x) -> (Tensor y, Tensor places)", pooled, shapes))
    report = li.check(Kernel("tiny_pool/assigned", python=Assigned.apply), progress=False, trust=True)
    assert report.crash is None, report
    finding = next(one for one in report["parity"].findings if one.quantity == "d_x")
    assert re.fullmatch(r"d_y\[.*\] does not change d_x\[.*\]", finding.hints[0]), report


def test_a_reference_that_cannot_be_written_out_is_looked_at_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch says of its simpler operations hides nothing else that is measured."""
    shapes = {"x": "N M", "y": "N M"}
    registry.register(Op("tiny_other", "(Tensor x) -> Tensor y", torch.exp, shapes, differentiable=False))

    def fails(*_: object) -> None:
        raise NotImplementedError

    kernel = Kernel("tiny_other/first_row", python=lambda x: x[:1].expand_as(x).exp())
    monkeypatch.setattr("lltm_inline.checking.variants.Program.__torch_dispatch__", fails)
    report = li.check(kernel, progress=False, trust=True)
    assert report["parity"].findings[0].hints[0] == "x[1:, :] changes nothing in y"
