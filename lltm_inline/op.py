"""What is computed: an op has a name, a signature, a reference in plain PyTorch, and shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .errors import DefinitionError
from .shapes import ELEMENTS, Shape, letters_of, named_size

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_ARGUMENT = re.compile(r"(Tensor\??|float|int|bool)\s+([a-z](?:\w*[A-Za-z0-9])?)(?:\s*=\s*(\S+))?\Z")
_SCHEMA = re.compile(r"\(([^()]*)\)\s*->\s*(?:\(([^()]*)\)|(Tensor\s+\w+))\Z")


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
        match = _SCHEMA.match(text.strip())
        if match is None:
            raise DefinitionError(f"schema {text!r} does not read as '(Tensor x, float c) -> Tensor y'")
        inputs = cls._arguments(match[1], text)
        outputs = cls._arguments(match[2] if match[2] is not None else match[3], text)
        names = [argument.name for argument in inputs + outputs]
        if len(set(names)) < len(names):
            raise DefinitionError(f"schema {text!r} uses a name twice")
        if not outputs or any(output.type != "Tensor" for output in outputs):
            raise DefinitionError(f"schema {text!r}: an op returns one or more named Tensors")
        return cls(inputs, outputs)

    @staticmethod
    def _arguments(text: str, schema: str) -> tuple[Argument, ...]:
        arguments = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            match = _ARGUMENT.match(part)
            if match is None:
                raise DefinitionError(
                    f"schema {schema!r}: {part!r} is not a type (Tensor, Tensor?, float, int, bool) and a name"
                )
            arguments.append(Argument(match[2], match[1], match[3]))
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

    def __reduce__(self) -> Any:
        return (FrozenDict, (dict(self),))


@dataclass(frozen=True)
class Op:
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
        if not _NAME.match(self.name):
            raise DefinitionError(f"op name {self.name!r} is not a lower-case identifier like 'lltm'")
        for name in ("shapes", "parts", "tolerances"):
            object.__setattr__(self, name, FrozenDict(getattr(self, name)))
        signature = self.signature
        tensors = {argument.name for argument in (*signature.tensors, *signature.outputs)}
        if set(self.shapes) != tensors:
            raise DefinitionError(
                f"op {self.name!r}: shapes are given for {sorted(self.shapes)}, but the schema's tensors are {sorted(tensors)}"
            )
        if self.inputs is None and any(not argument.is_tensor for argument in signature.inputs):
            raise DefinitionError(f"op {self.name!r} takes more than tensors: give inputs=, a function that makes them")
        unknown = set(self.parameters) - {argument.name for argument in signature.tensors}
        if unknown:
            raise DefinitionError(f"op {self.name!r}: parameters {sorted(unknown)} are no tensor inputs")
        self._check_letters()
        for size in (*self.benchmark_sizes, *([self.check_size] if self.check_size else [])):
            if not self.allows(size):
                raise DefinitionError(f"op {self.name!r}: at size {size} a tensor would have a negative extent")

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
        for name, shape in self.shape_of.items():
            unknown = [letter for letter in shape.letters if letter not in known]
            if unknown:
                raise DefinitionError(
                    f"op {self.name!r}: shape {shape} of {name!r} has {', '.join(unknown)}, which no required input has as a whole extent"
                )

    @cached_property
    def signature(self) -> Schema:
        return Schema.parse(self.schema)

    @cached_property
    def shape_of(self) -> dict[str, Shape]:
        return {name: Shape.parse(text) for name, text in self.shapes.items()}

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
        """Make one set of inputs of this size; `randn(*shape)` draws a tensor."""
        sizes = self.named(size)
        if self.inputs is not None:
            return tuple(self.inputs(randn, **sizes))
        return tuple(randn(*self.shape_of[argument.name](sizes)) for argument in self.signature.inputs)
