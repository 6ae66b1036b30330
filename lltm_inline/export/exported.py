"""What an export wrote and what to type next; and `kernel.json`, by which it can come back as the kernel it was."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..base.above import Shown
from ..model.op import Op
from ..ops import OPS
from .plan import Part, Plan

#: The version of the format of `kernel.json`.
FORMAT = 1
#: Its name.
ORIGIN = "kernel.json"
#: What of an op is in `reference.py`; what a call costs goes nowhere.
_IN_REFERENCE = ("reference", "inputs", "cost")
#: What of a kernel is in none of its files.
OF_KERNEL = ("binding", "saves", "double_backward", "api", "flags", "doc")


@dataclass(frozen=True)
class Exported(Shown):
    """A kernel that was written out as a project of its own; shows itself.

    Attributes:
        path: the directory.
        kernel: its label.
        how: what builds it.
        name: of the package and of the namespace in `torch.ops`.
        files: what was written, as paths below `path`.
        commands: (what it does, the command line), in the order in which one types them.
        notes: what the person should know.
        backup: where the files are that were there before, or None.
    """

    path: Path
    kernel: str
    how: str
    name: str
    files: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    backup: Path | None = None

    @property
    def headline(self) -> str:
        """One sentence: what went where."""
        return f"{self.kernel} is in {self.path}: package {self.name}, {len(self.files)} files, built by {self.how}"

    def __str__(self) -> str:
        lines = [self.headline, *self.notes]
        if self.backup is not None:
            lines.append(f"What was there before is in {self.backup}")
        for what, command in self.commands:
            lines += ["", f"# {what}", command]
        return "\n".join(lines)

    __repr__ = __str__


def origin_file(plan: Plan) -> dict[str, str]:
    """Write the file: everything of a kernel that its source files do not say; its params stand in these."""
    data = {
        "lltm_inline": FORMAT,
        "op": plan.op.name,
        "how": plan.how,
        "name": plan.name,
        "kernels": [_entry(part) for part in plan.parts],
    }
    if not any(plan.op is one for one in OPS):  # who takes it back may not know it
        said = {field.name: getattr(plan.op, field.name) for field in fields(Op) if field.name not in _IN_REFERENCE}
        data["declaration"] = said
    return {ORIGIN: json.dumps(data, indent=2, ensure_ascii=False) + "\n"}


def _entry(part: Part) -> dict[str, Any]:
    kernel = part.kernel
    entry = {"name": kernel.name, "label": kernel.label, "device": part.device, "files": part.files}
    entry |= {name: getattr(kernel, name) for name in OF_KERNEL}
    if kernel.functions != ("forward", "backward"):
        entry["functions"] = kernel.functions
    if kernel.slots:  # the files have them filled in
        entry |= {"slots": dict(kernel.slots), "templates": kernel.sources}
    return entry
