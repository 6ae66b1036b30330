"""The way in: files of an extension, or a whole one, become kernels of an op.

`Kernel.from_files` takes files that define `forward` and `backward` as the playground wants them; `Registry.import_extension`
takes a directory, which `li.export` wrote or which is laid out as in PyTorch's tutorials.
"""

from __future__ import annotations

from .files import kernel_fields
from .importing import import_extension

__all__ = ["import_extension", "kernel_fields"]
