"""Ops, kernels, and the one table that holds them.

`Op` says what is computed, `Kernel` is one way to compute it, `registry` is the table. Kernels are values: an
edit makes a new one, with the next revision number of its name.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

from .errors import DefinitionError, DuplicateKernelError, EditError, UnknownKernelError
from .shapes import Shape, letters_of, named_size

_NAME = re.compile(r"[a-z][a-z0-9_]*/[a-z][a-z0-9_]*\Z")
_OP_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ARGUMENT = re.compile(r"(Tensor\??|float|int|bool)\s+([a-z_]\w*)(?:\s*=\s*(\S+))?\Z")
_SCHEMA = re.compile(r"\(([^()]*)\)\s*->\s*(?:\(([^()]*)\)|(Tensor\s+\w+))\Z")

#: Named bindings; any other `binding` text is the user's own template.
BINDINGS = ("torch_library", "pybind11")


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
                raise DefinitionError(f"schema {schema!r}: {part!r} is not a type (Tensor, Tensor?, float, int, bool) and a name")
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


class _FrozenDict(dict[str, Any]):
    """A dict that refuses changes, so that a frozen op or kernel is frozen all the way down."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("an op or kernel is frozen: use kernel.replace(params={...}) to make a new one")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse

    def __reduce__(self) -> Any:
        return (_FrozenDict, (dict(self),))


@dataclass(frozen=True)
class Op:
    """What is computed: name, signature, reference, shapes.

    Args:
        name: lower-case identifier, `lltm`.
        schema: `"(Tensor x, Tensor y) -> Tensor z"`; types Tensor, Tensor?, float, int, bool.
        reference: the op in plain, differentiable PyTorch; it becomes the kernel `NAME/python`.
        shapes: for each tensor of the schema its shape in letters, `{"x": "B F"}`.
        inputs: `inputs(randn, **letters)` makes one set of inputs; the default draws each tensor with `randn`.
        benchmark_sizes: sizes to time, as tuples in the order of `letters`.
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
    parameters: tuple[str, ...] = ()
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cost: Callable[..., Cost] | None = None
    tolerances: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ("float32", "float64")
    doc: str = ""

    def __post_init__(self) -> None:
        if not _OP_NAME.match(self.name):
            raise DefinitionError(f"op name {self.name!r} is not a lower-case identifier like 'lltm'")
        for name in ("shapes", "parts", "tolerances"):
            object.__setattr__(self, name, _FrozenDict(getattr(self, name)))
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
        for size in self.benchmark_sizes:
            self.named(size)

    def _check_letters(self) -> None:
        """Every letter must follow from the inputs that are always there: bindings check all shapes against those."""
        required = [self.shape_of[argument.name] for argument in self.signature.inputs if argument.type == "Tensor"]
        if not required:
            raise DefinitionError(f"op {self.name!r} takes no Tensor")
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


@dataclass(frozen=True)
class Kernel:
    """One way to compute an op, from source strings. Immutable: `edit` and `replace` make new revisions.

    Args:
        name: `op/variant`, both lower-case identifiers.
        cpp: C++ text that defines `forward` and, unless it differentiates through ATen, `backward`.
        cuda: CUDA text.
        binding: `"torch_library"` (generated, the default), `"pybind11"` (generated, the classic way), or a template text.
        python: a Python function instead of a text; the reference kernels are of this kind.
        params: numbers, rendered as `#define NAME value` lines ahead of the text.
        slots: texts, put where the source says `$NAME`.
        saves: the inputs and outputs that `backward` wants, by name, in the order in which it takes them.
        api: `"aten"`, or `"stable"` for texts that use LibTorch's stable ABI headers only.
        flags: compiler flags of this kernel, after the playground's own.
        doc: formula, shapes, and what this variant changes over the one before.
        revision: given by the playground; 0 is what ships.
        parent: label of the kernel this one was edited from.

    Raises:
        DefinitionError: a field breaks a rule.

    Example:
        >>> k = Kernel("axpy/cpp", cpp="at::Tensor forward(const at::Tensor& x) { return x + A; }", params={"A": 2})
        >>> k.edit("x + A", "x - A").label
        'axpy/cpp@1'
    """

    name: str
    cpp: str = ""
    cuda: str = ""
    binding: str = "torch_library"
    python: Callable[..., Any] | None = None
    params: Mapping[str, int | float] = field(default_factory=dict)
    slots: Mapping[str, str] = field(default_factory=dict)
    saves: tuple[str, ...] = ()
    api: str = "aten"
    flags: tuple[str, ...] = ()
    doc: str = field(default="", compare=False)
    revision: int = field(default=0, compare=False)
    parent: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for name in ("params", "slots"):
            object.__setattr__(self, name, _FrozenDict(getattr(self, name)))
        for name in ("saves", "flags"):
            if isinstance(getattr(self, name), str):
                raise DefinitionError(f"kernel {self.name!r}: {name}={getattr(self, name)!r} is a string, want a tuple of strings")
            object.__setattr__(self, name, tuple(text.strip() if isinstance(text, str) else text for text in getattr(self, name)))
        _validate(self)

    def __hash__(self) -> int:
        return hash((self.name, self.cpp, self.cuda, self.binding, self.saves, self.flags))

    @property
    def op(self) -> str:
        """Name of the op, the part ahead of the slash."""
        return self.name.partition("/")[0]

    @property
    def variant(self) -> str:
        return self.name.partition("/")[2]

    @property
    def label(self) -> str:
        """The name with the revision, `lltm/fused@2`; revision 0 goes without."""
        return f"{self.name}@{self.revision}" if self.revision else self.name

    @property
    def sources(self) -> dict[str, str]:
        """The texts of this kernel by kind, those that it has."""
        custom = "" if self.binding in BINDINGS else self.binding
        return {kind: text for kind, text in (("cpp", self.cpp), ("cuda", self.cuda), ("binding", custom)) if text}

    def edit(self, old: str, new: str) -> Kernel:
        """Replace the one place where `old` occurs in this kernel's texts.

        Args:
            old: text that occurs exactly once over `cpp`, `cuda` and a custom `binding`.
            new: what stands there afterwards.

        Returns:
            The next revision of the kernel; the same edit twice gives the same revision.

        Raises:
            EditError: `old` occurs nowhere (the message shows the nearest line) or several times (it shows the lines).
        """
        places = [
            (kind, text.count("\n", 0, match.start()) + 1)
            for kind, text in self.sources.items()
            for match in re.finditer(re.escape(old), text)
            if old
        ]
        if len(places) != 1:
            raise EditError(_edit_message(self, old, places))
        kind = places[0][0]
        return self.replace(**{kind: getattr(self, kind).replace(old, new)})

    def replace(self, **changes: Any) -> Kernel:
        """Make a new revision with other fields; `params` and `slots` given here update the old ones.

        Example:
            >>> registry["lltm/fused"].replace(params={"GRAIN": 64}).params["GRAIN"]
            64
        """
        unknown = set(changes) - (set(self.__dataclass_fields__) - {"name", "revision", "parent"})
        if unknown:
            raise DefinitionError(f"replace() cannot change {', '.join(sorted(unknown))} of kernel {self.label!r}")
        for name in ("params", "slots"):
            if name in changes:
                changes[name] = {**getattr(self, name), **changes[name]}
        return _record(replace(self, **changes, parent=self.label))

    def __str__(self) -> str:
        if self.python is not None:
            return f"{self.label}: Python function {getattr(self.python, '__qualname__', self.python)!s}"
        blocks = []
        for kind, text in self.sources.items():
            lines = text.rstrip("\n").split("\n")
            numbered = (f"{number:4d}  {line}" for number, line in enumerate(lines, 1))
            blocks.append("\n".join((f"{self.label} ({kind})", *numbered)))
        return "\n".join(blocks)

    def __repr__(self) -> str:
        what = "Python" if self.python is not None else f"{sum(text.count(chr(10)) for text in self.sources.values())} lines"
        return f"<Kernel {self.label}: {what}>"

    def _repr_html_(self) -> str:
        from html import escape

        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import CppLexer

        if self.python is not None:
            return f"<code>{escape(str(self))}</code>"
        blocks = [
            f"<p><b>{escape(self.label)}</b> ({kind})</p>"
            + highlight(text, CppLexer(stripnl=False), HtmlFormatter(linenos="inline", noclasses=True, nobackground=True))
            for kind, text in self.sources.items()
        ]
        return "".join(blocks)


def _validate(kernel: Kernel) -> None:
    name = kernel.name
    if not _NAME.match(name):
        raise DefinitionError(f"kernel name {name!r} is not 'op/variant' in lower-case identifiers, like 'lltm/fused'")
    if (kernel.python is None) == (not (kernel.cpp or kernel.cuda)):
        raise DefinitionError(f"kernel {name!r} needs a source text (cpp= or cuda=), or python=, and not both")
    if kernel.api not in ("aten", "stable"):
        raise DefinitionError(f"kernel {name!r}: api={kernel.api!r}, want 'aten' or 'stable'")
    for kind in ("cpp", "cuda", "binding"):
        if not isinstance(getattr(kernel, kind), str):
            raise DefinitionError(f"kernel {name!r}: {kind} is a {type(getattr(kernel, kind)).__name__}, want a string")
        if "\0" in getattr(kernel, kind):
            raise DefinitionError(f"kernel {name!r}: {kind} holds a NUL character")
    if kernel.binding == "pybind11" and kernel.api == "stable":
        raise DefinitionError(f"kernel {name!r}: pybind11 needs ATen headers, so it cannot bind a stable kernel")
    for key, number in kernel.params.items():
        if not _IDENTIFIER.match(key):
            raise DefinitionError(f"kernel {name!r}: param {key!r} is not a C identifier")
        if not isinstance(number, int | float) or not math.isfinite(number):
            raise DefinitionError(f"kernel {name!r}: param {key} is {number!r}, want a finite number (texts go into slots)")
    for key, text in kernel.slots.items():
        if not _IDENTIFIER.match(key) or not isinstance(text, str):
            raise DefinitionError(f"kernel {name!r}: slot {key!r} must be an identifier with a string as its value")
    for flag in kernel.flags:
        if not isinstance(flag, str) or not flag.startswith("-") or re.search(r"[\s'\"`$;|&<>()\\]", flag):
            raise DefinitionError(f"kernel {name!r}: flag {flag!r} must start with '-' and hold no spaces or shell characters")
        if flag.startswith("-std=") and not re.search(r"(?:20|2a|23|2b|26|2c)$", flag):
            raise DefinitionError(f"kernel {name!r}: flag {flag!r}: the headers of torch need C++20; leave it out")


def _edit_message(kernel: Kernel, old: str, places: list[tuple[str, int]]) -> str:
    if not kernel.sources:
        return f"kernel {kernel.label!r} is a Python function: it has no text to edit"
    if places:
        where = ", ".join(f"{kind} line {line}" for kind, line in places)
        return f"{old!r} occurs {len(places)} times in kernel {kernel.label!r} ({where}), want exactly 1: give more of the line"
    lines = {line.strip(): (kind, n) for kind, text in kernel.sources.items() for n, line in enumerate(text.split("\n"), 1)}
    near = difflib.get_close_matches(old.strip(), lines, n=1, cutoff=0.3)
    hint = f" Nearest, {lines[near[0]][0]} line {lines[near[0]][1]}: {near[0]!r}" if near else ""
    return f"{old!r} occurs nowhere in kernel {kernel.label!r}, want exactly 1 place.{hint}"


# Every revision made in this process, by name, in order. Revision numbers come from here: the same content
# always has the same number, two different edits never share one.
_journal: dict[str, list[Kernel]] = {}


def _record(kernel: Kernel) -> Kernel:
    revisions = _journal.setdefault(kernel.name, [])
    for known in [*revisions, *([registry.shipped(kernel.name)] if registry.shipped(kernel.name) else [])]:
        if known == kernel and known.doc == kernel.doc:
            return known
    kernel = replace(kernel, revision=len(revisions) + 1)
    revisions.append(kernel)
    return kernel


_Entry = TypeVar("_Entry", Op, Kernel)


class Registry(Mapping[str, Kernel]):
    """The table of kernels by `op/variant`. It refuses duplicates, validates first, and lists the names on a miss."""

    def __init__(self) -> None:
        self._ops: dict[str, Op] = {}
        self._shipped: dict[str, Kernel] = {}
        self._current: dict[str, Kernel] = {}

    @property
    def ops(self) -> Mapping[str, Op]:
        """The ops by name."""
        return MappingProxyType(self._ops)

    def op_of(self, kernel: Kernel) -> Op:
        """Return the op that `kernel` computes.

        Raises:
            UnknownKernelError: no such op is registered.
        """
        try:
            return self._ops[kernel.op]
        except KeyError:
            names = _nearest_first(kernel.op, self._ops)
            raise UnknownKernelError(
                f"kernel {kernel.label!r}: no op {kernel.op!r}. Ops: {', '.join(names)}. Register an Op of that name first"
            ) from None

    def register(self, entry: _Entry) -> _Entry:
        """Add an op (with its reference as `op/python`) or a kernel.

        A kernel of revision 1 or more becomes the current one of its name; `history` keeps the others.

        Raises:
            DuplicateKernelError: another op, or another kernel of revision 0, has this name.
            UnknownKernelError: the kernel's op is not registered.
            DefinitionError: the kernel does not fit its op.
        """
        if isinstance(entry, Op):
            if entry.name in self._ops and self._ops[entry.name] != entry:
                raise DuplicateKernelError(f"op {entry.name!r} is registered already; choose another name")
            if entry.name not in self._ops:
                self._ops[entry.name] = entry
                self.register(Kernel(f"{entry.name}/python", python=entry.reference, doc=entry.doc))
            return entry
        fit(entry, self.op_of(entry))
        known = self._shipped.get(entry.name)
        if entry.revision == 0 and known is not None and known != entry:
            raise DuplicateKernelError(
                f"kernel {entry.name!r} is registered already. To change it: registry[{entry.name!r}].replace(cpp=...); "
                "to add another: choose another variant name"
            )
        self._shipped.setdefault(entry.name, entry)
        self._current[entry.name] = entry
        return entry

    def shipped(self, name: str) -> Kernel | None:
        """Return revision 0 of a name, or None."""
        return self._shipped.get(name)

    def history(self, name: str) -> tuple[Kernel, ...]:
        """List every revision of a name made in this process, oldest first.

        Raises:
            UnknownKernelError: no kernel of that name.
        """
        name = self[name].name
        first = self._shipped.get(name)
        revisions = [first] if first is not None and first.revision == 0 else []
        return (*revisions, *_journal.get(name, ()))

    def __getitem__(self, name: str) -> Kernel:
        base, _, revision = name.partition("@")
        if not revision and base in self._current:
            return self._current[base]
        for kernel in (self._shipped.get(base), *_journal.get(base, ())):
            if kernel is not None and str(kernel.revision) == revision:
                return kernel
        raise UnknownKernelError(self._miss(name, base))

    def _miss(self, name: str, base: str) -> str:
        if base in self._current:
            labels = ", ".join(kernel.label for kernel in self.history(base))
            return f"no revision {name!r}. Revisions of {base!r}: {labels}"
        near = difflib.get_close_matches(base, self._current, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        op = (near[0] if near else base).partition("/")[0]
        if op in self._ops:
            variants = ", ".join(k.variant for k in self._current.values() if k.op == op)
            return f"no kernel {name!r}.{hint} Kernels of {op}: {variants}"
        return f"no kernel {name!r}. Ops: {', '.join(_nearest_first(op, self._ops))}"

    def __iter__(self) -> Iterator[str]:
        return iter(self._current)

    def __len__(self) -> int:
        return len(self._current)

    def __str__(self) -> str:
        if not self._current:
            return "registry: empty"
        rows = [(kernel.label, _headline(kernel.doc)) for kernel in self._current.values()]
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {what}".rstrip() for label, what in rows)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(kernel.label)}</th><td style='text-align:left'>{escape(_headline(kernel.doc))}</td></tr>"
            for kernel in self._current.values()
        )
        return f"<table><tr><th>kernel</th><th>what it is</th></tr>{rows}</table>"


def fit(kernel: Kernel, op: Op) -> None:
    """Check the parts of a kernel that need its op: the names in `saves`.

    Raises:
        DefinitionError: a saved name is no input or output of the op.
    """
    signature = op.signature
    names = [argument.name for argument in (*signature.inputs, *signature.outputs)]
    unknown = [name for name in kernel.saves if name not in names]
    if unknown:
        raise DefinitionError(f"kernel {kernel.label!r} saves {', '.join(unknown)}; op {op.name!r} has {', '.join(names)}")


def _headline(doc: str) -> str:
    return doc.strip().partition("\n")[0]


def _nearest_first(name: str, names: Mapping[str, Any]) -> list[str]:
    near = difflib.get_close_matches(name, names, n=1)
    return [*near, *(other for other in names if other not in near)]


@dataclass(frozen=True)
class Diff:
    """What changed between two kernels, as a unified diff of their texts and params."""

    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return self.text or f"{self.before} and {self.after} are the same"

    __repr__ = __str__

    @property
    def changed_lines(self) -> int:
        """Number of lines that `after` adds or changes."""
        return sum(line.startswith("+") and not line.startswith("+++") for line in self.text.split("\n"))

    def _repr_html_(self) -> str:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import DiffLexer

        return str(highlight(str(self), DiffLexer(), HtmlFormatter(noclasses=True, nobackground=True)))


def diff(before: Kernel | str, after: Kernel | str) -> Diff:
    """Compare two kernels, or two labels such as `"lltm/fused@1"`.

    Raises:
        UnknownKernelError: a label that the registry does not have.

    Example:
        >>> k = registry["lltm/fused"]
        >>> diff(k, k)
        lltm/fused and lltm/fused are the same
    """
    one, two = (registry[k] if isinstance(k, str) else k for k in (before, after))
    lines: list[str] = []
    for kind in ("params", "slots", "flags", "cpp", "cuda", "binding"):
        before_lines, after_lines = (_as_lines(getattr(kernel, kind)) for kernel in (one, two))
        names = (f"{one.label} ({kind})", f"{two.label} ({kind})")
        lines += difflib.unified_diff(before_lines, after_lines, *names, lineterm="")
    return Diff(one.label, two.label, "\n".join(lines))


def _as_lines(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{key} = {item}" for key, item in sorted(value.items())]
    return list(value) if isinstance(value, tuple) else str(value).split("\n")


#: The one registry. `lltm_inline.ops` fills it.
registry = Registry()
