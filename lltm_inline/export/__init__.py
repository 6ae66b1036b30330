"""The way out: a kernel's strings become files, with a package around them that does not need lltm_inline.

    planning           names, kernels, extra tensors; the kernel is right   ->  plan.Plan
    cpp                csrc/: the kernel's file, its checks, operators and autograd
    python, fake       the package: function and module, and what tracers ask of them
    reference          what it is compared with
    project            what builds, tests, times and explains it
    exported           what was written, and kernel.json, which the way back reads (`lltm_inline.extension`)
    write              all of it or nothing

The files themselves are in `templates/`, each as it will look; `render` fills them in.

Only this file is imported with the package; the others are when something is exported.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..model.registry import Kernel

if TYPE_CHECKING:
    from ..base.progress import Progress
    from ..checking.report import Report
    from .exported import Exported

__all__ = ["export"]


def export(
    kernel_or_op: Kernel | str,
    to: str | os.PathLike[str],
    how: str = "setuptools",
    *,
    name: str | None = None,
    header: str = "",
    extras: Sequence[str] | None = None,
    device: str | None = None,
    check: bool | Report = True,
    force: bool = False,
    progress: Progress | bool | None = None,
) -> Exported:
    """Export a kernel as a separate project, which needs torch but not lltm_inline.

    The directory contains the kernel as files under `csrc`; a Python package with the operator, its autograd and fake
    kernels and an `nn.Module`; tests; a benchmark; and a README with the commands. `li.registry.import_extension` reads it.

    Args:
        kernel_or_op: a kernel or its label; the name of an op means its fused or C++ variant.
        to: a directory that does not exist or is empty.
        how: what builds it. `"setuptools"`: a package that pip installs. `"stable"`: such a package on LibTorch's stable ABI, one
            wheel for many versions of Python and torch; for kernels with `api="stable"`. `"cmake"`: a shared library for
            `torch.ops.load_library` and a C++ program that calls it. Both of these are for ops of tensors of one dtype and
            numbers. `"load"`: plain files that `torch.utils.cpp_extension.load` compiles when the package is imported.
        name: of the package and of the namespace in `torch.ops`; default: `lltm_fused` for `lltm/fused`.
        header: plain text, without comment signs, for a comment at the top of every file: a licence, a copyright line.
        extras: shapes of the extra tensors that `forward` passes to `backward`, `["B 3S"]`. Needed only for a kernel that this
            machine cannot run to find them.
        device: `"cpu"` or `"cuda"`; default: all that the kernel has sources for.
        check: check the kernel first, a CUDA kernel on `cuda-cpu` if there is no GPU. Passing a Report of this kernel saves the
            time; False exports a kernel that was not checked, or is wrong.
        force: write into a directory with files in it; they are moved to a directory next to it.
        progress: as for `build`; of the check.

    Returns:
        What was written, and the commands that build, test and time it; it displays itself.

    Raises:
        CheckError: the kernel is wrong; `.report` says how.
        InputError: a name that no package can have, a directory that is not empty, a kernel that does not fit `how`.
        FileError: the directory cannot be written. Whatever is raised, nothing is left half-written.
        BuildError, ToolchainError, TemplateError, DefinitionError: as for `build`.

    Example:
        >>> import tempfile
        >>> exported = export("axpy/aten", tempfile.mkdtemp(), "load", check=False)
        >>> sorted(path for path in exported.files if path.startswith("csrc"))
        ['csrc/axpy_aten.h', 'csrc/checks.h', 'csrc/cpu_kernel.cpp', 'csrc/cpu_ops.cpp', 'csrc/ops.cpp']
    """
    from .exported import Exported
    from .planning import make_plan, require_arguments
    from .project import commands, files_of
    from .write import require_room, write_tree

    directory = require_arguments(
        to, how, name=name, header=header, extras=extras, device=device, force=force, check=check
    )
    require_room(directory, force=force)
    plan = make_plan(kernel_or_op, how, name, header, extras, device, check, progress)
    files = files_of(plan)
    backup = write_tree(directory, files, force=force)
    typed = tuple(commands(plan, directory, files))
    return Exported(directory, plan.labels, how, plan.name, tuple(files), typed, plan.notes, backup)
