"""Compares one tensor with what it should be, and says in words how it differs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

#: Unit roundoff of the arithmetic that may hide inside a wider dtype.
_FLOAT32_ROUNDING = (1e-10, 1e-5)
_HALF_ROUNDING = (2e-5, 5e-3)
#: So many are no chance, where they are as far from each other.
_EVERY = 3
#: So many numbers show what others are.
_SHOWN = 4
_INFINITE = "right are the same infinity, and NaN where the reference has NaN"


@dataclass(frozen=True)
class Tolerance:
    """An element is right when it is within `rtol * |want| + atol * (largest |want|, at least 1)`."""

    rtol: float
    atol: float

    def limit(self, want: Tensor) -> Tensor:
        size = want.abs()
        finite = size[size.isfinite()]
        scale = max(1.0, finite.max().item()) if finite.numel() else 1.0
        return size * self.rtol + self.atol * scale


@dataclass(frozen=True, eq=False)
class Mismatch:
    """One quantity that is not what it should be.

    Attributes:
        quantity: `new_h`, `d_weights`, `forward`, `backward`.
        sentence: what is wrong; empty for values that differ, whose sentence is made on demand by `text`.
        cell: the same in a word or two for a table.
        got, want: the tensors, when they could be compared element by element (want in double precision).
        wrong: which elements differ.
        parts: names of equal parts of the first axis.
        whole: what integers should be, as double precision has not all of them.
    """

    quantity: str
    sentence: str
    cell: str
    got: Tensor | None = None
    want: Tensor | None = None
    wrong: Tensor | None = None
    parts: tuple[str, ...] = ()
    whole: Tensor | None = None

    @property
    def text(self) -> str:
        """`d_weights (15, 22) float64 differs in 110 of 330 elements, all in rows 5:10 = output gate; worst [7, 3]: ...`."""
        if self.got is None or self.want is None or self.wrong is None:
            return self.sentence
        total, count = self.wrong.numel(), int(self.wrong.sum())
        every = f"all {total} elements" if total > 1 else "its one element"
        amount = f"{count} of {total} elements" if count < total else every
        places = [where for where in (self._rows(), self._columns()) if where]
        where = f", {'all ' * (count > 1)}in {', '.join(places)}" if places else ""
        index = self.worst
        should = self.want if self.whole is None else self.whole
        has, told = self.got[index].item(), should[index].item()
        # What the result's dtype makes of it, unless that is the very number that is told to be wrong: of -1.7e-54 a float has 0.
        near = should[index].to(self.got.dtype).item() or 0
        got, want = _two_numbers(has, told if near == has else near)
        spot = f" {list(index)}" if index else ""
        return f"{self.quantity} {shape_text(self.got)} differs in {amount}{where}; worst{spot}: got {got}, want {want}"

    @property
    def worst(self) -> tuple[int, ...]:
        """Index of the element that is furthest off, NaN and infinity first."""
        assert self.got is not None and self.want is not None and self.wrong is not None
        error = (self.got.to(self.want.dtype) - self.want).abs().nan_to_num(nan=math.inf).where(self.wrong, -1.0)
        flat = int(error.flatten().argmax())
        return tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), error.shape)) if error.dim() else ()

    def _axis(self, axis: int) -> list[int]:
        assert self.wrong is not None
        others = tuple(d for d in range(self.wrong.dim()) if d != axis)
        return torch.nonzero(self.wrong.any(dim=others) if others else self.wrong).flatten().tolist()

    def _rows(self) -> str:
        assert self.wrong is not None
        if not self.wrong.dim():
            return ""
        rows, length = self._axis(0), self.wrong.shape[0]
        noun = "row" if self.wrong.dim() > 1 else "element"
        if len(rows) == length or (not self.parts and noun == "element"):
            return ""
        names, whole = _part_names(rows, length, self.parts)
        span = _span(rows)
        if span:
            part = (f" = {names}" if whole else f" (in the {names})") if names else ""
            return f"{noun}{'s' * (len(rows) > 1)} {span}{part}"
        return f"the {names}" if names else ""

    def _columns(self) -> str:
        assert self.wrong is not None
        if self.wrong.dim() < 2:
            return ""
        columns, length = self._axis(-1 + self.wrong.dim()), self.wrong.shape[-1]
        span = _span(columns)
        if len(columns) == length or not span:
            return ""
        is_last = columns[-1] == length - 1 and span.count(":") < 2
        tail = f" (the last{f' {len(columns)}' * (len(columns) > 1)} of {length})" if is_last else ""
        return f"column{'s' * (len(columns) > 1)} {span}{tail}"


def shape_text(tensor: Tensor) -> str:
    """`(15, 22) float64`."""
    return f"{tuple(tensor.shape)} {dtype_name(tensor.dtype)}"


def dtype_name(dtype: torch.dtype) -> str:
    """`float64` for `torch.float64`."""
    return str(dtype).removeprefix("torch.")


def compare(
    quantity: str,
    got: Any,
    want: Tensor,
    dtype: torch.dtype,
    tolerance: Tolerance,
    parts: Sequence[str] = (),
    excused: Callable[[Tensor], Tensor] | None = None,
) -> Mismatch | None:
    """Compare one output or gradient with the reference: where that is infinite, the same infinity is right, and nothing else.

    Args:
        quantity: its name.
        got: what the kernel gave; anything.
        want: what the reference gave, in double precision.
        dtype: what dtype `got` should have.
        tolerance: how far an element may be off.
        parts: names of equal parts of the first axis.
        excused: asked, where elements differ, which of them are right all the same.

    Returns:
        None when it is right.
    """
    if got is None:
        return Mismatch(quantity, f"{quantity} is missing (None or undefined), want {tuple(want.shape)}", "missing")
    if not isinstance(got, Tensor):
        return Mismatch(quantity, f"{quantity} is a {type(got).__name__}, want a Tensor", "no tensor")
    if tuple(got.shape) != tuple(want.shape):
        return Mismatch(quantity, f"{quantity} has shape {tuple(got.shape)}, want {tuple(want.shape)}", "shape")
    if got.dtype != dtype:
        return Mismatch(quantity, f"{quantity} is {dtype_name(got.dtype)}, want {dtype_name(dtype)}", "dtype")
    got = got.detach().cpu()
    if not want.is_floating_point() and not want.is_complex():  # counts, indices and flags are not rounded
        wrong = got.to(want.dtype) != want
        if excused is not None and wrong.any():
            wrong &= ~excused(got)
        # Told as numbers that have a mean and a difference.
        found = Mismatch(
            quantity, "", f"{int(wrong.sum())}/{wrong.numel()}", got.clone(), want.double(), wrong, tuple(parts), want
        )
        return found if wrong.any() else None
    wide = got.to(want.dtype)
    # Nearly always all are near by the least limit that there is, which takes one call to see.
    if torch.allclose(wide, want, tolerance.rtol, tolerance.atol, equal_nan=True):
        return None
    near = (wide - want).abs() <= tolerance.limit(want)
    near &= want.isfinite()  # of infinity, the limit would be infinite too
    if near.all():
        return None
    wrong = ~(near | (wide == want) | (wide.isnan() & want.isnan()))
    if excused is not None and wrong.any():
        wrong &= ~excused(wide)
    if not wrong.any():
        return None
    return Mismatch(quantity, "", f"{int(wrong.sum())}/{wrong.numel()}", got.clone(), want, wrong, tuple(parts))


def hints(mismatch: Mismatch, peers: Mapping[str, Tensor], others: Mapping[str, Mismatch] | None = None) -> list[str]:
    """Guess the cause from the pattern of the error.

    Args:
        mismatch: what differs.
        peers: the reference's values of the other outputs and gradients, by name.
        others: what differs of these.
    """
    got, want, wrong = mismatch.got, mismatch.want, mismatch.wrong
    if got is None or want is None or wrong is None:
        return []
    wide = got.to(want.dtype)
    bad, good = wide[wrong], want[wrong]
    if not good.isfinite().all():
        return [f"{_so_many(~good.isfinite())} infinite or NaN in the reference: {_INFINITE}"]
    if not bad.isfinite().all():
        return [
            f"{_so_many(~bad.isfinite())} NaN or infinite: an overflow, a division by zero, memory that was never written, or a read "
            "outside a tensor (the check fills both with NaN)"
        ]
    rounding = _rounding(got.dtype, bad, good, want)
    if rounding:
        return [rounding]
    found = _pattern(mismatch, wide, bad, good)
    if found:
        return [found]
    tolerance = Tolerance(1e-4, 1e-5) if got.dtype in (torch.float32, torch.complex64) else Tolerance(1e-9, 1e-10)
    for name, other in peers.items():
        alike = other.shape == wide.shape and other.is_complex() == wide.is_complex()
        if name != mismatch.quantity and alike and _close(wide, other.to(wide.dtype), tolerance):
            theirs = (others or {}).get(name)
            there = theirs.got if theirs is not None else None  # one that is right was not swapped with anything
            swapped = there is not None and there.shape == want.shape and _close(there.to(want.dtype), want, tolerance)
            return [f"it equals what {name} should be{': the two are swapped' * swapped}"]
    return []


def _so_many(odd: Tensor) -> str:
    count = int(odd.sum())
    return f"{count} of them {'is' if count == 1 else 'are'}"


def _rounding(dtype: torch.dtype, bad: Tensor, good: Tensor, want: Tensor) -> str:
    """Tell the error of a narrower dtype from a real one, by its size."""
    error = ((bad - good).abs() / torch.maximum(good.abs(), want.abs().mean())).max().item()
    if dtype in (torch.float64, torch.complex128) and _FLOAT32_ROUNDING[0] < error < _FLOAT32_ROUNDING[1]:
        return f"looks like float32 arithmetic: error {error:.0e} relative in float64 (a float variable or literal inside double?)"
    if dtype == torch.float32 and _HALF_ROUNDING[0] < error < _HALF_ROUNDING[1]:
        return f"looks like half precision or a rough approximation: error {error:.0e} relative in float32"
    return ""


def _pattern(mismatch: Mismatch, wide: Tensor, bad: Tensor, good: Tensor) -> str:
    tolerance = Tolerance(1e-4, 1e-6)
    if not bad.any():
        return "it is zero wherever it is wrong" if bad.numel() < wide.numel() else "it is zero everywhere"
    if _close(bad, -good, tolerance):
        return "wrong sign: got is -want"
    swapped = _swapped_parts(wide, mismatch)
    if swapped:
        return swapped
    want = mismatch.want
    assert want is not None
    if want.dim() == 2 and min(want.shape) > 1 and _close(wide.flatten(), want.t().flatten(), tolerance):
        return "it is transposed"
    if bad.numel() > 2 and good.abs().min() > 0:
        factor, step = (bad / good).mean(), (bad - good).mean()
        if _close(bad / good, factor.expand_as(good), tolerance) and not math.isclose(
            abs(factor.item()), 1, rel_tol=1e-3
        ):
            return f"got is {_factor(factor.item())} times want {_extent(wide, want * factor)}"
        if mismatch.wrong is not None and (lines := _by_lines(wide / want, mismatch.wrong)):
            return lines
        if _close(bad - good, step.expand_as(good), tolerance) and step.abs() > 1e-4:
            return f"got is want {step.item():+.4g} {_extent(wide, want + step)}"
    # What differs by little is no other value in its place.
    ordered = bad.numel() > 2 and not wide.is_complex() and not _close(bad, good, tolerance)
    if ordered and _close(bad.sort().values, good.sort().values, tolerance):
        return "the right values stand in the wrong places"
    return ""


def _by_lines(ratio: Tensor, wrong: Tensor) -> str:
    """Tell whether got is so many times want in each row or column, and another number of times in the next."""
    for axis, noun in enumerate(("row", "column")[: ratio.dim() if ratio.dim() == 2 and not ratio.is_complex() else 0]):
        pairs = zip(ratio.unbind(axis), wrong.unbind(axis), strict=True)
        lines = [one[bad] for one, bad in pairs if bad.any()]
        alike = (len(one) > 1 and _close(one, one[0].expand_as(one), Tolerance(1e-4, 0)) for one in lines)
        others = any(not math.isclose(one[0].item(), 1, rel_tol=1e-3) for one in lines)
        if len(lines) > 1 and others and all(alike):
            factors = ", ".join(f"{one[0].item():.4g}" for one in lines[:_SHOWN])
            return f"got is another number of times want in each {noun}: {factors}{', ...' * (len(lines) > _SHOWN)}"
    return ""


def _extent(wide: Tensor, pattern: Tensor) -> str:
    """Say whether a pattern of what is wrong holds for all of a tensor, or the rest is right."""
    return "throughout" if _close(wide, pattern, Tolerance(1e-4, 1e-6)) else "wherever it is wrong"


def _swapped_parts(wide: Tensor, mismatch: Mismatch) -> str:
    parts, want = mismatch.parts, mismatch.want
    assert want is not None
    if len(parts) < 2 or not wide.dim() or wide.shape[0] % len(parts) or not wide.numel():
        return ""
    got_parts, want_parts = wide.chunk(len(parts)), want.chunk(len(parts))
    tolerance = Tolerance(1e-4, 1e-6)
    for i in range(len(parts)):
        for j in range(i + 1, len(parts)):
            if _close(got_parts[i], want_parts[j], tolerance) and _close(got_parts[j], want_parts[i], tolerance):
                return f"{parts[i]} and {parts[j]} are swapped"
    return ""


def _factor(value: Any) -> str:
    """Print a number, a complex one without an imaginary part that is mere rounding."""
    if isinstance(value, complex) and abs(value.imag) <= 1e-6 * abs(value):
        value = value.real
    return f"{value:.4g}"


def _close(one: Tensor, other: Tensor, tolerance: Tolerance) -> bool:
    scale = other.abs().max() if other.numel() else 0.0
    return bool(((one - other).abs() <= tolerance.rtol * other.abs() + tolerance.atol * scale).all())


def _span(indices: list[int]) -> str:
    """`5:10` for neighbours, `1:8:2` for every second one, `7` for one, nothing for scattered indices."""
    if len(indices) == 1:
        return str(indices[0])
    first, last, step = indices[0], indices[-1], indices[1] - indices[0]
    if indices != [*range(first, last + 1, step)] or (step > 1 and len(indices) < _EVERY):
        return ""
    return f"{first}:{last + 1}{f':{step}' * (step > 1)}"


def _part_names(rows: list[int], length: int, parts: tuple[str, ...]) -> tuple[str, bool]:
    """Name the parts that the rows lie in, and tell whether they are the whole of them; no name where that tells nothing."""
    if not parts or length % len(parts):
        return "", False
    step = length // len(parts)
    touched = sorted({row // step for row in rows})
    if len(touched) == len(parts):
        return "", False
    return " and ".join(parts[part] for part in touched), len(rows) == step * len(touched)


def _two_numbers(got: Any, want: Any) -> tuple[str, str]:
    """Print both with as few digits as show the difference, three at least."""
    if isinstance(got, complex) or isinstance(want, complex):
        return f"{got:.6g}", f"{want:.6g}"
    for digits in range(3, 18):
        texts = f"{got:.{digits}g}", f"{want:.{digits}g}"
        if texts[0] != texts[1]:
            return texts
    return str(got), str(want)  # integers that double precision takes for one
