"""Settles what an export is: every argument is looked at, and the kernel checked, before a line is written."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..base.arguments import REAL_DTYPES, boolean, one_of, path_of, refusal, shown, string, strings
from ..base.packages import install_command
from ..base.progress import Progress
from ..calling import load
from ..checking.check import check as check_kernel
from ..checking.report import Report
from ..compiling.compiler import build
from ..compiling.job import rendered_fit
from ..compiling.nvcc import find_nvcc
from ..errors import BuildError, CheckError, DefinitionError, InputError, LltmInlineError, TemplateError, ToolchainError
from ..model.kernel import BINDINGS, Kernel
from ..model.op import Op
from ..model.registry import registry
from ..model.reserved import is_reserved
from ..model.shapes import Shape
from ..run.cases.case import prime_size
from ..run.cases.tried import size_cases
from ..run.compare import dtype_name
from ..run.fake import Fake
from ..source.template import devices_of, kernel_or_first
from .plan import HOWS, Extra, Part, Plan

#: What a package can run on: the devices that torch knows.
_DEVICES = ("cpu", "cuda")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_LONGEST_NAME = 64
#: What the export puts beside the package, and namespaces that torch has itself.
_TAKEN = {"benchmark", "build", "csrc", "dist", "example", "lltm_inline", "setup", "tests"} | {
    "aten", "caffe2", "inductor", "mkldnn", "onednn", "prim", "prims", "profiler", "quantized", "rngprims", "sparse", "static_runtime",
}  # fmt: skip
#: What the Python files of an export define or import themselves, beside the op's function.
_TAKEN_BY_FILES = {
    "argparse", "as_tuple", "assert_right", "by_module", "calls_of", "compare", "copy", "draw", "each", "gc",
    "is_differentiable", "main", "make_inputs", "math", "nn", "of_leaves", "pytest", "quartiles", "random",
    "reference", "rounds_of", "run", "seconds_of", "statistics", "sys", "time", "widened", "with_gaps",
}  # fmt: skip
#: Elements to time at, where the op does not say.
_LARGE = 1_000_000
#: Of the sizes that a check goes through: enough for the tests of an export, the corners first.
_TEST_SIZES = 10


def require_arguments(
    to: Any, how: Any, *, name: Any, header: Any, extras: Any, device: Any, force: Any, check: Any = True
) -> Path:
    """Refuse arguments that make no sense, and return the directory.

    Raises:
        InputError: one of them.
    """
    directory = Path(os.path.abspath(path_of("to", to)))
    if not directory.name:  # what is in it is moved to one beside it
        raise refusal("to", str(to), "a directory below the root of the file system")
    one_of("how", how, HOWS, where="export")
    if name is not None:
        require_name(string("name", name))
    if "\0" in string("header", header):
        raise InputError("header holds a NUL character")
    for text in strings("extras", extras) if extras is not None else ():
        Shape.parse(text)
    if device is not None:
        one_of("device", device, _DEVICES, where="export")
    boolean("force", force)
    if not isinstance(check, Report):
        boolean("check", check)
    return directory


def require_name(name: str) -> str:
    """Refuse what cannot be the name of a Python package, of a C++ namespace and of one in `torch.ops`.

    Raises:
        InputError: it cannot be, and why.

    Example:
        >>> require_name("lltm_fused")
        'lltm_fused'
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        why = f"want lower-case letters, digits and single underscores, such as 'lltm_fused', at most {_LONGEST_NAME}"
    elif name in ("at", "c10", "std", "torch"):
        why = "PyTorch or C++ has a namespace of that name"
    elif is_reserved(name):
        why = "it is a word of C++ or Python"
    elif name in sys.stdlib_module_names:
        why = "Python has a module of that name"
    elif name in _TAKEN:
        why = "torch, or a file of the export, has that name"
    else:
        return name
    raise InputError(
        f"name {shown(name)} cannot be that of a package and a C++ namespace: {why}. Give another with name="
    )


def make_plan(
    kernel_or_op: Kernel | str,
    how: str,
    name: str | None,
    header: str,
    extras: Sequence[str] | None,
    device: str | None,
    check: bool | Report,
    progress: Progress | bool | None,
) -> Plan:
    """Settle what is written; the kernel is checked here.

    Raises:
        InputError, CheckError and the errors of a build: as for `export`.
    """
    kernel = kernel_or_first(kernel_or_op)
    op = registry.op_of(kernel)
    _require_op(op)
    _require_kernel(kernel)
    parts = _parts(kernel, device)
    style = _style(op, parts, how)
    chosen = require_name(name or kernel.name.replace("/", "_"))
    notes = [note for part in parts if (note := _require_right(part, check, progress))]
    found, more = _extras_of(parts, op, extras)
    if how == "cmake" and not shutil.which("cmake"):  # another machine may have it
        more = (*more, f"this machine has no cmake to build it with. Install it with: {install_command('cmake')}")
    sizes = dict.fromkeys(case.size for case in size_cases(op, None) if case.view is None)
    return Plan(
        op,
        parts,
        how,
        style,
        chosen,
        found,
        "\n".join(header.splitlines()).strip("\n"),
        tuple(op.named(size) for size in op.benchmark_sizes or dict.fromkeys(_usual_sizes(op))),
        tuple(op.named(size) for size in [*sizes][:_TEST_SIZES]),
        op.named(prime_size(op)),
        (*notes, *more),
    )


def _require_op(op: Op) -> None:
    """Refuse an op whose function could not bear its name.

    Raises:
        InputError: C++, Python or a file of the export needs the name.
    """
    if is_reserved(op.name) or op.name in _TAKEN_BY_FILES:
        raise InputError(
            f"op {op.name!r} cannot be exported under this name, which C++, Python or a file of the export needs for itself: "
            "register it under another"
        )
    reason = op.lacks
    for argument in (*op.signature.inputs, *op.signature.outputs):
        if argument.name in op.letters:
            reason = f"{argument.name} is an argument and the letter of an extent: give one of them another name"
    if reason:
        raise InputError(
            f"op {op.name!r} cannot be exported: {reason}. Its kernels run here alone, with li.load and li.call"
        )


def _usual_sizes(op: Op) -> list[tuple[int, ...]]:
    """Choose sizes to time at for an op that has none: a small and a large one."""
    if len(op.letters) == 1:
        return [(_LARGE // 1000,), (_LARGE,)]
    sizes = [tuple(extent * factor for extent in prime_size(op)) for factor in (8, 32)]
    return [size for size in sizes if op.allows(size)]


def _require_kernel(kernel: Kernel) -> None:
    """Refuse a kernel of which no package can be made.

    Raises:
        InputError: it is none of C++, or is bound in a way of its own.
    """
    label = kernel.label
    if kernel.python is not None:
        others = [one.name for one in registry.values() if one.op == kernel.op and one.python is None]
        raise InputError(
            f"kernel {label!r} is a Python function: an export is made of C++ or CUDA texts. "
            f"Kernels of op {kernel.op!r}: {', '.join(others) or 'none'}"
        )
    if kernel.binding not in BINDINGS:
        raise InputError(
            f"kernel {label!r} has a binding of its own, which fits the playground only. An export writes one from the op's "
            "schema: export kernel.replace(binding='torch_library'), or 'pybind11'"
        )


def _style(op: Op, parts: Sequence[Part], how: str) -> str:
    """Say how the kernel is bound, and whether it can be exported this way at all."""
    kernel, special = parts[0].kernel, _special(op, parts[0])
    label = kernel.label
    style = "stable" if kernel.api == "stable" else "pybind11" if kernel.binding == "pybind11" else "library"
    if how == "stable" and style != "stable":
        raise InputError(
            f"kernel {label!r} is made of ATen's headers, whose ABI changes with each torch: how='stable' needs a kernel "
            "with api='stable', such as 'lltm/stable'; how='setuptools' builds this one for the torch it finds"
        )
    if style == "pybind11" and how == "cmake":
        raise InputError(
            f"kernel {label!r} is bound by pybind11, which needs Python: for how='cmake' export "
            "kernel.replace(binding='torch_library')"
        )
    if special and style != "library":
        how_bound = "is on the stable ABI" if style == "stable" else "is bound by pybind11"
        cure = "write it with ATen" if style == "stable" else "export kernel.replace(binding='torch_library')"
        raise InputError(
            f"kernel {label!r} {how_bound}, where an export knows {_KNOWN} only: {special}. To export it, {cure}"
        )
    if special and how == "cmake":
        raise InputError(
            f"kernel {label!r} cannot be exported with how='cmake', whose C++ program knows {_KNOWN} only: {special}. "
            "Use how='setuptools' or 'load'"
        )
    if special and len(parts) > 1:
        raise InputError(f"kernel {label!r} is exported for one device ({special}): give device='cpu' or 'cuda'")
    return "boxed" if special else style


#: What every kind of export is for.
_KNOWN = "tensors of one dtype, numbers, and gradients of all tensors"


def _special(op: Op, part: Part) -> str:
    """Say what of a kernel is more than every kind of export knows; nothing of most."""
    signature, interface = op.signature, part.interface
    for argument in (*signature.inputs, *signature.outputs):
        if argument.alias or argument.dtype or argument.type not in ("Tensor", "Tensor?", "float", "int", "bool"):
            return f"its schema has '{argument}'"
    if plain := next((output for output in signature.outputs if not output.is_tensor), None):
        return f"it returns '{plain}'"
    if op.gradients != signature.tensors:
        return "not every tensor among its inputs has a gradient"
    if other := next((dtype for dtype in op.dtypes if dtype not in REAL_DTYPES[:4]), ""):
        return f"its tensors may be {other}"
    if not op.letters:
        return "no extent of its tensors is a letter"
    if any(shape.untold or shape.numbers for shape in op.shape_of.values()):
        return "the shape of an output follows from more than the size"
    if part.kernel.functions != ("forward", "backward"):
        return f"its functions are {' and '.join(part.kernel.functions)}"
    if interface.lists:
        return f"{interface.lists[0]} returns a std::vector"
    return f"it takes {interface.narrow[0]} with 32 bits" if interface.narrow else ""


def _parts(kernel: Kernel, device: str | None) -> tuple[Part, ...]:
    """Render the kernel for each device."""
    devices = tuple(one for one in devices_of(kernel) if one in _DEVICES) if device is None else (device,)
    if "cuda" in devices and kernel.binding == "pybind11" and len(devices) > 1:
        raise InputError(f"kernel {kernel.label!r} is bound by pybind11, for one device: give device='cpu' or 'cuda'")
    parts = [Part(kernel, one, rendered_fit(kernel, one).interface) for one in devices]
    if len({part.interface for part in parts}) > 1:
        raise DefinitionError(
            f"kernel {kernel.label!r}: its cpp and cuda texts return different extra tensors, or take different gradients, so they "
            "cannot share one operator: give device='cpu' or 'cuda'"
        )
    return tuple(parts)


def _require_right(part: Part, check: bool | Report, progress: Progress | bool | None) -> str:
    """Refuse a kernel that is wrong, and return what there is to say of one that could not be checked on its device here.

    Raises:
        CheckError: it is wrong.
        InputError: a Report of another kernel, or on another device.
        BuildError, ToolchainError: it does not compile.
    """
    label = part.kernel.label
    if check is False:
        return f"{label} was exported unchecked"
    here, compiled = part.device, ""
    if here == "cuda" and not torch.cuda.is_available():
        here, compiled = "cuda-cpu", _compiled(part, progress)
    if isinstance(check, Report):
        if check.kernel != label or check.device not in (part.device, here):
            raise InputError(
                f"check is a report of {check.kernel} on {check.device}, want one of {label} on {part.device}"
            )
        report = check
    else:
        try:
            report = check_kernel(part.kernel, device=here, progress=progress)
        except (BuildError, TemplateError) as error:
            if not compiled:
                raise
            return f"{label} {compiled}, but not checked: this machine has no GPU, and cuda-cpu refuses it: {str(error).splitlines()[0]}"
    if not report.ok:
        raise CheckError(
            f"kernel {label!r} {'has no backward' if report.forward_only else 'is wrong'}, and was not exported: {report.headline}\n"
            "To export it as it is: check=False",
            report=report,
        )
    return f"{label} {compiled}, and checked on cuda-cpu: this machine has no GPU" if compiled else ""


def _compiled(part: Part, progress: Progress | bool | None) -> str:
    """Compile a CUDA text that nothing can run here, if there is an nvcc, and say whether it was."""
    try:
        find_nvcc()
    except ToolchainError:
        return "was not compiled for cuda, as there is no nvcc"
    build(part.kernel, device="cuda", compile_only=True, progress=progress)
    return "was compiled for cuda"


def _extras_of(parts: Sequence[Part], op: Op, given: Sequence[str] | None) -> tuple[tuple[Extra, ...], tuple[str, ...]]:
    """Find out what the extra tensors between forward and backward look like, by running the kernel at a few small sizes.

    Their shapes may be `given`. Returned, too, is what there is to say where they could not be found out.

    Raises:
        InputError: another number of shapes than there are extra tensors, or a letter that the op has not.
    """
    kernel, count = parts[0].kernel, parts[0].interface.extras
    if given is not None:
        return _given(kernel.label, op, given, count), ()
    if not count:
        return (), ()
    runnable = [part for part in parts if part.device == "cpu" or torch.cuda.is_available()]
    try:
        if not runnable:
            raise ToolchainError("this machine has no GPU")
        return _found(runnable[0], op), ()
    except LltmInlineError as error:
        why = str(error).partition("\n")[0]
        note = (
            f"torch.compile needs the shape of each extra tensor of {kernel.label} ({count}), which was not found out: {why}. "
            'Give them with extras=["B 3S"], or write them into ops.py, where it says so'
        )
        return (Extra(None),) * count, (note,)


def _given(label: str, op: Op, given: Sequence[str], count: int) -> tuple[Extra, ...]:
    if len(given) != count:
        raise InputError(f"extras: {len(given)} given, and the forward of {label} returns {count} extra tensors")
    shapes = [Shape.parse(text) for text in given]
    unknown = sorted({letter for shape in shapes for letter in shape.letters} - set(op.letters))
    if unknown:
        raise InputError(f"extras: op {op.name!r} has no letter {', '.join(unknown)}; it has {', '.join(op.letters)}")
    return tuple(Extra(shape) for shape in shapes)


def _found(part: Part, op: Op) -> tuple[Extra, ...]:
    function = load(part.kernel, device=part.device)
    fake = Fake(part.kernel, op, part.interface, function.forward, part.device)
    inputs = [getattr(torch, dtype) for dtype in op.dtypes]
    # For each extra tensor its dtype by that of the inputs: the same as theirs, or always one.
    by_input = zip(*(fake.dtypes(dtype)[len(op.signature.outputs) :] for dtype in inputs), strict=True)
    return tuple(
        Extra(shape, "" if list(found) == inputs else dtype_name(found[0]))
        for shape, found in zip(fake.extras, by_input, strict=True)
    )
