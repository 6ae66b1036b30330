"""What is computed: an op has a name, a signature, a reference in plain PyTorch, and shapes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..base.above import Shown
from ..base.arguments import (
    DTYPES,
    REAL_DTYPES,
    did_you_mean,
    function,
    mapping,
    number,
    plural,
    raised,
    require,
    shown,
    string,
    strings,
)
from ..errors import DefinitionError, InputError, LltmInlineError
from .reserved import is_reserved
from .shapes import ELEMENTS, UNTOLD, Shape, letters_of, named_size

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_MOST_LETTERS = 64
#: How many tensors a list gets that is drawn.
MEMBERS = 3
_TYPE = r"[A-Za-z]+(?:\([a-z]!\))?(?:\[\w*\])?\??"
_ARGUMENT = re.compile(rf"({_TYPE})(?:\s+([A-Za-z](?:\w*[A-Za-z0-9])?)(?:\s*=\s*(\S.*))?)?\Z", re.ASCII)
_TENSOR = re.compile(r"Tensor(?:\(([a-z]!)\))?(?:\[(\w+)\](\??)|(\??)|(\[\]))\Z")
_SCHEMA = re.compile(r"(?:[A-Za-z]\w*)?\((.*)\)\s*->\s*(?:\((.*)\)|(\S.*))\Z", re.DOTALL)
_INTEGER = r"[+-]?(?:0|[1-9]\d{0,17})"
_REAL = r"[+-]?(?:\d{1,18}(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?"
_TEXT = r"\"[\w .+-]*\"|'[\w .+-]*'"


def _list_of(item: str) -> str:
    return rf"\[\s*(?:{item}(?:\s*,\s*{item})*)?\s*\]"


#: The types of arguments that are no tensors, as torch's schemas spell them, each with what its default looks like.
_PLAIN = {"float": _REAL, "int": _INTEGER, "bool": "True|False", "str": _TEXT}
_PLAIN |= {f"{type_}?": f"None|{default}" for type_, default in _PLAIN.items()}
_PLAIN |= {"int[]": _list_of(_INTEGER), "float[]": _list_of(_REAL), "ScalarType": r"(?!)"}
_KINDS = (
    "Tensor, Tensor?, Tensor[int64], Tensor(a!), Tensor[], Tensor(a!)[], float, int, bool, str, each with ?, int[], float[], "
    "ScalarType"
)


@dataclass(frozen=True)
class Argument:
    """One argument or result of an op: `Tensor? bias`, `float c=2`, `Tensor[int64] index`, `Tensor(a!) out`.

    Attributes:
        name: of it.
        type: `Tensor`, `Tensor?`, or what torch's schemas call a number, a text or a list.
        default: as it stands in the schema.
        dtype: that this tensor always has; empty for the one that all tensors without a dtype have in common.
        alias: of an input that is changed in place, and of an output that is this input: `a!`.
    """

    name: str
    type: str
    default: str | None = None
    dtype: str = ""
    alias: str = ""

    @property
    def is_tensor(self) -> bool:
        return self.type in ("Tensor", "Tensor?")

    @property
    def is_list(self) -> bool:
        """Whether it is a list of tensors."""
        return self.type == LIST

    @property
    def told(self) -> str:
        """How Python and C++ spell the tensor that tells device, dtype and extents: of a list its first."""
        return f"{self.name}[0]" * self.is_list or self.name

    @property
    def value(self) -> Any:
        """The default, as Python has it."""
        return ast.literal_eval(self.default or "None")

    @property
    def declaration(self) -> str:
        """As torch declares it, to which dtypes of tensors are nothing, and which takes no integer for `float?`: `Tensor(a!) out`."""
        real = self.type == "float?" and self.value is not None
        return str(replace(self, dtype="", default=repr(float(self.value)) if real else self.default))

    def __str__(self) -> str:
        type_ = self.type
        if self.is_tensor or self.is_list:
            marks = f"({self.alias})" * bool(self.alias) + f"[{self.dtype}]" * bool(self.dtype)
            type_ = f"Tensor{marks}{self.type.removeprefix('Tensor')}"
        return f"{type_} {self.name}" + ("" if self.default is None else f"={self.default}")


@dataclass(frozen=True)
class Schema:
    """The signature that every kernel of an op has.

    >>> schema = Schema.parse("(Tensor x, float c) -> Tensor y")
    >>> [argument.name for argument in schema.inputs], [output.name for output in schema.outputs]
    (['x', 'c'], ['y'])
    """

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]

    @classmethod
    def parse(cls, text: str) -> Schema:
        what = f"schema {shown(text, 200)}"
        match = _SCHEMA.match(text.strip()) if isinstance(text, str) else None
        if match is None:
            raise DefinitionError(f"{what} does not read as '(Tensor x, float c) -> Tensor y'")
        inputs = tuple(cls._argument(part, what) for part in _parts(match[1]))
        results = _parts(match[2] if match[2] is not None else match[3])
        numbers = map(str, range(len(results))) if len(results) > 1 else [""]
        outputs = tuple(cls._result(part, number, what) for part, number in zip(results, numbers, strict=False))
        names = [argument.name for argument in inputs + outputs]
        if len(set(names)) < len(names):
            raise DefinitionError(f"{what} uses a name twice")
        taken = [name for name in names if f"d_{name}" in names]
        if taken:
            raise DefinitionError(f"{what}: d_{taken[0]} is the name of the gradient of {taken[0]}")
        made = cls(inputs, outputs)
        aliases = [argument.alias for argument in made.changed]
        single = [argument.alias for argument in made.changed if argument.is_tensor]
        if len(set(aliases)) < len(aliases) or any(output.alias not in ("", *single) for output in outputs):
            raise DefinitionError(
                f"{what}: each input that is changed has a letter of its own, Tensor(a!) x, Tensor(b!) y, and an output that is "
                "such an input, and no list, has the same"
            )
        if not made.results:
            raise DefinitionError(f"{what}: an op returns something, or changes an input: Tensor(a!) x")
        return made

    @classmethod
    def _argument(cls, part: str, schema: str) -> Argument:
        match = _ARGUMENT.match(part)
        if part == "*":
            raise DefinitionError(f"{schema}: leave out '*': arguments are given by position or by name")
        if match is None or not match[2]:
            raise DefinitionError(f"{schema}: {shown(part)} is not a type ({_KINDS}) and a name")
        return cls._made(match[1], match[2], match[3], schema)

    @classmethod
    def _result(cls, part: str, number: str, schema: str) -> Argument:
        match = _ARGUMENT.match(part)
        output = match and not match[3] and cls._made(match[1], match[2] or f"output{number}", None, schema)
        if not output or output.type not in RESULTS:
            raise DefinitionError(f"{schema}: {shown(part)} is no result. An op returns {', '.join(RESULTS)}, or ()")
        return output

    @staticmethod
    def _made(type_: str, name: str, default: str | None, schema: str) -> Argument:
        """Make an argument of its parts."""
        tensor = _TENSOR.match(type_)
        if tensor is None and type_ not in _PLAIN:
            raise DefinitionError(f"{schema}: {shown(type_)} is not a type: want {_KINDS}")
        if is_reserved(name):
            raise DefinitionError(f"{schema}: {name!r} is a word of C++ or Python: choose another name")
        if default is not None and not is_default(type_, default):
            raise DefinitionError(f"{schema}: {shown(default)} is no default of a {type_}")
        if tensor is None:
            return Argument(name, type_, default)
        if tensor[2] and tensor[2] not in DTYPES:
            raise DefinitionError(
                f"{schema}: {shown(type_)} has no dtype of torch.{did_you_mean(tensor[2], DTYPES)} Dtypes: {', '.join(DTYPES)}"
            )
        kind = f"Tensor{tensor[3] or tensor[4] or tensor[5] or ''}"
        return Argument(name, kind, default, tensor[2] or "", tensor[1] or "")

    @property
    def tensors(self) -> tuple[Argument, ...]:
        """The inputs that are tensors."""
        return tuple(argument for argument in self.inputs if argument.is_tensor)

    @property
    def changed(self) -> tuple[Argument, ...]:
        """The inputs that are changed in place."""
        return tuple(argument for argument in self.inputs if argument.alias)

    @property
    def results(self) -> tuple[Argument, ...]:
        """All that a call leaves behind: what it returns, then the inputs that it changes."""
        return (*self.outputs, *self.changed)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"


#: The type of a list of tensors: of one shape, unless that is `"?"`.
LIST = "Tensor[]"
#: What an op may return.
RESULTS = ("Tensor", "int", "float", "bool")


def is_default(type_: str, text: str) -> bool:
    """Tell whether an argument of a type may have this default, as a schema spells it."""
    wanted = _PLAIN.get(type_, "None" if type_.endswith("?") else r"(?!)")
    return re.fullmatch(wanted, text, re.ASCII) is not None


def _parts(text: str) -> list[str]:
    """Split at the commas that stand outside of brackets."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


@dataclass(frozen=True)
class Cost:
    """The least that one call must move and compute, so that timings can be read as a share of the machine's peak.

    Bytes count each input and output once (what a perfect kernel would move), operations count a multiply-add as two.
    For an op without gradients, leave out the backward numbers.

    Example:
        >>> def of_axpy(itemsize, N):  # z = a x + y; in backward d_x = a d_z, d_y = d_z
        ...     return Cost(3 * N * itemsize, 2 * N, 3 * N * itemsize, N)
        >>> of_axpy(4, 1000).forward_bytes
        12000
        >>> Cost(12000, 2000) == Cost(12000, 2000, 0, 0)
        True
    """

    forward_bytes: float
    forward_flops: float
    backward_bytes: float = 0.0
    backward_flops: float = 0.0


class FrozenDict(dict[str, Any]):
    """A dict that refuses changes, so that a frozen op or kernel is frozen all the way down."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("an op or kernel is frozen: use kernel.replace(params={...}) to make a new one")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return (FrozenDict, (dict(self),))


@dataclass(frozen=True)
class Op(Shown):
    """What is computed: name, signature, reference, shapes.

    Args:
        name: lower-case identifier, `lltm`.
        schema: `"(Tensor x, Tensor[int64] index, float c=1) -> Tensor y"`, in torch's schema syntax. An input that is changed
            in place is `Tensor(a!) x`, a list of tensors of one shape `Tensor[] xs`, a list that is changed `Tensor(a!)[] xs`;
            `()` means that nothing is returned. A tensor that always has one dtype has it in brackets.
        reference: the op in plain, differentiable PyTorch; it becomes the kernel `NAME/python`. It must change what the op changes.
        shapes: for each tensor of the schema its shape in letters, `{"x": "B F"}`; `"..."` is any shape of N elements, the same
            wherever it is used. An output may also have a formula of letters and of the op's integers, `"(H-K)/stride+1"`,
            or `"?"`: its shape depends on the values.
        inputs: `inputs(randn, **letters)` makes one set of inputs; the default draws each tensor with `randn`, and takes the
            defaults of the other arguments.
        benchmark_sizes: sizes to time, as tuples in the order of `letters`.
        check_size: the size at which gradients are checked; the other sizes of a check follow from it. Default: primes.
        parameters: the inputs that need a gradient when the op is timed (default: all tensors).
        parts: names of equal parts of a tensor's first dimension, for reports: `{"bias": ("input gate", ...)}`.
        cost: `cost(itemsize, **letters)` gives a `Cost` of one call at such a size.
        tolerances: dtype name to (rtol, atol), instead of the defaults of the check.
        dtypes: what the kernels accept for tensors without a dtype in the schema; anything else is refused.
        doc: one paragraph with the formula.
        differentiable: False for an op without gradients, or the names of the inputs that have one. True means all tensors of
            real and complex numbers, unless the op changes an input.
        corners: whether the kernels must handle empty tensors, inf and NaN, and the numbers 0, 1 and -1.

    Raises:
        DefinitionError: a field breaks a rule.

    Example:
        >>> import torch
        >>> op = Op("scale", "(Tensor x, float c) -> Tensor y", lambda x, c: x * c, {"x": "B F", "y": "B F"},
        ...         inputs=lambda randn, B, F: (randn(B, F), 3.0))
        >>> op.letters
        ('B', 'F')
    """

    name: str
    schema: str
    reference: Callable[..., Any]
    shapes: Mapping[str, str]
    inputs: Callable[..., tuple[Any, ...]] | None = None
    benchmark_sizes: tuple[tuple[int, ...], ...] = ()
    check_size: tuple[int, ...] = ()
    parameters: tuple[str, ...] = ()
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cost: Callable[..., Cost] | None = None
    tolerances: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ("float32", "float64")
    doc: str = ""
    differentiable: bool | tuple[str, ...] = True
    corners: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.match(self.name) or len(self.name) > _MOST_LETTERS:
            raise DefinitionError(f"op name {shown(self.name)} is not a lower-case identifier like 'lltm'")
        self._check_types()
        signature = self.signature
        every = (*signature.inputs, *signature.outputs)
        tensors = {argument.name for argument in every if argument.is_tensor or argument.is_list}
        changed = {argument.alias: argument.name for argument in signature.changed}
        same = {output.name: changed[output.alias] for output in signature.outputs if output.alias in changed}
        shapes = {name: self.shapes[given] for name, given in same.items() if given in self.shapes} | {**self.shapes}
        object.__setattr__(self, "shapes", FrozenDict(shapes))
        if set(self.shapes) != tensors:
            raise DefinitionError(
                f"op {self.name!r}: shapes are given for {shown(sorted(self.shapes), 200)}, "
                f"but the schema's tensors are {sorted(tensors)}"
            )
        if self.inputs is None and any(
            not (argument.is_tensor or argument.is_list) and argument.default is None for argument in signature.inputs
        ):
            raise DefinitionError(f"op {self.name!r} takes more than tensors: give inputs=, a function that makes them")
        unknown = set(self.parameters) - {argument.name for argument in signature.tensors}
        if unknown:
            raise DefinitionError(f"op {self.name!r}: parameters {shown(sorted(unknown))} are no tensor inputs")
        self._check_letters()
        self._check_gradients()
        for size in (*self.benchmark_sizes, *([self.check_size] if self.check_size else [])):
            try:
                allowed = self.allows(size)
            except InputError as error:
                raise DefinitionError(f"op {self.name!r}: {error}") from None
            if not allowed:
                raise DefinitionError(f"op {self.name!r}: at size {size} a tensor would have a negative extent")

    def _check_types(self) -> None:
        """Refuse fields of the wrong kind, and freeze the others."""
        where: dict[str, Any] = {"where": f"op {self.name!r}", "error": DefinitionError}
        for name in ("schema", "doc"):
            string(name, getattr(self, name), **where)
        for name in ("reference", "inputs", "cost"):
            if name == "reference" or getattr(self, name) is not None:
                function(name, getattr(self, name), **where)
        shapes = mapping("shapes", self.shapes, "a dict of shapes by tensor, {'x': 'B F'}", **where)
        parts = mapping("parts", self.parts, "a dict of names by tensor, {'bias': ('input gate', ...)}", **where)
        limits = mapping("tolerances", self.tolerances, "a dict of (rtol, atol) by dtype", **where)
        for name, names in parts.items():
            parts[name] = strings(f"parts[{name!r}]", names, **where)
        for dtype, pair in limits.items():
            limits[dtype] = _tolerance(dtype, pair, where)
        for name, table in (("shapes", shapes), ("parts", parts), ("tolerances", limits)):
            object.__setattr__(self, name, FrozenDict(table))
        sizes = self.benchmark_sizes
        want = "a tuple of sizes, ((16, 32, 128),)"
        require(isinstance(sizes, list | tuple), "benchmark_sizes", sizes, want, **where)
        sizes = tuple(tuple(size) if isinstance(size, list) else size for size in sizes)
        object.__setattr__(self, "benchmark_sizes", sizes)
        size = self.check_size
        require(isinstance(size, list | tuple), "check_size", size, "a tuple of integers, one for each letter", **where)
        object.__setattr__(self, "check_size", tuple(size))
        for name in ("parameters", "dtypes"):
            object.__setattr__(self, name, strings(name, getattr(self, name), **where))
        if not isinstance(self.differentiable, bool):
            object.__setattr__(self, "differentiable", strings("differentiable", self.differentiable, **where))
        holds = self.dtypes and {*self.dtypes} <= {*DTYPES}
        require(holds, "dtypes", self.dtypes, f"some of {', '.join(DTYPES)}", **where)

    def _check_gradients(self) -> None:
        """Refuse gradients of what cannot have one, and a common dtype that no tensor tells."""
        signature = self.signature
        for name in self.differentiable if not isinstance(self.differentiable, bool) else ():
            argument = next((argument for argument in signature.tensors if argument.name == name), None)
            why = "is no tensor input" if argument is None else "is changed in place" * bool(argument.alias)
            if argument is None or why or not self._is_real(argument):
                why = why or "holds no real numbers"
                raise DefinitionError(f"op {self.name!r}: differentiable names {name!r}, which {why}")
        if signature.changed and self.gradients:
            raise DefinitionError(
                f"op {self.name!r} changes {signature.changed[0].name} in place, and cannot have gradients, too: differentiable=False"
            )
        plain = [output for output in signature.outputs if not output.is_tensor]
        if plain and self.gradients:
            raise DefinitionError(
                f"op {self.name!r} returns {plain[0]}, and an op with gradients returns tensors only: differentiable=False"
            )
        free = [argument for argument in signature.tensors if not argument.dtype]
        if free and self.first.dtype:
            raise DefinitionError(
                f"op {self.name!r}: only {free[0].name}, which may be missing, would tell the dtype of the tensors without one: "
                f"give it a dtype, Tensor[float32]? {free[0].name}"
            )

    def _is_real(self, argument: Argument) -> bool:
        """Tell whether a tensor can be one of real or complex numbers."""
        return any(dtype in REAL_DTYPES for dtype in ([argument.dtype] if argument.dtype else self.dtypes))

    def _check_letters(self) -> None:
        """Every letter must follow from the inputs that are always there: bindings check all shapes against those."""
        required, where = [self.shape_of[argument.name] for argument in self.required], f"op {self.name!r}:"
        if not required:
            raise DefinitionError(f"op {self.name!r} takes no Tensor")
        if any(shape.untold for shape in required):
            return
        fixed = [shape for shape in self.shape_of.values() if not shape.any_rank]
        if self.any_rank and any(ELEMENTS in shape.letters for shape in fixed):
            raise DefinitionError(f"{where} beside a shape '...', {ELEMENTS} is its number of elements and no extent")
        known = letters_of(required)
        integers = [argument.name for argument in self.signature.inputs if argument.type == "int"]
        for name, shape in self.shape_of.items():
            if others := [number for number in shape.numbers if number not in integers]:
                raise DefinitionError(
                    f"op {self.name!r}: the shape of {name!r} follows from {others[0]}, which is neither a letter nor one of the "
                    f"op's integers ({', '.join(integers) or 'it has none'})"
                )
            unknown = [letter for letter in shape.letters if letter not in known]
            if unknown:
                raise DefinitionError(
                    f"op {self.name!r}: shape {shape} of {name!r} has {', '.join(unknown)}, which no required input has as a whole extent"
                )
        if self.any_rank and not self.any_rank_inputs:
            raise DefinitionError(f"{where} no input that is always there has the shape '...' of {self.any_rank[0]}")

    def __str__(self) -> str:
        shapes = ", ".join(f"{name} {self.shape_text(name)}" for name in self.shapes)
        lines = f"op {self.name}{self.signature}", self.doc.strip().partition("\n")[0], f"shapes: {shapes}"
        return "\n  ".join(line for line in lines if line)

    def __repr__(self) -> str:
        return f"<Op {self.name}{self.signature}>"

    @cached_property
    def signature(self) -> Schema:
        return Schema.parse(self.schema)

    @cached_property
    def gradients(self) -> tuple[Argument, ...]:
        """The inputs that have a gradient: `backward` returns one for each, in this order."""
        if isinstance(self.differentiable, bool):
            every = self.differentiable and not self.signature.changed
            return tuple(argument for argument in self.signature.tensors if every and self._is_real(argument))
        return tuple(argument for argument in self.signature.tensors if argument.name in self.differentiable)

    @cached_property
    def required(self) -> tuple[Argument, ...]:
        """The inputs that tell what there is to know of a call: single tensors, and lists where these do not tell the common dtype.

        Such a list must not be empty.
        """
        single = [argument for argument in self.signature.inputs if argument.type == "Tensor"]
        lists = [argument for argument in self.signature.inputs if argument.is_list]
        return (*single, *lists) if all(argument.dtype for argument in single) else tuple(single)

    @cached_property
    def first(self) -> Argument:
        """The input that tells the device, and the dtype of those tensors that have none in the schema."""
        return next((argument for argument in self.required if not argument.dtype), self.required[0])

    @cached_property
    def shape_of(self) -> dict[str, Shape]:
        inputs = {argument.name for argument in self.signature.inputs}
        found = {}
        for name, text in self.shapes.items():
            try:
                found[name] = Shape.parse(text, of_output=name not in inputs or text == UNTOLD)
            except DefinitionError as error:
                raise DefinitionError(f"op {self.name!r}, shape of {name!r}: {error}") from None
        return found

    def shape_text(self, name: str) -> str:
        """Return the shape of a tensor as it was written, `B F`; of a number, nothing."""
        return " ".join(self.shape_of[name].words) if name in self.shape_of else ""

    @cached_property
    def any_rank(self) -> tuple[str, ...]:
        """The tensors whose shape is `"..."`, lists behind single inputs, and outputs last: all have the shape of the first."""
        signature = self.signature
        lists = (a for a in signature.inputs if a.is_list)
        tensors = (*signature.tensors, *lists, *(a for a in signature.outputs if a.is_tensor))
        return tuple(a.name for a in tensors if self.shape_of[a.name].any_rank)

    @property
    def any_shape(self) -> str:
        """How Python and C++ spell the tensor whose shape the others of these have; empty without any."""
        return next((a.told for a in self.signature.inputs if a.name in self.any_rank[:1]), "")

    @property
    def lacks(self) -> str:
        """Why kernels cannot be compared with anything, in a sentence; empty but for an op that a snippet left without reference."""
        return str(getattr(self.reference, "missing", ""))

    @property
    def any_rank_inputs(self) -> tuple[str, ...]:
        """Those of them that are inputs, and no lists that may be empty."""
        inputs = {argument.name for argument in (*self.signature.tensors, *self.required)}
        return tuple(name for name in self.any_rank if name in inputs)

    @cached_property
    def untold(self) -> str:
        """What of the results nobody knows before a call, in words; empty where all of it is known."""
        named = ((output.name, self.shape_of.get(output.name)) for output in self.signature.outputs)
        unknown = [(name, shape) for name, shape in named if shape is None or shape.untold]
        return next((name if shape is None else f"the shape of {name}" for name, shape in unknown), "")

    def extents(self, size: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the shapes of all tensors at a size, those that follow from the size alone."""
        sizes = self.named(size)
        numbers = tuple(sizes.values())
        if numbers not in self._extents:
            self._extents[numbers] = [shape(sizes) for shape in self.shape_of.values() if not shape.numbers]
        return self._extents[numbers]

    @cached_property
    def _extents(self) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
        return {}

    def allows(self, size: Sequence[int]) -> bool:
        """Tell whether every tensor has a shape at this size: no extent may be negative."""
        try:
            return all(extent >= 0 for shape in self.extents(size) for extent in shape)
        except ZeroDivisionError:
            return False

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """The letters of a size in order, `("B", "F", "S")`."""
        told = {*self.signature.tensors, *self.required}
        return letters_of([self.shape_of[argument.name] for argument in self.signature.inputs if argument in told])

    def named(self, size: Sequence[int]) -> dict[str, int]:
        """Pair a size with its letters: `(16, 32, 128)` becomes `{"B": 16, "F": 32, "S": 128}`."""
        return named_size(self.letters, size)

    def make_inputs(self, randn: Callable[..., Any], size: Sequence[int]) -> tuple[Any, ...]:
        """Make one set of inputs of this size; `randn(*shape)` draws a tensor.

        Raises:
            DefinitionError: the op's own `inputs` fails, or gives what the schema does not say.
            InputError: the size does not fit the letters, or there is no memory for it.
        """
        sizes = self.named(size)
        where = ", ".join(f"{letter}={number}" for letter, number in sizes.items())
        function("randn", randn, where=f"op {self.name!r}")
        try:
            if self.inputs is None:
                return self._drawn(randn, sizes)
            made = self.inputs(randn, **sizes)
        except LltmInlineError:
            raise
        except Exception as error:
            said = raised(error)
            is_full = any(word in str(error) for word in ("allocat", "memory", "size"))
            if isinstance(error, MemoryError | RuntimeError) and is_full:
                raise InputError(f"op {self.name!r}: no memory for inputs at {where}: {said}") from error
            raise DefinitionError(f"op {self.name!r}: inputs() failed at {where}: {said}") from error
        return self._checked_inputs(made, sizes, where)

    @property
    def is_complex(self) -> bool:
        """Whether inputs are complex in each dtype; they are made of real numbers."""
        return all(dtype.startswith("complex") for dtype in self.dtypes)

    def _drawn(self, randn: Callable[..., Any], sizes: Mapping[str, int]) -> tuple[Any, ...]:
        """Draw each tensor, integers from around zero, and take the defaults of the others."""

        def one(argument: Argument) -> Any:
            drawn = randn(*self.shape_of[argument.name](sizes))
            own = str(drawn.dtype.to_complex()).removeprefix("torch.") if self.is_complex else ""
            return of_dtype(drawn, argument.dtype or own) if argument.dtype or own else drawn

        def draw(argument: Argument) -> Any:
            if argument.is_list:
                return [one(argument) for _ in range(MEMBERS)]
            return one(argument) if argument.is_tensor else argument.value

        return tuple(draw(argument) for argument in self.signature.inputs)

    def _checked_inputs(self, made: Any, sizes: Mapping[str, int], where: str) -> tuple[Any, ...]:
        """Hold what the op's `inputs` gave against its schema."""
        arguments = self.signature.inputs
        what = f"op {self.name!r}: inputs() gave"
        if not isinstance(made, tuple | list) or len(made) != len(arguments):
            got = f"{len(made)} values" if isinstance(made, tuple | list) else shown(made)
            names = ", ".join(argument.name for argument in arguments)
            raise DefinitionError(f"{what} {got} at {where}, want a tuple of {len(arguments)}: {names}")
        for argument, value in zip(arguments, made, strict=True):
            if not fits(argument.type, value):
                raise DefinitionError(f"{what} {shown(value)} for {argument.name} at {where}, want a {argument.type}")
            if argument.is_list:
                self._check_members(argument.name, value, sizes, f"{what} {argument.name}")
            if not argument.is_tensor or value is None:
                continue
            given = f"{what} {argument.name} of"
            if argument.dtype and str(value.dtype) != f"torch.{argument.dtype}":
                raise DefinitionError(f"{given} {value.dtype} at {where}, want torch.{argument.dtype}")
            want, shape = self.shape_of[argument.name], tuple(value.shape)
            if not want.any_rank and shape != want(sizes):
                raise DefinitionError(f"{given} shape {shape} at {where}, want {want} = {want(sizes)}")
        return tuple(made)

    def _check_members(self, name: str, members: Sequence[Any], sizes: Mapping[str, int], what: str) -> None:
        """Hold a list of tensors against the shape that all of them have."""
        want = self.shape_of[name]
        if not members and name in {argument.name for argument in self.required}:
            no_other = "there is no other that tells its dtype"
            raise DefinitionError(f"{what} that is empty, want one tensor at least: {no_other}")
        for place, member in enumerate(members):
            if not (want.any_rank or want.untold) and tuple(member.shape) != want(sizes):
                raise DefinitionError(f"{what}[{place}] of shape {tuple(member.shape)}, want {want} = {want(sizes)}")

    def run_reference(self, *inputs: Any) -> tuple[Any, ...]:
        """Call the reference and return its outputs as a tuple.

        Raises:
            DefinitionError: it fails, or returns something else than the tensors of the schema.
        """
        outputs = self.signature.outputs
        try:
            results = self.reference(*inputs)
        except LltmInlineError:
            raise
        except Exception as error:
            raise DefinitionError(f"op {self.name!r}: its reference failed: {raised(error)}") from error
        found = tuple(results) if isinstance(results, tuple | list) else (results,) if outputs else ()
        if len(found) != len(outputs) or not all(map(fits, (output.type for output in outputs), found)):
            plain = all(output.is_tensor for output in outputs)
            want = f"{plural(len(outputs), 'dense tensor')}: {', '.join(output.name for output in outputs)}"
            raise DefinitionError(
                f"op {self.name!r}: its reference returned {shown(results)}, want {want if plain else ', '.join(map(str, outputs))}"
            )
        return found

    def cost_at(self, itemsize: int, size: Sequence[int]) -> Cost | None:
        """Return what a call at this size costs; None where the op does not say.

        Raises:
            DefinitionError: `cost` fails, or gives something else than a `Cost` of finite numbers.
        """
        if self.cost is None:
            return None
        try:
            cost = self.cost(itemsize, **self.named(size))
        except LltmInlineError:
            raise
        except Exception as error:
            raise DefinitionError(f"op {self.name!r}: cost() failed: {type(error).__name__}: {error}") from error
        if not isinstance(cost, Cost):
            raise DefinitionError(f"op {self.name!r}: cost() gave {shown(cost)}, want a Cost")
        for name, value in vars(cost).items():
            number(name, value, where=f"op {self.name!r}: cost()", error=DefinitionError)
        return cost


def _tolerance(dtype: str, pair: Any, where: dict[str, Any]) -> tuple[float, float]:
    name = f"tolerances[{dtype!r}]"
    holds = dtype in REAL_DTYPES and isinstance(pair, list | tuple) and len(pair) == 2
    require(holds, name, pair, f"(rtol, atol) for a dtype: {', '.join(REAL_DTYPES)}", **where)
    rtol, atol = (number(name, value, **where) for value in pair)
    require(min(rtol, atol) >= 0, name, pair, "(rtol, atol), neither below zero", **where)
    return rtol, atol


def fits(type_: str, value: Any) -> bool:
    """Tell whether a value is of a type of the schema; a sparse tensor is none that a kernel could take."""
    import torch

    if type_.endswith("?") and value is None:
        return True
    type_ = type_.removesuffix("?")
    if type_ == "Tensor":
        return isinstance(value, torch.Tensor) and value.layout == torch.strided
    if type_.endswith("[]"):
        return isinstance(value, list | tuple) and all(fits(type_[:-2], item) for item in value)
    wanted: Any = {"float": (int, float), "int": int, "bool": bool, "str": str, "ScalarType": torch.dtype}[type_]
    return isinstance(value, wanted) and (type_ == "bool" or not isinstance(value, bool))


def of_dtype(drawn: Any, dtype: str) -> Any:
    """Turn random real numbers into ones of a dtype; integers are drawn from around zero, as far as they can be negative.

    A complex number has an imaginary part drawn besides: where that is 0, a conjugate that was forgotten does not show.
    """
    import torch

    wanted: Any = getattr(torch, dtype)
    if wanted.is_floating_point or drawn.is_complex():
        return drawn.to(wanted)
    if wanted.is_complex:
        seed = int(drawn.double().abs().sum().remainder(1) * 2**31)  # another one for other real parts
        other = torch.randn(drawn.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        return torch.complex(drawn.double(), other.to(drawn.device)).to(wanted)
    if wanted == torch.bool:
        return drawn > 0
    whole = (drawn.double() * 4).round()
    return (whole.abs() if wanted == torch.uint8 else whole).to(wanted)
