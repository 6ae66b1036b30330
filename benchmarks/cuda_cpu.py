"""CUDA source on the CPU: what a thread, a barrier and the checks cost, and LLTM beside ATen.

Fast mode is what `li.load` gives, check mode what `li.check` runs. The reduction takes one core, as a block does; LLTM takes
all, as ATen does. Where numba is installed, its simulator runs the same reduction, on one block of the 64.
"""

from __future__ import annotations

import importlib.util
import shutil
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from common import Results, arguments, cell_inputs, compilers, forget, fresh, li, timed_python

from lltm_inline.base.device import DEVICES
from lltm_inline.compiling import header
from lltm_inline.compiling.job import make_job
from lltm_inline.compiling.toolchain import find_toolchain

#: LLTM at B=64 and S=1024.
SIZE = (64, 128, 1024)
ROWS, COLUMNS, N = 64, 1024, 256
NVCC = "an edit through nvcc, compile only"
#: What a student counts first: a product of two small matrices.
COUNTED = (64, 64, 64)

TEXT = r"""
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

__global__ void axpy(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i] + 1;
}

__global__ void sum(const float* x, float* y) {
  __shared__ float s[1024];
  s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}

template <int kTimes>
__global__ void barriers(const float* x, float* y) {
  for (int i = 0; i < kTimes; ++i) __syncthreads();
  y[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x];
}

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float a_tile[16][16], b_tile[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float total = 0;
  for (int t = 0; t < n / 16; ++t) {
    a_tile[threadIdx.y][threadIdx.x] = a[row * n + t * 16 + threadIdx.x];
    b_tile[threadIdx.y][threadIdx.x] = b[(t * 16 + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) total += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = total;
}

at::Tensor forward(const at::Tensor& x, int64_t which) {
  const float* const p = x.const_data_ptr<float>();
  const int n = x.numel();
  const bool sums = which == 1;
  at::Tensor y = sums ? at::empty({n / 1024}, x.options()) : at::empty_like(x);
  float* const q = y.mutable_data_ptr<float>();
  if (which == 0) axpy<<<(n + 255) / 256, 256>>>(p, q, n);
  if (which == 1) sum<<<n / 1024, 1024>>>(p, q);
  if (which == 2) barriers<1><<<n / 1024, 1024>>>(p, q);
  if (which == 3) barriers<101><<<n / 1024, 1024>>>(p, q);
  if (which == 4) matmul<<<dim3(16, 16), dim3(16, 16)>>>(p, p, q, 256);
  return y;
}
"""

NUMBA = f"""
import os
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import json, time
import numpy
from numba import cuda, float32

@cuda.jit
def sums(x, y):
    s = cuda.shared.array({COLUMNS}, float32)
    i = cuda.threadIdx.x
    s[i] = x[cuda.blockIdx.x, i]
    cuda.syncthreads()
    half = {COLUMNS} // 2
    while half > 0:
        if i < half:
            s[i] += s[i + half]
        cuda.syncthreads()
        half //= 2
    if i == 0:
        y[cuda.blockIdx.x] = s[0]

x, y = numpy.ones((1, {COLUMNS}), numpy.float32), numpy.zeros(1, numpy.float32)
start = time.perf_counter()
sums[1, {COLUMNS}](x, y)
assert y[0] == {COLUMNS}
print(json.dumps({{"seconds": time.perf_counter() - start}}))
"""


def timed(call: Callable[[], Any]) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def wait_for_header(name: str, compiler: str | None = None, cflags: tuple[str, ...] | None = None) -> None:
    """Wait for the precompiled header of a kernel: one that is still being made would take the processor time of what is timed."""
    toolchain = find_toolchain(compiler, cflags, "cuda-cpu")
    job = make_job(li.registry[name], toolchain)
    for part in filter(None, (job, job.host)):
        if not header.wait(toolchain, part.prelude or ""):
            raise SystemExit(f"no precompiled header for {toolchain.version}: is there room in the cache directory?")


def edits(results: Results, rounds: int) -> None:
    """Time edits of a torch-free kernel until they are loaded; the first one of each compiler warms up and is not counted."""
    kernel, builds = li.registry["lltm/cuda_extern"], list[Any]()
    for number in range(rounds + 1):
        edited = kernel.replace(cuda=kernel.cuda.replace("exp(-z))", f"exp(-z) + {fresh()} * T(0))"))
        for compiler in compilers():
            started = time.perf_counter()
            function = li.load(edited, device="cuda-cpu", compiler=compiler, progress=False, trust=True)
            took = time.perf_counter() - started
            assert function.build is not None and not function.build.cached
            builds.append(function.build)
            if number:
                results.add(f"an edit until loaded, torch-free, {compiler}", took)
    forget(builds)


def nvcc_checks(results: Results, rounds: int) -> None:
    """Time edits of a torch-free kernel until nvcc has compiled them, one after another, as somebody edits who has no GPU."""
    kernel = li.registry["lltm/cuda_extern"]
    for number in range(rounds + 1):
        edited = kernel.replace(cuda=kernel.cuda.replace("exp(-z))", f"exp(-z) + {fresh()} * T(0))"))
        took = timed(partial(li.build, edited, device="cuda", compile_only=True, progress=False))
        if number:
            results.add(NVCC, took)


def main() -> None:
    """Take all samples in turns and save them."""
    quick = arguments(__doc__).quick
    results = Results("cuda_cpu", quick)
    li.registry.register(
        li.Op(
            "bench",
            "(Tensor x, int which) -> Tensor y",
            lambda x, which: x,
            {"x": "...", "y": "..."},
            inputs=lambda randn, N: (randn(N), 0),
            dtypes=("float32",),
        )
    )
    kernel = li.registry.register(li.Kernel("bench/all", cuda=TEXT))
    device = DEVICES["cuda-cpu"]
    for name, flags in (
        ("bench/all", None),
        ("bench/all", device.check_flags),
        ("lltm/cuda_accessor", None),
        ("matmul_tiled/cuda", device.count_flags),
    ):
        wait_for_header(name, cflags=flags)
    for compiler in compilers():
        wait_for_header("lltm/cuda_extern", compiler)
    fast = li.load(kernel, device="cuda-cpu", trust=True).forward
    check = li.load(kernel, device="cuda-cpu", cflags=[*device.check_flags], trust=True).forward
    x, square = torch.randn(ROWS * COLUMNS), torch.randn(N, N)
    assert torch.allclose(fast(x, 1)[0], x.view(ROWS, COLUMNS).sum(1), atol=1e-3)
    assert torch.allclose(fast(square, 4)[0], square @ square, atol=1e-3)
    runs = {
        "y = 2x + 1": (x, 0),
        "reduction": (x, 1),
        "1 barrier": (x, 2),
        "101 barriers": (x, 3),
        "tiled matmul": (square, 4),
    }
    rounds = 3 if quick else 15
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for number in range(rounds + 1):
        for name, call in runs.items():
            took = timed(lambda call=call: fast(*call))
            checked = timed(lambda call=call: check(*call)) if number < 4 and name != "101 barriers" else 0
            if number:
                results.add(name, took)
                if checked:
                    results.add(f"{name}, checked", checked)
    torch.set_num_threads(threads)
    lltm = {"lltm/aten": li.load("lltm/aten", trust=True)}
    lltm["lltm/cuda_accessor on cuda-cpu"] = li.load("lltm/cuda_accessor", device="cuda-cpu", trust=True)
    inputs = cell_inputs(SIZE)
    with torch.no_grad():
        for number in range(2 * rounds + 1):
            for name, function in lltm.items():
                took = timed(lambda function=function: function(*inputs))
                if number:
                    results.add(name, took)

    edits(results, 2 if quick else 5)
    if shutil.which("nvcc"):
        nvcc_checks(results, 2 if quick else 9)
    for number in range(2 if quick else 4):
        took = timed(lambda: li.counts("matmul_tiled/cuda", [COUNTED], progress=False))
        if number:  # the first one compiles
            results.add("counts of a tiled product", took)

    per_thread = (results.least("101 barriers") - results.least("1 barrier")) / (100 * ROWS * COLUMNS)
    results.require("a barrier, nanoseconds a thread", per_thread * 1e9, 30)
    results.require("64x1024 reduction on one core, milliseconds", results.least("reduction") * 1e3, 25)
    for name in ("y = 2x + 1", "reduction", "tiled matmul"):
        ratio = results.least(f"{name}, checked") / results.least(name)
        results.require(f"check mode over fast mode, {name}", ratio, 8)
    ratio = results.least("lltm/cuda_accessor on cuda-cpu") / results.least("lltm/aten")
    results.require("LLTM forward at B=64, S=1024 over ATen's", ratio, 2)
    for compiler in compilers():
        row = f"an edit until loaded, torch-free, {compiler}"
        results.require(f"{row}, seconds", results.median(row), 1)
    if shutil.which("nvcc"):
        results.require(f"{NVCC}, seconds", results.median(NVCC), 0.5)
    results.require("counts of a product of 64x64 matrices, seconds", results.median("counts of a tiled product"), 10)
    if importlib.util.find_spec("numba"):
        seconds = timed_python(NUMBA)["seconds"]
        results.add("numba's simulator, one block of the reduction", seconds)
        value = seconds * ROWS / results.least("reduction")
        results.require("numba's simulator over fast mode", value, 1000, at_least=True)
    else:
        print("  numba is not installed: its simulator is left out")
    results.save()


if __name__ == "__main__":
    main()
