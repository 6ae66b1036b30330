"""Wrong kernels of `block_sum`, `softmax` and `matmul_tiled`: of each one without a barrier, one out of bounds, one that parts."""

from __future__ import annotations

from dataclasses import dataclass

from lltm_inline.model.registry import Kernel, registry


@dataclass(frozen=True)
class Planted:
    """One wrong kernel.

    Attributes:
        name: op, and what is wrong, as an identifier.
        old, new: an edit of the CUDA text; the old text is there once.
        says: a pattern that the report must hold.
        size: at which it shows.
    """

    name: str
    old: str
    new: str
    says: str
    size: tuple[int, ...]

    def kernel(self) -> Kernel:
        """Make the wrong kernel."""
        op, _, what = self.name.partition(":")
        base = registry[f"{op}/cuda@0"]
        assert base.cuda.count(self.old) == 1, self.name
        return Kernel(
            f"{op}/{what}",
            cpp=base.cpp,
            cuda=base.cuda.replace(self.old, self.new),
            params=base.params,
            saves=base.saves,
        )


_ALL = (
    Planted(
        "block_sum:missing_barrier",
        "    parts[t] = sum;\n    __syncthreads();\n",
        "    parts[t] = sum;\n",
        r"(uninitialised|race): parts\[\d+\].* is .* at line block_sum/missing_barrier \(cuda\):13\b",
        (2, 300),
    ),
    Planted(
        "block_sum:out_of_bounds",
        "n < N; n += THREADS",
        "n <= N; n += THREADS",
        r"out of bounds: x\[.*, read at line block_sum/out_of_bounds \(cuda\):10\b",
        (2, 300),
    ),
    Planted(
        "block_sum:parts_at_a_barrier",
        "      if (t < reach) parts[t] += parts[t + reach];\n      __syncthreads();\n",
        "      if (t < reach) {\n        parts[t] += parts[t + reach];\n        __syncthreads();\n      }\n",
        "divergent barrier: 128 of 256 threads wait in __syncthreads at line 16",
        (2, 300),
    ),
    Planted(
        "softmax:missing_barrier",
        "value = join(value, parts[i]);\n  __syncthreads();\n",
        "value = join(value, parts[i]);\n",
        r"race: parts\[.* is .* at line softmax/missing_barrier \(cuda\):1[6-9]\b",
        (2, 300),
    ),
    Planted(
        "softmax:out_of_bounds",
        "forward_kernel(const T* x, T* y, int64_t B, int64_t N) {\n  __shared__ T parts[THREADS / 32];",
        "forward_kernel(const T* x, T* y, int64_t B, int64_t N) {\n  __shared__ T parts[THREADS / 64];",
        r"out of bounds: parts\[[23]\].*, written at line softmax/out_of_bounds \(cuda\):16\b",
        (2, 300),
    ),
    Planted(
        "softmax:leaves_early",
        "    T most = -INFINITY;\n",
        "    if (threadIdx.x >= N) return;\n    T most = -INFINITY;\n",
        "ha(s|ve) left the kernel",
        (2, 5),
    ),
    Planted(
        "matmul_tiled:missing_barrier",
        ": T(0);\n    __syncthreads();\n    for",
        ": T(0);\n    for",
        r"(uninitialised|race): [ab]_tile\[.* is .* at line matmul_tiled/missing_barrier \(cuda\):(9|10|11)\b",
        (17, 33, 5),
    ),
    Planted(
        "matmul_tiled:out_of_bounds",
        "m < M && k + x < K ?",
        "m < M ?",
        r"out of bounds: a\[.*, read at line matmul_tiled/out_of_bounds \(cuda\):9\b",
        (17, 33, 5),
    ),
    Planted(
        "matmul_tiled:leaves_early",
        "  T sum = 0;\n",
        "  if (m >= M || n >= N) return;\n  T sum = 0;\n",
        "divergent barrier: .* have left the kernel, which is undefined",
        (17, 33, 5),
    ),
)

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}
