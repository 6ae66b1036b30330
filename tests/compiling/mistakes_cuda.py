"""Wrong CUDA texts: edits of one right text, with the line and the words that each owes its reader."""

from __future__ import annotations

from dataclasses import dataclass

#: A torch-free kernel of the op `tiny`, y = 2 x: it compiles in a third of a second.
CUDA = r"""
#include <cmath>
template <class T> __device__ T twice(T x) { return FACTOR * x; }

template <class T>
__global__ void times_kernel(const T* x, T* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = twice(x[i]);
}

template <class T>
void times(const T* x, T* y, int64_t n, cudaStream_t stream) {
  if (n) times_kernel<T><<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
"""
#: The classic form: one text with torch's headers, and the launch inside a dispatch.
CLASSIC = r"""
#include <ATen/core/Tensor.h>
#include <ATen/Dispatch.h>
#include <ATen/ops/empty_like.h>
#include <ATen/cuda/CUDAContext.h>

template <class T>
__global__ void times_kernel(const T* x, T* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}

at::Tensor forward(const at::Tensor& x) {
  const at::Tensor y = at::empty_like(x);
  const int64_t n = x.numel();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "times", [&] {
    times_kernel<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), n);
  });
  return y;
}
"""


@dataclass(frozen=True)
class Mistake:
    """A wrong CUDA text: what is edited, where the first diagnostic must point, and words that it must hold."""

    name: str
    old: str
    new: str
    at: str
    words: tuple[str, ...]
    text: str = CUDA

    @property
    def wrong(self) -> str:
        """The wrong text."""
        assert self.text.count(self.old) == 1, self.old
        return self.text.replace(self.old, self.new)

    @property
    def line(self) -> int:
        return self.wrong.count("\n", 0, self.wrong.index(self.at)) + 1


_INDEX = "  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;\n  if (i < n) y[i] = twice"
_LAUNCH = "times_kernel<T><<<(n + 255) / 256, 256, 0, stream>>>(x, y, n)"
STUDENTS = (
    Mistake("small letters", "threadIdx.x;", "threadidx.x;", "const int64_t i", ("Did you mean 'threadIdx'?",)),
    Mistake(
        "index without its dimension",
        "blockIdx.x * int64_t(blockDim.x)",
        "blockIdx * blockDim",
        "const int64_t i",
        ("blockIdx.x",),
    ),
    Mistake(
        "barrier misspelt", "  if (i < n)", "  __syncthread();\n  if (i < n)", "__syncthread();", ("'__syncthreads'",)
    ),
    Mistake(
        "two brackets in front",
        "<T><<<(n + 255) / 256",
        "<T><<(n + 255) / 256",
        "if (n) times",
        ("three brackets",),
    ),
    Mistake(
        "two brackets on both sides",
        "<<<(n + 255) / 256, 256, 0, stream>>>",
        "<<(n + 255) / 256, 256, 0, stream>>",
        "if (n) times",
        ("three brackets",),
    ),
    Mistake(
        "shared array without a type",
        "  if (i < n)",
        "  __shared__ part[256];\n  if (i < n)",
        "__shared__ part",
        ("type", "__shared__ float part[256]"),
    ),
    Mistake(
        "shared array with a value",
        "  if (i < n)",
        "  __shared__ float part[256] = {0};\n  if (i < n)",
        "__shared__ float",
        ("__shared__", "thread"),
    ),
    Mistake("launch without arguments", "stream>>>(x, y, n);", "stream>>>;", "if (n) times", ("(arguments)",)),
    Mistake(
        "comma in a launch forgotten", "(n + 255) / 256, 256, 0", "(n + 255) / 256 256, 0", "if (n) times", ("','",)
    ),
    Mistake(
        "semicolon behind a launch forgotten",
        "(x, y, n);\n}",
        "(x, y, n)\n}",
        "if (n) times",
        ("A ';' is missing",),
    ),
    Mistake(
        "template argument that cannot be deduced",
        f"  if (n) {_LAUNCH}",
        f"  set<<<1, 1, 0, stream>>>(y);\n  if (n) {_LAUNCH}",
        "set<<<1",
        ("do not tell the template's A", "set<...>"),
        CUDA.replace("template", "template <class A, class T> __global__ void set(T* y) { *y = A(1); }\ntemplate", 1),
    ),
    Mistake(
        "inline function of the host in a kernel",
        "#include <cmath>\n",
        "#include <cmath>\ninline int most(int a, int b) { return a > b ? a : b; }\n"
        "__global__ void count(int* n) { n[0] = most(1, 2); }\n",
        "__global__ void count",
        ("__device__",),
    ),
    Mistake(
        "atomicAdd to a value",
        "y[i] = twice(x[i]);",
        "atomicAdd(y[i], x[i]);",
        "atomicAdd(",
        ("&y[i]",),
    ),
    Mistake(
        "shuffle of old",
        "y[i] = twice(x[i]);",
        "y[i] = __shfl_down(x[i], 1);",
        "__shfl_down(",
        ("'__shfl_down_sync'",),
    ),
    Mistake(
        "kernel inside a function",
        "  if (n) times_kernel",
        "  __global__ void inner(int m) { m = 1; }\n  if (n) times_kernel",
        "__global__ void inner",
        ("file scope",),
    ),
    Mistake("return of a value", "if (i < n) y[i]", "if (i >= n) return 0;\n  y[i]", "return 0", ("return",)),
    Mistake(
        "double pointer to cudaMalloc",
        "  if (n) times_kernel",
        "  float* buffer;\n  cudaMalloc(buffer, n);\n  if (n) times_kernel",
        "cudaMalloc(",
        ("&buffer",),
    ),
    Mistake(
        "types of a launch", "stream>>>(x, y, n);", "stream>>>(y, x, n);", "if (n) times", ("Argument 2", "line 6")
    ),
    Mistake(
        "one number too many in a launch",
        "256, 0, stream",
        "256, 0, stream, 1",
        "if (n) times",
        ("Between <<< and >>>",),
    ),
    Mistake(
        "wrong type for a kernel without a template",
        "template <class T>\n__global__ void times_kernel(const T* x, T* y",
        "__global__ void times_kernel(const float* x, double* y",
        "times_kernel<T><<<",
        ("Compare the arguments", "line 5"),
    ),
    Mistake(
        "argument forgotten in a dispatch",
        "y.mutable_data_ptr<scalar_t>(), n);",
        "y.mutable_data_ptr<scalar_t>());",
        "times_kernel<<<",
        ("'times_kernel' of line 8 takes 3 arguments, and is given 2",),
        CLASSIC,
    ),
    Mistake(
        "wrong type in a dispatch",
        "x.const_data_ptr<scalar_t>()",
        "x",
        "times_kernel<<<",
        ("A tensor is no pointer", "x.const_data_ptr<scalar_t>()"),
        CLASSIC,
    ),
    Mistake(
        "no __global__ in a dispatch", "__global__ void", "void", "times_kernel<<<", ("__global__", "line 8"), CLASSIC
    ),
    Mistake(
        "two brackets in a dispatch",
        "times_kernel<<<",
        "times_kernel<<",
        "times_kernel<<(",
        ("three brackets",),
        CLASSIC,
    ),
    Mistake(
        "shared array of a template",
        "  if (i < n)",
        "  extern __shared__ T part[];\n  part[threadIdx.x] = 0;\n  if (i < n)",
        "extern __shared__",
        ("extern __shared__ __align__(8) char bytes[]", "T* part = reinterpret_cast<T*>(bytes)"),
        CLASSIC,
    ),
    Mistake("size of a pointer", "if (i < n)", "if (i < x.numel())", "if (i <", ("pointer", "length")),
    Mistake(
        "output that is const",
        "const T* x, T* y, int64_t n) {\n  const",
        "const T* x, const T* y, int64_t n) {\n  const",
        "if (i < n) y",
        ("'y' of line 6 is const",),
    ),
    Mistake("unknown name in a dispatch", "(n + 255) / 256", "(m + 255) / 256", "times_kernel<<<", ("'m'",), CLASSIC),
    Mistake(
        "stream ahead of the bytes",
        "256, 0, at::",
        "256, at::",
        "times_kernel<<<",
        ("The stream is the fourth",),
        CLASSIC,
    ),
    Mistake(
        "constant in a kernel",
        "  if (i < n)",
        "  __constant__ float w[2] = {1, 2};\n  if (i < n)",
        "__constant__",
        ("outside of all functions",),
    ),
    Mistake("min of two types", "  if (i < n)", "  if (i < min(n, 256u))", "  if (i < min", ("convert one",)),
    Mistake(
        "atomicMax of a float",
        "  if (i < n)",
        "  __shared__ float top;\n  atomicMax(&top, float(x[i]));\n  if (i < n)",
        "atomicMax",
        ("this is float", "atomicCAS"),
    ),
    Mistake(
        "direction of a copy misspelt",
        "  if (n) times",
        "  cudaMemcpy(y, x, n, cudaMemcpyDevicetoDevice);\n  if (n) times",
        "cudaMemcpy(",
        ("Did you mean 'cudaMemcpyDeviceToDevice'?",),
    ),
    Mistake(
        "copy without its direction",
        "  if (n) times",
        "  cudaMemcpy(y, x, n);\n  if (n) times",
        "cudaMemcpy(",
        ("takes four things",),
    ),
    Mistake(
        "shared without its length",
        "  if (i < n)",
        "  __shared__ T s;\n  s[threadIdx.x] = x[i];\n  if (i < n)",
        "s[threadIdx.x]",
        ("a single value, as line 8 declares it",),
    ),
)
