"""CUDA source on the CPU: device `cuda-cpu` compiles the very text that nvcc does, and runs its threads one after another.

header      what stands before a rewritten text: the .h files here
rewrite     what is not C++ in a CUDA text becomes C++, line by line; what cannot run here is refused by name
names.h     CUDA's types and runtime        device.h    what kernels call: barriers, warps, atomics, mathematics
fibers.h    a stack for each thread         half.h      numbers of half precision, and pairs of them
block.h     a block's threads; launches     groups.h    cooperative groups within a block
torch.h     what torch's CUDA headers would give, and what looks at tensors
told.h      what the rewriter tells check mode
module.h    of a text that is a module of Python's, and is judged: looks at what its functions return
as_written.h    what is counted is not optimised    optimised.h     what counts it is

These are the names; what does not depend on the text is compiled once for all texts, beside the precompiled header:

runtime.h   runs blocks, threads, barriers   memory.h    what lies where; tensors lie far apart while they are checked
checks.h    check mode: bounds, races, barriers, memory that nobody has written
counts.h    what the warps of a launch ask of the memory
tensors.h   names and sizes of tensors, shared arrays and variables
"""

from __future__ import annotations

from .header import header as header
from .header import runtime as runtime
from .rewrite import Index as Index
from .rewrite import indices as indices
from .rewrite import looks_at_limits as looks_at_limits
from .rewrite import narrow_indices as narrow_indices
from .rewrite import on_cpu as on_cpu
from .rewrite import rewrite as rewrite
from .rewrite import tell_indices as tell_indices
