"""The way in: a whole extension becomes kernels of an op, all of it or none.

`Registry.import_extension` takes a directory, which `li.export` wrote or which is laid out as in PyTorch's tutorials. Files that
define `forward` and `backward` as the playground wants them are for `Kernel.from_files`.

inline      `li.from_load_inline`: arguments of load_inline become an op and a kernel; which types of C++ go in stands here
example     what one call tells of a function: the letters of its shapes, what it returns, what it changes; a call of the reference,
            or, where nobody gave one, of the snippet's own function, in the worker
matching    which argument of the function is which of the op's, and the lines that adapt one to the other
classic, setup_py    extensions as in PyTorch's tutorials, and the `setup.py` that names their files
reading     what binds a text to Python, read out of it
returned    an export that comes back
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.arguments import offer, path_of, require, shown, string
from ..base.device import DEVICES
from ..compiling.job import rendered_fit
from ..errors import FileError, InputError, UnknownKernelError, naming
from ..export.exported import ORIGIN
from ..model.kernel import Kernel, revise
from ..model.registry import fit
from ..source.template import devices_of
from .classic import kernel_of
from .returned import Returned, kernels_of, op_of
from .setup_py import Extension, read_setup

if TYPE_CHECKING:
    from ..model.registry import Registry

__all__ = ["import_extension"]

_SETUP = "setup.py"
_BY_HAND = "Or name the files: import_extension(..., sources=['a.cpp'], forward='NAME')"


def import_extension(
    registry: Registry, directory: Any, op: Any, variant: Any, sources: Any, forward: Any, backward: Any
) -> tuple[Kernel, ...]:
    """Register the kernels of an extension; `Registry.import_extension` says how.

    Raises:
        InputError: no extension there; an argument of the wrong kind.
        FileError, DefinitionError, UnknownKernelError: as `Registry.import_extension` says.
    """
    path = path_of("directory", directory)
    for name, value in (("op", op), ("variant", variant), ("forward", forward), ("backward", backward)):
        if value is not None:
            string(name, value)
    listed = sources is None or (isinstance(sources, list | tuple) and sources)
    require(listed, "sources", sources, "a list of files, ['a.cpp', 'b.cu']")
    files = None if sources is None else [str(path_of("sources", one)) for one in sources]
    if backward is not None and forward is None:
        raise InputError(f"backward={shown(backward)} without a forward: name both")
    named = {kind: name for kind, name in (("forward", forward), ("backward", backward)) if name is not None}
    if not os.path.isdir(path):
        raise FileError(
            f"{shown(str(path))} is {'a file' if os.path.exists(path) else 'not there'}: want the directory of an extension"
        )
    made = None
    if files is None and not named and (path / ORIGIN).is_file():
        found = kernels_of(path, op, variant)
        made = op_of(path) if op is None and found[0].kernel.op not in registry.ops else None
    elif files is not None or (path / _SETUP).is_file():
        found = _classic(registry, path, op, variant, files, named)
    else:
        raise InputError(f"{shown(str(path))} holds neither {ORIGIN} nor {_SETUP}{_hint(path)}. {_BY_HAND}")
    for one in found:
        fit(one.kernel, made or registry.op_of(one.kernel))
    if op is not None:
        _require_fit(found)
    if made is not None:
        registry.register(made)
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


def _classic(
    registry: Registry,
    path: Path,
    op: str | None,
    variant: str | None,
    files: Sequence[str] | None,
    named: Mapping[str, str],
) -> tuple[Returned, ...]:
    if op is None:
        raise InputError(f"{shown(str(path))}: say which op it computes, op='lltm'. Ops: {', '.join(registry.ops)}")
    if op not in registry.ops:
        raise UnknownKernelError(f"no op {shown(op)}.{offer(op, registry.ops)}. Register an Op of that name first")
    extensions = read_setup(path / _SETUP) if files is None else [Extension(Path(files[0]).stem, tuple(files))]
    if variant is not None and len(extensions) > 1:
        names = ", ".join(extension.name for extension in extensions)
        raise InputError(f"{shown(str(path))} holds the extensions {names}: variant={variant!r} can name one only")
    found = []
    for extension in extensions:
        with naming(f"extension {extension.name!r} in {shown(str(path))}"):
            found.append(Returned(kernel_of(path, extension, registry.ops[op], variant, named), ""))
    return tuple(found)


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
    same = next((revision for revision in reversed(known) if revision == kernel), None)
    return registry.register(same or revise(origin or registry[kernel.name], kernel))


def _is_part_of(kernel: Kernel, origin: Kernel) -> bool:
    """Tell whether a kernel is what `origin` left as: all of it, or for one of its devices."""
    texts = {kind: getattr(kernel, kind) or getattr(origin, kind) for kind in ("cpp", "cuda")}
    return replace(kernel, **texts, slots=origin.slots if kernel.slots else {}) == origin
