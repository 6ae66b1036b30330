"""What a kernel should give in a case: the reference's results in double precision, and how exact these are."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ...model.registry import Argument, Op
from ...workers import steps
from ..function import as_tuple, differentiable, each, gradients_of
from .case import Case
from .drawing import SECRET, SEED, make_grads, make_inputs, seeded
from .layouts import EXPANDED
from .values import FINITE_IS_RIGHT, LOSE_DIGITS, VALUES

_WIDE = {
    **dict.fromkeys((torch.float32, torch.float16, torch.bfloat16), torch.float64),
    torch.complex64: torch.complex128,
}
#: The most that is excused where what cancels or grows is off in double precision: float32 arithmetic inside of it is further off.
_MOST_LEFT = 1e-9
#: How often inputs are changed, and how far they are moved to tell equal ones apart.
_SHAKES, _TIE = 8, 1e-9
#: So many seconds of the processor a reference may take for one case: a loop in Python may grow with the square of the elements.
REFERENCE_SECONDS = 10.0


def quantities(op: Op) -> list[str]:
    """Names of all results and gradients: `new_h`, `new_cell`, `d_input`, ..."""
    return [*(result.name for result in op.signature.results), *(f"d_{tensor.name}" for tensor in op.gradients)]


def tensor_inputs(op: Op, inputs: Sequence[Any]) -> list[Any]:
    """Pick the tensors that have a gradient (or None for an optional one left out) from a set of inputs."""
    return [value for argument, value in zip(op.signature.inputs, inputs, strict=True) if argument in op.gradients]


def leaves_of(op: Op, inputs: Sequence[Any]) -> list[Any]:
    """Copy what the op changes, and have those that have a gradient ask for it."""

    def leaf(argument: Argument, value: Any) -> Any:
        if argument.alias:
            return each(value, torch.clone)
        return value.detach().requires_grad_() if argument in op.gradients and differentiable(value) else value

    return [leaf(argument, value) for argument, value in zip(op.signature.inputs, inputs, strict=True)]


def results_of(op: Op, returned: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return all results of a call: what it returned, numbers as tensors, then the inputs that it changed, a list as one tensor."""
    pairs = zip(op.signature.inputs, inputs, strict=True)
    changed = [_as_one(value) if argument.is_list else value for argument, value in pairs if argument.alias]
    outputs = as_tuple(returned) if op.signature.outputs else ()
    plain = {output.name for output in op.signature.outputs if not output.is_tensor}
    if plain:
        named = zip_longest((output.name for output in op.signature.outputs), outputs)
        outputs = tuple(_as_tensor(value) if name in plain else value for name, value in named)
    return (*outputs, *changed)


def _as_one(tensors: Sequence[Tensor]) -> Tensor:
    """Make one tensor of a list: where its members have one shape, the first index says which of them it is."""
    if len({one.shape for one in tensors}) == 1:
        return torch.stack([*tensors])
    return torch.cat([one.flatten() for one in tensors]) if tensors else torch.empty(0)


def _as_tensor(number: Any) -> Any:
    """Make a tensor of a number, to be compared; anything else stays as it is."""
    dtype = {int: torch.int64, float: torch.float64, bool: torch.bool}.get(type(number))
    return number if dtype is None else torch.tensor(number, dtype=dtype)


def run_reference(
    op: Op, inputs: Sequence[Any], grads: Sequence[Tensor], used: Sequence[bool]
) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """Run the reference forward and backward; a gradient is None for an input that cannot have one."""
    leaves = leaves_of(op, inputs)
    with seeded():
        outputs = results_of(op, op.reference(*leaves), leaves)
    wanted = [leaf for leaf in tensor_inputs(op, leaves) if differentiable(leaf)]
    found = gradients_of(outputs, [grad if use else None for grad, use in zip(grads, used, strict=True)], wanted)
    filled = iter([torch.zeros_like(w) if g is None else g for w, g in zip(wanted, found, strict=True)])
    gradients = tuple(next(filled) if differentiable(leaf) else None for leaf in tensor_inputs(op, leaves))
    return tuple(output.detach() for output in outputs), gradients


def widen(value: Any) -> Any:
    """Return a floating or complex tensor in double precision, anything else as it is."""
    return each(value, lambda one: one.to(_WIDE.get(one.dtype, one.dtype)))


@dataclass(frozen=True, eq=False)
class Expected:
    """Inputs of one case and what the reference makes of them; all tensors contiguous and on the CPU.

    Attributes:
        used: for each result, whether its gradient is among what comes in.
        dtypes: of the results, as the reference has them in the case's own dtype.
        overflows: whether the reference itself overflows on its way, so that there is nothing to compare with.
        senseless: whether something is NaN on the reference's way, of an op that nobody says has an answer there.
        random: whether the reference draws random numbers.
        widened: whether it computed in double precision.
        seconds: that it took.
    """

    op: Op
    case: Case
    inputs: tuple[Any, ...]
    grads: tuple[Tensor, ...]
    used: tuple[bool, ...]
    outputs: tuple[Tensor, ...]
    gradients: tuple[Tensor | None, ...]
    dtypes: tuple[torch.dtype, ...]
    overflows: bool
    senseless: bool
    random: bool
    widened: bool
    seconds: float = 0.0

    @cached_property
    def wide(self) -> Mapping[str, Tensor]:
        """Each result and gradient, in double precision; none for an input that cannot have a gradient."""
        return self._named(self.outputs, self.gradients)

    @cached_property
    def narrow(self) -> Mapping[str, Tensor]:
        """What the reference gives when it computes in the case's own dtype, in the dtype of `wide`."""
        found = self._named(*run_reference(self.op, self.inputs, self.grads, self.used))
        return {name: one.to(self.wide[name].dtype) for name, one in found.items()}

    @cached_property
    def shaken(self) -> Sequence[Mapping[str, Tensor]]:
        """What the reference gives in double precision for inputs that are each off by a few roundings, time and again."""
        others = (self._for_others(partial(_shaken, salt=salt)) for salt in range(1, _SHAKES))
        return [self.first_shaken, *others]

    @cached_property
    def first_shaken(self) -> Mapping[str, Tensor]:
        """The first of those that are `shaken`, which often says enough."""
        return self._for_others(partial(_shaken, salt=0))

    @cached_property
    def apart(self) -> Sequence[Mapping[str, Tensor]]:
        """What the reference gives in double precision for inputs that are each off by a little, and no longer equal."""
        generator = torch.Generator().manual_seed(SEED)
        step = max([4 * torch.finfo(value.dtype).eps for value in self.inputs if differentiable(value)] + [_TIE])

        def moved(value: Tensor) -> Tensor:
            if not differentiable(value):
                return value
            noise = torch.randn(value.shape, dtype=torch.float64, generator=generator)
            return value + step * noise * value.abs().clamp(min=1)

        return [self._for_others(moved) for _ in range(_SHAKES)]

    def _for_others(self, change: Callable[[Tensor], Tensor]) -> Mapping[str, Tensor]:
        """Return what the reference gives for inputs that are changed in double precision."""

        def changed(value: Tensor) -> Tensor:
            return change(widen(value)).to(widen(value).dtype if self.widened else value.dtype)

        inputs = [each(value, changed) for value in self.inputs]
        grads = [widen(grad) for grad in self.grads] if self.widened else self.grads
        return self._named(*run_reference(self.op, inputs, grads, self.used))

    def _named(self, outputs: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> dict[str, Tensor]:
        named = zip(quantities(self.op), (*outputs, *gradients), strict=True)
        return {name: one for name, one in named if one is not None}

    def own_error(self, name: str, bound: bool = False) -> float:
        """How far the reference itself is off: in the case's own dtype; and in what terms of both signs cancel to, or a loop enlarges.

        Where they cancel to nothing, any two orders of the same sum differ by what is left of their rounding. Of numbers that are
        to show which kernel loses digits, the reference may lose as many. The upper `bound` of it takes far fewer runs.
        """
        wide = self.wide[name]
        if not differentiable(wide):
            return 0.0
        loses_digits = self.case.values in LOSE_DIGITS or self.case.is_large
        most = math.inf if loses_digits else _MOST_LEFT
        left = most if bound else min(max(furthest(other[name], wide) for other in self.shaken), most)
        return max(furthest(self.narrow[name], wide), left)

    def is_chaotic(self, name: str) -> bool:
        """Tell whether a few roundings of the inputs leave few digits, as they do in a long recurrence."""
        wide = self.wide[name]
        # At 0 or 1 a condition may change by a rounding: no chaos.
        is_drawn = not self.case.values or VALUES[self.case.values].last
        if not is_drawn or not self.widened or not differentiable(wide):
            return False
        most = _MOST_LEFT * max(1.0, furthest(wide, torch.zeros_like(wide)))  # what cancels to nothing is no such thing
        # Most are told from chaos by the first of these runs, which is a few orders of magnitude off where there is any.
        near = furthest(self.first_shaken[name], wide) > 0.01 * most
        return near and any(furthest(other[name], wide) > most for other in self.shaken)

    def to_be_told(self, name: str) -> Tensor:
        """What a quantity should be, in the words of the case's own dtype: infinity where that is what float32 has."""
        return torch.where(self.narrow[name].isfinite(), self.wide[name], self.narrow[name])


def _shaken(value: Tensor, salt: int) -> Tensor:
    """Change each real number by a few roundings: how many follows from its bits, so that equal ones stay equal, and 0 is 0."""
    if not differentiable(value):
        return value
    parts = torch.view_as_real(value) if value.is_complex() else value
    mixed = (parts.contiguous().view(torch.int64) + salt) * 6364136223846793005
    shaken = parts * (1 + (mixed >> 60).double() * torch.finfo(torch.float64).eps)
    return torch.view_as_complex(shaken) if value.is_complex() else shaken


def furthest(one: Tensor, other: Tensor) -> float:
    """Return the largest finite difference."""
    if one.shape != other.shape:
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
        TimeoutError: the reference takes more than `REFERENCE_SECONDS`.
        Exception: whatever the reference raises for this size.
    """
    grads = case.grads if case.grads == "expanded" else "contiguous"
    # The reference sees all tensors contiguous, and computes all gradients; of layouts those count that make elements equal.
    laid = tuple(one for one in case.laid if one[1] in EXPANDED)
    only = case.only if case.values else ""
    seen = replace(case, layout="contiguous", laid=laid, mode="", grads=grads, only=only, wanted=())
    key = (op.name, op.schema, op.differentiable, op.reference, op.inputs, seen, SECRET.get())
    known = _expected.get(key)
    if known is None:
        while len(_expected) >= _REMEMBERED:
            del _expected[next(iter(_expected))]
        with steps.step("reference", f"{op.name}/python", lambda: (case.describe(op), ())):
            began = time.thread_time()
            with in_time():
                known = compute(op, case)
            known = _expected[key] = replace(known, seconds=time.thread_time() - began)
    return known


class _Late(BaseException):
    """The time is up. Not an Exception: no reference may swallow it."""


@contextmanager
def in_time() -> Iterator[None]:
    """End the block when its time is up, if it is Python's: a signal reaches the main thread of a worker."""
    if not steps.in_worker() or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGVTALRM, late)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, REFERENCE_SECONDS)
        yield
    except _Late:
        raise TimeoutError(f"it takes more than {REFERENCE_SECONDS:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def compute(op: Op, case: Case) -> Expected:
    """Do what `expect` does, and remember nothing."""
    inputs = make_inputs(op, case)
    with torch.no_grad(), seeded() as draws:
        leaves = leaves_of(op, inputs)
        results = results_of(op, op.reference(*leaves), leaves)
        dtypes = tuple(result.dtype for result in results)
        random = draws()
    grads = make_grads(op, case, results, dtypes)
    used = tuple(not case.used or result.name in case.used for result in op.signature.results)
    widened = not random  # double precision would draw other random numbers
    if widened:
        try:
            outputs, gradients = run_reference(op, [*map(widen, inputs)], [*map(widen, grads)], used)
        except Exception:
            # It has just taken these inputs: what it makes by itself, as torch.zeros(n), is of one dtype.
            widened = False
    if not widened:
        outputs, gradients = (tuple(map(widen, found)) for found in run_reference(op, inputs, grads, used))
    overflows = senseless = False
    is_whole = any(not differentiable(output) for output in outputs)
    if case.values in FINITE_IS_RIGHT or (case.values and is_whole and not op.corners):
        with _Finite() as on_the_way:
            run_reference(op, inputs, grads, used)
        overflows = case.values in FINITE_IS_RIGHT and not on_the_way.finite
        senseless = not op.corners and on_the_way.nan
    given, found = (inputs, grads, used), (outputs, gradients, dtypes)
    return Expected(op, case, *given, *found, overflows, senseless, random, widened)


def as_finite(found: Expected, known: Expected) -> bool:
    """Tell whether what a reference gives is finite where all that it gives in a known case is."""
    return all(got.isfinite().all() or not known.wide[name].isfinite().all() for name, got in found.wide.items())


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
