"""What people give to `load_inline` becomes a kernel of an op that is made on the spot.

The arguments are read as `load_inline` reads them; the C++ signatures and one example call say what the op is; what calls the
snippet's own functions is written behind its text, as for an extension in files.
"""

from __future__ import annotations

import inspect
import re
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from tokenize import TokenError
from typing import Any

import torch
from torch import Tensor

from ..base.arguments import did_you_mean, function, plural, refusal, shown, string, strings
from ..base.files import escaped
from ..cpp.functions import Function, at_file_scope, laid_open, squeezed
from ..cpp.masks import mask, taken
from ..diagnosis.source_text import python_line
from ..errors import DefinitionError, InputError
from ..model.kernel import Kernel
from ..model.op import LIST, RESULTS, fits, is_default
from ..model.registry import Op, registry
from ..model.reserved import is_reserved
from ..run.cases.drawing import is_label
from ..run.compare import dtype_name
from ..run.function import each, tensors
from ..source.signature import aliases_in, meant_function
from ..source.types import read_type
from .classic import adapter_text, flags_of
from .example import (
    Call,
    End,
    Example,
    Names,
    call,
    common_dtype,
    drawn,
    explore,
    of_one_shape,
    sizes_of,
    words,
)
from .matching import is_tensor, match_functions, of_gradient, unqualified
from .reading import Unclear, body_of, find_modules, result_of, used_by, whole_body
from .trial import COUNT, COUNTS, Trial, seen

#: Arguments of `load_inline` that ask for what does not exist here.
_SYCL = ("sycl_sources", "extra_sycl_cflags", "with_sycl")
#: What every build of the playground links, or needs not.
_LINKED = re.compile(r"-O\w*|-fopenmp|-l(?:gomp|m|pthread|dl|cudart|torch\w*|c10\w*)|-pthread|")
#: An example of more elements is too large to be checked at: gradients visit each.
_MOST_ELEMENTS = 4096
#: What `load_inline` puts before every text; of all includes of a text the playground makes the first lines of a build.
_IMPLICIT = "#include <torch/extension.h>"
#: How people name a backward, and the forward that belongs to it.
_PAIRS = (
    (r"(.*?)_?forward", r"{}_?backward"),
    (r"(.*?)_?fwd", r"{}_?bwd"),
    (r"(.*?)_?fw", r"{}_?bw"),
    (r"(.*)", r"{}_(?:backward|bwd|bw)"),
)
_FORWARD = re.compile(r"_?(?:forward|fwd|fw)\Z")
_POINTERS = re.compile(r"\b(?:const_|mutable_)?data_ptr\b|\baccessor\b|packed_accessor|\.\s*data\s*<")
#: What may change a tensor that was given.
_IN_PLACE = re.compile(r"\.\s*\w*[a-z]_\s*\(|[-+*/]=")
#: What goes by memory: pointers, and random numbers, which are drawn in its order.
_DENSE = re.compile(
    r"\b(?:const_|mutable_)?data_ptr\b|\.\s*data\s*<|is_contiguous|\brandn?(?:_like)?\b|\bbernoulli|\b(?:normal|uniform)_\b"
)
_STRIDES = re.compile(r"\b\w+\s*\.\s*strides?\s*\(")
_EXTENT = re.compile(r"\b(\w+)\s*\.\s*(?:size|sizes|numel)\s*\(\s*([^()]*?)\s*\)\s*(?:\[([^\]]*)\])?")
#: What has the extents of another tensor.
_COPY = re.compile(
    r"\b(\w+)\s*=\s*(?:\w+::\w+_like\s*\(\s*)?(\w+)\b(?=\s*(?:;|,|\)|\.\s*(?:contiguous|clone|accessor|packed_accessor\w*|to)\b))"
)
#: Two tensors, or an axis of each, that a text wants to be of one size.
_TIE = re.compile(
    r"([-+*/%]\s*)?\b(\w+)\s*\.\s*size(?:s\(\s*\)|\((-?\d+)\))\s*[!=]=\s*"
    r"(\w+)\s*\.\s*size(?:s\(\s*\)|\((-?\d+)\))(\s*[-+*/%])?"
)
#: What a text, a comment or a reference calls an extent: `N = x.size(0)`, `x.shape[0]`, `x.numel()`; `B, T, D = x.shape`; `x: (B, T, D)`.
_LETTER = re.compile(
    r"\b([A-Za-z])\s*=\s*(?:\(\w+\)\s*|static_cast\s*<\w+>\s*\(\s*|int\(\s*)?(\w+)\s*\.\s*"
    r"(?:size\s*\(\s*(-?\d+)\s*\)|(?:shape|sizes\(\))\s*\[\s*(-?\d+)\s*\]|numel\(\))\s*(?=[;,)\n]|\Z)"
)
_UNPACKED = re.compile(r"(?m)^\s*(\w+(?:\s*,\s*\w+)+)\s*=\s*(\w+)\s*\.\s*(?:shape|size\(\))\s*$")
_NOTED = re.compile(r"\b(\w+)\s*(?::|is|has shape|of shape)?\s*[\[(]\s*([A-Z](?:\s*(?:,|x)\s*[A-Z])+)\s*[\])]")
_OF_EXTENTS = re.compile(r"\b([A-Za-z])\s*=\s*[^;=]*\.\s*(?:sizes?|numel)\s*\(")
_CAPITAL = re.compile(r"\b[A-Z]\b")
_DISPATCH = re.compile(r"AT_DISPATCH_(?:FLOATING|ALL)_TYPES(\w*\s*\([^;{\[]*)")

#: The numbers that a list may hold.
_LISTED = {"int[]": ("int64_t", "int", "long"), "float[]": ("double", "float")}
#: The types of an op that a function of others may take.
_ARGUMENTS = {LIST, *_LISTED} | {
    f"{kind}{mark}" for kind in ("Tensor", "ScalarType", "int", "float", "bool", "str") for mark in ("", "?")
}
#: How the type ends that a function returns, where it is neither a tensor nor a number.
_RETURNED = re.compile(r"(?:(?:^|\s)(?:void|auto)|std::(?:vector|tuple|pair|array)\s*<.*>|_list|List)\Z")


def from_load_inline(
    name: str = "",
    cpp_sources: str | Sequence[str] = "",
    cuda_sources: str | Sequence[str] | None = None,
    sycl_sources: Any = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Any = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: Any = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: Any = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
    *,
    reference: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None,
    inputs: Sequence[Any] | Callable[..., Sequence[Any]] | Mapping[str, Any] | None = None,
    gradient: str | Mapping[str, str] | None = None,
    **others: Any,
) -> Kernel | tuple[Kernel, ...]:
    """Make a kernel from the arguments of `torch.utils.cpp_extension.load_inline`, and register it with an op made for it.

    The source stays as it is. It can be built, loaded and called at once. With `inputs` and `reference` it can be checked and
    timed too: `print(kernel.doc)` says which. CUDA source runs on a GPU (`device="cuda"`) and without one (`device="cuda-cpu"`).

    Args:
        name: of the extension; the op has the function's name.
        cpp_sources, cuda_sources: strings, as for `load_inline`.
        functions: names of the functions to bind. Each becomes an op, except that one whose name ends in `_backward`, `_bwd` or
            `_bw` is the backward of the one that it is named after. Default: the functions that the source itself binds.
        extra_cflags, extra_cuda_cflags, extra_include_paths: for the compilers.
        extra_ldflags: flags that link no other library.
        sycl_sources, extra_sycl_cflags, with_sycl: refused.
        build_directory, verbose, with_cuda, is_python_module, with_pytorch_error_handling, keep_intermediates, use_pch, \
no_implicit_headers: accepted, without effect.
        reference: the same computation in plain PyTorch: a function with the arguments of the snippet's. What the snippet
            changes in place, it changes too, or returns. If the snippet has several functions, a dict keyed by function name.
        inputs: the arguments of one call. Extents are independent if they differ in it, or if both reference and source
            distinguish them. Without a reference, the function itself is built and run on them, in the worker, to see what it
            returns. A check draws other inputs, which are non-negative, between 0 and 1, only 0 and 1 (labels), or sorted if
            those given are.
            Or, as for `Op`, a function `inputs(randn, **letters)` that makes them. If the snippet has several functions, a dict
            keyed by function name.
        gradient: which function is the backward of which, `{"foo": "foo_grad"}`, if the names do not say so.
        others: refused by name.

    Returns:
        The kernel, registered as `FUNCTION/inline`; a tuple of kernels if the snippet has several functions.

    Raises:
        InputError: an argument that makes no sense, or that requests something that is not supported.
        DefinitionError: a snippet, reference or example that cannot be used; the message says what would work.
        CrashError: there is no reference, and the function crashes on the example. BuildError: there is no reference, only a run
            shows how many tensors it returns, and it does not compile.

    Example:
        >>> import torch
        >>> source = "torch::Tensor twice(torch::Tensor x) { return x + x; }"
        >>> kernel = from_load_inline("ext", source, functions=["twice"], reference=lambda x: 2 * x, inputs=(torch.ones(3, 5),))
        >>> kernel.label, registry.ops["twice"].shapes["x"]
        ('twice/inline', 'N M')
    """
    for other, value in others.items():
        cure = did_you_mean(other, inspect.signature(from_load_inline).parameters)
        if other == "device":
            cure = f" Give it where the kernel is used: li.load(kernel, device={shown(value)}), li.check(kernel, device={shown(value)})"
        raise InputError(f"from_load_inline has no argument {other!r}.{cure}")
    for refused in _SYCL:
        if locals()[refused]:
            raise InputError(
                f"{refused}={shown(locals()[refused])}: there is no SYCL here. Want C++ or CUDA. For names, write functions="
            )
    where = f"from_load_inline({shown(string('name', name))})" if name else "from_load_inline()"
    if not cpp_sources and not cuda_sources:
        cure = "The first argument is a name, as load_inline has it: from_load_inline('ext', source, ...)"
        raise InputError(f"{where}: no cpp_sources and no cuda_sources. {cure}")
    for flag in strings("extra_ldflags", extra_ldflags or (), where=where):
        if not _LINKED.fullmatch(flag):
            raise InputError(
                f"{where}: extra_ldflags={shown(flag)} links another library: a kernel is linked with torch's libraries alone. "
                "Leave it out, and write what it is needed for in C++ or with torch's own functions"
            )
    snippet = Snippet(
        where, name, joined("cpp_sources", cpp_sources, where), joined("cuda_sources", cuda_sources, where)
    )
    if (found := python_line(snippet.text)) is not None:
        raise InputError(f"{where}: line {found[0]} of the text is Python: {shown(found[1].strip())}. Want C++ or CUDA")
    if mistake := _unfinished(mask(taken(snippet.text))):
        raise InputError(f"{where}: {mistake}")
    cxx, nvcc = (
        strings(name, flags or (), where=where)
        for name, flags in (("extra_cflags", extra_cflags), ("extra_cuda_cflags", extra_cuda_cflags))
    )
    includes = (f"-I{path}" for path in strings("extra_include_paths", extra_include_paths or (), where=where))
    flags = (*flags_of(cxx, nvcc, bool(snippet.cuda)), *includes)
    bound = snippet.bound(functions)
    pairs = snippet.pairs(bound, gradient)
    for what, given in (("reference", reference), ("inputs", inputs)):
        if isinstance(given, Mapping) and (unknown := [key for key in given if key not in pairs]):
            raise InputError(
                f"{where}: {what} has {shown(unknown[0])}, want names of the functions: {', '.join(pairs)}"
            )
    own, example = _of("reference", reference, pairs, where), _of("inputs", inputs, pairs, where)
    made: list[Kernel] = []
    for forward, backward in pairs.items():
        names = {"forward": bound[forward]} | ({"backward": bound[backward]} if backward else {})
        made.append(_made(snippet, forward, names, own(forward), example(forward), flags))
    return made[0] if len(made) == 1 else tuple(made)


def joined(name: str, sources: Any, where: str) -> str:
    """Put sources behind each other, as `load_inline` does, with plain line ends."""
    parts = (sources,) if isinstance(sources, str) else strings(name, sources or (), where=where)
    return "\n".join(parts).replace("\r\n", "\n")


def _unfinished(masked: str) -> str:
    """Say where a text breaks off, as what stands behind it would be blamed for that; nothing of one that is whole."""

    def line(place: int) -> str:
        number = masked.count("\n", 0, place) + 1
        return f"line {number} of the text, {shown(masked.split(chr(10))[number - 1].strip())}"

    opened: list[int] = []
    last = -1
    for brace in re.finditer(r"[{}]", masked):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            last = opened.pop()
        else:
            return f"{line(brace.start())}: this '}}' closes nothing"
    if opened:
        return f"{line(opened[-1])}: this '{{' is never closed"
    end = masked.rstrip()
    head = re.split(r"[;{}]", masked[: max(last, 0)])[-1]
    is_type = re.search(r"\b(?:struct|class|union|enum)\b[^()=]*\Z", head) is not None
    if end and (end[-1] not in ";})" or (end[-1] == "}" and is_type)):
        return f"{line(len(end) - 1)}: the text ends here, and a ';' is missing"
    return ""


def _code(text: str) -> str:
    """Return the code of a text, without its nameless namespaces: what these hold can be called as what stands outside."""
    return laid_open(text, "")


def _of(what: str, given: Any, pairs: Mapping[str, str], where: str) -> Callable[[str], Any]:
    """Return what says which of several values belongs to a function."""
    if isinstance(given, Mapping):
        return given.get
    if given is not None and len(pairs) > 1:
        raise InputError(
            f"{where}: {what} is one, and the snippet has {len(pairs)} functions: want a dict, {{{next(iter(pairs))!r}: ...}}. "
            f"Functions: {', '.join(pairs)}"
        )
    return lambda _: given


@dataclass(frozen=True)
class Snippet:
    """The texts of a snippet.

    Attributes:
        where: names it in messages.
        name: of the extension.
        cpp, cuda: its texts.
    """

    where: str
    name: str
    cpp: str
    cuda: str

    @property
    def text(self) -> str:
        """One text: C++ that only declares what the CUDA text defines has nothing to add to it."""
        defines = bool(at_file_scope(_code(self.cpp))) or bool(find_modules(self.cpp))
        return f"{self.cuda.rstrip()}\n\n{self.cpp.strip()}\n" if self.cuda and defines else self.cuda or self.cpp

    def bound(self, functions: Any) -> dict[str, str]:
        """List the functions that are bound: those that are asked for, or that the text itself binds, by the name of each."""
        defined = list(dict.fromkeys(one.name for one in at_file_scope(_code(self.text))))
        listed = f"Its functions: {', '.join(defined)}" if defined else "It defines no function"
        if functions is None:
            bound = {name: what for module in find_modules(self.text) for name, what in module.functions.items()}
            if not bound:
                raise InputError(f"{self.where}: no functions=, and nothing in the text binds one. {listed}")
            return bound
        if isinstance(functions, str):
            functions = [functions]
        names = strings("functions", list(functions) if isinstance(functions, Mapping) else functions, where=self.where)
        if not names:
            raise InputError(f"{self.where}: functions is empty. {listed}")
        for name in names:
            if name not in defined:
                near = did_you_mean(name, defined)
                raise InputError(
                    f"{self.where}: the text defines no function {shown(name)} at file scope.{near} {listed}"
                )
        return {name: name for name in names}

    def pairs(self, bound: Mapping[str, str], gradient: Any) -> dict[str, str]:
        """Pair forwards with backwards; those without one have an empty name."""
        if isinstance(gradient, str):
            others = [name for name in bound if name != gradient]
            if len(others) != 1:
                raise InputError(
                    f"{self.where}: gradient={gradient!r}: say of which function: {{'{others[0] if others else 'FORWARD'}': {gradient!r}}}"
                )
            gradient = {others[0]: gradient}
        if gradient is not None and not isinstance(gradient, Mapping):
            raise refusal("gradient", gradient, "a dict of functions by name, {'foo': 'foo_grad'}", where=self.where)
        found = dict(gradient or {})
        for name in [*found, *found.values()]:
            if name not in bound:
                raise InputError(
                    f"{self.where}: gradient names {shown(name)}, want some of functions: {', '.join(bound)}"
                )
        for name in bound:
            for forward, backward in _PAIRS:
                stem = re.fullmatch(forward, name)
                other = next(
                    (o for o in bound if stem and o != name and re.fullmatch(backward.format(re.escape(stem[1])), o)),
                    "",
                )
                if other and name not in found and name not in found.values() and other not in found.values():
                    found[name] = other
        return {name: found.get(name, "") for name in bound if name not in found.values()}


@dataclass(frozen=True, eq=False)
class Reference:
    """The reference of an op that is made of a snippet: the user's own, or none.

    Attributes:
        function: of the user.
        missing: what is said where there is none.
        places: the arguments that its results are written to, where the snippet's function changes these and returns nothing.
        kept: by name the results, by place, that are no outputs: what backward takes, and takes no gradient of.
    """

    function: Callable[..., Any] | None
    missing: str = ""
    places: tuple[int, ...] = ()
    kept: Mapping[int, str] = field(default_factory=dict)

    #: Such an op takes the place of the one before, as one that is written in a notebook's cell does.
    of_a_cell = True

    def __call__(self, *values: Any) -> Any:
        """Compute the op.

        Raises:
            DefinitionError: there is no reference.
            ValueError: a result does not fit where it belongs.
        """
        if self.function is None:
            raise DefinitionError(self.missing)
        results = self.function(*values)
        if self.kept:
            left = tuple(result for place, result in enumerate(results) if place not in self.kept)
            return left[0] if len(left) == 1 else left
        if not self.places or results is None:
            return results
        for place, result in zip(self.places, results if isinstance(results, tuple | list) else [results], strict=True):
            if values[place].shape != result.shape:
                raise ValueError(
                    f"the result has shape {tuple(result.shape)}, what it belongs into {tuple(values[place].shape)}"
                )
            values[place].copy_(result)
        return None


def _made(
    snippet: Snippet, key: str, names: Mapping[str, str], given: Any, inputs: Any, flags: tuple[str, ...]
) -> Kernel:
    """Make the op and the kernel of one function, bound as `key`, with its backward, and register them."""
    where, forward = f"{snippet.where}, {key!r}", names["forward"]
    if given is not None:
        function("reference", given, where=where)
    own = _without_modules(snippet.text)
    names, space, code = unqualified(names, _code(own), where)
    found = {kind: _defined(code, name, where) for kind, name in names.items()}
    arguments = _arguments(found["forward"], where)
    maker, values = _example_of(inputs, arguments, where)
    used = used_by(names.values(), own, code)
    called = _called(own, used, found["forward"], arguments, given)
    op_of = partial(_op, _op_name(snippet, key, forward), found, arguments, used, given, values, maker, where, called)

    dense = _wants_dense(mask(own), values or ())

    def kernel_of(op: Op) -> Kernel:
        bound = {"forward": names["forward"]} if op.signature.outputs == COUNTS else names
        match = match_functions(op, bound, code, where, space, counted=True)
        taken_names = {one.name for one in at_file_scope(code)} & {"forward", "backward"}
        called = ("called_forward", "called_backward") if taken_names else ("forward", "backward")
        text = "\n\n".join([own.rstrip(), _IMPLICIT, adapter_text(op, match, dense, called)])
        kind = "cuda" if snippet.cuda else "cpp"
        texts: dict[str, Any] = {kind: escaped(text)}
        return Kernel(
            f"{op.name}/inline",
            **texts,
            saves=match.saves,
            functions=called[: len(bound)] if taken_names else called,
            flags=flags,
            doc=_doc(op, kind),
        )

    op = op_of()
    if given is None and values is not None and op.signature.outputs:
        op = seen(op, op_of, kernel_of, values, where)
    _tell_of_the_one_before(op, where)
    registry.register(op)
    return registry.register(kernel_of(op))


def _wants_dense(code: str, values: Sequence[Any]) -> bool:
    """Tell whether a text goes by memory, and so is given contiguous inputs, as nobody says that it takes others.

    One that asks for strides has said so, unless it refuses what is not contiguous; and so has an example that is strided.
    """
    tensors = [one for value in values for one in (value if isinstance(value, list) else [value])]
    if any(isinstance(one, Tensor) and not one.is_contiguous() for one in tensors):
        return False
    return bool(_DENSE.search(code)) and ("is_contiguous" in code or not _STRIDES.search(code))


def _tell_of_the_one_before(op: Op, where: str) -> None:
    """Warn of kernels that somebody may hold, and that are from now on of an op which takes or returns something else."""
    before = registry.ops.get(op.name)
    if before is None or (before.schema, before.shapes) == (op.schema, op.shapes):
        return
    kernels = ", ".join(kernel.label for kernel in registry.history(f"{op.name}/inline"))
    warnings.warn(
        f"{where}: this is op {op.name}{op.signature} from now on, and no longer {before.signature}"
        f"{_differing(before, op)}. {kernels} will be checked and timed as this op: to keep both, give one function another name",
        stacklevel=4,
    )


def _differing(before: Op, op: Op) -> str:
    """Say what differs of the shapes, where the schemas are the same."""
    names = [name for name in op.shapes if before.schema == op.schema and before.shapes[name] != op.shapes[name]]
    return (
        f" with {', '.join(f'{name} of shape {before.shapes[name]!r}, now {op.shapes[name]!r}' for name in names)}"
        * bool(names)
    )


def _without_modules(text: str) -> str:
    """Leave out what binds a text by itself, and keep the number of every line."""
    for module in reversed(find_modules(text)):
        blank = re.sub(r"[^\n]", " ", text[module.start : module.end])
        text = text[: module.start] + blank + text[module.end :]
    return text


def _defined(code: str, name: str, where: str) -> Function:
    """Find a function, with what its types stand for.

    Raises:
        DefinitionError: there is none, or several, or a template.
    """
    if name.startswith("["):
        raise DefinitionError(f"{where}: it binds a lambda, want a function with a name")
    found = [one for one in at_file_scope(code) if one.name == name]
    if not found:
        raise DefinitionError(f"{where}: the text defines no function {name!r} at file scope, outside of any namespace")
    if len(found) > 1:
        several = " and ".join(f"{name}({', '.join(one.types)})" for one in found)
        raise DefinitionError(f"{where}: {name!r} is overloaded: {several}. Give each a name of its own")
    if found[0].template:
        raise DefinitionError(
            f"{where}: {name!r} is a template: want a function that calls it with a type, "
            f"at::Tensor {name}_float(at::Tensor x) {{ return {name}<float>(x); }}"
        )
    spelled = meant_function(found[0], aliases_in(mask(code)))
    plain = squeezed(re.sub(r"\bconst\b|&", " ", spelled.returns))
    returned = {_kind_of(one) for one in (plain, plain.rpartition(" ")[2]) if not one.endswith("Scalar")} & {*RESULTS}
    if not returned and not _RETURNED.search(plain):
        raise DefinitionError(
            f"{where}: {name!r} returns {spelled.returns!r}, want tensors or numbers: one, several in a std::tuple, a std::vector of "
            "tensors, or void. Write a function around it that returns such, and name that one in functions"
        )
    return spelled


@dataclass(frozen=True)
class _Argument:
    """One argument of a function.

    Attributes:
        own, name: its name in C++ and in the op.
        type: in the op.
        open: the function may change it.
        narrow: a number that the function takes as `float`.
        default: in the op; empty for none.
    """

    own: str
    name: str
    type: str
    open: bool
    narrow: bool = False
    default: str = ""

    @property
    def is_list(self) -> bool:
        """Whether it is a list of tensors."""
        return self.type == LIST


def _arguments(found: Function, where: str) -> list[_Argument]:
    """Read the arguments of a function.

    Raises:
        DefinitionError: a type that an op does not have.
    """
    arguments: list[_Argument] = []
    for number, one in enumerate(found.parameters, 1):
        type_, own, default = one.type, one.name, one.default
        kind = _kind_of(type_)
        if not kind:
            raise DefinitionError(
                f"{where}: argument {number} is {f'{type_} {own}'.strip()!r}, want a tensor, a number, a string, a list of "
                "tensors or numbers or an optional one. Write a function around it that takes such arguments, and name that "
                "one in functions"
            )
        name = _named(own, number, kind, arguments)
        narrow = kind.startswith("float") and read_type(type_).of == "float"
        arguments.append(_Argument(own, name, kind, "const" not in type_, narrow, _default(kind, default)))
    if not any(argument.type in ("Tensor", LIST) for argument in arguments):
        raise DefinitionError(
            f"{where}: it takes no Tensor, which would tell device and dtype. Write a function around it that takes one, "
            "torch::Tensor like, and name that one in functions"
        )
    # As in C++, what stands behind a default has one: where one cannot be read, those before it go, too.
    given = max((number for number, argument in enumerate(arguments) if not argument.default), default=-1)
    return [replace(a, default="") if number < given else a for number, a in enumerate(arguments)]


def _kind_of(type_: str) -> str:
    """Return the type of an op that a type of C++ stands for; nothing where a function of others cannot be called with it."""
    found = read_type(type_)
    fits = found.of in _LISTED.get(found.kind, (found.of,)) and "stable" not in found.of
    return found.kind if fits and found.kind in _ARGUMENTS else ""


def _default(kind: str, text: str) -> str:
    """Write a default of C++ as a schema spells it; nothing where a schema cannot."""
    if re.fullmatch(r"(?:(?:std|c10|at|torch)::)?nullopt|\{\}", text):
        text = "None"
    text = {"true": "True", "false": "False"}.get(text) or re.sub(r"(?<=[\d.])[fFlL]\Z", "", text)
    return text if is_default(kind, text) else ""


def _named(own: str, number: int, kind: str, before: Sequence[_Argument]) -> str:
    """Name an argument in the op: as it is called, where an op can call it so."""
    name = own.strip("_") or f"x{number}"
    if not kind.startswith("Tensor") and len(name) == 1:
        name = name.lower()  # a capital letter would be an extent
    used = {argument.name for argument in before}
    clash = is_reserved(name) or name in used or any(f"d_{other}" == name or other == f"d_{name}" for other in used)
    return f"{name}{number}" if clash else name


def _values(inputs: Any, arguments: Sequence[_Argument], where: str) -> tuple[Any, ...]:
    """Hold example inputs against the arguments.

    Raises:
        InputError: too few or too many, or one of another type.
    """
    if isinstance(inputs, Tensor) and len(arguments) == 1:
        inputs = (inputs,)
    if not isinstance(inputs, list | tuple):
        raise refusal(
            "inputs", inputs, f"the arguments of one call, ({', '.join(a.name for a in arguments)})", where=where
        )
    left = arguments[len(inputs) :]
    if left and all(argument.default for argument in left):
        inputs = [*inputs, *(literal_eval(argument.default) for argument in left)]
    if len(inputs) != len(arguments):
        listed = ", ".join(f"{argument.type} {argument.own}" for argument in arguments)
        raise InputError(f"{where}: inputs has {plural(len(inputs), 'value')}, it takes {len(arguments)}: {listed}")
    for argument, value in zip(arguments, inputs, strict=True):
        if not fits(argument.type, value):
            dense = "dense " * argument.type.startswith("Tensor")
            raise refusal(f"inputs: {argument.own}", value, f"a {dense}{argument.type}", where=where)
        if argument.is_list and len({one.dtype for one in value}) != 1:
            listed = ", ".join(map(words, value)) or "none"
            raise InputError(f"{where}: inputs: {argument.own} holds {listed}: want tensors of one dtype, one at least")
    plain = [each(value, lambda one: one.detach().cpu()) for value in inputs]  # parameters, and what lies on a GPU
    plain = [list(value) if isinstance(value, tuple) else value for value in plain]
    return tuple(_rounded(value) if a.narrow else value for a, value in zip(arguments, plain, strict=True))


def _rounded(value: Any) -> Any:
    """Round numbers as a `float` does, so that the reference gets what the function gets."""
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return value if value is None else torch.tensor(value, dtype=torch.float32).item()


def _example_of(
    inputs: Any, arguments: Sequence[_Argument], where: str
) -> tuple[Callable[..., Any] | None, tuple[Any, ...] | None]:
    """Return the user's function that makes inputs, if it is one, and the arguments of the example call, if there is one."""
    maker = inputs if callable(inputs) else None
    if maker is not None:
        inputs = drawn(maker, sizes_of(maker, where), where)
    return maker, None if inputs is None else _values(inputs, arguments, where)


def _op(
    name: str,
    found: Mapping[str, Function],
    arguments: Sequence[_Argument],
    code: str,
    given: Any,
    inputs: tuple[Any, ...] | None,
    maker: Callable[..., Any] | None,
    where: str,
    called: Names,
    *,
    count: int = 0,
    trial: tuple[Trial, Call] | None = None,
) -> Op:
    """Make the op that a function computes; what it does not use is blank in the text.

    Args:
        name: of the op.
        found: the function, and its backward.
        arguments: of the function.
        code: the text.
        given: the reference.
        inputs: the arguments of the example call.
        maker: made them, where the user said how.
        where: for messages.
        called: what its extents are called.
        count: how many tensors a run has shown it to return.
        trial: the function itself, where there is no reference, and its call with the example.
    """
    function_, backward = found["forward"], found.get("backward")
    lacks = [what for what, value in (("reference", given), ("inputs", inputs)) if value is None]
    is_called = inputs is not None
    if inputs is None:  # whatever it takes; nothing can be made up to call it with
        given, inputs = None, (None,) * len(arguments)
    void = function_.returns == "void"
    missing = f"op {name!r} has no {' and no '.join(lacks)}: from_load_inline(..., {', '.join(f'{what}=...' for what in lacks)})"
    reference = Reference(given, missing * bool(lacks))
    if given is not None and void:
        reference = replace(reference, places=_places(given, arguments, inputs, where))
    asked, apart = (_asker(body, arguments) for body in (body_of(code, function_), whole_body(code, function_)))
    ties = list(_ties(code, function_, arguments))
    known = explore(
        *(where, [a.name for a in arguments], inputs, asked, apart, None if given is None else reference, maker, ties),
        called,
    )
    differentiable = _differentiable(known, arguments, backward, code, bool(_changed(known, arguments, void)))
    if trial is not None:
        known = replace(known, reference=trial[0], first=trial[1])
    # What a run without a reference may change has to come back from it, to be seen.
    may_change = void or (is_called and not count and _IN_PLACE.search(body_of(code, function_)) is not None)
    inputs, changed = known.values, _changed(known, arguments, may_change)
    main = common_dtype(inputs)
    for argument, value in zip(arguments, inputs, strict=True):
        if main is not None and argument.is_list and value and value[0].dtype != main:
            raise DefinitionError(
                f"{where}: the tensors of the list {argument.own} are {dtype_name(value[0].dtype)}, want the dtype of the others, "
                f"{dtype_name(main)}"
            )
    spelled = [
        _spelled(argument.type, value, main, changed.get(place, ""))
        + f" {argument.name}{f'={argument.default}' * bool(argument.default)}"
        for place, (argument, value) in enumerate(zip(arguments, inputs, strict=True))
    ]
    shapes = {
        argument.name: known.shape_of_input(place, where) if of_one_shape(value) else "?"
        for place, (argument, value) in enumerate(zip(arguments, inputs, strict=True))
        if argument.type in ("Tensor", "Tensor?", LIST)
    }
    _require_whole_letters(known, shapes, where)
    outputs = []
    names = [] if void else _outputs(known, function_, code, where, count, is_called)
    if known.first is not None and backward is not None and (kept := _kept(names, arguments, function_, backward)):
        reference = replace(reference, kept=kept)
        names = [name for place, name in enumerate(names) if place not in kept]
        known = replace(known, reference=Reference(known.reference, kept=kept), first=known.first.less(kept))
    for place, output in enumerate(names):
        result = known.first.results[place] if known.first else None
        returned = known.first.returned[place] if known.first else None
        kind = "int" if names == [COUNT] else _kind(result, function_.returns, where)
        if kind == "Tensor":
            shapes[output] = known.shape_of(place) if known.first else "?"
            kind = _spelled(kind, result, main, "" if returned is None else changed.get(returned, ""))
        outputs.append(f"{kind} {output}")
    own = {letter: known.chance.get(extent, extent) for letter, extent in known.sizes.items()}
    small = dict(zip(known.sizes, known.small(_MOST_ELEMENTS), strict=False))
    op = Op(
        name,
        f"({', '.join(spelled)}) -> ({', '.join(outputs)})",
        reference,
        shapes,
        None if known.is_plain else known.inputs,
        dtypes=_dtypes(code, main, known),
        differentiable=differentiable,
        corners=False,
        doc="Made of a snippet for load_inline.",
    )

    def in_order(sizes: Mapping[str, int]) -> tuple[int, ...]:  # that of the op's letters: 2S names S later than S does
        return tuple(sizes[letter] for letter in op.letters)

    return replace(
        op, benchmark_sizes=(in_order(own),) if tensors(inputs) else (), check_size=in_order(small) if small else ()
    )


def _require_whole_letters(known: Example, shapes: Mapping[str, str], where: str) -> None:
    """Refuse letters of the user's own function for inputs that no shape tells: 2H may be odd, and then there is no H.

    Raises:
        DefinitionError: no input has such a letter as an extent.
    """
    words = " ".join(shapes.values()).split()
    for letter in known.sizes if known.maker is not None and "?" not in words else ():
        if letter in words:
            continue
        parts = [word for word in words if letter in word]
        has = f"makes {parts[0]}, and no input has {letter} itself" if parts else f"takes {letter}, and no input has it"
        cure = f"Put a number in its place, such as 16, and take {letter} out of the arguments"
        raise DefinitionError(f"{where}: inputs() {has} as an extent, so nothing tells it from the inputs. {cure}")


def _op_name(snippet: Snippet, key: str, forward: str) -> str:
    """Name the op after its function; no op of a module goes away for it."""
    stems = (_FORWARD.sub("", key), _FORWARD.sub("", forward), snippet.name, forward)
    name = re.sub(r"\W", "_", next(filter(None, stems)).lower()).strip("_")
    name = name if re.match(r"[a-z]", name) else f"op_{name}"
    before = registry.ops.get(name)
    return f"{name}_inline" if before is not None and not isinstance(before.reference, Reference) else name


def _spelled(kind: str, value: Any, main: torch.dtype | None, alias: str) -> str:
    """Write the type of an argument or result: a tensor's own dtype where it is not that of the others."""
    if kind == LIST:
        return f"Tensor({alias})[]" if alias else kind
    if not kind.startswith("Tensor"):
        return kind
    dtype = value.dtype if isinstance(value, Tensor) else main
    marks = f"({alias})" * bool(alias) + (f"[{dtype_name(dtype)}]" if dtype is not None and dtype != main else "")
    return f"Tensor{marks}{kind.removeprefix('Tensor')}"


def _kind(result: Any, returns: str, where: str) -> str:
    """Name the type of an output in the op: of what the reference returned, or, without one, of what the function declares.

    Raises:
        DefinitionError: the reference returns what no op does.
    """
    if result is None:
        declared = read_type(returns).kind
        return declared if declared in RESULTS else "Tensor"
    kind = "Tensor" if isinstance(result, Tensor) else {bool: "bool", int: "int", float: "float"}.get(type(result))
    if kind is None:
        raise DefinitionError(f"{where}: the reference returns {shown(result)}, want tensors or numbers")
    return kind


def _asker(body: str, arguments: Sequence[_Argument]) -> Callable[[str, int, int], bool]:
    """Return what tells whether a function asks for an extent of an argument; what it never asks for is fixed.

    ATen asks by itself, and a function that only hands its arguments on is not looked into.

    Args:
        body: of the function.
        arguments: of the function.
    """
    if not _POINTERS.search(body):
        return lambda name, axis, rank: True
    lists = {argument.name for argument in arguments if argument.is_list}  # of which a loop has another name
    owners = _owners(body, arguments)
    asked: dict[str, list[str]] = {}
    for own, argument, index in _EXTENT.findall(body):
        asked.setdefault(owners.get(own, ""), []).append(index or argument)

    def asks(name: str, axis: int, rank: int) -> bool:
        return name in lists or any(
            not re.fullmatch(r"-?\d+", one) or int(one) % rank == axis for one in asked.get(name, ())
        )

    return asks


def _owners(body: str, arguments: Sequence[_Argument]) -> dict[str, str]:
    """Say of which argument of the op the variables of a function have the extents."""
    owners: dict[str, str] = {argument.own: argument.name for argument in arguments}
    for new, old in _COPY.findall(body):
        owners.setdefault(new, owners.get(old, ""))
    return owners


def _called(
    text: str, code: str, found: Function, arguments: Sequence[_Argument], given: Callable[..., Any] | None
) -> Names:
    """Read what a function, its comments and its reference call extents: `N = x.size(0)`, `x: (B, T, D)`, `B, T = x.shape`."""
    body, reference = body_of(code, found), _source(given)
    variables = getattr(getattr(given, "__code__", None), "co_varnames", ())
    own = dict(zip(variables, (a.name for a in arguments), strict=False))
    told: dict[End, str] = {}
    taken = {one.upper() for one in _OF_EXTENTS.findall(body)}
    taken |= {
        *_CAPITAL.findall(mask(code)),
        *(name for name in variables if _CAPITAL.fullmatch(name)),
    }
    for said, owners in ((body, _owners(body, arguments)), (reference, own)):
        for name, of, first, second in _LETTER.findall(said):
            axis = first or second
            told.setdefault((owners.get(of, ""), int(axis) if axis else None), name)
        for names, of in _UNPACKED.findall(said):
            for axis, name in enumerate(re.findall(r"\w+", names)):
                if len(name) == 1:
                    told.setdefault((owners.get(of, ""), axis), name)
    for of, names in _NOTED.findall(text):
        for axis, name in enumerate(re.findall(r"\w+", names)):
            told.setdefault((next((a.name for a in arguments if a.own == of), ""), axis), name)
    # A capital letter says more than a small one, and is not given to what is called by the small one.
    told = {end: name.upper() for end, name in sorted(told.items(), key=lambda one: one[1].islower())}
    return Names({end: name for end, name in told.items() if name.isalpha()}, frozenset(taken))


def _source(given: Callable[..., Any] | None) -> str:
    """Return the text of a reference, where it is known and may say what extents are called: a lambda cannot."""
    if not inspect.isfunction(given) or given.__name__ == "<lambda>":
        return ""
    try:
        return inspect.getsource(given)
    except (OSError, SyntaxError, TokenError):  # typed in, or its file has become another
        return ""


def _ties(code: str, found: Function, arguments: Sequence[_Argument]) -> Iterator[tuple[End, End]]:
    """List what a function compares with each other: `a.sizes() == b.sizes()`, `a.size(1) == b.size(0)`."""
    body = whole_body(code, found)
    owners = _owners(body, arguments)
    for before, one, i, other, j, behind in _TIE.findall(body):
        if not before and not behind and bool(i) == bool(j):
            yield (owners.get(one, ""), int(i) if i else None), (owners.get(other, ""), int(j) if j else None)


def _places(
    given: Callable[..., Any], arguments: Sequence[_Argument], inputs: Sequence[Any], where: str
) -> tuple[int, ...]:
    """Say which arguments take the results of a reference, where the function returns nothing.

    Raises:
        DefinitionError: the reference neither changes an argument nor returns what one would become.
    """
    try:
        first = call(given, inputs)
    except Exception:  # `explore` says of it what there is to say
        return ()
    if first.changed and not first.results:
        return ()
    open_ = [place for place, argument in enumerate(arguments) if argument.open and argument.type == "Tensor"]
    named = [place for place in open_ if re.match(r"(?:out|dst|result|res|ret)", arguments[place].own)] or [
        place for place in open_ if arguments[place].own in ("y", "z", "c", "C", "o", "O")
    ]
    places = list(first.changed) or named or open_
    shapes = [result.shape for result in first.results if isinstance(result, Tensor)]
    if (
        not shapes
        or len(first.results) > len(places)
        or any(inputs[p].shape != s for p, s in zip(places, shapes, strict=False))
    ):
        raise DefinitionError(
            f"{where}: it returns nothing, so it changes its arguments, and the reference neither changes one nor returns what one "
            "becomes. Let it change what the function changes: lambda out, x: out.copy_(...)"
        )
    return tuple(places[: len(shapes)])


def _changed(known: Example, arguments: Sequence[_Argument], may: bool) -> dict[int, str]:
    """Give a letter to each argument that is changed in place: by the reference, or, without one, whatever may be if any may."""
    places: Sequence[int] = known.first.changed if known.first else ()
    if known.first is None and may:  # what a list that is const holds may be changed
        open_ = [argument.is_list or (argument.open and argument.type == "Tensor") for argument in arguments]
        places = [place for place, one in enumerate(open_) if one]
    return {place: f"{letter}!" for place, letter in zip(places, "abcdefghijklmnopqrstuvwxyz", strict=False)}


def _outputs(
    known: Example, found: Function, code: str, where: str, told: int = 0, is_called: bool = False
) -> list[str]:
    """Name the outputs: as the function calls what it returns, where these are names of their own.

    Args:
        told: how many there are, where a run has shown it.
        is_called: there is an example to run it on, for their number where nothing tells it.

    Raises:
        DefinitionError: the function returns something else than the reference, or what cannot be counted.
    """
    try:
        returned = list(result_of(code, found, "").names)
    except Unclear as error:
        returned = []
        if known.first is None and not told and "vector" in found.returns:
            if is_called:
                return [COUNT]
            raise DefinitionError(
                f"{where}: {error}: give inputs, to see in a call how many tensors it returns"
            ) from None
    count = len(known.first.results) if known.first else told or max(len(returned), 1)
    if known.first is not None and not count and not known.first.changed:
        raise DefinitionError(f"{where}: the reference returns nothing, and changes none of its arguments")
    if known.first is not None and (
        len(returned) < count if returned else count != 1 and found.returns.endswith("Tensor")
    ):
        raise DefinitionError(
            f"{where}: the reference returns {plural(count, 'value')}, the function {plural(max(len(returned), 1), 'value')}"
        )
    used = list(known.names)
    names: list[str] = []
    for place in range(count):
        own = returned[place] if place < len(returned) else ""
        fits = re.fullmatch(r"[A-Za-z](?:\w*[A-Za-z0-9])?", own) and not is_reserved(own) and own not in (*used, *names)
        names.append(own if fits else f"output{place if count > 1 else ''}")
    return [f"{one}_{place}" if one in used else one for place, one in enumerate(names)]


def _kept(
    names: Sequence[str], arguments: Sequence[_Argument], forward: Function, backward: Function
) -> dict[int, str]:
    """List results that are there for backward alone: it takes them by name, and a gradient for each of the others only."""
    tensors = [name for name, type_ in zip(backward.names, backward.types, strict=True) if is_tensor(type_)]
    known = {*names, *forward.names, *(argument.name for argument in arguments)}
    incoming = [name for name in tensors if name not in known]
    kept = {place: name for place, name in enumerate(names) if name in tensors}
    return kept if incoming and len(incoming) == len(names) - len(kept) < len(names) else {}


def _dtypes(code: str, main: torch.dtype | None, known: Example) -> tuple[str, ...]:
    """List the dtypes that text and reference take: those that it dispatches over; those of ATen; else the one of the example."""
    over = _DISPATCH.findall(mask(code))
    names = ["float32", "float64"] if over or not _POINTERS.search(mask(code)) else []
    names += ["float16"] * bool(over and all(re.search(r"_HALF\b|[:k]Half\b", one) for one in over))
    names += ["bfloat16"] * bool(over and all("BFloat16" in one for one in over))
    own = dtype_name(main or torch.float32)
    return tuple(dict.fromkeys([own, *(name for name in names if main is None or known.takes(getattr(torch, name)))]))


def _differentiable(
    known: Example, arguments: Sequence[_Argument], backward: Function | None, code: str, changed: bool
) -> bool | tuple[str, ...]:
    """Say which inputs have a gradient: those that a backward returns one for, or that ATen finds."""
    real = [
        argument
        for argument, value in zip(arguments, known.values, strict=True)
        if argument.type == "Tensor" and (value is None or value.is_floating_point() or value.is_complex())
    ]
    if backward is None:
        plain = known.first is not None and not changed and not _POINTERS.search(mask(code))
        if not (plain and real and _has_graph(known)):
            return False
        # Labels have none that anybody wants: two formulas that agree at 0 and 1 need not be equally steep there.
        labels = {name for name, value in zip(known.names, known.values, strict=True) if is_label(value)}
        wanted = tuple(argument.name for argument in real if argument.name not in labels)
        return wanted if labels and wanted else True
    try:
        names = result_of(code, backward, "").names
    except Unclear:
        return True
    own = {of_gradient(name, [argument.own for argument in real]) for name in names}
    said = tuple(argument.name for argument in real if own & {argument.own, argument.name})
    return said if len(said) == len(names) else tuple(argument.name for argument in real[: len(names)])


def _has_graph(known: Example) -> bool:
    """Tell whether the reference can be differentiated."""
    assert known.reference is not None
    leaves = [
        v.clone().requires_grad_() if isinstance(v, Tensor) and v.is_floating_point() else v for v in known.values
    ]
    results = known.reference(*leaves)
    return any(
        isinstance(r, Tensor) and r.requires_grad for r in (results if isinstance(results, tuple | list) else [results])
    )


def _doc(op: Op, kind: str) -> str:
    """Say what a kernel can do, and what is missing for the rest."""
    device = "" if kind == "cpp" else ", device='cuda' or 'cuda-cpu'"
    stem = op.name.removesuffix("_inline")
    note = f" ({stem!r} is another op, which stays)" * (stem != op.name and stem in registry.ops)
    can = f"{op.name}{op.signature}{note}. It can be built, loaded and called: li.load('{op.name}/inline'{device})"
    if not op.lacks:
        kept = op.reference.kept.values() if isinstance(op.reference, Reference) else ()
        note = f". {' and '.join(kept)}: for backward, and not compared" if kept else ""
        return f"{can}, checked: li.check, and timed: li.benchmark{note}"
    timed = f", timed unchecked: li.benchmark('{op.name}/inline', check=False{device})" * bool(op.benchmark_sizes)
    return f"{can}{timed}. To be checked: {op.lacks}"
