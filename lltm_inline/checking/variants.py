"""What a kernel computes in place of its reference: the reference with one of its operations changed, where that gives the same.

The reference is recorded as a program of PyTorch's primitive operations (a softmax is amax, sub, exp, sum and div), its backward with
it. Each operation in turn, from the last one on, is changed as mistakes change it: an operand is forgotten, a number is another one,
a function is one of its relatives, what is added is added after a function and not before it. Only what follows is computed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

#: So many operations are computed anew at most; and so many characters an expression has, if fewer levels of it make it fit.
_MOST, _ROOM = 5_000, 100
_ARITHMETIC: dict[str, Callable[..., Any]] = {name: getattr(torch, name) for name in ("add", "sub", "mul", "div")}
_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}
#: Functions of which one is taken for another.
_RELATIVES = [
    words.split()
    for words in (
        "exp expm1 exp2",
        "log log1p log2",
        "sqrt rsqrt",
        "round floor ceil trunc",
        "amax amin sum",
        "sin cos",
        "tanh sigmoid erf",
        "maximum minimum",
        "lt le gt ge",
    )
]
#: What gives its operand in another form: an expression has the operand itself.
_FORMS = {
    *(
        "broadcast_in_dim",
        "view_of",
        "to",
        "_to_copy",
        "convert_element_type",
        "squeeze",
        "clone",
        "expand",
        "reshape",
        "view",
    ),
    *("as_strided", "unsqueeze", "detach", "copy_", "alias", "copy_strided", "collapse_view", "split_dim"),
}
#: Of a function of more operands the tensors and flags are written alone.
_SHORT = 3


class _Ref(NamedTuple):
    """A value of the program, among the operands of a step."""

    at: int


class _Flag(NamedTuple):
    """A truth value among the operands of a step."""

    name: str
    value: bool


@dataclass(frozen=True)
class _Step:
    """One operation: its name, how it is computed, its operands, and the values that it gives."""

    name: str
    function: Callable[..., Any]
    operands: tuple[Any, ...]
    options: Mapping[str, Any]
    gives: tuple[int, ...]

    @property
    def needs(self) -> list[int]:
        """The values that go in."""
        leaves = tree_leaves([self.operands, dict(self.options)], is_leaf=_is_ref)
        return [one.at for one in leaves if _is_ref(one)]


class _Change(NamedTuple):
    """What takes the place of a step: written as an expression, and computed, given what looks up its operands."""

    words: Callable[[], str]
    compute: Callable[[Callable[[Any], Any]], Any]


class Variant(NamedTuple):
    """A step by its number, and what takes its place."""

    at: int
    change: _Change


def _is_ref(one: object) -> bool:
    return isinstance(one, _Ref)


def _is_leaf(one: object) -> bool:
    return isinstance(one, _Ref | _Flag)


def _key(value: Tensor) -> tuple[Any, ...]:
    """What makes a tensor the same one, whatever object it comes in."""
    return value.data_ptr(), value.shape, value.stride(), value.dtype


@dataclass
class Program(TorchDispatchMode):
    """What is computed in its context, step by step.

    Args:
        names: what goes in, by name.

    Attributes:
        left: how many operations may still be computed anew.
    """

    names: Mapping[str, Tensor]
    steps: list[_Step] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)  # copies: what is changed in place was another one before

    def __post_init__(self) -> None:
        super().__init__()
        from torch import _decomp  # which takes a while, and only what is wrong wants it

        _decomp.core_aten_decompositions()  # fills the table of all of them
        self._simpler = _decomp.decomposition_table
        self._kept: list[Tensor] = []  # in whose place there may be no other
        self._known: dict[tuple[Any, ...], int] = {}
        self._makers: dict[int, _Step] = {}
        self._words = {self._note(value): name for name, value in self.names.items()}
        self.left = _MOST

    def _note(self, value: Tensor) -> int:
        self._kept.append(value)
        self.values.append(value.detach().clone())
        self._known[_key(value)] = len(self.values) - 1
        return len(self.values) - 1

    def _ref(self, one: Any) -> Any:
        if not isinstance(one, Tensor):
            return one
        at = self.at(one)
        return _Ref(self._note(one) if at is None else at)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute an operation by simpler ones, or note it."""
        kwargs = kwargs or {}
        if (simpler := self._simpler.get(function)) is not None:
            with self:
                found = simpler(*args, **kwargs)
            if found is not NotImplemented:
                return found
        operands, options = tree_map(self._ref, (tuple(args), kwargs))
        operands = tuple(
            _Flag(said.name, one) if isinstance(one, bool) else one
            for said, one in zip(function._schema.arguments, operands, strict=False)
        )
        found, compute, results = function(*args, **kwargs), function, None
        if function._schema.is_mutable:
            compute, results = partial(_on_a_copy, function), [args[0]]
        gives = [self._note(one) for one in results or tree_leaves(found) if isinstance(one, Tensor)]
        step = _Step(function.overloadpacket.__name__, compute, operands, options, tuple(gives))
        self.steps.append(step)
        self._makers.update(dict.fromkeys(gives, step))
        return found

    def at(self, value: Tensor) -> int | None:
        """Which of the values a tensor is."""
        return self._known.get(_key(value))

    def maker(self, one: Any) -> _Step | None:
        """The step that gives an operand, past those that change its form."""
        step = self._makers.get(one.at) if _is_ref(one) else None
        return self.maker(_source(step)) if step and step.name in _FORMS and step.needs else step

    def result(self, variant: Variant, wanted: int) -> Tensor | None:
        """Compute a value of the program with a step changed; None where other operands do not fit, or enough was computed."""
        others: dict[int, Tensor] = {}

        def value(one: Any) -> Any:
            if isinstance(one, _Flag):
                return one.value
            return others.get(one.at, self.values[one.at]) if _is_ref(one) else one

        self.left -= 1
        try:
            others[self.steps[variant.at].gives[0]] = variant.change.compute(value)
            for step in self.steps[variant.at + 1 :]:
                if not others.keys().isdisjoint(step.needs):
                    self.left -= 1
                    operands, options = tree_map(value, (step.operands, dict(step.options)), is_leaf=_is_leaf)
                    found = tree_leaves(step.function(*operands, **options)) if self.left > 0 else []
                    others.update(zip(step.gives, (one for one in found if isinstance(one, Tensor)), strict=True))
        except (RuntimeError, ValueError, TypeError, IndexError):
            return None
        return others.get(wanted, self.values[wanted])

    def expression(self, name: str, operands: Sequence[Any]) -> str:
        """Write an operation, `exp(x - amax(x, 1))`, with as many levels of it as there is room for."""
        return _fitting(partial(self._operation, name, operands))

    def words(self, one: Any) -> str:
        """Write an operand."""
        return _fitting(partial(self._operand, one))

    def _operand(self, one: Any, levels: int) -> str:
        if isinstance(one, str):
            return one
        if isinstance(one, _Flag):
            return f"{one.name}={one.value}"
        if not _is_ref(one):
            alone = isinstance(one, list | tuple) and len(one) == 1
            return f"{one:.6g}" if isinstance(one, float) else str(one[0] if alone else one)
        if one.at in self._words:
            return self._words[one.at]
        step = self._makers.get(one.at)
        if step is None:
            return f"{self.values[one.at].item():.6g}" if self.values[one.at].numel() == 1 else "..."
        if step.name in _FORMS and step.needs:
            return self._operand(_source(step), levels)
        return self._operation(step.name, step.operands, levels - 1) if levels else "..."

    def _operation(self, name: str, operands: Sequence[Any], levels: int) -> str:
        if len(operands) > _SHORT:
            operands = [one for one in operands if isinstance(one, _Ref | _Flag | str)]
        parts = [self._operand(one, levels) for one in operands]
        if name == "neg":
            return f"-{parts[0]}" if parts[0].isidentifier() else f"-({parts[0]})"
        if name not in _SIGNS or len(parts) != 2:
            return f"{name}({', '.join(parts)})"
        loose = {"div": ("mul", "div", "add", "sub"), "mul": ("add", "sub"), "sub": ("add", "sub")}.get(name, ())
        for i, one in enumerate(operands):
            inner = self.maker(one)
            first = ("add", "sub") if name in ("mul", "div") else ()
            if inner is not None and inner.name in (loose if i else first) and " " in parts[i]:
                parts[i] = f"({parts[i]})"
        return f" {_SIGNS[name]} ".join(parts)


def _fitting(write: Callable[[int], str]) -> str:
    """Write with as many levels as there is room for, and one at least."""
    return next((text for levels in range(8, 1, -1) if len(text := write(levels)) < _ROOM), write(1))


def _source(step: _Step) -> _Ref:
    """Return what a step gives in another form."""
    return _Ref(step.needs[-1 if step.name == "copy_" else 0])


def _on_a_copy(function: Callable[..., Any], first: Tensor, *others: Any, **options: Any) -> Tensor:
    """Do to a copy what is done to a tensor in place."""
    copy = first.clone()
    function(copy, *others, **options)
    return copy


def _given(one: _Ref, value: Callable[[Any], Any]) -> Any:
    return value(one)


def _rolled(by: int, axis: int, given: Tensor) -> Tensor:
    return given.roll(by, axis)


def variants(program: Program, wanted: int) -> Iterator[Variant]:
    """Yield each step on which a value depends, the last one first, changed in each way."""
    needed, numbers = {wanted}, dict[float, None]()
    for step in program.steps:
        numbers |= {one: None for one in step.operands if isinstance(one, float)}
    for at in reversed(range(len(program.steps))):
        step = program.steps[at]
        if program.left > 0 and not needed.isdisjoint(step.gives):
            needed |= {*step.needs}
            if len(step.gives) == 1 and step.name not in _FORMS:
                yield from (Variant(at, change) for change in _changes(program, step, [*numbers]))


def _changes(program: Program, step: _Step, numbers: Sequence[float]) -> Iterator[_Change]:
    """Yield what may stand in place of a step."""
    name, operands, result = step.name, step.operands, program.values[step.gives[0]]

    def with_(new: Sequence[Any], function: Any = step.function, called: str = name) -> _Change:
        def compute(value: Callable[[Any], Any]) -> Any:
            return function(*tree_map(value, [*new], is_leaf=_is_leaf), **step.options)

        return _Change(lambda: program.expression(called, new), compute)

    for one in operands:
        same = _is_ref(one) and program.values[one.at]
        if same is not False and (same.shape, same.dtype) == (result.shape, result.dtype):
            yield _Change(partial(program.words, one), partial(_given, one))
    for other, function in _ARITHMETIC.items() if name in _ARITHMETIC else ():
        yield with_(operands[::-1] if other == name else operands, function, other)
    for family in _RELATIVES:
        for other in family if name in family else ():
            yield with_(operands, getattr(torch.ops.prims, other, None) or getattr(torch, other), other)
    if name == "round":
        (one,) = operands
        yield _Change(lambda: f"trunc({program.words(one)} + 0.5)", lambda value: (value(one) + 0.5).trunc())
    if name == "div":  # as integers are divided
        whole = with_(operands)
        yield _Change(lambda: f"trunc({whole.words()})", lambda value: whole.compute(value).trunc())
    extents = {extent for given in program.names.values() for extent in given.shape if extent > 1}
    for i, one in enumerate(operands):
        for other in _instead_of(one, numbers, extents):
            yield with_([*operands[:i], other, *operands[i + 1 :]])
        if _is_ref(one):
            yield from _turned(program, step, i)
    yield from _later(program, step)


def _instead_of(one: Any, numbers: Sequence[float], extents: set[int]) -> Iterator[Any]:
    """Yield other numbers for a number, the one for a size less or more by one among them, and the other one for a flag."""
    if isinstance(one, _Flag):
        yield _Flag(one.name, not one.value)
    elif isinstance(one, float):
        sizes = (one * extent / (extent + by) for extent in sorted(extents) for by in (-1, 1))
        yield from dict.fromkeys(other for other in (*numbers, one + 1, one - 1, -one, *sizes) if other != one)


def _turned(program: Program, step: _Step, i: int) -> Iterator[_Change]:
    """Turn a tensor round, or move it by one along an axis."""
    value, own = program.values[step.operands[i].at], partial(program.words, step.operands[i])

    def changed(words: Callable[[], str], change: Callable[[Tensor], Tensor]) -> _Change:
        def compute(given: Callable[[Any], Any]) -> Any:
            operands = [change(given(one)) if i == j else given(one) for j, one in enumerate(step.operands)]
            return step.function(*operands, **step.options)

        def expression() -> str:
            return program.expression(step.name, [words() if i == j else one for j, one in enumerate(step.operands)])

        return _Change(expression, compute)

    if step.name == "convolution" and i == 1:
        axes = [*range(2, value.dim())]
        yield changed(lambda: f"flip({own()}, {axes})", lambda given: given.flip(axes))
    for axis, extent in enumerate(value.shape):
        for by in (1, -1) if extent > 1 else ():
            words = lambda by=by, axis=axis: f"roll({own()}, {by}, {axis})"  # noqa: E731
            yield changed(words, partial(_rolled, by, axis))
    if value.dim() == 2 and value.shape[0] == value.shape[1]:
        yield changed(lambda: f"{own()}.t()", lambda given: given.t())


def _later(program: Program, step: _Step) -> Iterator[_Change]:
    """Let a number come in after a function and not before it."""
    inner = program.maker(step.operands[0]) if len(step.needs) == 1 else None
    if inner is None or inner.name not in _ARITHMETIC or len(inner.operands) != 2 or len(inner.needs) != 1:
        return
    tensor, number = inner.operands
    if not _is_ref(tensor):
        return
    rest, combine, sign = step.operands[1:], _ARITHMETIC[inner.name], _SIGNS[inner.name]
    yield _Change(
        lambda: f"{program.expression(step.name, [tensor, *rest])} {sign} {number:.6g}",
        lambda value: combine(step.function(value(tensor), *rest, **step.options), number),
    )
    if step.name == "rsqrt":
        yield _Change(
            lambda: f"1 / ({program.expression('sqrt', [tensor])} {sign} {number:.6g})",
            lambda value: 1 / combine(value(tensor).sqrt(), number),
        )
