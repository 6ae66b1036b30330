//// loop

#include <cmath>
#include <torch/csrc/stable/ops.h>

using torch::stable::Tensor;

template <class T>
void scale(T* __restrict y, const T* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    y[i] = T(FACTOR) * x[i];
}

Tensor forward(const Tensor& x) {
  Tensor row = torch::stable::contiguous(x), y = torch::stable::empty_like(row);
  const int64_t n = row.numel();
  if (row.scalar_type() == torch::headeronly::ScalarType::Double) {
    scale(static_cast<double*>(y.mutable_data_ptr()), static_cast<const double*>(row.const_data_ptr()), n);
  } else {
    scale(static_cast<float*>(y.mutable_data_ptr()), static_cast<const float*>(row.const_data_ptr()), n);
  }
  return y;
}

Tensor backward(const Tensor& d_y, std::array<bool, 1> wanted) {
  return wanted[0] ? forward(d_y) : Tensor();
}

//// said
__attribute__((noinline)) int64_t away(int64_t n) { return n; }
inline float near(float x) { return x + 1; }

template <class T>
void scale(T* y, const T* x, int64_t n) {
  n = away(n);

//// loops

#include <torch/csrc/stable/ops.h>

using torch::stable::Tensor;

__attribute__((noinline)) float work(int64_t n, float* a, float* b, float* c, const float* d, const float* e, const float* f) {
  float state = 0;
  LOOP
  return state;
}

Tensor forward(const Tensor& x) {
  Tensor y = torch::stable::empty_like(x);
  float* p = static_cast<float*>(y.mutable_data_ptr());
  const float* q = static_cast<const float*>(x.const_data_ptr());
  p[0] = work(x.numel(), p, p + 1, p + 2, q, q + 1, q + 2);
  return y;
}

Tensor backward(const Tensor& d_y, std::array<bool, 1> wanted) {
  return wanted[0] ? forward(d_y) : Tensor();
}

//// dispatched

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
at::Tensor forward(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "tiny", [&] {
    const scalar_t* from = x.const_data_ptr<scalar_t>();
    scalar_t* to = y.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, x.numel(), 1024, [=](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) to[i] = std::exp(from[i]);
    });
  });
  return y;
}
