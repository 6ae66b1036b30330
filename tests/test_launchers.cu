//// cuda

#include <cmath>
template <class T> __global__ void add_kernel(const T* x, const int64_t* shift, T* y, T factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i] + (shift ? T(*shift) : T(0));
}
template <class T> void add(const T* x, const int64_t* shift, T* y, T factor, int n, cudaStream_t stream) {
  if (n) add_kernel<T><<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(x, shift, y, factor, n);
}

//// cpp

#include <ATen/ops/empty_like.h>
at::Tensor forward(const at::Tensor& x, double mode) {
  const at::Tensor y = at::empty_like(x);
  if (mode == 0) add(x, at::Tensor(), y, 2.5, x.numel());
  if (mode == 1) add(x, at::empty_like(x), y, 2.5, x.numel());
  if (mode == 2) add(x, at::Tensor(), y, 2.5, int64_t(1) << 40);
  if (mode == 3) add(at::Tensor(), at::Tensor(), at::Tensor(), 2.5, 0);
  if (mode == 4) add(x.to(at::kInt), at::Tensor(), y, 2.5, x.numel());
  if (mode == 5) add(x.to(at::kFloat), at::Tensor(), y, 2.5, x.numel());
  return y;
}
