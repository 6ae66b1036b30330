"""Why a result is wrong, in measured words: something that goes in is changed, and kernel and reference each answer.

For a change d of an input, an incoming gradient or a number, the answers are

    K = kernel(x + d) - kernel(x)        R = reference(x + d) - reference(x)

What matters to the reference and not to the kernel (R != 0, K = 0) is not read, or is multiplied by nothing; what changes elements
that it should not (K != 0 where R = 0) goes to another place; and K = c R says that it counts c times as much as it should.

And where the reference with one of its operations changed gives what the kernel gives, that is what the kernel computes (`variants`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, combinations, islice, product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..model.registry import Op
from ..run.cases.case import Case, elements
from ..run.cases.drawing import is_label, secret
from ..run.cases.expectation import expect, quantities, results_of, run_reference, widen
from ..run.function import differentiable
from .runner import Call, Runner
from .variants import Program, Variant, variants

#: Of more elements it is not tried; of so many from an end on it is told from where; and so many are changed one by one.
_MOST, _FAR, _MANY = 20_000, 64, 24
#: How far a number is moved; what of the reference's answer is too little to tell; and what of it the kernel may miss.
_STEP, _LITTLE, _ROUNDING = 1e-2, 1e-5, 2e-2
#: How near to the reference the kernel is where it is right, in few digits and in float64.
_AGREES = (1e-4, 1e-6)
#: How much nearer than the reference is what the kernel computes in its place, and in how many wrong elements, if not in all.
_CHANCE, _FEW = {torch.float64: 1e-4, torch.float32: 1e-3}, 8
#: What of the reference's largest answer is none, and what is one without doubt.
_NOTHING, _CLEAR = 1e-9, 0.05
#: So many roundings are none, and what double precision rounds to.
_ROUNDINGS, _EPS = 64, torch.finfo(torch.float64).eps
#: Where so many choices of the wrong elements are possible, that a limit parts them from the right ones is no chance.
_CHOICES = 1_000
#: How near to one number all of it has to be that is so many times another.
_NEAR = 5e-3


class _Change(NamedTuple):
    """What is changed: in words, `x[:, M-1]`; which one of the inputs and incoming gradients; and what takes its place."""

    words: str
    at: int
    value: Any


class _Trial:
    """A kernel and its reference, in a case, and what both give for one quantity."""

    def __init__(self, runner: Runner, case: Case, quantity: str) -> None:
        self.runner, self.case, self.quantity, self.known = runner, case, quantity, expect(runner.op, case)
        self.kernel, self.reference = self._kernel(), self._reference()

    @property
    def given(self) -> list[Any]:
        """Inputs and incoming gradients."""
        return [*self.known.inputs, *self.known.grads]

    def _given(self, change: _Change | None) -> tuple[list[Any], list[Tensor]]:
        """Return inputs and incoming gradients, with the change."""
        given, count = self.given, len(self.known.inputs)
        if change is not None:
            given[change.at] = change.value
        return given[:count], given[count:]

    def _kernel(self, change: _Change | None = None) -> Tensor:
        runner, (inputs, grads) = self.runner, self._given(change)
        leaves = runner.leaves(self.case, inputs, lambda name, value, layout: value.clone())
        with runner.step("forward", Call(self.case, self.known, {}, leaves)):
            outputs = results_of(runner.op, runner.function(*leaves), leaves)
            named = dict(zip(runner.outputs, outputs, strict=True))
            if self.quantity not in named:
                grads = [grad.clone() for grad in grads]
                found = runner.differentiate(self.case, self.known.used, leaves, outputs, grads)
                named = {runner.gradients[at]: got for at, got in zip(runner.wanted(leaves), found, strict=True)}
        return _double(named[self.quantity])

    def _reference(self, change: _Change | None = None) -> Tensor:
        return self._of_reference(*self._given(change))

    def _of_reference(self, *given: Sequence[Any]) -> Tensor:
        inputs, grads = ([*map(widen, some)] for some in given)
        outputs, gradients = run_reference(self.runner.op, inputs, grads, self.known.used)
        named = dict(zip(quantities(self.runner.op), (*outputs, *gradients), strict=True))
        return _double(named[self.quantity])

    def program(self, change: _Change | None = None) -> tuple[Program, int | None]:
        """Record the reference, and which of its values the quantity is."""
        inputs, grads = ([*map(widen, some)] for some in self._given(change))
        op = self.runner.op
        names = {
            argument.name: value
            for argument, value in zip(op.signature.inputs, inputs, strict=True)
            if isinstance(value, Tensor)
        }
        names |= {f"d_{result.name}": grad for result, grad in zip(op.signature.results, grads, strict=True)}
        with Program(names) as program:
            outputs, gradients = run_reference(op, inputs, grads, self.known.used)
        named = dict(zip(quantities(op), (*outputs, *gradients), strict=True))
        for name, value in named.items():
            if name != self.quantity and isinstance(value, Tensor):
                program.call(value, name)
        return program, program.at(named[self.quantity])

    def answers(self, change: _Change) -> tuple[Tensor, Tensor]:
        """Return how much kernel and reference answer."""
        kernel, reference = self._kernel(change), self._reference(change)
        eps = torch.finfo(self.case.dtype).eps if self.case.dtype.is_floating_point else 0.0
        known = (self.kernel, eps), (self.reference, _EPS if self.known.widened else eps)
        return _difference(kernel, *known[0]), _difference(reference, *known[1])

    def hangs_on(self, at: int, spot: tuple[int, ...]) -> Tensor:
        """Tell which elements of the reference answer to one that goes in, where all is drawn anew: what zeros and rounding hide."""
        with secret(b"another draw"):
            known = expect(self.runner.op, self.case)
        before, count = [*known.inputs, *known.grads], len(known.inputs)
        after = [_moved(one, spot) if i == at else one for i, one in enumerate(before)]
        changed, same = (self._of_reference(given[:count], given[count:]) for given in (after, before))
        return _difference(changed, same, _EPS) != 0

    def ignores(self, change: _Change) -> bool:
        """Tell whether the reference answers, and the kernel does not."""
        kernel, reference = self.answers(change)
        most = _most(reference)
        return _LITTLE * max(_most(self.reference), 1e-30) < most < math.inf and _most(kernel) < _ROUNDING * most

    def agrees(self, change: _Change) -> bool:
        """Tell whether the kernel is right with the change, by no chance, and that is no result of zeros."""
        kernel, reference = self._kernel(change), self._reference(change)
        limit = _AGREES[self.case.dtype == torch.float64] * _most(self.reference)
        return (
            kernel.shape == reference.shape == self.kernel.shape
            and _is_clear(_wrong(self.kernel, self.reference))
            and _most(reference) > _LITTLE * _most(self.reference)
            and _most(kernel - reference) < limit
        )


def measured(runner: Runner, quantity: str, case: Case) -> list[str]:
    """Say to what a wrong quantity does not answer as the reference does; nothing where it does, or where that cannot be tried.

    Args:
        runner: of the kernel.
        quantity: a result or gradient whose values are wrong.
        case: in which they are; of one that differs otherwise than by size, that difference is the reason.
    """
    known, plain = expect(runner.op, case), replace(case, used=(), wanted=()).plain
    if known.random or elements(runner.op, case.size) > _MOST or not plain:
        return []
    try:
        trial = _Trial(runner, replace(case, group=""), quantity)
        if (
            trial.kernel.shape == trial.reference.shape
            and not trial.kernel[trial.reference.isfinite()].isfinite().all()
        ):
            return []  # NaN stays NaN, whatever goes in
        changes = [*_wholes(trial)]
        ignored = [change.words for change in changes if trial.ignores(change)]
        if len(ignored) == len(changes) > 1:
            return [f"nothing that goes in changes anything in {quantity}"]
        if ignored:
            change = "changes" if len(ignored) == 1 else "change"
            return [f"{' and '.join(ignored)} {change} nothing in {quantity}", *islice(_variants(trial), 1)]
        looks = (
            _variants,
            _alike,
            partial(_strays, nowhere=True),
            _slices,
            partial(_zeros, labels=True),
            _strays,
            _shares,
            _zeros,
            _losses,
        )
        return [*islice(chain.from_iterable(look(trial) for look in looks), 1)]
    except Exception:  # what raises for other numbers is no reason: nothing is said
        return []


def _double(value: Tensor | None) -> Tensor:
    if value is None:
        return torch.zeros(())
    return value.detach().to("cpu", torch.complex128 if value.is_complex() else torch.float64)


def _difference(after: Tensor, before: Tensor, eps: float = 0.0) -> Tensor:
    """Subtract; what becomes infinite or NaN, or was, has changed beyond all numbers, and what changes by some roundings has not."""
    found = (after - before).nan_to_num(0.0, 0.0, 0.0)
    found = found.masked_fill(found.abs() <= min(_ROUNDINGS * eps, _LITTLE) * _most(before), 0.0)
    return found.masked_fill(after.isfinite() != before.isfinite(), math.inf) if after.shape == before.shape else found


def _most(value: Tensor) -> float:
    return value.abs().max().item() if value.numel() else 0.0


def _moved(value: Tensor, place: Any = ...) -> Tensor:
    """Move numbers by a hundredth, the next one by another: shares stay shares, and what was in order stays so; labels turn round."""
    moved = value.clone()
    part = moved[place]
    if is_label(value):
        moved[place] = 1 - part
        return moved
    steps = 1 + torch.arange(part.numel(), dtype=torch.float64).remainder(3).reshape(part.shape)
    moved[place] = (part + _STEP * steps * (1 - part.abs() if bool((part.abs() <= 1).all()) else part)).to(value.dtype)
    return moved


def _tensors(trial: _Trial) -> Iterator[tuple[int, str, Tensor]]:
    """Yield what goes in and has a gradient, or is one: which one, its name, and its value."""
    op, known = trial.runner.op, trial.known
    names = [argument.name for argument in op.signature.inputs]
    names += [f"d_{result.name}" for result in op.signature.results if trial.quantity.startswith("d_")]
    for at, (name, value) in enumerate(zip(names, (*known.inputs, *known.grads), strict=False)):
        if isinstance(value, Tensor) and differentiable(value) and value.numel():
            yield at, name, value


def _floats(trial: _Trial) -> Iterator[tuple[int, str, float]]:
    """Yield the numbers that go in: which input, its name, and its value."""
    for at, (argument, value) in enumerate(zip(trial.runner.op.signature.inputs, trial.known.inputs, strict=True)):
        if isinstance(value, float):
            yield at, argument.name, value


def _wholes(trial: _Trial) -> Iterator[_Change]:
    """Change one of all that goes in: an input, a number, an incoming gradient."""
    for at, name, value in _tensors(trial):
        yield _Change(name, at, _moved(value))
    for at, name, number in _floats(trial):
        yield _Change(name, at, number + 0.5)


def _slices(trial: _Trial) -> Iterator[str]:
    """Say which rows or columns at an end of what goes in change nothing."""
    found = [*_unread(trial)]
    if found:
        listed = " and ".join([*[", ".join(found[:-1])] * (len(found) > 1), found[-1]])
        yield f"{listed} {'change' if len(found) > 1 else 'changes'} nothing in {trial.quantity}"


def _unread(trial: _Trial) -> Iterator[str]:
    """Yield rows or columns at an end of an input that change nothing."""
    for at, name, value in _tensors(trial):
        for axis, extent in enumerate(value.shape):

            def ignored(index: int, at: int = at, value: Tensor = value, axis: int = axis) -> bool:
                place = (*[slice(None)] * axis, index)
                return trial.ignores(_Change("", at, _moved(value, place)))

            if extent < 2:
                continue
            before = ", ".join([":"] * axis + [""]) if axis else ""
            after = ", :" * (value.dim() - axis - 1)
            if ignored(extent - 1):
                first = extent - 1
                while first > max(1, extent - _FAR) and ignored(first - 1):
                    first -= 1
                letter = _letter(trial.runner.op, name, axis) or str(extent)
                spot = f"{letter}-1" if first == extent - 1 else f"{first}:"
                yield f"{name}[{before}{spot}{after}]"
            elif ignored(0):
                yield f"{name}[{before}0{after}]"


def _letter(op: Op, name: str, axis: int) -> str:
    """Return what the op calls an extent of a tensor; nothing where it has no letter."""
    shape = op.shapes.get(name) or op.shapes.get(name.removeprefix("d_"))
    words = shape.split() if isinstance(shape, str) else []
    return words[axis] if axis < len(words) and words[axis].isidentifier() else ""


def _shares(trial: _Trial) -> Iterator[str]:
    """Say which inputs count another number of times than they should; where all do it is no matter of one of them."""
    counted = {}
    for change in _wholes(trial):
        kernel, reference = trial.answers(change)
        clear = reference.abs() > _CLEAR * _most(reference)
        if kernel.shape != reference.shape or not clear.any():
            continue
        shares = (kernel / reference)[clear]
        counted[change.words] = _share(shares)
    others = {words: share for words, share in counted.items() if share}
    if len(counted) > len(others):
        for words, share in others.items():
            yield f"{words} counts {share} as much in {trial.quantity} as it should"


def _share(shares: Tensor) -> str:
    """`-1 times`, `0.5 times`; empty where it counts as it should, or by no one number."""
    share = 1.0 if shares.is_complex() else shares.mean().item()
    is_one = bool((shares - share).abs().max() < _NEAR * abs(share)) and abs(share - 1) > _NEAR
    return f"{share:.3g} times" if is_one else ""


def _variants(trial: _Trial) -> Iterator[str]:
    """Say with which one operation changed the reference gives what the kernel does, for other numbers, too."""
    try:
        program, at = trial.program()
    except Exception:  # of torch's simpler operations, which may not be made for what these are given: others look then
        return
    if at is None or trial.kernel.shape != trial.reference.shape:
        return
    changes = [*_wholes(trial)]
    for variant in variants(program, at):
        found = program.result(variant, at)
        if changes and _is_as(trial, trial.kernel, trial.reference, found) and _is_elsewhere(trial, changes, variant):
            yield f"the kernel seems to {program.wording(variant)}"
            return


def _is_elsewhere(trial: _Trial, changes: Sequence[_Change], variant: Variant) -> bool:
    """Tell whether a variant is the same for other numbers, too, and for so many wrong elements that it is no chance."""
    wrong = [_wrong(trial.kernel, trial.reference)]
    for change in changes:
        program, at = trial.program(change)
        same = variant.among(program)
        if at is None or same is None:
            return False
        kernel, reference = trial._kernel(change), trial._reference(change)
        if not _is_as(trial, kernel, reference, program.result(same, at)):
            return False
        wrong.append(_wrong(kernel, reference))
    return _is_clear(torch.cat(wrong))


def _is_clear(wrong: Tensor) -> bool:
    """Tell whether so many elements are wrong that what holds for them is no chance."""
    return bool(wrong.all()) or int(wrong.sum()) >= _FEW


def _wrong(kernel: Tensor, reference: Tensor) -> Tensor:
    """Tell of each element whether it is clearly wrong."""
    difference = (kernel - reference).abs().flatten()
    return difference > _LITTLE * _most(difference)


def _is_as(trial: _Trial, kernel: Tensor, reference: Tensor, variant: Tensor | None) -> bool:
    """Tell whether what the kernel gives is a variant's, as near as makes no chance of it."""
    return (
        variant is not None
        and variant.shape == kernel.shape
        and _most(kernel - _double(variant)) < _CHANCE.get(trial.case.dtype, 1e-2) * _most(kernel - reference)
    )


def _zeros(trial: _Trial, labels: bool = False) -> Iterator[str]:
    """Say of which one number, or labels, the kernel is right where it is 0; where any other tensor is, much is right."""
    given = [(at, name, value * 0) for at, name, value in (_tensors if labels else _floats)(trial)]
    zeros = [
        name
        for at, name, zero in given
        if (not labels or is_label(trial.given[at])) and trial.agrees(_Change("", at, zero))
    ]
    if len(zeros) == 1:
        yield f"{trial.quantity} is right where {zeros[0]} is 0: what depends on it is wrong"


def _alike(trial: _Trial) -> Iterator[str]:
    """Say of which two numbers the kernel is right where they are the same; of tensors `variants` finds it."""
    for (at, name, value), (there, other, same) in combinations(_floats(trial), 2):
        if trial.agrees(_Change("", at, same)) and trial.agrees(_Change("", there, value)):
            yield f"{trial.quantity} is right where {name} is {other}: one may be taken for the other"


def _arrivals(trial: _Trial, far: int) -> Iterator[tuple[_Change, Tensor, Tensor, Tensor]]:
    """Change one element of all that goes in: that, and where the kernel answers, where the reference does, and that alone.

    Beside one near the beginning, so many `far` from each other, the first and the last one among them.
    """
    for at, name, value in _tensors(trial):
        near = tuple(min(1 + axis, extent - 1) for axis, extent in enumerate(value.shape))
        others = torch.linspace(0, value.numel() - 1, far).round().long()
        spots = zip(*(axis.tolist() for axis in torch.unravel_index(others, value.shape)), strict=True)
        for spot in dict.fromkeys([near, *spots]):
            change = _Change(f"{name}{[*spot]}", at, _moved(value, spot))
            kernel, reference = trial.answers(change)
            if kernel.shape == reference.shape and kernel.numel():
                got, most = kernel.abs() > _ROUNDING * _most(kernel), _most(reference)
                lost = (reference.abs() > _CLEAR * most) & (kernel == 0)  # what is small may be so by chance
                want = reference.abs() > _NOTHING * most
                if bool((got & ~want).any()) and want.any() and not lost.any():
                    want = want | trial.hangs_on(at, spot)
                yield change, got, want, lost


def _strays(trial: _Trial, nowhere: bool = False) -> Iterator[str]:
    """Say where one element of what goes in arrives and should not; of those alone that should arrive `nowhere`."""
    for change, got, want, lost in _arrivals(trial, far=2):
        if bool((got & ~want).any()) and not (nowhere and want.any()):
            more = f"and not {_first(trial.quantity, lost)}" if lost.any() else "too" if want.any() else ""
            more = _taken(trial, change, got & ~want) if more == "too" else more or "and should change nothing"
            yield f"{change.words} changes {_first(trial.quantity, got & ~want)}, {more}"


def _taken(trial: _Trial, change: _Change, places: Tensor) -> str:
    """Say which element of an input the reference takes in place of another one, where that is one."""
    value, place = trial.given[change.at], tuple(torch.nonzero(places)[0].tolist())
    spots = [*product(*map(range, value.shape))] if value.numel() <= _FAR else []
    takes = [spot for spot in spots if trial.answers(_Change("", change.at, _moved(value, spot)))[1][place]]
    return f"where the reference takes {change.words.partition('[')[0]}{[*takes[0]]}" if len(takes) == 1 else "too"


def _losses(trial: _Trial) -> Iterator[str]:
    """Say where one element of what goes in does not arrive."""
    for change, _, _, lost in _arrivals(trial, far=_MANY):
        if lost.any():
            yield f"{change.words} does not change {_first(trial.quantity, lost)}"


def by_values(runner: Runner, quantity: str, case: Case) -> list[str]:
    """Say of which numbers in an input a quantity of its shape is wrong, where some limit parts them from those of which it is right."""
    mismatch = runner.run(case).wrong[quantity]
    got, want, wrong = mismatch.got, mismatch.want, mismatch.wrong
    if got is None or want is None or wrong is None or wrong.all():
        return []
    off = (got.to(want.dtype) - want).abs()
    if off[~wrong].nan_to_num(nan=0.0).max() > _CLEAR * off[wrong].nan_to_num(nan=torch.inf).min():
        return []  # an error that grows with the numbers has no limit
    for argument, value in zip(runner.op.signature.inputs, expect(runner.op, case).inputs, strict=True):
        if not (isinstance(value, Tensor) and value.shape == wrong.shape and value.is_floating_point()):
            continue
        for words, numbers in ((argument.name, value), (f"|{argument.name}|", value.abs())):
            bad, good = numbers[wrong], numbers[~wrong]
            if math.comb(wrong.numel(), min(bad.numel(), good.numel(), 4)) < _CHOICES:
                continue
            if bad.min() > good.max():
                return [f"wrong where {words} >= {bad.min():.3g}, right where {words} <= {good.max():.3g}"]
            if bad.max() < good.min():
                return [f"wrong where {words} <= {bad.max():.3g}, right where {words} >= {good.min():.3g}"]
    return []


def _first(name: str, places: Tensor) -> str:
    return f"{name}{torch.nonzero(places)[0].tolist()}" if places.dim() else name
