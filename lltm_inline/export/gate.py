"""What an export asks of a kernel: that it is right, and what its extra tensors look like."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..build.compiler import build
from ..build.nvcc import find_nvcc
from ..errors import CheckError, InputError, LltmInlineError, ToolchainError
from ..op import Op
from ..progress import Progress
from ..run.check import check as check_kernel
from ..run.checking.compare import dtype_name
from ..run.fake import Fake
from ..run.load import load
from ..run.report import Report
from ..shapes import Shape
from .plan import Extra, Part


def require_right(part: Part, check: bool | Report, progress: Progress | bool | None) -> str:
    """Refuse a kernel that is wrong.

    Args:
        part: the kernel and its device.
        check: True checks it now; a Report of it saves that; False takes it as it is.
        progress: as for `check`.

    Returns:
        What there is to say of a kernel that could not be checked here; nothing of one that is right.

    Raises:
        CheckError: it is wrong.
        InputError: a Report of another kernel, or on another device.
        BuildError, ToolchainError: it does not compile.
    """
    label = part.kernel.label
    if check is False:
        return f"{label} was exported unchecked"
    if isinstance(check, Report):
        if (check.kernel, check.device) != (label, part.device):
            raise InputError(
                f"check is a report of {check.kernel} on {check.device}, want one of {label} on {part.device}"
            )
        report = check
    elif part.device == "cuda" and not torch.cuda.is_available():
        return _compiled_only(part, progress)
    else:
        report = check_kernel(part.kernel, device=part.device, progress=progress)
    if not report.ok:
        raise CheckError(
            f"kernel {label!r} is wrong, and was not exported: {report.headline}\n"
            "To export it as it is: check=False (--no-check)",
            report=report,
        )
    return ""


def _compiled_only(part: Part, progress: Progress | bool | None) -> str:
    """See at least whether the CUDA text compiles, where nothing can run it."""
    label = part.kernel.label
    try:
        find_nvcc()
    except ToolchainError:
        return f"{label} was neither compiled nor checked for cuda: this machine has no GPU and no nvcc"
    build(part.kernel, device="cuda", compile_only=True, progress=progress)
    return f"{label} was compiled for cuda, but not checked: this machine has no GPU"


def extras_of(parts: Sequence[Part], op: Op, given: Sequence[str] | None) -> tuple[tuple[Extra, ...], tuple[str, ...]]:
    """Find out what the extra tensors between forward and backward look like, by running the kernel at a few small sizes.

    Args:
        parts: the kernel on its devices.
        op: what it computes.
        given: their shapes, for a kernel that cannot be run here.

    Returns:
        The extra tensors, and what there is to say where they could not be found out.

    Raises:
        InputError: as many shapes as there are extra tensors are wanted, in the op's letters.
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
            'Give them with extras=["B 3S"] (--extras "B 3S"), or write them into ops.py, where it says so'
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
