"""`kernel.json`: what an export came from, so that it can come back as the kernel it was."""

from __future__ import annotations

import json
from typing import Any

from .plan import Part, Plan

#: The version of the format.
FORMAT = 1
#: Name of the file.
ORIGIN = "kernel.json"


def origin_file(plan: Plan) -> dict[str, str]:
    """Write the file: everything of a kernel that its source files do not say; its params stand in these."""
    data = {
        "lltm_inline": FORMAT,
        "op": plan.op.name,
        "how": plan.how,
        "name": plan.name,
        "kernels": [_entry(plan, part) for part in plan.parts],
    }
    return {ORIGIN: json.dumps(data, indent=2, ensure_ascii=False) + "\n"}


def _entry(plan: Plan, part: Part) -> dict[str, Any]:
    from .cpp import files_of_part

    kernel = part.kernel
    entry: dict[str, Any] = {
        "name": kernel.name,
        "label": kernel.label,
        "device": part.device,
        "files": files_of_part(plan, part),
        "binding": kernel.binding,
        "saves": list(kernel.saves),
        "double_backward": kernel.double_backward,
        "api": kernel.api,
        "flags": list(kernel.flags),
        "doc": kernel.doc,
    }
    if kernel.slots:  # the files have them filled in
        entry |= {"slots": dict(kernel.slots), "templates": kernel.sources}
    return entry
