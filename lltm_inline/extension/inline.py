"""What people give to `load_inline` becomes a kernel of an op that is made on the spot.

The arguments are read as `load_inline` reads them; the C++ signatures and one example call say what the op is; what calls the
snippet's own functions is written behind its text, as for an extension in files.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..base.arguments import did_you_mean, function, plural, require, shown, string, strings
from ..cpp.functions import Function, at_file_scope, laid_open, squeezed
from ..cpp.masks import heads, mask, taken
from ..diagnosis.source_text import bracket_fault, python_line
from ..errors import DefinitionError, InputError, naming
from ..model.kernel import Kernel
from ..model.op import LIST, RESULTS, fits, is_default
from ..model.registry import Argument, Op, registry
from ..model.reserved import is_reserved
from ..run.cases.drawing import is_label
from ..run.compare import dtype_name
from ..run.function import as_tuple, differentiable, each, tensors
from ..source.signature import aliases_in, meant_function
from ..source.types import read_type
from . import example
from .classic import calling, flags_of
from .matching import FILLED, Match, is_tensor, of_gradient, unqualified
from .reading import Unclear, body_of, find_modules, result_of, used_by, whole_body, without_modules

#: Arguments of `load_inline` that ask for what does not exist here.
_SYCL = ("sycl_sources", "extra_sycl_cflags", "with_sycl")
#: What every build of the playground links, or needs not.
_LINKED = re.compile(r"-O\w*|-fopenmp|-l(?:gomp|m|pthread|dl|cudart|torch\w*|c10\w*)|-pthread|")
#: An example of more elements is too large to be checked at: gradients visit each.
_MOST_ELEMENTS = 4096
#: What `load_inline` puts before every text; of all includes of a text the playground makes the first lines of a build.
_IMPLICIT = "#include <torch/extension.h>"
#: How people name a forward; the rest of its name begins that of its backward.
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
#: What a text calls an extent: `N = x.size(0)`, `x.sizes()[0]`, `x.numel()`.
_LETTER = re.compile(
    r"\b([A-Za-z])\s*=\s*(?:\(\w+\)\s*|static_cast\s*<\w+>\s*\(\s*|int\(\s*)?(\w+)\s*\.\s*"
    r"(?:size\s*\(\s*(-?\d+)\s*\)|sizes\(\)\s*\[\s*(-?\d+)\s*\]|numel\(\))\s*(?=[;,)])"
)
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
    timed too: `print(kernel)` ends with which, and with what was guessed. CUDA source runs on a GPU (`device="cuda"`) and without
    one (`device="cuda-cpu"`).

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
    with naming(where):
        if not cpp_sources and not cuda_sources:
            cure = "The first argument is a name, as load_inline has it: from_load_inline('ext', source, ...)"
            raise InputError(f"no cpp_sources and no cuda_sources. {cure}")
        for flag in strings("extra_ldflags", extra_ldflags or ()):
            if not _LINKED.fullmatch(flag):
                raise InputError(
                    f"extra_ldflags={shown(flag)} links another library: a kernel is linked with torch's libraries alone. "
                    "Leave it out, and write what it is needed for in C++ or with torch's own functions"
                )
        snippet = Snippet(name, joined("cpp_sources", cpp_sources), joined("cuda_sources", cuda_sources))
        if (found := python_line(snippet.text)) is not None:
            raise InputError(f"line {found[0]} of the text is Python: {shown(found[1].strip())}. Want C++ or CUDA")
        if mistake := _unfinished(snippet.text):
            raise InputError(mistake)
        cxx, nvcc = strings("extra_cflags", extra_cflags or ()), strings("extra_cuda_cflags", extra_cuda_cflags or ())
        includes = (f"-I{path}" for path in strings("extra_include_paths", extra_include_paths or ()))
        flags = (*flags_of(cxx, nvcc, bool(snippet.cuda)), *includes)
        bound = snippet.bound(functions)
        pairs = snippet.pairs(bound, gradient)
        own, called_with = _of("reference", reference, pairs), _of("inputs", inputs, pairs)
    made: list[Kernel] = []
    for forward, backward in pairs.items():
        names = {"forward": bound[forward]} | ({"backward": bound[backward]} if backward else {})
        what = f"{where}, {forward!r}"
        with naming(what):
            made.append(_Pair(snippet, forward, names, own(forward), called_with(forward), flags).registered(what))
    return made[0] if len(made) == 1 else tuple(made)


def joined(name: str, sources: Any) -> str:
    """Put sources behind each other, as `load_inline` does, with plain line ends."""
    parts = (sources,) if isinstance(sources, str) else strings(name, sources or ())
    return "\n".join(parts).replace("\r\n", "\n")


def _unfinished(text: str) -> str:
    """Say where a text breaks off, as what stands behind it would be blamed for that; nothing of one that is whole."""
    masked, fault = mask(taken(text)), bracket_fault(text)

    def line(number: int) -> str:
        return f"line {number} of the text, {shown(masked.split(chr(10))[number - 1].strip())}"

    if fault is not None and "}" in (fault.missing, fault.bracket):
        return f"{line(fault.line)}: this " + ("'{' is never closed" if fault.missing else "'}' closes nothing")
    end = masked.rstrip()
    is_type = re.search(r"\b(?:struct|class|union|enum)\b[^()=]*\Z", "".join(heads(masked, len(end) - 1)[:1]))
    if fault is None and end and (end[-1] not in ";})" or (end[-1] == "}" and is_type)):
        return f"{line(end.count(chr(10)) + 1)}: the text ends here, and a ';' is missing"
    return ""


def _of(what: str, given: Any, pairs: Mapping[str, str]) -> Callable[[str], Any]:
    """Return what says which of several values belongs to a function."""
    if isinstance(given, Mapping):
        if unknown := [key for key in given if key not in pairs]:
            raise InputError(f"{what} has {shown(unknown[0])}, want names of the functions: {', '.join(pairs)}")
        return given.get
    if given is not None and len(pairs) > 1:
        raise InputError(
            f"{what} is one, and the snippet has {len(pairs)} functions: want a dict, {{{next(iter(pairs))!r}: ...}}. "
            f"Functions: {', '.join(pairs)}"
        )
    return lambda _: given


@dataclass(frozen=True)
class Snippet:
    """The texts of a snippet.

    Attributes:
        name: of the extension.
        cpp, cuda: its texts.
    """

    name: str
    cpp: str
    cuda: str

    @property
    def text(self) -> str:
        """One text: C++ that only declares what the CUDA text defines has nothing to add to it."""
        defines = bool(at_file_scope(laid_open(self.cpp, ""))) or bool(find_modules(self.cpp))
        return f"{self.cuda.rstrip()}\n\n{self.cpp.strip()}\n" if self.cuda and defines else self.cuda or self.cpp

    def bound(self, functions: Any) -> dict[str, str]:
        """List the functions that are bound: those that are asked for, or that the text itself binds, by the name of each."""
        defined = list(dict.fromkeys(one.name for one in at_file_scope(laid_open(self.text, ""))))
        listed = f"Its functions: {', '.join(defined)}" if defined else "It defines no function"
        if functions is None:
            bound = {name: what for module in find_modules(self.text) for name, what in module.functions.items()}
            if not bound:
                raise InputError(f"no functions=, and nothing in the text binds one. {listed}")
            return bound
        if isinstance(functions, str):
            functions = [functions]
        names = strings("functions", list(functions) if isinstance(functions, Mapping) else functions)
        if not names:
            raise InputError(f"functions is empty. {listed}")
        for name in names:
            if name not in defined:
                near = did_you_mean(name, defined)
                raise InputError(f"the text defines no function {shown(name)} at file scope.{near} {listed}")
        return {name: name for name in names}

    def pairs(self, bound: Mapping[str, str], gradient: Any) -> dict[str, str]:
        """Pair forwards with backwards; those without one have an empty name."""
        if isinstance(gradient, str):
            others = [name for name in bound if name != gradient]
            if len(others) != 1:
                raise InputError(
                    f"gradient={gradient!r}: say of which function: {{'{others[0] if others else 'FORWARD'}': {gradient!r}}}"
                )
            gradient = {others[0]: gradient}
        known = gradient is None or isinstance(gradient, Mapping)
        require(known, "gradient", gradient, "a dict of functions by name, {'foo': 'foo_grad'}")
        found = dict(gradient or {})
        for name in [*found, *found.values()]:
            if name not in bound:
                raise InputError(f"gradient names {shown(name)}, want some of functions: {', '.join(bound)}")
        for name in bound:
            named = re.compile(rf"{re.escape(_FORWARD.sub('', name))}_?(?:backward|bwd|bw)")
            other = next(filter(named.fullmatch, bound), "")
            if other and name not in found and {name, other}.isdisjoint(found.values()):
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
        for place, result in zip(self.places, as_tuple(results), strict=True):
            if values[place].shape != result.shape:
                raise ValueError(
                    f"the result has shape {tuple(result.shape)}, what it belongs into {tuple(values[place].shape)}"
                )
            values[place].copy_(result)
        return None


def _defined(code: str, name: str) -> Function:
    """Find a function, with what its types stand for.

    Raises:
        DefinitionError: there is none, or several, or a template.
    """
    if name.startswith("["):
        raise DefinitionError("it binds a lambda, want a function with a name")
    found = [one for one in at_file_scope(code) if one.name == name]
    if not found:
        raise DefinitionError(f"the text defines no function {name!r} at file scope, outside of any namespace")
    if len(found) > 1:
        several = " and ".join(f"{name}({', '.join(one.types)})" for one in found)
        raise DefinitionError(f"{name!r} is overloaded: {several}. Give each a name of its own")
    if found[0].template:
        raise DefinitionError(
            f"{name!r} is a template: want a function that calls it with a type, "
            f"at::Tensor {name}_float(at::Tensor x) {{ return {name}<float>(x); }}"
        )
    spelled = meant_function(found[0], aliases_in(mask(code)))
    plain = squeezed(re.sub(r"\bconst\b|&", " ", spelled.returns))
    returned = {_kind_of(one) for one in (plain, plain.rpartition(" ")[2]) if not one.endswith("Scalar")} & {*RESULTS}
    if not returned and not _RETURNED.search(plain):
        raise DefinitionError(
            f"{name!r} returns {spelled.returns!r}, want tensors or numbers: one, several in a std::tuple, a std::vector of "
            "tensors, or void. Write a function around it that returns such, and name that one in functions"
        )
    return spelled


@dataclass(frozen=True)
class _Argument(Argument):
    """One argument of a function, as the op has it.

    Attributes:
        own: its name in C++.
        open: the function may change it.
        narrow: a number that the function takes as `float`.
    """

    own: str = ""
    open: bool = False
    narrow: bool = False


def _arguments(found: Function) -> list[_Argument]:
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
                f"argument {number} is {f'{type_} {own}'.strip()!r}, want a tensor, a number, a string, a list of "
                "tensors or numbers or an optional one. Write a function around it that takes such arguments, and name that "
                "one in functions"
            )
        name = _named(own, number, kind, arguments)
        narrow = kind.startswith("float") and read_type(type_).of == "float"
        arguments.append(
            _Argument(name, kind, _default(kind, default), own=own, open="const" not in type_, narrow=narrow)
        )
    if not any(argument.type in ("Tensor", LIST) for argument in arguments):
        raise DefinitionError(
            "it takes no Tensor, which would tell device and dtype. Write a function around it that takes one, "
            "torch::Tensor like, and name that one in functions"
        )
    # As in C++, what stands behind a default has one: where one cannot be read, those before it go, too.
    given = max((number for number, argument in enumerate(arguments) if argument.default is None), default=-1)
    return [replace(a, default=None) if number < given else a for number, a in enumerate(arguments)]


def _kind_of(type_: str) -> str:
    """Return the type of an op that a type of C++ stands for; nothing where a function of others cannot be called with it."""
    found = read_type(type_)
    fits = found.of in _LISTED.get(found.kind, (found.of,)) and "stable" not in found.of
    return found.kind if fits and found.kind in _ARGUMENTS else ""


def _default(kind: str, text: str) -> str | None:
    """Write a default of C++ as a schema spells it; None where a schema cannot."""
    if re.fullmatch(r"(?:(?:std|c10|at|torch)::)?nullopt|\{\}", text):
        text = "None"
    text = {"true": "True", "false": "False"}.get(text) or re.sub(r"(?<=[\d.])[fFlL]\Z", "", text)
    return text if is_default(kind, text) else None


def _named(own: str, number: int, kind: str, before: Sequence[_Argument]) -> str:
    """Name an argument in the op: as it is called, where an op can call it so."""
    name = own.strip("_") or f"x{number}"
    if not kind.startswith("Tensor") and len(name) == 1:
        name = name.lower()  # a capital letter would be an extent
    used = {argument.name for argument in before}
    clash = is_reserved(name) or name in used or any(f"d_{other}" == name or other == f"d_{name}" for other in used)
    return f"{name}{number}" if clash else name


def _values(inputs: Any, arguments: Sequence[_Argument]) -> tuple[Any, ...]:
    """Hold example inputs against the arguments.

    Raises:
        InputError: too few or too many, or one of another type.
    """
    if isinstance(inputs, Tensor) and len(arguments) == 1:
        inputs = (inputs,)
    wants = f"the arguments of one call, ({', '.join(a.name for a in arguments)})"
    require(isinstance(inputs, list | tuple), "inputs", inputs, wants)
    left = arguments[len(inputs) :]
    if left and all(argument.default is not None for argument in left):
        inputs = [*inputs, *(argument.value for argument in left)]
    if len(inputs) != len(arguments):
        listed = ", ".join(f"{argument.type} {argument.own}" for argument in arguments)
        raise InputError(f"inputs has {plural(len(inputs), 'value')}, it takes {len(arguments)}: {listed}")
    for argument, value in zip(arguments, inputs, strict=True):
        dense = "dense " * argument.type.startswith("Tensor")
        require(fits(argument.type, value), f"inputs: {argument.own}", value, f"a {dense}{argument.type}")
        if argument.is_list and len({one.dtype for one in value}) != 1:
            listed = ", ".join(map(example.words, value)) or "none"
            raise InputError(f"inputs: {argument.own} holds {listed}: want tensors of one dtype, one at least")
    plain = [each(value, lambda one: one.detach().cpu()) for value in inputs]  # parameters, and what lies on a GPU
    plain = [list(value) if isinstance(value, tuple) else value for value in plain]
    return tuple(_rounded(value) if a.narrow else value for a, value in zip(arguments, plain, strict=True))


def _rounded(value: Any) -> Any:
    """Round numbers as a `float` does, so that the reference gets what the function gets."""
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return value if value is None else torch.tensor(value, dtype=torch.float32).item()


def _op_name(snippet: Snippet, key: str, forward: str) -> str:
    """Name the op after its function; no op of a module goes away for it."""
    stems = (_FORWARD.sub("", key), _FORWARD.sub("", forward), snippet.name, forward)
    name = re.sub(r"\W", "_", next(filter(None, stems)).lower()).strip("_")
    name = name if re.match(r"[a-z]", name) else f"op_{name}"
    before = registry.ops.get(name)
    return f"{name}_inline" if before is not None and not isinstance(before.reference, Reference) else name


def _dtype(value: Any, main: torch.dtype | None) -> str:
    """Name the dtype of a tensor, where it is not that of the others."""
    return dtype_name(value.dtype) if isinstance(value, Tensor) and value.dtype != main else ""


def _kind(result: Any, returns: str) -> str:
    """Name the type of an output in the op: of what the reference returned, or, without one, of what the function declares.

    Raises:
        DefinitionError: the reference returns what no op does.
    """
    if result is None:
        declared = read_type(returns).kind
        return declared if declared in RESULTS else "Tensor"
    kind = "Tensor" if isinstance(result, Tensor) else {bool: "bool", int: "int", float: "float"}.get(type(result))
    if kind is None:
        raise DefinitionError(f"the reference returns {shown(result)}, want tensors or numbers")
    return kind


class _Pair:
    """A function of a snippet and its backward, on their way to an op and a kernel.

    Attributes:
        text: the snippet's, without what binds it; `code`: of that what the functions use, all else blank.
        found, backward: the function, and its backward if it has one.
        arguments: of the function.
        given: the reference, or None.
        values: the arguments of the example call, if there is one; `maker`: made them, where the user said how.
        said: what it calls extents, and which it asks for.
    """

    def __init__(
        self, snippet: Snippet, key: str, bound: Mapping[str, str], given: Any, inputs: Any, flags: tuple[str, ...]
    ) -> None:
        self.flags, self.given = flags, given
        if given is not None:
            function("reference", given)
        self.kind, self.text = "cuda" if snippet.cuda else "cpp", without_modules(snippet.text)
        self.names, self.space, self.whole = unqualified(bound, laid_open(self.text, ""))
        functions = {kind: _defined(self.whole, name) for kind, name in self.names.items()}
        self.found, self.backward = functions["forward"], functions.get("backward")
        self.arguments = _arguments(self.found)
        self.maker = inputs if callable(inputs) else None
        if self.maker is not None:
            inputs = example.drawn(self.maker, example.sizes_of(self.maker))
        self.values = None if inputs is None else _values(inputs, self.arguments)
        self.code = used_by(self.names.values(), self.text, self.whole)
        self.masked, self.body = mask(self.code), body_of(self.code, self.found)
        self.said = self._said()
        self.op_name = _op_name(snippet, key, bound["forward"])

    def registered(self, where: str) -> Kernel:
        """Register op and kernel; a warning begins with `where`."""
        op = self.op()
        if self.given is None and self.values is not None and op.signature.outputs:
            op = example.seen(op, self.op, self.kernel, self.values)
        _tell_of_the_one_before(op, where)
        registry.register(op)
        return registry.register(self.kernel(op))

    def kernel(self, op: Op) -> Kernel:
        """Make the kernel: the text, and behind it what calls its functions."""
        bound = {"forward": self.names["forward"]} if op.signature.outputs == example.COUNTS else self.names
        return calling(
            op,
            Match(op, bound, self.whole, self.space, counted=True),
            f"{self.text.rstrip()}\n\n{_IMPLICIT}",
            "inline",
            cuda=self.kind == "cuda",
            dense=_wants_dense(mask(self.text), self.values or ()),
            flags=self.flags,
            doc="\n".join([_doc(op, self.kind), *self._guessed(op)]),
        )

    def op(self, *, count: int = 0, trial: tuple[example.Trial, example.Call] | None = None) -> Op:
        """Make the op that the function computes.

        Args:
            count: how many tensors a run has shown it to return.
            trial: the function itself, where there is no reference, and its call with the example.
        """
        is_called, void = self.values is not None, self.found.returns == "void"
        lacks = [what for what, value in (("reference", self.given), ("inputs", self.values)) if value is None]
        cure = f"from_load_inline(..., {', '.join(f'{what}=...' for what in lacks)})"
        missing = f"op {self.op_name!r} has no {' and no '.join(lacks)}: {cure}"
        # Without an example whatever it takes; nothing can be made up to call the reference with.
        values = (None,) * len(self.arguments) if self.values is None else self.values
        given = self.given if is_called else None
        reference = Reference(given, missing * bool(lacks), self._places(values) if void and given is not None else ())
        named = {argument.name: value for argument, value in zip(self.arguments, values, strict=True)}
        known = example.explore(named, self.said, None if given is None else reference, self.maker)
        differentiable = self._differentiable(known, bool(self._changed(known, void)))
        if trial is not None:
            known = replace(known, reference=trial[0], first=trial[1])
        # What a run without a reference may change has to come back from it, to be seen.
        may_change = void or (is_called and not count and _IN_PLACE.search(self.body) is not None)
        changed, main = self._changed(known, may_change), example.common_dtype(known.values)
        taken, shapes = list[str](), dict[str, str]()
        for place, (argument, value) in enumerate(zip(self.arguments, known.values, strict=True)):
            if main is not None and argument.is_list and value and value[0].dtype != main:
                raise DefinitionError(
                    f"the tensors of the list {argument.own} are {dtype_name(value[0].dtype)}, want the dtype of the others, "
                    f"{dtype_name(main)}"
                )
            taken.append(str(replace(argument, dtype=_dtype(value, main), alias=changed.get(place, ""))))
            if argument.type in ("Tensor", "Tensor?", LIST):
                shapes[argument.name] = known.shape_of_input(place) if example.of_one_shape(value) else "?"
        _require_whole_letters(known, shapes)
        outputs = [] if void else self._outputs(known, count)
        if known.first is not None and self.backward is not None and (kept := self._kept(outputs, self.backward)):
            reference = replace(reference, kept=kept)
            outputs = [name for place, name in enumerate(outputs) if place not in kept]
            known = replace(known, reference=Reference(known.reference, kept=kept), first=known.first.less(kept))
        returned, nothing = list[str](), (None,) * len(outputs)
        results, places = (known.first.results, known.first.returned) if known.first else (nothing, nothing)
        for place, (output, result, itself) in enumerate(zip(outputs, results, places, strict=True)):
            one = Argument(output, "int" if output == example.COUNT else _kind(result, self.found.returns))
            if one.is_tensor:
                shapes[output] = known.shape_of(place) if known.first else "?"
                one = replace(one, dtype=_dtype(result, main), alias="" if itself is None else changed.get(itself, ""))
            returned.append(str(one))
        op = Op(
            self.op_name,
            f"({', '.join(taken)}) -> ({', '.join(returned)})",
            reference,
            shapes,
            None if known.is_plain else known.inputs,
            dtypes=self._dtypes(main, known),
            differentiable=differentiable,
            corners=False,
            doc="Made of a snippet for load_inline.",
        )
        return _sized(op, known)

    def _guessed(self, op: Op) -> Iterator[str]:
        """Say which letters, dtypes and gradient were taken from where."""
        shapes = ", ".join(f"{name} {shape}" for name, shape in op.shapes.items())
        told = ", ".join(letter for letter in op.letters if letter in self.said.told.values() and self.maker is None)
        others = ("all others" if told else "all") + " of " + ("the example" if self.maker is None else "inputs()")
        where = f"{told} as the text calls them, " * bool(told) + others
        yield f"letters: {shapes}; {where if self.values else 'no example tells them'}"
        where = "the example's, as the text takes pointers" if self.values else "the usual one, as no example tells it"
        if _DISPATCH.search(self.masked):
            where = "those that the text dispatches over"
        elif not _POINTERS.search(self.masked):
            where = "those of ATen, as far as the reference takes them"
        yield f"dtypes: {', '.join(op.dtypes)}; {where}"
        own = "none, as no function is its backward" if self.backward is None else f"that of {self.backward.name}"
        through = f"{', '.join(one.name for one in op.gradients)}, through ATen, as the reference has one"
        yield f"gradient: {own if self.backward is not None or not op.gradients else through}"

    def _owners(self, body: str) -> dict[str, str]:
        """Say of which argument of the op the variables of the function have the extents."""
        owners = {argument.own: argument.name for argument in self.arguments}
        for new, old in _COPY.findall(body):
            owners.setdefault(new, owners.get(old, ""))
        return owners

    def _asker(self, body: str) -> Callable[[str, int, int], bool]:
        """Return what tells whether the function asks for an extent of an argument; what it never asks for is fixed.

        ATen asks by itself, and a function that only hands its arguments on is not looked into.
        """
        if not _POINTERS.search(body):
            return lambda name, axis, rank: True
        lists = {argument.name for argument in self.arguments if argument.is_list}  # of which a loop has another name
        owners, asked = self._owners(body), dict[str, list[str]]()
        for own, argument, index in _EXTENT.findall(body):
            asked.setdefault(owners.get(own, ""), []).append(index or argument)

        def asks(name: str, axis: int, rank: int) -> bool:
            numbers = (int(one) if re.fullmatch(r"-?\d+", one) else axis for one in asked.get(name, ()))
            return name in lists or any(number % rank == axis for number in numbers)

        return asks

    def _said(self) -> example.Said:
        """Read what the function calls extents, `N = x.size(0)`, and what it compares with each other: `a.sizes() == b.sizes()`."""
        told: dict[example.End, str] = {}
        owners = self._owners(self.body)
        for name, of, first, second in _LETTER.findall(self.body):
            axis = first or second
            told.setdefault((owners.get(of, ""), int(axis) if axis else None), name)
        # A capital letter says more than a small one, and is not given to what is called by the small one.
        told = {end: name.upper() for end, name in sorted(told.items(), key=lambda one: one[1].islower())}
        taken = {one.upper() for one in _OF_EXTENTS.findall(self.body)} | {*_CAPITAL.findall(self.masked)}
        whole = whole_body(self.code, self.found)
        owners = self._owners(whole)
        ties = tuple(
            ((owners.get(one, ""), int(i) if i else None), (owners.get(other, ""), int(j) if j else None))
            for before, one, i, other, j, behind in _TIE.findall(whole)
            if not before and not behind and bool(i) == bool(j)
        )
        return example.Said(told, frozenset(taken), self._asker(self.body), self._asker(whole), ties)

    def _places(self, inputs: Sequence[Any]) -> tuple[int, ...]:
        """Say which arguments take the results of a reference, where the function returns nothing.

        Raises:
            DefinitionError: the reference neither changes an argument nor returns what one would become.
        """
        try:
            first = example.call(self.given, inputs)
        except Exception:  # `explore` says of it what there is to say
            return ()
        if first.changed and not first.results:
            return ()
        open_ = [place for place, argument in enumerate(self.arguments) if argument.open and argument.type == "Tensor"]
        named = [place for place in open_ if FILLED.fullmatch(self.arguments[place].own)]
        named.sort(key=lambda place: len(self.arguments[place].own) == 1)  # a word says more than a letter
        places = list(first.changed) or named or open_
        shapes = [result.shape for result in first.results if isinstance(result, Tensor)]
        fit = all(inputs[place].shape == shape for place, shape in zip(places, shapes, strict=False))
        if not shapes or len(first.results) > len(places) or not fit:
            raise DefinitionError(
                "it returns nothing, so it changes its arguments, and the reference neither changes one nor returns what "
                "one becomes. Let it change what the function changes: lambda out, x: out.copy_(...)"
            )
        return tuple(places[: len(shapes)])

    def _changed(self, known: example.Example, may: bool) -> dict[int, str]:
        """Give a letter to each argument that is changed in place: by the reference, or, without one, whatever may be if any may."""
        places: Sequence[int] = known.first.changed if known.first else ()
        if known.first is None and may:  # what a list that is const holds may be changed
            places = [i for i, a in enumerate(self.arguments) if a.is_list or (a.open and a.type == "Tensor")]
        return {place: f"{letter}!" for place, letter in zip(places, "abcdefghijklmnopqrstuvwxyz", strict=False)}

    def _outputs(self, known: example.Example, told: int) -> list[str]:
        """Name the outputs: as the function calls what it returns, where these are names of their own.

        Args:
            told: how many there are, where a run has shown it; an example that it can run on may show that, where nothing tells it.

        Raises:
            DefinitionError: the function returns something else than the reference, or what cannot be counted.
        """
        try:
            returned = list(result_of(self.code, self.found, "").names)
        except Unclear as error:
            returned = []
            if known.first is None and not told and "vector" in self.found.returns:
                if self.values is not None:
                    return [example.COUNT]
                raise DefinitionError(f"{error}: give inputs, to see in a call how many tensors it returns") from None
        count = len(known.first.results) if known.first else told or max(len(returned), 1)
        if known.first is not None and not count and not known.first.changed:
            raise DefinitionError("the reference returns nothing, and changes none of its arguments")
        few = len(returned) < count if returned else count != 1 and self.found.returns.endswith("Tensor")
        if known.first is not None and few:
            values = plural(max(len(returned), 1), "value")
            raise DefinitionError(f"the reference returns {plural(count, 'value')}, the function {values}")
        names: list[str] = []
        for place, own in zip(range(count), [*returned, *[""] * count], strict=False):
            fits = re.fullmatch(r"[A-Za-z](?:\w*[A-Za-z0-9])?", own) and not is_reserved(own)
            taken = own in (*known.given, *names)
            names.append(own if fits and not taken else f"output{place if count > 1 else ''}")
        return [f"{one}_{place}" if one in known.given else one for place, one in enumerate(names)]

    def _kept(self, names: Sequence[str], backward: Function) -> dict[int, str]:
        """List results that are there for backward alone: it takes them by name, and a gradient for each of the others only."""
        tensors = [name for name, type_ in zip(backward.names, backward.types, strict=True) if is_tensor(type_)]
        known = {*names, *self.found.names, *(argument.name for argument in self.arguments)}
        incoming = [name for name in tensors if name not in known]
        kept = {place: name for place, name in enumerate(names) if name in tensors}
        return kept if incoming and len(incoming) == len(names) - len(kept) < len(names) else {}

    def _dtypes(self, main: torch.dtype | None, known: example.Example) -> tuple[str, ...]:
        """List the dtypes that text and reference take: those that it dispatches over; those of ATen; else the one of the example."""
        over = _DISPATCH.findall(self.masked)
        names = ["float32", "float64"] if over or not _POINTERS.search(self.masked) else []
        names += ["float16"] * bool(over and all(re.search(r"_HALF\b|[:k]Half\b", one) for one in over))
        names += ["bfloat16"] * bool(over and all("BFloat16" in one for one in over))
        own = dtype_name(main or torch.float32)
        return tuple(
            dict.fromkeys([own, *(name for name in names if main is None or known.takes(getattr(torch, name)))])
        )

    def _differentiable(self, known: example.Example, changed: bool) -> bool | tuple[str, ...]:
        """Say which inputs have a gradient: those that a backward returns one for, or that ATen finds."""
        pairs = [*zip(self.arguments, known.values, strict=True)]
        real = [argument for argument, v in pairs if argument.type == "Tensor" and (v is None or differentiable(v))]
        if self.backward is None:
            plain = known.first is not None and not changed and not _POINTERS.search(self.masked)
            if not (plain and real and _has_graph(known)):
                return False
            # Labels have none that anybody wants: two formulas that agree at 0 and 1 need not be equally steep there.
            labels = {name for name, value in known.given.items() if is_label(value)}
            wanted = tuple(argument.name for argument in real if argument.name not in labels)
            return wanted if labels and wanted else True
        try:
            names = result_of(self.code, self.backward, "").names
        except Unclear:
            return True
        own = {of_gradient(name, [argument.own for argument in real]) for name in names}
        said = tuple(argument.name for argument in real if own & {argument.own, argument.name})
        return said if len(said) == len(names) else tuple(argument.name for argument in real[: len(names)])


def _sized(op: Op, known: example.Example) -> Op:
    """Give an op the sizes of its example: to be timed at, and scaled down, to be checked at."""
    own = {letter: known.chance.get(extent, extent) for letter, extent in known.sizes.items()}
    small = dict(zip(known.sizes, known.small(_MOST_ELEMENTS), strict=False))
    # In the order of the op's letters: 2S names S later than S does.
    own_size, check_size = (tuple(sizes[one] for one in op.letters if sizes) for sizes in (own, small))
    return replace(op, benchmark_sizes=(own_size,) if tensors(known.values) else (), check_size=check_size)


def _wants_dense(code: str, values: Sequence[Any]) -> bool:
    """Tell whether a text goes by memory, and so is given contiguous inputs, as nobody says that it takes others.

    One that asks for strides has said so, unless it refuses what is not contiguous; and so has an example that is strided.
    """
    if not all(one.is_contiguous() for one in tensors(values)):
        return False
    return bool(_DENSE.search(code)) and ("is_contiguous" in code or not _STRIDES.search(code))


def _tell_of_the_one_before(op: Op, where: str) -> None:
    """Warn of kernels that somebody may hold, and that are from now on of an op which takes or returns something else."""
    before = registry.ops.get(op.name)
    if before is None or (before.schema, before.shapes) == (op.schema, op.shapes):
        return
    # Where the schemas are the same, the shapes differ.
    names = [name for name in op.shapes if before.schema == op.schema and before.shapes[name] != op.shapes[name]]
    shapes = ", ".join(f"{name} of shape {before.shapes[name]!r}, now {op.shapes[name]!r}" for name in names)
    kernels = ", ".join(kernel.label for kernel in registry.history(f"{op.name}/inline"))
    warnings.warn(
        f"{where}: this is op {op.name}{op.signature} from now on, and no longer {before.signature}"
        f"{f' with {shapes}' * bool(shapes)}. {kernels} will be checked and timed as this op: to keep both, give one function "
        "another name",
        stacklevel=4,
    )


def _require_whole_letters(known: example.Example, shapes: Mapping[str, str]) -> None:
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
        raise DefinitionError(f"inputs() {has} as an extent, so nothing tells it from the inputs. {cure}")


def _has_graph(known: example.Example) -> bool:
    """Tell whether the reference can be differentiated."""
    assert known.reference is not None
    leaves = [
        v.clone().requires_grad_() if isinstance(v, Tensor) and v.is_floating_point() else v for v in known.values
    ]
    return any(one.requires_grad for one in tensors(known.reference(*leaves)))


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
