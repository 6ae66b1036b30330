"""The way in: a whole extension becomes kernels of an op, all of it or none.

`Registry.import_extension` takes a directory, which `li.export` wrote or which is laid out as in PyTorch's tutorials. Files that
define `forward` and `backward` as the playground wants them are for `Kernel.from_files`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.arguments import nearest_first, path_of, shown, string
from ..base.device import DEVICES
from ..build.job import rendered_fit
from ..errors import FileError, InputError, UnknownKernelError
from ..export.exported import ORIGIN
from ..model.kernel import Kernel, revise
from ..model.registry import fit
from ..source.template import devices_of
from .classic import kernel_of
from .returned import Returned, kernels_of
from .setup_py import read_setup

if TYPE_CHECKING:
    from ..model.registry import Registry

__all__ = ["import_extension"]

_SETUP = "setup.py"
_BY_HAND = "Or name the files yourself: li.Kernel.from_files('op/variant', cpp='...')"


def import_extension(registry: Registry, directory: Any, op: Any, variant: Any) -> tuple[Kernel, ...]:
    """Register the kernels of an extension; `Registry.import_extension` says how.

    Raises:
        InputError: no extension there; an argument of the wrong kind.
        FileError, DefinitionError, UnknownKernelError: as `Registry.import_extension` says.
    """
    path = path_of("directory", directory)
    for name, value in (("op", op), ("variant", variant)):
        if value is not None:
            string(name, value)
    if not path.is_dir():
        raise FileError(
            f"{shown(str(path))} is {'a file' if path.exists() else 'not there'}: want the directory of an extension"
        )
    if (path / ORIGIN).is_file():
        found = kernels_of(path, op, variant)
    elif (path / _SETUP).is_file():
        found = _classic(registry, path, op, variant)
    else:
        raise InputError(f"{shown(str(path))} holds neither {ORIGIN} nor {_SETUP}{_hint(path)}. {_BY_HAND}")
    for one in found:
        fit(one.kernel, registry.op_of(one.kernel))
    if op is not None:
        _require_fit(found)
    return tuple(_entered(registry, one) for one in found)


def _require_fit(found: Sequence[Returned]) -> None:
    """Refuse kernels under the name of an op that they do not compute; one of their own op may be imported with mistakes.

    Raises:
        SignatureError: their functions take or return something else.
    """
    for one in found:
        texts = {DEVICES[name].text: name for name in reversed(devices_of(one.kernel))}  # one device for each text
        for device in texts.values():
            rendered_fit(one.kernel, device)


def _classic(registry: Registry, path: Path, op: str | None, variant: str | None) -> tuple[Returned, ...]:
    if op is None:
        raise InputError(f"{shown(str(path))}: say which op it computes, op='lltm'. Ops: {', '.join(registry.ops)}")
    if op not in registry.ops:
        names = ", ".join(nearest_first(op, registry.ops))
        raise UnknownKernelError(f"no op {shown(op)}. Ops: {names}. Register an Op of that name first")
    extensions = read_setup(path / _SETUP)
    if variant is not None and len(extensions) > 1:
        names = ", ".join(extension.name for extension in extensions)
        raise InputError(f"{shown(str(path))} holds the extensions {names}: variant={variant!r} can name one only")
    return tuple(Returned(kernel_of(path, extension, registry.ops[op], variant), "") for extension in extensions)


def _hint(path: Path) -> str:
    """Name the directories below that hold an extension."""
    below = sorted(os.listdir(path))
    found = [name for name in below if any((path / name / file).is_file() for file in (ORIGIN, _SETUP))]
    return f"; {', '.join(found)} below it {'does' if len(found) == 1 else 'do'}" if found else ""


def _entered(registry: Registry, one: Returned) -> Kernel:
    """Register a kernel: as the revision that it is already, or as the next one of its name."""
    kernel = one.kernel
    if kernel.name not in registry:
        return registry.register(kernel)
    known = registry.history(kernel.name)
    origin = next((revision for revision in known if revision.label == one.label), None)
    if origin is not None and _is_part_of(kernel, origin):
        return registry.register(origin)
    same = [revision for revision in known if revision == kernel]
    if same:
        return registry.register(same[-1])
    return registry.register(revise(origin or registry[kernel.name], kernel))


def _is_part_of(kernel: Kernel, origin: Kernel) -> bool:
    """Tell whether a kernel is what `origin` left as: all of it, or for one of its devices."""
    texts = {kind: getattr(kernel, kind) or getattr(origin, kind) for kind in ("cpp", "cuda")}
    return replace(kernel, **texts, slots=origin.slots if kernel.slots else {}) == origin
