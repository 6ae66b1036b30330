//// right 1
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// right 2
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int x0, int x1, int w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, int(x.stride(0)), int(x.stride(1)), int(w.stride(0)));

//// right 3
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, ptrdiff_t w0, ptrdiff_t x1, ptrdiff_t x0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, w.stride(0), x.stride(1), x.stride(0));

//// right 4
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i >= B * N) return;
  const int64_t b = i / N, n = i - b * N;
  y[i] = x[b * x0 + n * x1] * w[b * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// right 5
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  const T* const row = x + i / N * x0;
  if (i < B * N) y[i] = row[i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// right 6
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < B * N; i += int64_t(gridDim.x) * blockDim.x)
  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// right 7
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0, int64_t y0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i / N * y0 + i % N] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0), y.stride(0));

//// right 8
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * *(w + i / N * w0);
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// right 9
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = w0 == 0 ? x[0] * w[0] : x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// right 10
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0, unsigned) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0), 0u);

//// wrong 1
// says: differs|out of bounds
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// wrong 2
// says: differs|out of bounds
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(1), x.stride(0), w.stride(0));

//// wrong 3
// says: differs
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// wrong 4
// says: differs|out of bounds
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / N * x0 + i % N] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// wrong 5
// says: differs|out of bounds
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / B * x0 + i % N * x1] * w[i / B * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// wrong 6
// says: differs|out of bounds|unwritten
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i / N * x0 + i % N * x1] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// wrong 7
// says: out of bounds
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), 4 * w.stride(0));

//// wrong 8
// says: out of bounds
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// wrong 9
// says: unwritten|differs
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0));

//// wrong 10
// says: It is right, but a copy is made
#include <ATen/ops/empty.h>

// becomes
#include <ATen/ops/empty.h>
// and
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N) {
// becomes
__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, int64_t x0, int64_t x1, int64_t w0) {
// and
  if (i < B * N) y[i] = x[i] * w[i / N];
// becomes
  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];
// and
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N);
// becomes
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), B, N, x.stride(0), x.stride(1), w.stride(0)); const at::Tensor dense = x.clone();
