"""What a kernel computes in place of its reference: the reference with one of its operations changed, where that gives the same.

The reference is recorded as a program of PyTorch's primitive operations (a softmax is amax, sub, exp, sum and div), its backward with
it. Each operation in turn, from the last one on, is changed as mistakes change it: an operand is forgotten, a number is another one,
a function is one of its relatives, what is added is added after a function and not before it. Only what follows is computed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations, islice
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

#: So many operations are computed anew at most.
_MOST = 5_000
#: An expression has so many levels, or as many as fit into so many characters.
_LEVELS, _ROOM = range(8, 0, -1), 120
_ARITHMETIC: dict[str, Callable[..., Any]] = {name: getattr(torch, name) for name in ("add", "sub", "mul", "div")}
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_SIGNS |= {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
#: Functions of which one is taken for another.
_RELATIVES = (
    *(("exp", "expm1", "exp2"), ("log", "log1p", "log2"), ("sqrt", "rsqrt"), ("round", "floor", "ceil", "trunc")),
    *(("amax", "amin", "sum"), ("sin", "cos"), ("tanh", "sigmoid", "erf"), ("maximum", "minimum")),
    ("lt", "le", "gt", "ge"),
)
#: What gives its operand in another form: an expression has the operand itself.
_FORMS = {
    *("broadcast_in_dim", "expand", "squeeze", "unsqueeze", "split_dim", "collapse_view", "reshape", "view", "view_of"),
    *("to", "to_copy", "convert_element_type", "clone", "copy", "detach", "alias", "copy_strided", "as_strided"),
}
#: What hands on what goes in.
_GIVEN = "given"
#: What is not written out in simpler operations.
_KEPT = ("sigmoid", "clamp", "clamp_min", "clamp_max")
#: Of a function of more operands the tensors and flags are written alone.
_SHORT = 3
#: Beside torch's primitive operations, those that look at each index that they are given; others may read whatever lies there.
_LOOKED_AT = ("index", "gather", "scatter")


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
    is_safe: bool  # with whole numbers that it was never given

    @cached_property
    def needs(self) -> list[int]:
        """The values that go in."""
        leaves = tree_leaves([self.operands, dict(self.options)], is_leaf=_is_ref)
        return [one.at for one in leaves if _is_ref(one)]


class _Change(NamedTuple):
    """What takes the place of a step: an expression of so many levels, and computed, given what looks up its operands."""

    words: Callable[[int], str]
    compute: Callable[[Callable[[Any], Any]], Any]
    left_out: Any = None  # the summand or factor without which it is what there was
    is_again: bool = False  # with other numbers it may be another one, so it counts


class Variant(NamedTuple):
    """A step by its number, what takes its place, and which of all that yields such changes it is."""

    at: int
    change: _Change
    changes: Callable[[Program, _Step], Iterator[_Change]]
    number: int

    def among(self, program: Program) -> Variant | None:
        """Return the same one of what was computed of other numbers; None if that has no such one."""
        changes = self.changes(program, program.steps[self.at]) if self.at < len(program.steps) else iter(())
        change = next(islice(changes, self.number, None), None)
        return None if change is None else self._replace(change=change)


def _is_ref(one: object) -> bool:
    return isinstance(one, _Ref)


def _is_leaf(one: object) -> bool:
    return isinstance(one, _Ref | _Flag)


def _is_whole(one: object) -> bool:
    return isinstance(one, Tensor) and one.dtype != torch.bool and not (one.is_floating_point() or one.is_complex())


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
        for at, (name, value) in enumerate(self.names.items()):  # whatever is done to what goes in is done to it here
            given = self._note(value)
            self._words[given] = name
            self.steps.append(_Step(_GIVEN, lambda one: one, (_Ref(at),), {}, (given,), True))
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
        name = function.overloadpacket.__name__
        simpler = None if name.strip("_") in _KEPT else self._simpler.get(function)
        if simpler is not None:
            with self:
                found = simpler(*args, **kwargs)
            if found is not NotImplemented:
                return found
        operands, options = tree_map(self._ref, (tuple(args), kwargs))
        operands = tuple(
            _Flag(said.name, one) if isinstance(one, bool) else one
            for said, one in zip(function._schema.arguments, operands, strict=False)
        )
        found, results = function(*args, **kwargs), None
        # A primitive operation as it is computed, without the dispatcher, which takes twice as long as all the rest.
        compute = getattr(function.overloadpacket, "impl_aten", None) or function
        if function._schema.is_mutable:
            compute, results = partial(_on_a_copy, function), [args[0]]
        gives = [self._note(one) for one in results or tree_leaves(found) if isinstance(one, Tensor)]
        is_safe = function.namespace == "prims" or name.startswith(_LOOKED_AT)
        step = _Step(name.strip("_"), compute, operands, options, tuple(gives), is_safe)
        self.steps.append(step)
        self._makers.update(dict.fromkeys(gives, step))
        return found

    def call(self, value: Tensor, name: str) -> None:
        """Give a value the name by which it is written."""
        at = self.at(value)
        while at is not None and self.is_form(at):
            at = _source(self._makers[at]).at
        if at is not None:
            self._words.setdefault(at, name)

    def at(self, value: Tensor) -> int | None:
        """Which of the values a tensor is."""
        return self._known.get(_key(value))

    def has_name(self, at: int) -> bool:
        """Tell whether a value goes in or comes out."""
        return at in self._words

    def alike(self, step: _Step, one: Any) -> Iterator[int]:
        """Yield other values of the shape and dtype of an operand: those that there were before a step, and those that have a name."""
        (result,), own = step.gives, self.values
        for at, value in [*enumerate(own)][len(self.names) :] if _is_ref(one) and step.name != _GIVEN else ():
            is_there = (at < result and not self.is_form(at)) or self.has_name(at)
            if is_there and at != one.at and (value.shape, value.dtype) == (own[one.at].shape, own[one.at].dtype):
                yield at

    def is_form(self, at: int) -> bool:
        """Tell whether a value is another one in another form, of the same shape."""
        step = self._makers.get(at)
        if step is None or step.name not in _FORMS or not step.needs:
            return False
        return self.values[_source(step).at].shape == self.values[at].shape

    def maker(self, one: Any) -> _Step | None:
        """The step that gives an operand, past those that change its form."""
        step = self._makers.get(one.at) if _is_ref(one) else None
        return self.maker(_source(step)) if step and step.name in _FORMS and step.needs else step

    def compute(self, step: _Step, operands: Sequence[Any], options: Mapping[str, Any] | None = None) -> Any:
        """Compute a step with other operands.

        Raises:
            ValueError: if some are whole numbers at which nobody looks, as they lead to whatever lies there.
        """
        known = {id(self.values[at]) for at in step.needs}
        if not step.is_safe and any(
            _is_whole(one) and id(one) not in known for one in tree_leaves([operands, options])
        ):
            raise ValueError(step.name)
        return step.function(*operands, **(step.options if options is None else options))

    def result(self, variant: Variant, wanted: int) -> Tensor | None:
        """Compute a value of the program with a step changed; None where other operands do not fit, or enough was computed."""
        others: dict[int, Tensor] = {}

        def value(one: Any) -> Any:
            if isinstance(one, _Flag):
                return one.value
            return others.get(one.at, self.values[one.at]) if _is_ref(one) else one

        self.left -= 1
        try:
            (at,) = self.steps[variant.at].gives
            found, own = variant.change.compute(value), self.values[at]
            if (found.shape, found.dtype) != (own.shape, own.dtype):
                return None
            others[at] = own.clone().copy_(found)  # with the strides that what follows may ask for
            for step in self.steps[variant.at + 1 :]:
                if not others.keys().isdisjoint(step.needs):
                    self.left -= 1
                    operands, options = tree_map(value, (step.operands, dict(step.options)), is_leaf=_is_leaf)
                    results = tree_leaves(self.compute(step, operands, options)) if self.left > 0 else []
                    others.update(zip(step.gives, (one for one in results if isinstance(one, Tensor)), strict=True))
        except (RuntimeError, ValueError, TypeError, IndexError):
            return None
        return others.get(wanted, self.values[wanted])

    def with_(self, step: _Step, new: Sequence[Any], function: Any = None, called: str = "") -> _Change:
        """Change the operands of a step, and its function."""

        def compute(value: Callable[[Any], Any]) -> Any:
            given = tree_map(value, [*new], is_leaf=_is_leaf)
            return function(*given, **step.options) if function else self.compute(step, given)

        return _Change(partial(self.expression, called or step.name, new), compute)

    def altered(self, step: _Step, i: int, words: Callable[[int], str], change: Callable[[Tensor], Tensor]) -> _Change:
        """Change an operand of a step to what is computed of it."""

        def compute(given: Callable[[Any], Any]) -> Any:
            operands = [change(given(one)) if i == j else given(one) for j, one in enumerate(step.operands)]
            return self.compute(step, operands)

        def expression(levels: int) -> str:
            operands = [words(levels) if i == j else one for j, one in enumerate(step.operands)]
            return self.expression(step.name, operands, levels)

        return _Change(expression, compute)

    def wording(self, variant: Variant) -> str:
        """Write what is left out, or what takes the place of a step: with as many levels as there is room for, the same number of both."""
        step = self.steps[variant.at]
        if variant.change.left_out is not None:
            term = _fitting(partial(self.words, variant.change.left_out))
            return f"leave `{term}` out of `{_fitting(partial(self.expression, step.name, step.operands))}`"
        pairs = [
            (variant.change.words(levels), self.expression(step.name, step.operands, levels)) for levels in _LEVELS
        ]
        pairs = [pair for pair in pairs if pair[0] != pair[1]] or pairs
        after, before = next((pair for pair in pairs if max(map(len, pair)) < _ROOM), pairs[-1])
        return f"compute `{after}` where the reference has `{before}`"

    def words(self, one: Any, levels: int) -> str:
        """Write an operand."""
        if isinstance(one, str):
            return one
        if isinstance(one, _Flag):
            return f"{one.name}={one.value}"
        if isinstance(one, list | tuple) and not _is_ref(one):
            listed = ", ".join(self.words(each, max(levels - 1, 0)) for each in one)
            return listed if len(one) == 1 else f"[{listed}]"
        if not _is_ref(one):
            return f"{one:.6g}" if isinstance(one, float) else str(one)
        if one.at in self._words:
            return self._words[one.at]
        step = self._makers.get(one.at)
        if step is None:
            return f"{self.values[one.at].item():.6g}" if self.values[one.at].numel() == 1 else "..."
        if step.name in _FORMS and step.needs:
            return self.words(_source(step), levels)
        which = f"[{step.gives.index(one.at)}]" if len(step.gives) > 1 else ""
        return f"{self.expression(step.name, step.operands, levels - 1)}{which}" if levels else "..."

    def expression(self, name: str, operands: Sequence[Any], levels: int) -> str:
        """Write an operation, `exp(x - amax(x, 1))`."""
        if len(operands) > _SHORT:
            operands = [one for one in operands if isinstance(one, _Ref | _Flag | str)]
        parts = [self.words(one, levels) for one in operands]
        if name == _GIVEN:
            return parts[0]
        if name == "neg":
            return f"-{parts[0]}" if parts[0].isidentifier() else f"-({parts[0]})"
        if name == "transpose" and operands[1] == [1, 0]:
            return f"({parts[0]}).t()" if " " in parts[0] else f"{parts[0]}.t()"
        if name not in _SIGNS or len(parts) != 2:
            return f"{name}({', '.join(parts)})"
        if name in ("mul", "div") and parts[1] == "1":
            return parts[0]
        loose = {"div": ("mul", "div", "add", "sub"), "mul": ("add", "sub"), "sub": ("add", "sub")}.get(name, ())
        for i, one in enumerate(operands):
            inner = self.maker(one)
            first = ("add", "sub") if name in ("mul", "div") else ()
            if inner is not None and inner.name in (loose if i else first) and " " in parts[i]:
                parts[i] = f"({parts[i]})"
        return f" {_SIGNS[name]} ".join(parts)


def _fitting(write: Callable[[int], str]) -> str:
    """Write with as many levels as there is room for."""
    return next((text for levels in _LEVELS if len(text := write(levels)) < _ROOM), write(1))


def _source(step: _Step) -> _Ref:
    """Return what a step gives in another form."""
    return _Ref(step.needs[-1 if step.name == "copy" else 0])


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
    """Yield each step on which a value depends, the last one first, changed in each way; then with other values of the program."""
    needed, steps = {wanted}, list[int]()
    for at in reversed(range(len(program.steps))):
        step = program.steps[at]
        if not needed.isdisjoint(step.gives):
            needed |= {*step.needs}
            if len(step.gives) == 1 and step.name not in _FORMS:
                steps.append(at)
    for changes in (_changes, _others, _more):
        program.left = _MOST
        for at in steps:
            if program.left > 0:
                found = enumerate(changes(program, program.steps[at]))
                yield from (Variant(at, change, changes, number) for number, change in found if not change.is_again)


def _others(program: Program, step: _Step) -> Iterator[_Change]:
    """Let another value of the program go in, that there was before or that has a name."""
    for i, one in enumerate(step.operands):
        for at in program.alike(step, one):
            yield program.with_(step, [*step.operands[:i], _Ref(at), *step.operands[i + 1 :]])


def _changes(program: Program, step: _Step) -> Iterator[_Change]:
    """Yield what may stand in place of a step."""
    name, operands, result = step.name, step.operands, program.values[step.gives[0]]

    with_ = partial(program.with_, step)
    for i, one in enumerate(operands):
        same = _is_ref(one) and program.values[one.at]
        if same is not False and (same.shape, same.dtype) == (result.shape, result.dtype):
            left_out = operands[1 - i] if name in ("add", "mul") or (name in _ARITHMETIC and not i) else None
            yield _Change(partial(program.words, one), partial(_given, one), left_out)
    for other, function in _ARITHMETIC.items() if name in _ARITHMETIC else ():
        yield with_(operands[::-1] if other == name else operands, function, other)
    for family in _RELATIVES:
        for other in family if name in family else ():
            yield with_(operands, getattr(torch.ops.prims, other, None) or getattr(torch, other), other)
    own = with_(operands)
    if name == "round":
        (one,) = operands
        yield _Change(
            lambda levels: f"trunc({program.words(one, levels)} + 0.5)", lambda value: (value(one) + 0.5).trunc()
        )
    if name == "sigmoid":
        yield _Change(lambda levels: f"1 - {own.words(levels)}", lambda value: 1 - own.compute(value))
    if name == "sum" and result.numel():
        count = program.values[operands[0].at].numel() / result.numel()
        yield _Change(lambda levels: f"{own.words(levels)} / {count:g}", lambda value: own.compute(value) / count)
    if name == "div":  # as integers are divided
        yield _Change(lambda levels: f"trunc({own.words(levels)})", lambda value: own.compute(value).trunc())
    numbers = [one for step in program.steps for one in step.operands if isinstance(one, float)]
    extents = {extent for given in program.names.values() for extent in given.shape if extent > 1}
    if name == "div" and _is_ref(operands[1]) and program.values[operands[1].at].numel() == 1:  # by how many there are
        for extent in sorted(extents | {given.numel() for given in program.names.values()}):
            yield with_([operands[0], float(extent)], torch.div)
    for i, one in enumerate(operands):
        tried = {one} if isinstance(one, float) else set[Any]()
        for other in _instead_of(one, numbers, extents):
            yield with_([*operands[:i], other, *operands[i + 1 :]])._replace(is_again=other in tried)
            tried.add(other)
        if _is_ref(one):
            yield from _turned(program, step, i)
    yield from _later(program, step)
    yield from _exchanged(program, step)


def _instead_of(one: Any, numbers: Sequence[float], extents: set[int]) -> Iterator[Any]:
    """Yield other numbers for a number, those for a size too many or too few or less or more by one, and the other one for a flag."""
    if isinstance(one, _Flag):
        yield _Flag(one.name, not one.value)
    elif isinstance(one, float):
        yield from (*numbers, one + 1, one - 1, -one)
        for extent in sorted(extents):
            yield from (one * extent / (extent - 1), one * extent / (extent + 1), one * extent, one / extent)


def _turned(program: Program, step: _Step, i: int) -> Iterator[_Change]:
    """Turn a tensor round, or move it by one along an axis; read an input as if its axes lay in another order."""
    one = step.operands[i]
    value, own, altered = program.values[one.at], partial(program.words, one), partial(program.altered, step, i)
    if step.name == "convolution" and i == 1:
        axes = [*range(2, value.dim())]
        yield altered(lambda levels: f"flip({own(levels)}, {axes})", lambda given: given.flip(axes))
    for axis, extent in enumerate(value.shape):
        for by in (1, -1) if extent > 1 else ():
            words = partial(program.expression, "roll", [one, by, axis])
            yield altered(words, partial(_rolled, by, axis))
    if value.dim() == 2 and value.shape[0] == value.shape[1]:
        yield altered(lambda levels: f"{own(levels)}.t()", lambda given: given.t())
    for a, b in combinations(range(value.dim()), 2) if step.name == _GIVEN else ():
        shape = [*value.shape]
        shape[a], shape[b] = shape[b], shape[a]
        yield altered(partial(_called, own, f".view({shape}).transpose({a}, {b})"), partial(_as_if, a, b))
        yield altered(
            partial(_called, own, f".transpose({a}, {b}).reshape({[*value.shape]})"), partial(_laid_out, a, b)
        )


def _called(own: Callable[[int], str], behind: str, levels: int) -> str:
    return f"{own(levels)}{behind}"


def _as_if(a: int, b: int, given: Tensor) -> Tensor:
    """Read a tensor as if two of its axes lay the other way round."""
    shape = [*given.shape]
    shape[a], shape[b] = shape[b], shape[a]
    return given.reshape(shape).transpose(a, b)


def _laid_out(a: int, b: int, given: Tensor) -> Tensor:
    return given.transpose(a, b).reshape(given.shape)


def _exchanged(program: Program, step: _Step) -> Iterator[_Change]:
    """Let two that go in stand in each other's place, `b + c * a` for `a + c * b`."""
    for i, one in enumerate(step.operands) if step.name in ("add", "sub") else ():
        inner = program.maker(step.operands[1 - i])
        if not _is_ref(one) or inner is None or inner.name not in ("mul", "div"):
            continue
        for j, other in enumerate(inner.operands):
            if _is_ref(other) and program.values[other.at].shape == program.values[one.at].shape:
                within = program.with_(inner, [one if j == k else same for k, same in enumerate(inner.operands)])

                def words(levels: int, i: int = i, within: _Change = within, other: _Ref = other) -> str:
                    parts = [other, within.words(levels - 1)]
                    return program.expression(step.name, parts[::-1] if i else parts, levels)

                def compute(value: Any, i: int = i, within: _Change = within, other: _Ref = other) -> Any:
                    parts = [value(other), within.compute(value)]
                    return step.function(*(parts[::-1] if i else parts), **step.options)

                yield _Change(words, compute)


def _more(program: Program, step: _Step) -> Iterator[_Change]:
    """Let an operand have another value of the program for a factor, which is one too many."""
    for i, one in enumerate(step.operands):
        for at in program.alike(step, one):
            product = program.with_(step, [one, _Ref(at)], torch.mul, "mul")
            yield program.altered(step, i, product.words, partial(torch.mul, program.values[at]))


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
        lambda levels: f"{program.expression(step.name, [tensor, *rest], levels)} {sign} {number:.6g}",
        lambda value: combine(program.compute(step, [value(tensor), *rest]), number),
    )
    if step.name == "rsqrt":
        yield _Change(
            lambda levels: f"1 / ({program.expression('sqrt', [tensor], levels)} {sign} {number:.6g})",
            lambda value: 1 / combine(value(tensor).sqrt(), number),
        )
