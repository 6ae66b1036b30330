"""An export comes back as the kernels it was: `kernel.json` says what its files are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..base.arguments import shown
from ..base.files import escaped, read_text, with_headers
from ..errors import DefinitionError, InputError, LltmInlineError
from ..export.exported import FORMAT, OF_KERNEL, ORIGIN
from ..export.kernel_file import read_kernel_file
from ..model.kernel import Kernel
from ..model.op import Op
from ..source.template import fill

_TEXTS = {"name": str, "device": str, "files": dict, "binding": str, "api": str, "doc": str, "label": str}


@dataclass(frozen=True)
class Returned:
    """A kernel that came back, and the label it had when it left."""

    kernel: Kernel
    label: str


def kernels_of(directory: Path, op: str | None, variant: str | None) -> tuple[Returned, ...]:
    """Read the kernels of an export, as its files are now.

    Args:
        directory: that holds `kernel.json`.
        op, variant: in place of those that the kernels left under.

    Raises:
        FileError: a file that cannot be read.
        InputError: `kernel.json` is not what an export writes, or a file is no source text.
        DefinitionError: files that make no kernel.
    """
    path = directory / ORIGIN
    data = _read_json(path)
    found: dict[str, Returned] = {}
    for entry in data["kernels"]:
        one = _Entry(path, data["name"], entry).kernel()
        before = found.get(entry["label"])
        # A kernel with texts for both devices left as two.
        found[entry["label"]] = one if before is None else _together(path, before, one)
    if variant is not None and len(found) > 1:
        raise InputError(f"{shown(str(path))} holds {', '.join(found)}: variant={variant!r} can name one kernel only")
    return tuple(_renamed(one, op, variant) for one in found.values())


def op_of(directory: Path) -> Op | None:
    """Make the op of an export that says what it is, with the functions of its `reference.py`, which is run.

    Raises:
        FileError: a file that cannot be read.
        InputError: `kernel.json` is not what an export writes.
        DefinitionError: `reference.py` cannot be run, or makes no op.
    """
    data = _read_json(directory / ORIGIN)
    said = data.get("declaration")
    if not isinstance(said, dict):
        return None
    path = _require_inside(directory / ORIGIN, f"{data['name']}/reference.py")
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}  # as a notebook's cell has it
    try:
        exec(compile(read_text(path), str(path), "exec"), names)
        return Op(**said, reference=names["reference"], inputs=names["make_inputs"])
    except LltmInlineError:
        raise
    except Exception as error:  # it is somebody else's code
        raise DefinitionError(f"{shown(str(path))} makes no op: {type(error).__name__}: {error}") from error


def _renamed(one: Returned, op: str | None, variant: str | None) -> Returned:
    name = f"{op or one.kernel.op}/{variant or one.kernel.variant}"
    return one if name == one.kernel.name else Returned(replace(one.kernel, name=name), "")


def _together(path: Path, one: Returned, other: Returned) -> Returned:
    params = _agreed(path, {"the cpp text": one.kernel.params, "the cuda text": other.kernel.params})
    texts = {kind: getattr(other.kernel, kind) for kind in ("cpp", "cuda") if getattr(other.kernel, kind)}
    slots = {**one.kernel.slots, **other.kernel.slots}
    return Returned(replace(one.kernel, **texts, params=params, slots=slots), one.label)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{shown(str(path))} is not JSON: {error}. Export the kernel again") from None
    data = data if isinstance(data, dict) else {}
    if (version := data.get("lltm_inline")) != FORMAT:
        raise InputError(f"{shown(str(path))}: lltm_inline={shown(version)}, want {FORMAT}: another version wrote it")
    if not isinstance(data.get("name"), str) or not isinstance(data.get("kernels"), list) or not data["kernels"]:
        raise InputError(f"{shown(str(path))}: want a name and a list of kernels. Export the kernel again")
    return data


class _Entry:
    """One kernel of `kernel.json`; a class only so that path and entry need no passing around."""

    def __init__(self, path: Path, package: str, entry: Any) -> None:
        self.path, self.package = path, package
        for key, type_ in _TEXTS.items():
            if not isinstance(entry, dict) or not isinstance(entry.get(key), type_):
                raise InputError(f"{shown(str(path))}: a kernel without {key!r}. Export the kernel again")
        self.entry = entry

    def kernel(self) -> Returned:
        entry = self.entry
        texts: dict[str, str] = {}
        params: dict[str, dict[str, int | float]] = {}
        for kind, file in entry["files"].items():
            if kind not in ("cpp", "cuda") or not isinstance(file, str):
                raise InputError(
                    f"{shown(str(self.path))}: files[{shown(kind)}] is {shown(file)}, want cpp or cuda and a path"
                )
            texts[kind], params[file] = self._read(file)
        given: dict[str, Any] = {name: entry[name] for name in (*OF_KERNEL, "functions") if name in entry}
        given |= {kind: escaped(text) for kind, text in texts.items()}
        bare = Kernel(entry["name"], **given, params=_agreed(self.path, params))
        return Returned(self._with_slots(bare, texts), entry["label"])

    def _read(self, file: str) -> tuple[str, dict[str, int | float]]:
        path = _require_inside(self.path, file)
        named = {"namespace": f"{self.package}::{self.entry['device']}", "include": f"{self.package}.h"}
        text, params = read_kernel_file(read_text(path), **named, what=shown(str(path)))
        return with_headers(path, text, (), set()), params

    def _with_slots(self, bare: Kernel, texts: Mapping[str, str]) -> Kernel:
        """Take the templates back for the files that still hold what these give; an edited file has no slots any more."""
        slots, templates = self.entry.get("slots"), self.entry.get("templates")
        if not slots or not isinstance(templates, dict):
            return bare
        kept: dict[str, Any] = {kind: templates.get(kind, "") for kind in texts}
        whole = replace(bare, **kept, slots=slots)
        if any(fill(whole, kind) != text for kind, text in texts.items()):
            return bare
        # A kernel with texts for both devices may have left with one of them.
        used = set(re.findall(r"\$\{?(\w+)", "\n".join(kept.values())))
        return replace(whole, slots={slot: value for slot, value in slots.items() if slot in used})


def _require_inside(origin: Path, file: str) -> Path:
    """Return the path of a file of an export, of which `kernel.json` lies at `origin`."""
    path = origin.parent / file
    if not path.resolve().is_relative_to(origin.parent.resolve()):
        raise InputError(f"{shown(str(origin))}: {shown(file)} is outside of the export")
    return path


def _agreed(path: Path, params: Mapping[str, Mapping[str, int | float]]) -> dict[str, int | float]:
    """Put the params of a kernel's files together.

    Raises:
        DefinitionError: two files disagree.
    """
    agreed: dict[str, tuple[int | float, str]] = {}
    for file, numbers in params.items():
        for name, value in numbers.items():
            first, where = agreed.setdefault(name, (value, file))
            if first != value:
                raise DefinitionError(
                    f"{shown(str(path.parent))}: param {name} is {first} in {where} and {value} in {file}: a kernel has one value"
                )
    return {name: value for name, (value, _) in agreed.items()}
