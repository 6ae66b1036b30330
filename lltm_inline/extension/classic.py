"""An extension in the layout of PyTorch's tutorials becomes a kernel.

    setup.py                 CppExtension(name="lltm_cpp", sources=["lltm.cpp"])
    lltm.cpp                 lltm_forward and lltm_backward, which return std::vector<torch::Tensor>, and PYBIND11_MODULE

    setup.py                 CUDAExtension(name="lltm_cuda", sources=["lltm_cuda.cpp", "lltm_cuda_kernel.cu"])
    lltm_cuda.cpp            lltm_forward and lltm_backward, which check their arguments and call those of the CUDA file
    lltm_cuda_kernel.cu      the kernels, and lltm_cuda_forward and lltm_cuda_backward, which launch them

The C++ file becomes a cpp text, C++ and CUDA files together become one cuda text. The module is taken off, for the playground
binds by itself; in its place come `forward` and `backward`, which call the extension's functions. They do what the
tutorials do in Python, in the `torch.autograd.Function` around the extension: choose the outputs from what forward
returns, keep the rest for backward, and bring the gradients into order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base.arguments import shown
from ..base.files import escaped, read_source
from ..cpp.functions import at_file_scope, laid_open
from ..cpp.masks import code_of
from ..errors import DefinitionError
from ..export.render import fill
from ..model.kernel import Kernel
from ..model.registry import Argument, Op
from ..source.signature import cpp_type, returned_type, tuple_of
from ..source.types import NARROW, read_type
from .matching import Match, bound_of, is_tensor, unqualified
from .reading import find_modules
from .setup_py import Extension

_CPP, _CUDA = (".cpp", ".cc", ".cxx"), (".cu",)
#: What every build of the playground decides by itself.
_OWN = re.compile(
    r"-O\w*|-g|-fPIC|-fopenmp|-std=.*|-m(?:arch|cpu|tune)=native|--expt-relaxed-constexpr|-W(?:all|extra)|-w"
    r"|-D_GLIBCXX_USE_CXX11_ABI=\d|-allow-unsupported-compiler|-Xptxas=-(?:O\d|v)"
)
#: What nvcc takes with its value as the next word.
_WITH_VALUE = ("-Xptxas", "-Xcompiler", "-Xcudafe", "-gencode", "-arch", "-code", "-maxrregcount", "--compiler-options")


def kernel_of(
    directory: Path, extension: Extension, op: Op, variant: str | None, named: Mapping[str, str] | None = None
) -> Kernel:
    """Make a kernel of one extension of a `setup.py`.

    Args:
        directory: in which the `setup.py` stands.
        extension: that it declares.
        op: that the extension computes.
        variant: of the kernel; by default the extension's name.
        named: the functions that are its `forward` and `backward`, where somebody has said so.

    Raises:
        FileError: a source that cannot be read.
        InputError: a source that is no text.
        DefinitionError: a source of another language, nothing that binds its functions, or functions that do not match the op.
    """
    paths = [directory / source for source in extension.sources]
    for path in paths:
        if path.suffix not in _CPP + _CUDA:
            raise DefinitionError(f"{path.name} is neither C++ nor CUDA: want {', '.join(_CPP + _CUDA)}")
    # What launches the kernels is called by what binds them.
    paths.sort(key=lambda path: path.suffix not in _CUDA)
    seen: set[Path] = set()
    includes = [directory / one for one in extension.include_dirs]
    texts = [read_source(path, includes, seen).rstrip("\n") for path in paths]
    if len(texts) > 1:
        texts = [f"// From {path.name}.\n{text}" for path, text in zip(paths, texts, strict=True)]
    text = "\n\n".join(texts) + "\n"
    modules = find_modules(text)
    if not modules and not named:
        raise DefinitionError(
            f"no PYBIND11_MODULE or TORCH_LIBRARY in {', '.join(path.name for path in paths)}, which would say what its "
            "functions are. Name them: import_extension(..., forward='NAME', backward='NAME')"
        )
    own = text
    for module in reversed(modules):
        own = f"{own[: module.start].rstrip()}\n\n{own[module.end :].lstrip()}".rstrip("\n")
    functions = {name: what for module in modules for name, what in module.functions.items()}
    bound = {kind: functions.get(name, name) for kind, name in named.items()} if named else {}
    bound, space, code = unqualified(bound or bound_of(functions, op.name), code_of(own))
    on_gpu, name = paths[0].suffix in _CUDA, extension.name.rpartition(".")[2]
    if not variant and not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise DefinitionError(f"{shown(name)} cannot be a variant's name: give one, variant='cpp'")
    return calling(
        op,
        Match(op, bound, code, space),
        own,
        variant or name,
        cuda=on_gpu,
        dense="is_contiguous" in own,
        flags=flags_of(extension.cxx_flags, extension.nvcc_flags, on_gpu),
        doc=f"Imported: {' and '.join(path.name for path in paths)} of the extension {extension.name}.",
    )


def calling(op: Op, match: Match, text: str, variant: str, *, cuda: bool, dense: bool, **how: Any) -> Kernel:
    """Make a kernel of a text, behind which `forward` and `backward` call its functions.

    Args:
        op, match: that is computed, and how.
        text: that defines them; where it has functions of these names, those of the kernel are called otherwise.
        variant: of the kernel.
        cuda: whether it is CUDA.
        dense: whether the functions want contiguous inputs.
        how: what else a kernel has.
    """
    is_taken = not {"forward", "backward"}.isdisjoint(one.name for one in at_file_scope(laid_open(text, "")))
    names = ("called_forward", "called_backward") if is_taken else ("forward", "backward")
    source = escaped("\n\n".join([text.rstrip(), adapter_text(op, match, dense, names)]))
    how["functions"] = names[: 1 + (match.backward is not None)] if is_taken else names
    return Kernel(
        f"{op.name}/{variant}", cpp="" if cuda else source, cuda=source if cuda else "", saves=match.saves, **how
    )


def flags_of(cxx: Sequence[str], nvcc: Sequence[str], on_gpu: bool) -> tuple[str, ...]:
    """Return what an extension asks of the compilers beyond what every kernel is compiled with."""
    own, of_nvcc = (tuple(flag for flag in _words(flags) if not _OWN.fullmatch(flag)) for flags in (cxx, nvcc))
    # The C++ file is a part of the CUDA text, so its flags go through nvcc.
    return (*(f"-Xcompiler={flag}" for flag in own if flag not in of_nvcc), *of_nvcc) if on_gpu else own


def _words(flags: Sequence[str]) -> list[str]:
    """Take flags apart that stand in one string, and put a value to what it belongs to.

    Example:
        >>> _words(["-O3 -lineinfo", "-Xcompiler", "-O2", "-gencode", "arch=compute_80,code=sm_80"])
        ['-O3', '-lineinfo', '-O2', '-gencode=arch=compute_80,code=sm_80']
    """
    words: list[str] = []
    for word in (word for flag in flags for word in flag.split()):
        if words and words[-1] in _WITH_VALUE:
            words[-1] += f"={word}"
        else:
            words.append(word)
    return [word.partition("=")[2] if re.fullmatch(r"-Xcompiler=-O\w*", word) else word for word in words]


def adapter_text(op: Op, match: Match, dense: bool, names: Sequence[str] = ("forward", "backward")) -> str:
    """Write the end of a kernel's text: the `forward` and `backward` that call the extension's own functions.

    Args:
        op: that is computed.
        match: how the extension's functions do it.
        dense: they want contiguous inputs.
        names: of what is written.
    """
    it, back = _Adapter(op, match, dense), match.backward
    outputs, extras = op.signature.outputs, [Argument("", "Tensor")] * len(match.extras)
    # A changed input that is returned is that itself, and not what the function got in its place.
    itself = {argument.alias: argument.name for argument in op.signature.changed}
    places = zip(outputs, match.outputs, strict=True)
    values = [itself.get(output.alias) or match.forward.value(place, output.type) for output, place in places]
    taken = [f"{_TENSOR} d_{output.name}" for output in outputs] + [f"{it.types[name]} {name}" for name in match.saves]
    taken += [f"{_TENSOR} {name}" for name in match.extras]
    return fill(
        "adapter.cpp",
        op=op,
        match=match,
        it=it,
        names=names,
        returned=returned_type((*outputs, *extras), "aten"),
        gradients_returned=tuple_of(len(op.gradients), "aten"),
        values=values + [match.forward.value(index) for index in match.extras.values()],
        parameters=[f"{it.types[argument.name]} {argument.name}" for argument in op.signature.inputs],
        handed=match.forward.arguments([it.given(name) for name in match.taken]),
        gradients={
            f"d_{name}": back.value(index) + ".flatten()" * (name in match.rows)
            for name, index in match.gradients.items()
            if back is not None
        },
        parameters_of_backward=[*taken, f"std::array<bool, {len(op.gradients)}> wanted"],
        handed_back=back and back.arguments(list(map(it.handed_back, match.handed, back.types))),
    )


_TENSOR = "const at::Tensor&"
_BY_REFERENCE = re.compile(r"(?!.*\bconst\b).*&")


class _Adapter:
    """What the extension's own functions are handed in the place of an op's arguments.

    Attributes:
        own: the type that the extension's `forward` wants of each argument.
        changed: the arguments that are changed in place, and have to be so in what was copied, to be contiguous.
        variables, lists: those that are variables of the adapter, as they are changed or a function could change them.
        types: of the adapter's own parameters and of the outputs.
    """

    def __init__(self, op: Op, match: Match, dense: bool) -> None:
        self.op, self.dense = op, dense
        self.own = own = dict(zip(match.taken, match.forward.types, strict=True))
        self.changed = [argument.name for argument in op.signature.changed if dense]
        self.variables = {
            a.name: "at::Tensor" if a.type == "Tensor" else own[a.name].replace("&", "").strip()
            for a in op.signature.inputs
            if not a.is_list and (a.name in self.changed or _BY_REFERENCE.match(own[a.name]))
        }
        self.lists = [a.name for a in op.signature.inputs if a.is_list and (dense or _BY_REFERENCE.match(own[a.name]))]
        self.types = {argument.name: self._declared(argument) for argument in op.signature.inputs}
        self.types |= {output.name: _TENSOR for output in op.signature.outputs}

    def _declared(self, argument: Argument) -> str:
        # Of an integer of 32 bits the binding sees whether a number fits.
        plain = self.own[argument.name].replace("&", "").strip()
        return plain if argument.type == "int" and read_type(plain).of in NARROW else cpp_type(argument, "aten")

    def is_tensor(self, name: str, type_: str = "Tensor") -> bool:
        """Tell whether this is an argument that is a tensor, or one that may be missing."""
        return any(argument.name == name and argument.type == type_ for argument in self.op.signature.inputs)

    def handed(self, name: str, needed: bool) -> str:
        """Write down an argument as its function wants it; contiguous where that is needed."""
        type_ = read_type(self.own.get(name, ""))
        if type_.kind in ("int[]", "float[]") and type_.of in ("int", "float"):  # from those of 64 bits
            return f"std::vector<{type_.of}>({name}.begin(), {name}.end())"
        if self.dense and self.is_tensor(name, "Tensor?"):
            return f"{name} ? std::optional<at::Tensor>({name}->contiguous()) : std::nullopt"
        return f"{name}.contiguous()" if needed else name

    def first(self, name: str) -> str:
        """Write down an argument as it comes in, for `forward` or a variable."""
        return self.handed(name, self.dense and self.is_tensor(name))

    def given(self, name: str) -> str:
        """Write down an argument of `forward`: itself, or the variable in its place."""
        if name not in (*self.variables, *self.lists):
            return self.first(name)
        return f"std::move({name}_)" if self.own[name].endswith("&&") else f"{name}_"

    def handed_back(self, given: str | tuple[str, ...], type_: str) -> str:
        """Write down an argument of `backward`: an incoming gradient, what was saved, or several of these."""
        if isinstance(given, tuple):
            return f"std::vector<at::Tensor>{{{', '.join(self.handed_back(one, _TENSOR) for one in given)}}}"
        # Incoming gradients may be expanded, those of sum() are.
        incoming = any(given == f"d_{output.name}" for output in self.op.signature.outputs)
        needed = incoming or (self.dense and self.types.get(given) == _TENSOR)
        return self.handed(given, needed and is_tensor(type_))
