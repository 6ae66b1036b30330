"""What a kernel should give in a case: the reference's results in double precision, and how exact these are."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ...model.registry import Op
from ...workers import steps
from ..function import differentiable, each
from .case import Case
from .drawing import SECRET, SEED, make_grads, make_inputs, seeded
from .reference import leaves_of, quantities, results_of, run_reference, widen
from .values import FINITE_GRADIENT_IS_RIGHT, FINITE_IS_RIGHT, LOSE_DIGITS, NOT_FINITE

#: The most that is excused where a gradient cancels in double precision: float32 arithmetic inside of it is further off.
_MOST_LEFT, _SHAKES = 1e-9, 8


#: How far inputs are moved to tell equal ones apart, and by how much a gradient changes that is another one then.
_TIE, _JUMP, _LEAST_JUMP = 1e-9, 1e-3, 1e-6
#: Of an integer result, this share may change with such a change of the inputs.
_FEW = 0.02


@dataclass(frozen=True, eq=False)
class Expected:
    """Inputs of one case and what the reference makes of them; all tensors contiguous and on the CPU."""

    op: Op
    inputs: tuple[Any, ...]
    grads: tuple[Tensor, ...]
    used: tuple[bool, ...]
    outputs: tuple[Tensor, ...]
    gradients: tuple[Tensor | None, ...]
    dtypes: tuple[torch.dtype, ...]
    values: str = ""
    overflows: bool = False
    senseless: bool = False
    random: bool = False
    widened: bool = True
    loses_digits: bool = False
    seconds: float = 0.0

    @cached_property
    def wide(self) -> Mapping[str, Tensor | None]:
        """All of it by quantity."""
        return dict(zip(quantities(self.op), (*self.outputs, *self.gradients), strict=True))

    @cached_property
    def narrow(self) -> Mapping[str, Tensor]:
        """What the reference gives when it computes in the case's own dtype, in the dtype of `wide`."""
        outputs, gradients = run_reference(self.op, self.inputs, self.grads, self.used)
        found = zip(self.wide.items(), (*outputs, *gradients), strict=True)
        return {name: one.to(wide.dtype) for (name, wide), one in found if wide is not None and one is not None}

    @cached_property
    def shaken(self) -> Sequence[Mapping[str, Tensor | None]]:
        """What the reference gives in double precision for inputs that are each off by a few roundings, time and again."""
        found = []
        for turn in range(_SHAKES):
            found.append(self._for_others(partial(_shaken, turn=turn)))
        return found

    def _for_others(self, change: Callable[[Tensor], Tensor]) -> Mapping[str, Tensor | None]:
        """What the reference gives for inputs that are changed in double precision."""

        def changed(value: Tensor) -> Tensor:
            return change(widen(value)).to(widen(value).dtype if self.widened else value.dtype)

        inputs = [each(value, changed) for value in self.inputs]
        grads = [widen(grad) for grad in self.grads] if self.widened else self.grads
        outputs, gradients = run_reference(self.op, inputs, grads, self.used)
        return dict(zip(quantities(self.op), (*outputs, *gradients), strict=True))

    @cached_property
    def apart(self) -> Sequence[Mapping[str, Tensor | None]]:
        """What the reference gives in double precision for inputs that are each off by a little, and no longer equal."""
        generator = torch.Generator().manual_seed(SEED)
        step = max([4 * torch.finfo(value.dtype).eps for value in self.inputs if differentiable(value)] + [_TIE])

        def moved(value: Tensor) -> Tensor:
            if not differentiable(value):
                return value
            return value + step * torch.randn(
                value.shape, dtype=torch.float64, generator=generator
            ) * value.abs().clamp(min=1)

        return [self._for_others(moved) for _ in range(_SHAKES)]

    def jumps(self, name: str) -> Tensor:
        """Say which elements of a gradient are others at the least change of the inputs: the largest of equal ones has several."""
        want = self.wide[name]
        assert want is not None
        limit = max(_JUMP * want.abs().max().item(), _LEAST_JUMP) if want.numel() else 0.0
        found = torch.zeros_like(want, dtype=torch.bool)
        for one in self.apart:
            moved = one[name]
            assert moved is not None
            found |= (moved - want).abs() > limit
        return found

    def _rounded(self, name: str, got: Tensor) -> Tensor:
        """Say which integers are right as the reference's own are in the case's dtype, or as a rounded number lies between two."""
        want, others = self.wide[name], [one[name] for one in self.apart]
        assert want is not None
        found, open_ = got == self.narrow[name], torch.zeros_like(want, dtype=torch.bool)
        for other in others:
            assert other is not None
            open_ |= other != want
        if open_.sum() <= max(1, _FEW * open_.numel()):  # it is rare, or the least change changes all
            for other in others:
                found |= open_ & (got == other)
        elif self.values and not self.op.corners:  # the indices of equal ones stand in any order
            found |= open_
        return found

    def _in_another_order(self, name: str, got: Tensor) -> bool:
        """Tell whether a result holds what it should elsewhere, and the reference has it elsewhere at the least change, too.

        Which ones of equal inputs are the largest few is anybody's choice.
        """
        want = self.wide[name]
        assert want is not None
        one, other = (value.to(want.dtype).flatten().sort().values for value in (got, want))
        near = partial(torch.allclose, rtol=_JUMP, atol=_LEAST_JUMP, equal_nan=True)
        if not near(one, other):
            return False
        moved = [found for run in self.apart if (found := run[name]) is not None]
        return not all(near(value, want) for value in moved)

    def most_error(self, name: str) -> float:
        """The most that `own_error` can be, without the many runs that it takes."""
        wide, narrow = self.wide[name], self.narrow.get(name)
        if wide is None or narrow is None or not differentiable(wide):
            return 0.0
        left = math.inf if self.loses_digits else _MOST_LEFT if name.startswith("d_") else 0.0
        return max(_furthest(narrow, wide), left)

    def own_error(self, name: str) -> float:
        """How far the reference itself is off: in the case's own dtype; and in a gradient that terms of both signs cancel to.

        Where they cancel to nothing, any two orders of the same sum differ by what is left of their rounding. Of numbers that are
        to show which kernel loses digits, the reference may lose as many.
        """
        wide, narrow = self.wide[name], self.narrow.get(name)
        if wide is None or narrow is None or not differentiable(wide):
            return 0.0
        loses = self.loses_digits
        left = [_furthest(other[name], wide) for other in self.shaken] if loses or name.startswith("d_") else []
        most = math.inf if loses else _MOST_LEFT
        return max(_furthest(narrow, wide), min(max(left, default=0.0), most))

    def to_be_told(self, name: str) -> Tensor:
        """What a quantity should be, in the words of the case's own dtype: infinity where that is what float32 has."""
        want, narrow = self.wide[name], self.narrow.get(name)
        assert want is not None
        return want if narrow is None else torch.where(narrow.isfinite(), want, narrow)

    def excused(self, name: str, got: Tensor) -> Tensor:
        """Say which values of a quantity that differ are right all the same, since there is no answer to compare them with.

        For the largest numbers there is none where anything on the reference's own way is not finite, and for numbers that nobody
        has said it takes (`corners`) an integer has none where anything there is NaN: the index of the largest of some.

        Where the reference in double precision is finite, and in the case's own dtype is not, the kernel may be as it is
        there. Where it is NaN for inputs that are finite, it overflows on the way, and a kernel may be better. Gradients of
        and beside inf and NaN depend on the order of operations; and so do the digits of a sum of the largest numbers: a kernel
        is wrong there only if they are not finite. At 0 the same holds for gradients: |x| has several. Where many inputs are
        equal, the gradient of their largest is that of any of these, and so is the order of what is chosen among them.
        """
        want = self.wide[name]
        assert want is not None
        mask = torch.full_like(got, self.overflows, dtype=torch.bool)
        if not differentiable(want):
            return mask | self.senseless | self._rounded(name, got)
        if name.startswith("d_") and self.values:
            mask |= torch.ones_like(mask) if self.values in NOT_FINITE else ~want.isfinite()
            mask |= self.jumps(name) & got.isfinite()
        elif self.values and (self.values == "-infs" or self.values not in NOT_FINITE):
            mask |= want.isnan()
        if self.values in (*FINITE_IS_RIGHT, *FINITE_GRADIENT_IS_RIGHT * name.startswith("d_")):
            mask |= want.isfinite() & got.isfinite()
        if self.values and not want.is_complex() and self._in_another_order(name, got):
            mask |= True
        narrow = self.narrow.get(name)
        if narrow is not None:
            same = (got == narrow) | (narrow.isnan() & ~got.isfinite())
            mask |= want.isfinite() & ~narrow.isfinite() & same
        return mask


def _shaken(value: Tensor, turn: int) -> Tensor:
    """Change each real number by a few roundings: how many follows from its bits, so that equal ones stay equal, and 0 is 0."""
    if not differentiable(value):
        return value
    parts = torch.view_as_real(value) if value.is_complex() else value
    mixed = (parts.contiguous().view(torch.int64) + turn) * 6364136223846793005
    shaken = parts * (1 + (mixed >> 60).double() * torch.finfo(torch.float64).eps)
    return torch.view_as_complex(shaken) if value.is_complex() else shaken


def _furthest(one: Tensor | None, other: Tensor) -> float:
    """Return the largest finite difference."""
    if one is None or one.shape != other.shape:
        return 0.0
    error = (one - other).abs()
    error = error[error.isfinite()]
    return error.max().item() if error.numel() else 0.0


# What the reference gives is the same for every kernel of an op: remembered, the oldest forgotten first.
_expected: dict[Any, Expected] = {}
_REMEMBERED = 400


def expect(op: Op, case: Case) -> Expected:
    """Compute what a case should give, in double precision from the very inputs of the case; remembered per process.

    Raises:
        Exception: whatever the reference raises for this size.
    """
    key = (
        op.name,
        op.schema,
        op.differentiable,
        op.reference,
        op.inputs,
        case.size,
        case.dtype,
        case.grads == "expanded",
        case.used,
        case.gain,
        case.values,
        case.only if case.values else "",
        case.numbers,
        case.without,
        case.members,
        case.view,
        case.given,
        SECRET.get(),
    )
    known = _expected.get(key)
    if known is None:
        while len(_expected) >= _REMEMBERED:
            del _expected[next(iter(_expected))]
        with steps.step("reference", f"{op.name}/python", lambda: (case.describe(op), ())):
            began = time.thread_time()
            known = _expect(op, case)
            known = _expected[key] = replace(known, seconds=time.thread_time() - began)
    return known


def _expect(op: Op, case: Case) -> Expected:
    inputs = make_inputs(op, case)
    with torch.no_grad(), seeded() as draws:
        leaves = leaves_of(op, inputs)
        results = results_of(op, op.reference(*leaves), leaves)
        dtypes = tuple(result.dtype for result in results)
        random = draws()
    grads = make_grads(op, case, results, dtypes)
    # Double precision would draw other random numbers.
    wide = inputs if random else tuple(widen(value) for value in inputs)
    used = tuple(not case.used or result.name in case.used for result in op.signature.results)
    widened = not random
    try:
        outputs, gradients = run_reference(op, wide, grads if random else [widen(grad) for grad in grads], used)
    except Exception:
        # It has just taken these inputs: what it makes by itself, as torch.zeros(n), is of one dtype.
        widened = False
        outputs, gradients = run_reference(op, inputs, grads, used)
    if not widened:
        outputs, gradients = tuple(map(widen, outputs)), tuple(map(widen, gradients))
    overflows = senseless = False
    is_whole = any(not differentiable(output) for output in outputs)
    if case.values in FINITE_IS_RIGHT or (case.values and is_whole and not op.corners):
        with _Finite() as on_the_way:
            run_reference(op, inputs, grads, used)
        overflows = case.values in FINITE_IS_RIGHT and not on_the_way.finite
        senseless = not op.corners and on_the_way.nan
    return Expected(
        op,
        inputs,
        grads,
        used,
        outputs,
        gradients,
        dtypes,
        case.values,
        overflows,
        senseless,
        random,
        widened,
        loses_digits=case.values in LOSE_DIGITS or case.is_large,
    )


def as_finite(found: Expected, known: Expected) -> bool:
    """Tell whether what a reference gives is finite where all that it gives in a known case is."""
    pairs = [(got, known.wide[name]) for name, got in found.wide.items() if got is not None]
    return all(want is not None and (not want.isfinite().all() or bool(got.isfinite().all())) for got, want in pairs)


class _Finite(TorchDispatchMode):
    """Sees whether all that is computed is finite, and whether something is NaN."""

    finite, nan = True, False

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        if "empty" not in str(function):  # which is filled with NaN, and written later
            for value in found if isinstance(found, tuple | list) else (found,):
                self.finite = self.finite and not (differentiable(value) and not value.isfinite().all())
                self.nan = self.nan or bool(differentiable(value) and value.isnan().any())
        return found
