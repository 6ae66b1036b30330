//// forward
at::Tensor forward(const at::Tensor& x, int64_t which) {
  at::Tensor y = at::empty_like(x);
  k<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}

//// dies
__global__ void k(const float* x, float* y, int n, int64_t which) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (which && i == n - 27) {
    if (which == 1) x -= int64_t(1) << 30;
    if (which == 2) n = 0;
  }
  __syncthreads();
  y[i] = x[i] + n % (which == 2 ? n : 1);  // <-
}
at::Tensor forward(const at::Tensor& x, int64_t which) {
  at::Tensor y = at::empty_like(x);
  k<<<x.numel() / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), which);
  return y;
}

//// torch_free

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
at::Tensor forward(const at::Tensor& x, int64_t which) {
  int64_t n = 0;
  if (n = x.numel()) n = 2;
  const at::Tensor y = at::empty_like(x);
  twice(x, y, x.numel());
  return y;
}

//// half

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
__global__ void k(const double* x, double* y, double* kept, int64_t N, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(32) + threadIdx.x;
  if (i < n) y[i] = i < N ? x[i] : 0;
  if (i < N) kept[i] = 1;
}
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x) {
  const int64_t N = x.size(0), n = 2 * N;
  const at::Tensor wide = x.to(at::kDouble).contiguous();
  const at::Tensor y = at::empty({2 * N}, wide.options()), kept = at::empty({N + 8}, wide.options());
  k<<<N / 16 + 1, 32>>>(wide.data_ptr<double>(), y.data_ptr<double>(), kept.data_ptr<double>(), N, n);
  return {y.to(x.scalar_type()), kept};
}
at::Tensor backward(const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& kept, std::array<bool, 1> wanted) {
  return wanted[0] ? d_y.narrow(0, 0, x.size(0)).clone() : at::Tensor();
}
