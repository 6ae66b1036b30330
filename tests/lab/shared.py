"""A lab for the tests: axpy, with a value beside the kernel, and the notebooks that students make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lltm_inline.lab import Lab, read_lab
from lltm_inline.lab.lab import SELFTEST
from lltm_inline.lab.making import book_of

KERNEL = """%%kernel axpy/mine --check --params A=2
#include <ATen/ATen.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  // BEGIN SOLUTION
  return A * x + y;
  // END SOLUTION
  TORCH_CHECK(false, "not written yet");
}
"""
GRADED = {"grade": True, "solution": True}
TOML = """format = 1
name = "axpy"
notebook = "axpy.ipynb"
due = 2026-11-20T12:00:00Z
late = 0.25

[limits]
seconds = 10

[exercises.axpy]
kernel = "axpy/mine"
params = ["A"]
points = { builds = 1, parity = 4, "gradient x" = 2 }

[values.moved]
points = 2
tolerance = 0.5
"""


def book(kernel: str = KERNEL, moved: str = "moved = 12") -> dict[str, Any]:
    """Write the notebook of the lab, or what a student has made of it."""
    return book_of(
        [
            ("markdown", "# axpy", {}),
            ("code", kernel, {"grade_id": "axpy", "points": 7, **GRADED}),
            ("code", moved, {"grade_id": "moved", "points": 2, **GRADED}),
        ]
    )


def lab_in(folder: Path, toml: str = TOML, notebook: dict[str, Any] | None = None, **files: str) -> Lab:
    """Write a lab into a folder; `files` have their names with `__` for `/` and `_dot_` for the dot."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lab.toml").write_text(toml)
    (folder / "axpy.ipynb").write_text(json.dumps(notebook or book()))
    (folder / "secret.txt").write_text("00" * 32)
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return read_lab(folder)


def ready(lab: Lab) -> Lab:
    """Note that the lab was found to be right, where a test is about something else."""
    (lab.folder / SELFTEST).write_text(json.dumps({"lab": lab.digest, "green": True}))
    return read_lab(lab.folder)


def hand_in(folder: Path, **notebooks: Any) -> Path:
    """Write a notebook for each student."""
    folder.mkdir(exist_ok=True, parents=True)
    for student, content in notebooks.items():
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        (folder / f"{student}.ipynb").write_bytes(text.encode() if isinstance(text, str) else text)
    return folder
