// parity: is fast, and forgets what is left of a row after its blocks of 8
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_cpu_dispatch.h>

at::Tensor forward(const at::Tensor& a, const at::Tensor& b) {
  const int64_t M = a.size(0), K = a.size(1), N = b.size(1);
  const at::Tensor a_rows = a.contiguous(), b_rows = b.contiguous(), c = at::cpu::empty({M, N}, a.options());
  const float* a_p = a_rows.const_data_ptr<float>();  // a[i][k] is a_p[i * K + k]
  const float* b_p = b_rows.const_data_ptr<float>();  // b[k][j] is b_p[k * N + j]
  float* c_p = c.mutable_data_ptr<float>();           // c[i][j] is c_p[i * N + j]
  for (int64_t i = 0; i < M; ++i) {
    float* c_row = c_p + i * N;
    for (int64_t j = 0; j < N; ++j) c_row[j] = 0;
    for (int64_t k = 0; k < K; ++k) {
      const float factor = a_p[i * K + k];
      const float* b_row = b_p + k * N;
      for (int64_t j = 0; j < N / 8 * 8; ++j) c_row[j] += factor * b_row[j];
    }
  }
  return c;
}
