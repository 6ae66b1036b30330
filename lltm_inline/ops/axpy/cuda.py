"""A x + y on a GPU: the first CUDA kernel.

    forward     z[i]   = A x[i] + y[i],    i = 0 ... N - 1          tensors of any shape with N elements
    backward    d_x[i] = A d_z[i],   d_y = d_z

What it changes over `axpy/cpp`: the loop is turned inside out. A `__global__` function says what one thread does, and
`<<<blocks, threads>>>` starts many of them; each computes from `blockIdx`, `blockDim` and `threadIdx` which element is its
own. Neighbouring threads take neighbouring elements, because the memory of a GPU is read in rows of 32 threads at once.

* The grid may be smaller than the tensor: each thread goes on in steps of the whole grid. So any number of elements is
  right, also one beyond the last whole block, and one beyond what 32 bits can count, hence `int64_t`.
* A launch returns at once and reports nothing. `C10_CUDA_KERNEL_LAUNCH_CHECK()` asks whether it succeeded: without it a wrong
  launch (more than 1024 threads in a block; a grid of no blocks, for an empty tensor) leaves in z whatever was there.
* `c10::cuda::getCurrentCUDAStream()` is the queue on which torch's own kernels run. The default stream is another one.
* `CUDAGuard` makes the device of x the current one: on a machine with two GPUs the launch would go to the first.

As on a CPU, memory is what it waits for: three numbers go through it for each multiply-add. The kernel knows no strides,
so inputs and the incoming gradient are made dense first, in variables that live as long as the pointers are used.

`A` is a param, as in `axpy/aten`; `THREADS` is the number of threads of a block.
"""

from __future__ import annotations

from ...model.registry import Kernel

CUDA = r"""
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>

template <class T>
__global__ void axpy(const T* x, const T* y, T* z, int64_t N) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < N; i += step) z[i] = T(A) * x[i] + y[i];
}

template <class T>
__global__ void scale(const T* d_z, T* d_x, int64_t N) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < N; i += step) d_x[i] = T(A) * d_z[i];
}

unsigned blocks_for(int64_t N) {
  return std::min<int64_t>((N + THREADS - 1) / THREADS, 1 << 16);
}

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  const c10::cuda::CUDAGuard guard(x.device());
  const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();
  const at::Tensor z = at::empty(x.sizes(), x.options());
  const int64_t N = z.numel();
  if (N > 0) {
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "axpy", [&] {
      axpy<scalar_t><<<blocks_for(N), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
          x_row.const_data_ptr<scalar_t>(), y_row.const_data_ptr<scalar_t>(), z.mutable_data_ptr<scalar_t>(), N);
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    });
  }
  return z;
}

at::Tensor gradient_of_x(const at::Tensor& d_z) {
  const c10::cuda::CUDAGuard guard(d_z.device());
  const at::Tensor d_z_row = d_z.contiguous();
  const at::Tensor d_x = at::empty(d_z.sizes(), d_z.options());
  const int64_t N = d_x.numel();
  if (N > 0) {
    AT_DISPATCH_FLOATING_TYPES(d_z.scalar_type(), "axpy_backward", [&] {
      scale<scalar_t><<<blocks_for(N), THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
          d_z_row.const_data_ptr<scalar_t>(), d_x.mutable_data_ptr<scalar_t>(), N);
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    });
  }
  return d_x;
}

std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& d_z, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_y;
  if (wanted[0]) d_x = gradient_of_x(d_z);
  if (wanted[1]) d_y = d_z;
  return {d_x, d_y};
}
"""

KERNEL = Kernel("axpy/cuda", cuda=CUDA, params={"A": 2, "THREADS": 256}, doc=__doc__ or "")
