"""What is computed: an op has a name, a signature, a reference in plain PyTorch, and shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..base.above import Shown
from ..base.arguments import REAL_DTYPES, function, mapping, number, plural, refusal, shown, string, strings
from ..errors import DefinitionError, InputError, LltmInlineError
from .reserved import is_reserved
from .shapes import ELEMENTS, Shape, letters_of, named_size

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_MOST_LETTERS = 64
_ARGUMENT = re.compile(r"(Tensor\??|float|int|bool)\s+([a-z](?:\w*[A-Za-z0-9])?)(?:\s*=\s*(\S+))?\Z", re.ASCII)
_SCHEMA = re.compile(r"\(([^()]*)\)\s*->\s*(?:\(([^()]*)\)|(Tensor\s+\w+))\Z")
_DEFAULTS = {
    "Tensor?": r"None",
    "float": r"[+-]?(\d{1,18}(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?",
    "int": r"[+-]?\d{1,18}",
    "bool": r"True|False",
}


@dataclass(frozen=True)
class Argument:
    """One argument or result of an op: `Tensor? bias`, `float c=2`."""

    name: str
    type: str
    default: str | None = None

    @property
    def is_tensor(self) -> bool:
        return self.type in ("Tensor", "Tensor?")

    def __str__(self) -> str:
        return f"{self.type} {self.name}" + ("" if self.default is None else f"={self.default}")


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
        inputs = cls._arguments(match[1], what)
        outputs = cls._arguments(match[2] if match[2] is not None else match[3], what)
        names = [argument.name for argument in inputs + outputs]
        if len(set(names)) < len(names):
            raise DefinitionError(f"{what} uses a name twice")
        if not outputs or any(output.type != "Tensor" or output.default is not None for output in outputs):
            raise DefinitionError(f"{what}: an op returns one or more named Tensors")
        taken = [name for name in names if f"d_{name}" in names]
        if taken:
            raise DefinitionError(f"{what}: d_{taken[0]} is the name of the gradient of {taken[0]}")
        return cls(inputs, outputs)

    @staticmethod
    def _arguments(text: str, schema: str) -> tuple[Argument, ...]:
        arguments = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            match = _ARGUMENT.match(part)
            if match is None:
                raise DefinitionError(
                    f"{schema}: {shown(part)} is not a type (Tensor, Tensor?, float, int, bool) and a name"
                )
            if is_reserved(match[2]):
                raise DefinitionError(f"{schema}: {match[2]!r} is a word of C++ or Python: choose another name")
            default = match[3]
            if default is not None and not re.fullmatch(_DEFAULTS.get(match[1], r"(?!)"), default, re.ASCII):
                raise DefinitionError(f"{schema}: {shown(default)} is no default of a {match[1]}")
            arguments.append(Argument(match[2], match[1], default))
        return tuple(arguments)

    @property
    def tensors(self) -> tuple[Argument, ...]:
        """The inputs that can have a gradient: `backward` returns one for each, in this order."""
        return tuple(argument for argument in self.inputs if argument.is_tensor)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"


@dataclass(frozen=True)
class Cost:
    """What one call must at least move and compute, so that timings can be read as a share of the machine's peak.

    Bytes count each input and output once (what a perfect kernel would move), operations count a multiply-add as two.
    """

    forward_bytes: float
    forward_flops: float
    backward_bytes: float
    backward_flops: float


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
        schema: `"(Tensor x, Tensor y) -> Tensor z"`; types Tensor, Tensor?, float, int, bool.
        reference: the op in plain, differentiable PyTorch; it becomes the kernel `NAME/python`.
        shapes: for each tensor of the schema its shape in letters, `{"x": "B F"}`; `"..."` is any shape, the same wherever
            it stands, of N elements.
        inputs: `inputs(randn, **letters)` makes one set of inputs; the default draws each tensor with `randn`.
        benchmark_sizes: sizes to time, as tuples in the order of `letters`.
        check_size: the size at which gradients are checked, from which the other sizes of a check follow; default: primes.
        parameters: the inputs that want a gradient when the op is timed (all tensors by default).
        parts: names of equal parts of a tensor's first axis, for reports: `{"bias": ("input gate", ...)}`.
        cost: `cost(itemsize, **letters)` gives a `Cost`.
        tolerances: dtype name to (rtol, atol), over the defaults of the check.
        dtypes: what the kernels accept; anything else is refused.
        doc: one paragraph with the formula.

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

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.match(self.name) or len(self.name) > _MOST_LETTERS:
            raise DefinitionError(f"op name {shown(self.name)} is not a lower-case identifier like 'lltm'")
        self._check_types()
        signature = self.signature
        tensors = {argument.name for argument in (*signature.tensors, *signature.outputs)}
        if set(self.shapes) != tensors:
            raise DefinitionError(
                f"op {self.name!r}: shapes are given for {shown(sorted(self.shapes), 200)}, "
                f"but the schema's tensors are {sorted(tensors)}"
            )
        if self.inputs is None and any(not argument.is_tensor for argument in signature.inputs):
            raise DefinitionError(f"op {self.name!r} takes more than tensors: give inputs=, a function that makes them")
        unknown = set(self.parameters) - {argument.name for argument in signature.tensors}
        if unknown:
            raise DefinitionError(f"op {self.name!r}: parameters {shown(sorted(unknown))} are no tensor inputs")
        self._check_letters()
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
        if not isinstance(sizes, list | tuple):
            raise refusal("benchmark_sizes", sizes, "a tuple of sizes, ((16, 32, 128),)", **where)
        sizes = tuple(tuple(size) if isinstance(size, list) else size for size in sizes)
        object.__setattr__(self, "benchmark_sizes", sizes)
        if not isinstance(self.check_size, list | tuple):
            raise refusal("check_size", self.check_size, "a tuple of integers, one for each letter", **where)
        object.__setattr__(self, "check_size", tuple(self.check_size))
        for name in ("parameters", "dtypes"):
            object.__setattr__(self, name, strings(name, getattr(self, name), **where))
        wrong = [dtype for dtype in self.dtypes if dtype not in REAL_DTYPES[:4]]
        if wrong or not self.dtypes:
            raise refusal("dtypes", self.dtypes, f"some of {', '.join(REAL_DTYPES[:4])}", **where)

    def _check_letters(self) -> None:
        """Every letter must follow from the inputs that are always there: bindings check all shapes against those."""
        required = [self.shape_of[argument.name] for argument in self.signature.inputs if argument.type == "Tensor"]
        if not required:
            raise DefinitionError(f"op {self.name!r} takes no Tensor")
        fixed = [shape for shape in self.shape_of.values() if not shape.any_rank]
        if self.any_rank and any(ELEMENTS in shape.letters for shape in fixed):
            raise DefinitionError(
                f"op {self.name!r}: beside a shape '...', {ELEMENTS} is its number of elements and no extent"
            )
        known = letters_of(required)
        if not known:
            raise DefinitionError(
                f"op {self.name!r}: no extent of a required input is a letter, so it has only one size"
            )
        for name, shape in self.shape_of.items():
            unknown = [letter for letter in shape.letters if letter not in known]
            if unknown:
                raise DefinitionError(
                    f"op {self.name!r}: shape {shape} of {name!r} has {', '.join(unknown)}, which no required input has as a whole extent"
                )

    def __str__(self) -> str:
        shapes = ", ".join(f"{name} {shape}" for name, shape in self.shapes.items())
        lines = f"op {self.name}{self.signature}", self.doc.strip().partition("\n")[0], f"shapes: {shapes}"
        return "\n  ".join(line for line in lines if line)

    def __repr__(self) -> str:
        return f"<Op {self.name}{self.signature}>"

    @cached_property
    def signature(self) -> Schema:
        return Schema.parse(self.schema)

    @cached_property
    def shape_of(self) -> dict[str, Shape]:
        return {name: self._shape(name, text) for name, text in self.shapes.items()}

    def _shape(self, name: str, text: str) -> Shape:
        """Read one shape; an error names the tensor."""
        try:
            return Shape.parse(text)
        except DefinitionError as error:
            raise DefinitionError(f"op {self.name!r}, shape of {name!r}: {error}") from None

    @cached_property
    def any_rank(self) -> tuple[str, ...]:
        """The tensors whose shape is `"..."`, in the order of the schema: all have the shape of the first."""
        signature = self.signature
        return tuple(a.name for a in (*signature.tensors, *signature.outputs) if self.shape_of[a.name].any_rank)

    @property
    def any_rank_inputs(self) -> tuple[str, ...]:
        """Those of them that are inputs."""
        inputs = {argument.name for argument in self.signature.tensors}
        return tuple(name for name in self.any_rank if name in inputs)

    def allows(self, size: Sequence[int]) -> bool:
        """Tell whether every tensor has a shape at this size: no extent may be negative."""
        sizes = self.named(size)
        return all(extent >= 0 for shape in self.shape_of.values() for extent in shape(sizes))

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """The letters of a size in order, `("B", "F", "S")`."""
        return letters_of([self.shape_of[argument.name] for argument in self.signature.tensors])

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
                return tuple(randn(*self.shape_of[argument.name](sizes)) for argument in self.signature.inputs)
            made = self.inputs(randn, **sizes)
        except LltmInlineError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            if isinstance(error, MemoryError | RuntimeError) and re.search("allocat|memory|size", str(error)):
                raise InputError(f"op {self.name!r}: no memory for inputs at {where}: {said}") from error
            raise DefinitionError(f"op {self.name!r}: inputs() failed at {where}: {said}") from error
        return self._checked_inputs(made, sizes, where)

    def _checked_inputs(self, made: Any, sizes: Mapping[str, int], where: str) -> tuple[Any, ...]:
        """Hold what the op's `inputs` gave against its schema."""
        arguments = self.signature.inputs
        what = f"op {self.name!r}: inputs() gave"
        if not isinstance(made, tuple | list) or len(made) != len(arguments):
            got = f"{len(made)} values" if isinstance(made, tuple | list) else shown(made)
            names = ", ".join(argument.name for argument in arguments)
            raise DefinitionError(f"{what} {got} at {where}, want a tuple of {len(arguments)}: {names}")
        for argument, value in zip(arguments, made, strict=True):
            if not _fits(argument.type, value):
                raise DefinitionError(f"{what} {shown(value)} for {argument.name} at {where}, want a {argument.type}")
            if not argument.is_tensor or value is None or argument.name in self.any_rank:
                continue
            want = self.shape_of[argument.name]
            if tuple(value.shape) != want(sizes):
                raise DefinitionError(
                    f"{what} {argument.name} of shape {tuple(value.shape)} at {where}, want {want} = {want(sizes)}"
                )
        return tuple(made)

    def run_reference(self, *inputs: Any) -> tuple[Any, ...]:
        """Call the reference and return its outputs as a tuple.

        Raises:
            DefinitionError: it fails, or returns something else than the tensors of the schema.
        """
        names = [output.name for output in self.signature.outputs]
        try:
            results = self.reference(*inputs)
        except LltmInlineError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            raise DefinitionError(f"op {self.name!r}: its reference failed: {said}") from error
        found = tuple(results) if isinstance(results, tuple | list) else (results,)
        if len(found) != len(names) or not all(_fits("Tensor", result) for result in found):
            raise DefinitionError(
                f"op {self.name!r}: its reference returned {shown(results)}, "
                f"want {plural(len(names), 'dense tensor')}: {', '.join(names)}"
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
    if dtype not in REAL_DTYPES or not isinstance(pair, list | tuple) or len(pair) != 2:
        raise refusal(name, pair, f"(rtol, atol) for a dtype: {', '.join(REAL_DTYPES)}", **where)
    rtol, atol = (number(name, value, **where) for value in pair)
    if min(rtol, atol) < 0:
        raise refusal(name, pair, "(rtol, atol), neither below zero", **where)
    return rtol, atol


def _fits(type_: str, value: Any) -> bool:
    """Tell whether a value is of a type of the schema; a sparse tensor is none that a kernel could take."""
    import torch

    if type_ == "Tensor?" and value is None:
        return True
    if type_ in ("Tensor", "Tensor?"):
        return isinstance(value, torch.Tensor) and value.layout == torch.strided
    wanted: Any = {"float": (int, float), "int": int, "bool": bool}[type_]
    return isinstance(value, wanted) and (type_ == "bool" or not isinstance(value, bool))
