"""Kernels that are right in all but one situation, and the one case of a check that shows it.

Each is a function in Python, so that nothing is compiled: what is tested is which cases a check tries. docs/checks.md has a row
for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lltm_inline.model.registry import Kernel, Op
from tests.planted.kernels import Planted


def product_and_sum(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Multiply and add."""
    return x * w, x + w


def affine(x: Tensor, w: Tensor, b: Tensor, s: Tensor) -> Tensor:
    """Multiply, scale and add."""
    return x * w * s + b


#: Ops for the length of a test, by name.
OPS = {
    op.name: op
    for op in (
        Op("rare_softmax", "(Tensor x) -> Tensor y", lambda x: torch.softmax(x, 1), {"x": "B F", "y": "B F"}),
        Op("rare_softplus", "(Tensor x) -> Tensor y", functional.softplus, dict.fromkeys("xy", "...")),
        Op("rare_exp", "(Tensor x) -> Tensor y", torch.exp, dict.fromkeys("xy", "...")),
        Op("rare_negated_exp", "(Tensor x) -> Tensor y", lambda x: -torch.exp(x), dict.fromkeys("xy", "...")),
        Op("rare_relu", "(Tensor x) -> Tensor y", torch.relu, dict.fromkeys("xy", "...")),
        Op("rare_pair", "(Tensor x, Tensor w) -> (Tensor y, Tensor z)", product_and_sum, dict.fromkeys("xwyz", "...")),
        Op(
            "rare_length",
            "(Tensor x, Tensor w) -> Tensor y",
            lambda x, w: torch.hypot(x * w, torch.ones_like(x)),
            dict.fromkeys("xwy", "..."),
        ),
        Op("rare_image", "(Tensor x) -> Tensor y", lambda x: 2 * x, dict.fromkeys("xy", "N C H W")),
        Op(
            "rare_affine",
            "(Tensor x, Tensor w, Tensor b, Tensor s) -> Tensor y",
            affine,
            dict.fromkeys("xwbsy", "N"),
            parameters=("w", "b"),
        ),
        Op(
            "rare_scale",
            "(Tensor x, float c) -> Tensor y",
            lambda x, c: c * x,
            dict.fromkeys("xy", "N"),
            inputs=lambda randn, N: (randn(N), 3.0),
        ),
        Op("rare_linear", "(Tensor x, Tensor w) -> Tensor y", functional.linear, {"x": "B F", "w": "G F", "y": "B G"}),
        Op("rare_sums", "(Tensor x) -> Tensor y", lambda x: x.cumsum(1), {"x": "B F", "y": "B F"}),
        Op("rare_unit", "(Tensor x) -> Tensor y", lambda x: functional.normalize(x, dim=1), {"x": "B F", "y": "B F"}),
        Op(
            "rare_entropy",
            "(Tensor x) -> Tensor y",
            lambda x: torch.special.xlogy(x, x.abs()),
            dict.fromkeys("xy", "..."),
        ),
        Op("rare_rows", "(Tensor x) -> Tensor y", lambda x: 2 * x, {"x": "B F", "y": "B F"}),
    )
}


def _contiguous(value: Tensor) -> Tensor:
    """Read a tensor as if its elements lay side by side."""
    strides = torch.empty(value.shape, device="meta").stride()
    return value.as_strided(value.shape, strides)


def overflows(x: Tensor) -> Tensor:
    """Take exp() of what may be large."""
    e = torch.exp(x)
    return e / e.sum(1, keepdim=True)


def overflows_too(x: Tensor) -> Tensor:
    """Take the logarithm of an exp() of what may be large."""
    return torch.log(1 + torch.exp(x))


def overflows_late(x: Tensor, c: float) -> Tensor:
    """Multiply by a thousand and divide again."""
    return 1000 * x * (c / 1000)


def overflows_squared(x: Tensor, w: Tensor) -> Tensor:
    """Square a product ahead of the root."""
    return ((x * w) ** 2 + 1).sqrt()


def largest_for_infinity(x: Tensor) -> Tensor:
    """Give the largest number in the place of infinity."""
    return torch.exp(x).clamp(max=torch.finfo(x.dtype).max)


def opposite_infinity(x: Tensor) -> Tensor:
    """Give infinity where minus infinity is due."""
    y = -torch.exp(x)
    return torch.where(y.isinf(), -y, y)


def drops_nan(x: Tensor) -> Tensor:
    """Compare, and give zero where the comparison is false."""
    return torch.where(x > 0, x, torch.zeros_like(x))


def asks_the_first(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Take the others for contiguous when the first is."""
    w = _contiguous(w) if x.is_contiguous() else w
    return x * w, x + w


def channels_last(x: Tensor) -> Tensor:
    """Read what is dense in memory in the order of memory."""
    dense = x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
    return 2 * (_contiguous(x) if dense else x)


def four_axes_at_most(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Have room for four strides."""
    return x * w, x + w if x.dim() < 5 else x - w


class _Training(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        ctx.save_for_backward(*inputs)
        return affine(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, w, _, s = ctx.saved_tensors
        (d_y,) = grads
        found = [d_y * w * s, d_y * x * s, d_y.clone(), d_y * x * w]
        if ctx.needs_input_grad == (False, True, True, False):
            found[1] = d_y * x
        return tuple(one if want else None for one, want in zip(found, ctx.needs_input_grad, strict=True))


class _Alone(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(False)
        return product_and_sum(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        x, w = ctx.saved_tensors
        d_y, d_z = grads
        if d_y is None:
            return d_z, d_z
        if d_z is None:
            w = w.detach()  # and with it a part of the second derivative
            return d_y * w, d_y * x
        return d_y * w + d_z, d_y * x + d_z


def remainder_of_four(x: Tensor) -> Tensor:
    """Lose the last element of a row where four are left over after whole vectors of eight."""
    y = 2 * x
    return torch.cat([y[:, :-1], 0 * y[:, -1:]], 1) if x.shape[1] % 8 == 4 and x.shape[1] > 8 else y


def large_ones(x: Tensor, c: float) -> Tensor:
    """Go another way for many elements, and lose the last."""
    y = c * x
    return torch.cat([y[:-1], 0 * y[-1:]]) if x.numel() > 100_000 else y


def zero_is_false(x: Tensor, c: float) -> Tensor:
    """Take zero for "not given"."""
    return (c or 1.0) * x


def whole_factor(x: Tensor, c: float) -> Tensor:
    """Take the factor for a whole number."""
    return int(c) * x


def factor_in_single(x: Tensor, c: float) -> Tensor:
    """Take the factor in single precision."""
    return torch.tensor(c, dtype=torch.float32).item() * x


def strides_of_the_input(x: Tensor) -> Tensor:
    """Give the result the strides of the input, whatever they are."""
    y = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype)
    return y.copy_(2 * x)


def guesses_by_extent(x: Tensor, w: Tensor) -> Tensor:
    """Find out by their extents whether the weights lie the other way round."""
    return x @ w if w.shape[0] == x.shape[1] else x @ w.t()


def one_block(x: Tensor) -> Tensor:
    """Add up as far as the threads of one block reach."""
    return torch.cat([x[:, :1024].cumsum(1), x[:, 1024:]], 1)


def rows_of_16_bits(x: Tensor) -> Tensor:
    """Count the rows in 16 bits."""
    y = 2 * x
    return torch.cat([y[:65535], 0 * y[65535:]])


def whole_blocks(x: Tensor) -> Tensor:
    """Take the last block for a rest where there is none."""
    y = x.cumsum(1)
    return torch.cat([y[:, :-1], 0 * y[:, -1:]], 1) if x.shape[1] % 256 == 0 and x.shape[1] else y


def divides_by_zero(x: Tensor) -> Tensor:
    """Divide by the norm of a row of zeros."""
    return x / x.norm(dim=1, keepdim=True)


def logarithm_of_zero(x: Tensor) -> Tensor:
    """Multiply zero by minus infinity."""
    return x * x.abs().log()


_hoard: list[Tensor] = []


def hoards(x: Tensor) -> Tensor:
    """Keep every input."""
    _hoard.append(x.detach())
    return 2 * x


def leaves_double(x: Tensor) -> Tensor:
    """Set a default and leave it."""
    torch.set_default_dtype(torch.float64)
    return 2 * x


def leaves_no_denormals(x: Tensor) -> Tensor:
    """Have the processor take the smallest numbers for zero, and leave it so."""
    torch.set_flush_denormal(True)
    return 2 * x


_calls = 0


def sometimes(x: Tensor) -> Tensor:
    """Go wrong now and then, with many rows on several threads, as a race does."""
    global _calls
    if x.shape[0] > 2000 and x.shape[1] < 9 and torch.get_num_threads() > 1:
        _calls += 1
        if _calls % 3 == 0:
            return 2 * x + (torch.arange(x.shape[0]) == 7).unsqueeze(1)
    return 2 * x


_last: tuple[Tensor, Tensor] | None = None


class _Address(torch.autograd.Function):
    """Gives the result of the last call again where the tensor lies at the same address."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        global _last
        if _last is None or (_last[0].data_ptr(), _last[0].shape) != (x.data_ptr(), x.shape):
            _last = x.detach(), 2 * x  # as long as it is kept, no other tensor has its address
        return _last[1].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return 2 * grads[0]


def _rare(
    op: str, function: Callable[..., Any], why: str, section: str, quantity: str, *says: str, name: str = ""
) -> Planted:
    return Planted(name or function.__name__, why, section, quantity, says, op, python=function)


_ALL = (
    _rare("rare_softmax", overflows, "exp() overflows", "parity", "y", "wrong with inputs all 100", "overflows on the way"),
    _rare("rare_softplus", overflows_too, "exp() overflows", "parity", "y", "wrong with inputs all 100"),
    _rare("rare_scale", overflows_late, "a product on the way", "parity", "y", "the largest and the smallest normal numbers"),
    _rare("rare_length", overflows_squared, "a product is squared", "parity", "y", "whose products overflow when squared"),
    _rare(
        "rare_exp", largest_for_infinity, "a number for infinity", "parity", "y",
        "infinite or NaN in the reference", "the same infinity",
    ),
    _rare("rare_negated_exp", opposite_infinity, "the other infinity", "parity", "y", "got inf, want -inf"),
    _rare("rare_relu", drops_nan, "NaN becomes zero", "parity", "y", "nan among the inputs", "std::max drops it"),
    _rare("rare_pair", asks_the_first, "only x is asked for its strides", "parity", "y", "wrong when w is transposed"),
    _rare("rare_image", channels_last, "channels last is read as contiguous", "parity", "y", "wrong when x is channels last"),
    _rare("rare_pair", four_axes_at_most, "five axes are too many", "parity", "z", "wrong for shape (2, 1, 3, 2, 5)"),
    _rare(
        "rare_affine", _Training.apply, "wrong as in training", "parity", "d_w", "wrong when only d_w, d_b", name="in_training"
    ),
    _rare(
        "rare_pair", _Alone.apply, "the second derivative of one output alone", "gradcheck", "second derivative",
        "is wrong without an error", name="one_output_twice",
    ),
    _rare("rare_rows", remainder_of_four, "n % 8 == 4", "parity", "y", "B=2, F="),
    _rare("rare_scale", large_ones, "another way for many elements", "parity", "y", "only where N >= 133337"),
    _rare("rare_scale", zero_is_false, "zero is taken for nothing", "parity", "y", "wrong for c = 0"),
    _rare(
        "rare_rows", _Address.apply, "a cache by address", "purity", "y",
        "when the inputs of the last call are changed in place", name="knows_the_address",
    ),
    _rare("rare_scale", whole_factor, "a number becomes whole", "parity", "y", "wrong for c = 0.1"),
    _rare("rare_scale", factor_in_single, "a number loses digits", "parity", "y", "wrong for c = 0.1"),
    _rare("rare_rows", strides_of_the_input, "stride 0", "parity", "forward", "inputs expanded"),
    _rare("rare_linear", guesses_by_extent, "extents tell the axes", "parity", "y", "B=6, F=6, G=6"),
    _rare("rare_sums", one_block, "more columns than threads", "parity", "y", "all in columns 1024:"),
    _rare("rare_rows", rows_of_16_bits, "an index of 16 bits", "parity", "y", "all in rows 65535:65539"),
    _rare("rare_sums", whole_blocks, "no rest", "parity", "y", "B=2, F=4096"),
    _rare("rare_unit", divides_by_zero, "a row of zeros", "parity", "y", "wrong with inputs all 0", "divided by it"),
    _rare("rare_entropy", logarithm_of_zero, "0 log 0", "parity", "y", "wrong with inputs all 0", "its logarithm"),
    _rare("rare_rows", hoards, "keeps its inputs", "purity", "forward", "each call leaves ", "a static container"),
    _rare("rare_rows", leaves_double, "a default is left changed", "purity", "forward", "default dtype changed"),
    _rare("rare_rows", leaves_no_denormals, "flushes to zero", "purity", "forward", "takes them for 0, before keeps them"),
    _rare("rare_rows", sometimes, "a race", "parity", "y", "right on one thread, wrong on several"),
)  # fmt: skip

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make the kernel."""
    return Kernel(f"{planted.base}/{planted.name}", python=planted.python)
