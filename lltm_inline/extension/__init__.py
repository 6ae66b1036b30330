"""The way in: a whole extension becomes kernels of an op.

`Registry.import_extension` takes a directory, which `li.export` wrote or which is laid out as in PyTorch's tutorials. Files that
define `forward` and `backward` as the playground wants them are for `Kernel.from_files`.
"""

from __future__ import annotations

from .importing import import_extension

__all__ = ["import_extension"]
