"""Numbers that stand among a case's inputs: zeros, infinities, what overflows, what loses digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from ...base.arguments import REAL_DTYPES
from ...model.registry import Argument

_REAL = tuple(getattr(torch, name) for name in REAL_DTYPES)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@dataclass(frozen=True)
class Values:
    """Numbers that stand among a case's inputs, or in place of all of them.

    Attributes:
        words: for a message.
        numbers: repeated over the elements; some follow from a dtype and the number of elements.
        advice: what may be wrong with a kernel that fails here.
        group: column of the report's matrix.
        dtypes: for which they are.
        magnitude: by how much they amplify rounding; none for those that are not finite.
        mixed: whether every second element keeps its ordinary value.
        rows: whether whole rows have one number, where there are several rows.
        last: whether the last row and column alone have one, so many times the largest number.
    """

    words: str
    numbers: Sequence[float] | Callable[[torch.dtype, int], Sequence[float]]
    advice: str = (
        "exp(), a product or a sum overflows on the way; use a form that does not (subtract the largest, log1p, expm1)"
    )
    group: str = "large"
    dtypes: Sequence[torch.dtype] = _REAL
    magnitude: float = 1
    mixed: bool = True
    rows: bool = False
    last: bool = False


def _extremes(dtype: torch.dtype, count: int) -> tuple[float, ...]:
    """The largest numbers whose sum is finite in any order, and the smallest normal ones."""
    limits = torch.finfo(dtype)
    largest = limits.max / (8 * max(count, 1))
    return largest, limits.tiny, -largest, -limits.tiny


def _fourth_roots(dtype: torch.dtype, count: int) -> tuple[float, ...]:
    """Twice the fourth root of the largest number: a product of two is finite, and its square is not."""
    root = 2 * torch.finfo(dtype).max ** 0.25
    return root, -root


def _large_integers(dtype: torch.dtype, count: int) -> tuple[int, ...]:
    """Odd numbers as large as their sum may be, and 1."""
    most = torch.iinfo(dtype).max // (8 * max(count, 1)) | 1
    return (most, 1) if dtype == torch.uint8 else (most, 1, -most, -1)


_AT_ZERO = "the reference has an answer for 0, too: where is something divided by it, or its logarithm taken?"
_AT_THE_END = "the end of the axis is left out: look at what is left over after whole vectors or blocks"
_AT_INFINITY = "the reference has an answer for infinity, too"
#: Where something is divided by an input; where exp() overflows in float32 (100) and in float64 (1e4), where squares and products
#: do; and what is no number. The first that shows a mistake is told: what overflows loses digits, too.
VALUES = {
    "0": Values("inputs all 0", (0.0,), _AT_ZERO, "zeros", mixed=False),
    "0s": Values("0 and -0 among the inputs", (0.0, -0.0), _AT_ZERO, "zeros"),
    "1": Values(
        "inputs all 1",
        (1.0,),
        "all of them are equal there, and 1 is where shares and probabilities end: is > meant, or >=?",
        mixed=False,
    ),
    "halves": Values(
        "numbers half-way between two whole ones among the inputs",
        (0.5, -1.5, 2.5, -0.5, 7.5, -6.5),
        "torch.round goes to the even one of two, std::round away from 0; and > is not >=",
        "digits",
    ),
    "tiny": Values(
        "1e-5 and -1e-9 among the inputs",
        (1e-5, -1e-9),
        "a difference of nearly equal numbers, such as exp(x) - 1 or log(1 + x), loses its digits near 0: use expm1, log1p",
        "digits",
    ),
    "100": Values("inputs all 100", (100.0,), magnitude=100, mixed=False),
    "-100": Values("inputs all -100", (-100.0,), magnitude=100, mixed=False),
    "+-100": Values("100 and -100 among the inputs", (100.0, -100.0), magnitude=100),
    "1e4": Values("inputs all 1e4", (1e4,), magnitude=1e4, mixed=False),
    "-1e4": Values("inputs all -1e4", (-1e4,), magnitude=1e4, mixed=False),
    "+-1e4": Values("1e4 and -1e4 among the inputs", (1e4, -1e4), magnitude=1e4),
    "rows": Values(
        "every second row all 1e4 or -1e4",
        (1e4, -1e4),
        "what is taken over all rows, such as the largest number, is right for one of them",
        magnitude=1e4,
        rows=True,
    ),
    "near": Values(
        "inputs near 1000 that differ little",
        (999.1, 1000.3, 1001.7, 998.6, 1000.9, 999.8, 1002.2),
        "a difference of large sums, such as mean(x * x) - mean(x)^2, loses its digits: subtract the mean first",
        "digits",
        magnitude=5,
        mixed=False,
    ),
    "extremes": Values("the largest and the smallest normal numbers among the inputs", _extremes, magnitude=1e4),
    "roots": Values("numbers among the inputs whose products overflow when squared", _fourth_roots, magnitude=1e4),
    "inf": Values("inf among the inputs", (math.inf, *[1.0] * 6), _AT_INFINITY, "inf and nan"),
    "-inf": Values("-inf among the inputs", (-math.inf, *[1.0] * 6), _AT_INFINITY, "inf and nan"),
    "-infs": Values(
        "inputs all -inf",
        (-math.inf,),
        "the reference has an answer where all is -inf, as in a fully masked row: -inf - -inf is NaN",
        "inf and nan",
        mixed=False,
    ),
    "nan": Values(
        "nan among the inputs",
        (math.nan, *[1.0] * 6),
        "NaN is to show in the result as it does in the reference's: a comparison with NaN is false, and std::max drops it",
        "inf and nan",
    ),
    "no": Values("masks all False", (0.0,), "nothing is masked there", "masks", (torch.bool,), mixed=False),
    "yes": Values("masks all True", (1.0,), "everything is masked there", "masks", (torch.bool,), mixed=False),
    "255": Values(
        "bytes all 255",
        (255,),
        "a sum or product of bytes overflows: take them as int or float first",
        "digits",
        (torch.uint8,),
        mixed=False,
    ),
    "integers": Values(
        "large whole numbers among the inputs",
        _large_integers,
        "what goes through float, double or int loses digits",
        "digits",
        INTEGERS,
    ),
    "wide": Values(
        "whole numbers beyond 2^31 and 2^53 among the inputs",
        (2**53 + 1, 2**31 + 5, -(2**53) - 3, -(2**31) - 7),
        "what goes through int, float or double loses digits: they are int64_t",
        "digits",
        (torch.int64,),
    ),
}
#: Of one long axis: a reduction that leaves out the end is right wherever the extreme is not there.
LAST = {
    "last": Values("the largest numbers in the last row and column", (1.5,), _AT_THE_END, "long", last=True),
    "-last": Values("the least numbers in the last row and column", (-1.5,), _AT_THE_END, "long", last=True),
}
VALUES |= LAST
#: For masks, for integers, and for 64 bits that hold data, one input at a time: see `wide_integers`.
MASKS, WHOLE, WIDE = ("no", "yes"), "integers", "wide"
NOT_FINITE, ZEROS = ("inf", "-inf", "-infs", "nan"), ("0", "0s")
#: Here the reference may lose digits, too: how many, shows where its inputs change by a few roundings.
LOSE_DIGITS = ("tiny", "near")
#: Tried only where an op says that its reference has an answer to them (`corners`).
OF_CORNERS = (*NOT_FINITE, *ZEROS, "halves", WHOLE, *MASKS)
#: Only finiteness is compared here; of gradients at 0, too, as relu, abs and max have several.
FINITE_IS_RIGHT = ("extremes", "roots")


def takes(argument: Argument, values: str, dtype: torch.dtype) -> bool:
    """Tell whether numbers are put into an input, in a case of this dtype: integers of a dtype of their own may be indices."""
    if not (argument.is_tensor or argument.is_list):
        return False
    own = getattr(torch, argument.dtype) if argument.dtype else dtype
    return own in VALUES[values].dtypes and not (argument.dtype and values == WHOLE)
