//// launcher

template <class T>
void scale_rows(const T* x, const T* w, T* y, int64_t B, int64_t N, cudaStream_t stream) {
  if (B * N > 0) scale<<<(B * N + 255) / 256, 256, 0, stream>>>(x, w, y, B, N);
}

//// free

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& w) {
  const at::Tensor y = at::empty(x.sizes(), x.options());
  scale_rows(x.contiguous(), w.contiguous(), y, x.size(0), x.size(1));
  return y;
}
