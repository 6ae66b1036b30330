"""CUDA kernels as C++ kernels of the same arithmetic, so that a machine without a GPU can check what they compute.

A launch becomes a loop over blocks and threads. That is enough for kernels whose threads know nothing of each other; there
are no barriers, no shared memory and no warps here. What can be wrong with a launch is watched: too many threads or blocks,
a grid of no blocks, another stream than torch's current one, and an error that nobody asks for.
"""

from __future__ import annotations

import re
from pathlib import Path

from lltm_inline.model.registry import Kernel, Op
from lltm_inline.source.template import render

#: What CUDA gives to a text, as far as our kernels use it.
CUDA_ON_CPU = Path(__file__).with_name("cuda_twin.h").read_text()

#: What torch's CUDA headers give to a classic text.
TORCH_ON_CPU = r"""
namespace at {
template <class T> struct RestrictPtrTraits { typedef T* PtrType; };
}
namespace c10::cuda {
struct CUDAGuard { explicit CUDAGuard(c10::Device) {} };
inline cudaStream_t getCurrentCUDAStream() { return &current_stream; }
}
#define C10_CUDA_KERNEL_LAUNCH_CHECK() \
  do { const cudaError_t error_ = cudaGetLastError(); TORCH_CHECK(error_ == cudaSuccess, cudaGetErrorString(error_)); } while (0)
"""

#: What torch's C interface gives to the generated functions of tensors.
SHIM_ON_CPU = r"""
#include <ATen/DeviceGuard.h>
extern "C" int32_t aoti_torch_get_current_cuda_stream(int32_t, void** stream) { *stream = &current_stream; return 0; }
"""


def twin(kernel: Kernel, op: Op) -> Kernel:
    """Make the C++ kernel that computes what a CUDA kernel computes; its text is the rendered CUDA text but for the launches."""
    rendered = render(kernel, op, "cuda")
    cuda = re.sub(r"#include <c10/cuda/[^\n]*", "", launches_as_loops(rendered.cuda))
    launchers = rendered.sources.get(f"{kernel.name} (launchers)")
    if launchers is None:
        text = CUDA_ON_CPU + TORCH_ON_CPU + cuda
    else:
        host = launchers.replace("is_cuda()", "is_cpu()")
        text = CUDA_ON_CPU + SHIM_ON_CPU + cuda + host + kernel.cpp
    cpp = text.replace("$", "$$")
    return Kernel(f"{kernel.name}_on_cpu", cpp=cpp, saves=kernel.saves)


def launches_as_loops(text: str) -> str:
    """Rewrite `k<T><<<a, b, c, d>>>(x);` to `launch([&] { k<T>(x); }, a, b, c, d);`."""
    while match := re.search(r"(\w+(?:<\w+>)?)<<<(.*?)>>>\(", text, re.DOTALL):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        arguments = text[match.end() : end - 1]
        text = f"{text[: match.start()]}launch([&] {{ {match[1]}({arguments}); }}, {match[2]}){text[end:]}"
    return text
