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
from pathlib import Path

from ..base.arguments import shown
from ..base.files import escaped, read_source
from ..errors import DefinitionError
from ..export.kernel_file import KernelFile, write_kernel_file
from ..export.render import fill
from ..model.kernel import Kernel
from ..model.registry import Op
from ..source.signature import cpp_type, find_function, mask, tuple_of
from .matching import Called, Match, match_functions
from .reading import find_module
from .setup_py import Extension

_CPP, _CUDA = (".cpp", ".cc", ".cxx"), (".cu",)
#: The namespace of an extension whose own functions are called `forward` or `backward`.
_SPACE = "extension"
#: What every build of the playground decides by itself.
_OWN = re.compile(
    r"-O\w*|-g|-fPIC|-fopenmp|-std=.*|-m(?:arch|cpu|tune)=native|--expt-relaxed-constexpr|-W(?:all|extra)|-w"
)


def kernel_of(directory: Path, extension: Extension, op: Op, variant: str | None) -> Kernel:
    """Make a kernel of one extension of a `setup.py`.

    Args:
        directory: in which the `setup.py` stands.
        extension: that it declares.
        op: that the extension computes.
        variant: of the kernel; by default the extension's name.

    Raises:
        FileError: a source that cannot be read.
        InputError: a source that is no text, or includes a header that lies beside it.
        DefinitionError: a source of another language, no module of pybind11, or functions that do not match the op.
    """
    where = f"extension {extension.name!r} in {shown(str(directory))}"
    paths = [directory / source for source in extension.sources]
    for path in paths:
        if path.suffix not in _CPP + _CUDA:
            raise DefinitionError(f"{where}: {path.name} is neither C++ nor CUDA: want {', '.join(_CPP + _CUDA)}")
    # What launches the kernels is called by what binds them.
    paths.sort(key=lambda path: path.suffix not in _CUDA)
    text = "\n\n".join(_read(path, several=len(paths) > 1) for path in paths) + "\n"
    module = find_module(text)
    if module is None:
        raise DefinitionError(
            f"{where}: no PYBIND11_MODULE in {', '.join(path.name for path in paths)}, which would say what its functions are. "
            "Write 'forward' and 'backward' into the file by hand, and take it with li.Kernel.from_files"
        )
    own = f"{text[: module.start].rstrip()}\n\n{text[module.end :].lstrip()}".rstrip("\n")
    masked = mask(own)
    # The playground's own functions have these names, so the extension's go elsewhere.
    space = _SPACE if any(find_function(masked, name) for name in ("forward", "backward")) else ""
    match = match_functions(op, module, masked, where, f"{space}::" * bool(space))
    on_gpu = paths[0].suffix in _CUDA
    texts = _within(own, space, where) if space else own, adapter_text(op, match, dense="is_contiguous" in own)
    source = escaped("\n\n".join(texts))
    return Kernel(
        f"{op.name}/{variant or _variant_of(extension, where)}",
        cpp="" if on_gpu else source,
        cuda=source if on_gpu else "",
        saves=match.saves,
        flags=_flags(extension, on_gpu),
        doc=f"Imported: {' and '.join(path.name for path in paths)} of the extension {extension.name}.",
    )


def _within(text: str, space: str, where: str) -> str:
    """Put everything but the headers into a namespace."""
    return write_kernel_file(KernelFile(text, {}, space, ""), where).partition("\n")[2].rstrip("\n")


def _read(path: Path, several: bool) -> str:
    """Read one source; where there are several, the text says where each begins."""
    text = read_source(path).rstrip("\n")
    return f"// From {path.name}.\n{text}" if several else text


def _variant_of(extension: Extension, where: str) -> str:
    name = extension.name.rpartition(".")[2]
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise DefinitionError(f"{where}: {shown(name)} cannot be a variant's name: give one, variant='cpp'")
    return name


def _flags(extension: Extension, on_gpu: bool) -> tuple[str, ...]:
    """Return what an extension asks of the compilers beyond what every kernel is compiled with."""
    cxx, nvcc = (
        tuple(flag for flag in flags if not _OWN.fullmatch(flag))
        for flags in (extension.cxx_flags, extension.nvcc_flags)
    )
    # The C++ file is a part of the CUDA text, so its flags go through nvcc.
    return (*(f"-Xcompiler={flag}" for flag in cxx if flag not in nvcc), *nvcc) if on_gpu else cxx


def adapter_text(op: Op, match: Match, dense: bool) -> str:
    """Write the end of a kernel's text: the `forward` and `backward` that call the extension's own functions.

    Args:
        op: that is computed.
        match: how the extension's functions do it.
        dense: they want contiguous inputs.
    """

    def handed(name: str, needed: bool) -> str:
        return f"{name}.contiguous()" if needed else name

    def call(function: Called) -> str:
        # A name in brackets is looked up where it stands only: of a tensor's own namespace `at::square` would come along.
        return function.called if function.space else f"({function.called})"

    tensor, inputs = "const at::Tensor&", op.signature.inputs
    types = {argument.name: cpp_type(argument, "aten") for argument in (*inputs, *op.signature.outputs)}
    incoming = [f"d_{output.name}" for output in op.signature.outputs]
    backward = match.backward
    return fill(
        "adapter.cpp",
        op=op,
        forward=match.forward,
        backward=backward,
        call=call,
        returned=lambda results: tuple_of(len(results), "aten"),
        values=[match.forward.value(index) for index in (*match.outputs, *match.extras.values())],
        parameters=[f"{types[argument.name]} {argument.name}" for argument in inputs],
        handed=[handed(name, dense and types[name] == tensor) for name in match.taken],
        gradients={
            f"d_{name}": backward.value(index) + ".flatten()" * (name in match.rows)
            for name, index in match.gradients.items()
            if backward is not None
        },
        parameters_of_backward=[
            *(f"{tensor} {name}" for name in incoming),
            *(f"{types[name]} {name}" for name in match.saves),
            *(f"{tensor} {name}" for name in match.extras),
            f"std::array<bool, {len(op.gradients)}> wanted",
        ],
        # Incoming gradients may be expanded, those of sum() are.
        handed_back=[
            handed(
                name, backward.takes_tensor(position) and (name in incoming or (dense and types.get(name) == tensor))
            )
            for position, name in enumerate(match.handed)
            if backward is not None
        ],
    )
