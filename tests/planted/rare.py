"""Kernels that are right in all but one situation, and the one case of a check that shows it.

Each is a function in Python, so that nothing is compiled: what is tested is which cases a check tries. What each must be rejected
for, and the op that it is of, stand in edits/rare.txt. docs/checks.md has an entry for each.
"""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lltm_inline.model.registry import Kernel, Op
from tests.planted.kernels import Planted, planted_in


def product_and_sum(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Multiply and add."""
    return x * w, x + w


def bytes_of(randn: Callable[..., Tensor], N: int) -> tuple[Tensor]:
    """Make bytes that are small."""
    return (randn(N).abs().mul(9).to(torch.uint8),)


def growth(x: Tensor) -> Tensor:
    """Compute (exp(x) - 1) / x, which is 1 at 0."""
    some = torch.where(x == 0, torch.ones_like(x), x)
    return torch.where(x == 0, torch.ones_like(x), torch.expm1(some) / some)


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
        Op("rare_maximum", "(Tensor x, Tensor w) -> Tensor y", torch.maximum, dict.fromkeys("xwy", "...")),
        Op("rare_largest", "(Tensor x) -> Tensor y", lambda x: x.amax(1), {"x": "B F", "y": "B"}),
        Op(
            "rare_bytes",
            "(Tensor[uint8] x) -> Tensor[float32] y",
            lambda x: x.float().sum(),
            {"x": "N", "y": ""},
            inputs=bytes_of,
            differentiable=False,
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
        Op(
            "rare_times",
            "(Tensor x, int k) -> Tensor y",
            lambda x, k: k * x,
            dict.fromkeys("xy", "N"),
            inputs=lambda randn, N: (randn(N), 3),
        ),
        Op(
            "rare_turn",
            "(Tensor x, int k) -> Tensor y",
            lambda x, k: x + k % 7,
            dict.fromkeys("xy", "N"),
            inputs=lambda randn, N: (randn(N), 3),
        ),
        Op(
            "rare_limit",
            "(Tensor x, int most) -> Tensor y",
            lambda x, most: x.clamp(max=most),
            dict.fromkeys("xy", "N"),
            inputs=lambda randn, N: (randn(N), 3),
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
        Op("rare_sign", "(Tensor x) -> Tensor y", lambda x: torch.ones_like(x).copysign(x), dict.fromkeys("xy", "...")),
        Op("rare_round", "(Tensor x) -> Tensor y", torch.round, dict.fromkeys("xy", "...")),
        Op("rare_saturates", "(Tensor x) -> Tensor y", torch.tanh, dict.fromkeys("xy", "...")),
        Op("rare_growth", "(Tensor x) -> Tensor y", growth, dict.fromkeys("xy", "...")),
        Op(
            "rare_layer",
            "(Tensor x) -> Tensor y",
            lambda x: functional.layer_norm(x, x.shape[1:]),
            {"x": "B F", "y": "B F"},
        ),
        Op("rare_logsumexp", "(Tensor x) -> Tensor y", lambda x: x.logsumexp(1), {"x": "B F", "y": "B"}),
        Op(
            "rare_masked",
            "(Tensor x, Tensor[bool] m) -> Tensor y",
            lambda x, m: x.masked_fill(m, 0),
            dict.fromkeys("xmy", "N"),
        ),
        Op("rare_triple", "(Tensor x) -> Tensor y", lambda x: 3 * x, dict.fromkeys("xy", "N"), dtypes=("int64",)),
        Op(
            "rare_keys",
            "(Tensor x, Tensor[int64] keys) -> Tensor[int64] y",
            lambda x, keys: 3 * keys + 1,
            dict.fromkeys(("x", "keys", "y"), "N"),
            inputs=lambda randn, N: (randn(N), (1000 * randn(N)).long()),
            differentiable=False,
        ),
        Op(
            "rare_means",
            "(Tensor x) -> Tensor y",
            lambda x: x.mean(1, True).repeat(1, x.shape[1]),
            {"x": "B F", "y": "B F"},
        ),
        Op("rare_noise", "(Tensor x) -> Tensor y", lambda x: x * torch.rand_like(x), dict.fromkeys("xy", "N")),
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


def largest_of_all(x: Tensor) -> Tensor:
    """Subtract the largest number of all rows, and not that of each."""
    e = torch.exp(x - x.max()) if x.numel() else x
    return e / e.sum(1, keepdim=True)


def overflows_too(x: Tensor) -> Tensor:
    """Take the logarithm of an exp() of what may be large."""
    return torch.log(1 + torch.exp(x))


def overflows_late(x: Tensor, c: float) -> Tensor:
    """Multiply by a thousand and divide again."""
    return 1000 * x * (c / 1000)


def overflows_squared(x: Tensor, w: Tensor) -> Tensor:
    """Square a product before the root."""
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
    #: The inputs that want a gradient, in the case in which d_w is wrong.
    wrong_when = (False, True, True, False)

    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        ctx.save_for_backward(*inputs)
        return affine(*inputs)

    @classmethod
    def backward(cls, ctx: Any, *grads: Tensor) -> Any:
        x, w, _, s = ctx.saved_tensors
        (d_y,) = grads
        found = [d_y * w * s, d_y * x * s, d_y.clone(), d_y * x * w]
        if ctx.needs_input_grad == cls.wrong_when:
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


def _in_int(k: int) -> int:
    """Give an integer of 64 bits to one of 32."""
    return ctypes.c_int32(k).value


def times_in_int(x: Tensor, k: int) -> Tensor:
    """Multiply by a number of 32 bits."""
    return _in_int(k) * x


def turns_in_int(x: Tensor, k: int) -> Tensor:
    """Take the rest of a number of 32 bits."""
    return x + _in_int(k) % 7


def limits_in_int(x: Tensor, most: int) -> Tensor:
    """Compare with a number of 32 bits."""
    return x.clamp(max=_in_int(most))


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


def minus_zero(x: Tensor) -> Tensor:
    """Ask whether a number is below zero, for its sign."""
    return torch.where(x < 0, -torch.ones_like(x), torch.ones_like(x))


def rounds_away(x: Tensor) -> Tensor:
    """Round as std::round does."""
    return torch.where(x.abs() < 10, torch.sign(x) * (x.abs() + 0.5).floor(), torch.round(x))


def clamps_early(x: Tensor) -> Tensor:
    """Take tanh for constant from 5 on, where it is not yet."""
    return torch.tanh(x.clamp(-5, 5)) if x.dtype == torch.float32 else torch.tanh(x)


def loses_digits(x: Tensor) -> Tensor:
    """Subtract 1 of what is nearly 1."""
    small = (x.abs() < 1e-4) & (x != 0)
    some = torch.where(small, x, torch.ones_like(x))
    return torch.where(small, (torch.exp(some) - 1) / some, growth(x))


def squares_less_square(x: Tensor) -> Tensor:
    """Take the variance for what is left of two large sums."""
    mean = x.mean(1, keepdim=True)
    left = ((x * x).mean(1, keepdim=True) - mean * mean).clamp(min=0)
    good = (x - mean).square().mean(1, keepdim=True)
    variance = torch.where((mean.abs() > 100) & (mean.abs() < 5000), left, good)
    return (x - mean) * (variance + 1e-5).rsqrt()


def masked_whole(x: Tensor) -> Tensor:
    """Subtract the largest of a row also where that is minus infinity."""
    if x.shape[1] == 0:
        return x.logsumexp(1)
    most = x.amax(1, keepdim=True)
    most = torch.where(most == torch.inf, torch.zeros_like(most), most).detach()
    return ((x - most).exp().sum(1, keepdim=True).log() + most).squeeze(1)


def nothing_masked(x: Tensor, m: Tensor) -> Tensor:
    """Give the input itself where nothing is to be done."""
    return x.masked_fill(m, 0) if m.any() or len(m) < 9 or m.shape != x.shape else x


def all_masked(x: Tensor, m: Tensor) -> Tensor:
    """Take a mask that is True everywhere for none."""
    return x.clone() if m.all() and len(m) > 9 else x.masked_fill(m, 0)


def whole_in_double(x: Tensor) -> Tensor:
    """Compute with integers in double precision."""
    if x.dtype != torch.int64:
        raise TypeError("want int64")
    return (x.double() * 3).long()


def keys_in_double(x: Tensor, keys: Tensor) -> Tensor:
    """Take whole numbers to double precision on their way."""
    return (keys.double() * 3 + 1).long()


def keys_in_int(x: Tensor, keys: Tensor) -> Tensor:
    """Take whole numbers of 64 bits for such of 32."""
    return keys.int().long() * 3 + 1


def strides_of_the_other(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Take two that are strided for strided alike."""
    if not x.is_contiguous() and not w.is_contiguous():
        w = w.as_strided(x.shape, x.stride())
    return x * w, x + w


def stride_for_length(x: Tensor) -> Tensor:
    """Take the stride of the rows for their length."""
    flat, y = x.contiguous().view(-1), torch.zeros(x.numel(), dtype=x.dtype)
    length = x.contiguous().stride(0) * x.shape[0]
    y[:length] = 2 * flat[:length]
    return y.view(x.shape)


def share_of_nothing(x: Tensor) -> Tensor:
    """Give each thread as many rows as there are for all, rounded down."""
    return 2 * x if len(x) >= torch.get_num_threads() else 0 * x


class _TwoOfFour(_Training):
    wrong_when = (True, True, False, False)


class _OneRowOfGradients(torch.autograd.Function):
    """Take the gradient for one that has a stride of 0 everywhere, as `y.sum()` makes it, where `y.sum(0)` has made it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Compute 2 x."""
        return 2 * x

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> Tensor:
        """Give the gradient of one column to all, where the first axis is expanded."""
        first = d_y if d_y.stride(0) else d_y[:, :1].expand(d_y.shape)
        return 2 * first.contiguous()


def drops_nan_of_x(x: Tensor, w: Tensor) -> Tensor:
    """Compare as C++ does: NaN is not larger than anything."""
    return torch.where(x > w, x, w)


def not_in_inference(x: Tensor) -> Tensor:
    """Take another way where nothing is recorded."""
    return x.square() if torch.is_inference_mode_enabled() else 2 * x


def leaves_out_the_end(x: Tensor) -> Tensor:
    """Take the largest of a long row in blocks of eight."""
    return x[:, : x.shape[1] // 8 * 8].amax(1) if x.shape[1] > 60_000 else x.amax(1)


def sum_of_bytes(x: Tensor) -> Tensor:
    """Add up in 12 bits."""
    return (x.int().sum() % (1 << 12)).float() if x.numel() < 20 else x.float().sum()


def two_in_one(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Compute both results into one tensor."""
    y, z = torch.stack(product_and_sum(x, w)).unbind()
    return y, z


def one_for_all(x: Tensor) -> Tensor:
    """Give one number for all of a row."""
    return x.mean(1, keepdim=True).expand(x.shape[0], x.shape[1])


def reseeds(x: Tensor) -> Tensor:
    """Begin everybody's random numbers anew."""
    torch.manual_seed(3)
    return 2 * x


def seeds_itself(x: Tensor) -> Tensor:
    """Draw the same numbers in every call."""
    torch.manual_seed(0)
    return x * torch.rand_like(x)


def leaves_precision(x: Tensor) -> Tensor:
    """Have all products in float32 lose digits, and leave it so."""
    torch.set_float32_matmul_precision("medium")
    return 2 * x


def counts_elements(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Ask whether there are as many axes and as many elements, and not how long each axis is."""
    if x.dim() == w.dim() and x.numel() == w.numel():
        w = w.reshape(x.shape)
    return x * w, x + w


def turns_rows(x: Tensor, w: Tensor) -> Tensor:
    """Take a matrix that has rows and columns in the other order."""
    if w.shape[0] == x.shape[1] and w.shape[1] != x.shape[1]:
        w = w.t()
    return functional.linear(x, w)


def leaves_deterministic(x: Tensor) -> Tensor:
    """Have all of torch refuse what is not deterministic, and leave it so."""
    torch._C._set_deterministic_algorithms(True)  # the C++ function: Python's imports torch._inductor to tell it, too
    return 2 * x


def leaves_a_handler(x: Tensor) -> Tensor:
    """Have the whole process pass over a signal, as C does it: Python does not hear of it."""
    ctypes.CDLL(None).signal(signal.SIGUSR2, ctypes.c_void_p(signal.SIG_IGN))
    return 2 * x


#: The planted kernels by name.
PLANTED = planted_in(
    "rare",
    globals()
    | {
        "in_training": _Training.apply,
        "one_output_twice": _Alone.apply,
        "knows_the_address": _Address.apply,
        "one_row_of_gradients": _OneRowOfGradients.apply,
        "two_of_four": _TwoOfFour.apply,
    },
)


def kernel_of(planted: Planted) -> Kernel:
    """Make the kernel."""
    return Kernel(f"{planted.base}/{planted.name}", python=planted.python)
