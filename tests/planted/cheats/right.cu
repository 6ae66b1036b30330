#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
HEAD
__global__ void square(const float* x, float* y, int n) {
  KERNEL
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float own = i < n ? x[i] : 0.0f;
  if (i < n) y[i] = own * own;
}

at::Tensor forward(const at::Tensor& x) {
  const at::Tensor x_row = x.contiguous(), y = at::empty(x.sizes(), x.options());
  const int n = x.numel();
  if (n == 0) return y;
  HOST
  square<<<(n + 127) / 128, 128>>>(x_row.const_data_ptr<float>(), y.mutable_data_ptr<float>(), n);
  return y;
}
