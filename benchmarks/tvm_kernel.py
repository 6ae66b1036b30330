"""The fused LLTM pass over raw pointers, for tvm_ffi: what `lltm/stable` is compared with in `edit_latency.py`."""

from __future__ import annotations

from typing import Any

TVM_FLAGS = ["-O3", "-march=native", "-fopenmp-simd", "-std=c++20"]

TVM_TEXT = r"""
#include <tvm/ffi/container/tensor.h>

#include <bit>
#include <cstdint>
#include <type_traits>

using tvm::ffi::TensorView;

template <class T> struct Format;
template <> struct Format<float> {
  using Int = int32_t;
  static constexpr int mantissa_bits = 23, exponent_bias = 127;
  static constexpr float lowest = -87, highest = 88, rounder = 0x1.8p23f;
  static constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float series[] = {1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2};
};
template <> struct Format<double> {
  using Int = int64_t;
  static constexpr int mantissa_bits = 52, exponent_bias = 1023;
  static constexpr double lowest = -708, highest = 709, rounder = 0x1.8p52;
  static constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
  static constexpr double series[] = {1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320,
                                      1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2};
};

template <class T> inline T expm1(T x) {
  using C = Format<T>;
  x = x < C::lowest ? C::lowest : x;
  x = x > C::highest ? C::highest : x;
  const T rounded = x * T(1.4426950408889634) + C::rounder;
  const T k = rounded - C::rounder;
  const T r = (x - k * C::ln2_high) - k * C::ln2_low;
  T p = 0;
  for (const T coefficient : C::series) p = p * r + coefficient;
  const auto exponent = std::bit_cast<typename C::Int>(rounded) + C::exponent_bias;
  const T power = std::bit_cast<T>(exponent << C::mantissa_bits);
  return power * (p * r * r + r) + (power - 1);
}
template <class T> inline T sigmoid(T z) { return T(1) / (T(2) + expm1<T>(-z)); }
template <class T> inline T elu(T z) { const T e = expm1<T>(z); return z > 0 ? z : e; }
template <class T> inline T tanh(T z) { const T e = expm1<T>(z > T(30) ? T(60) : z + z); return e / (e + T(2)); }

template <class T> void cell(int64_t B, int64_t S, T* z, const T* bias, const T* old_cell, T* new_h, T* new_cell) {
  for (int64_t b = 0; b < B; ++b) {
    T *__restrict gi = z + b * 3 * S, *__restrict go = gi + S, *__restrict gc = go + S;
    T *__restrict h = new_h + b * S, *__restrict next = new_cell + b * S;
    #pragma omp simd
    for (int64_t s = 0; s < S; ++s) {
      const T i = sigmoid(gi[s] + bias[s]), o = sigmoid(go[s] + bias[S + s]), c = elu(gc[s] + bias[2 * S + s]);
      const T cell = old_cell[b * S + s] + c * i;
      gi[s] = i;
      go[s] = o;
      gc[s] = c;
      next[s] = cell;
      h[s] = tanh(cell) * o;
    }
  }
}

template <class T>
void cell_backward(int64_t B, int64_t S, const T* d_new_h, const T* d_new_cell, const T* new_cell, const T* gates,
                   T* d_z, T* d_old_cell, T* d_bias) {
  for (int64_t s = 0; s < 3 * S; ++s) d_bias[s] = 0;
  for (int64_t b = 0; b < B; ++b) {
    const T *gi = gates + b * 3 * S, *go = gi + S, *gc = go + S;
    T *__restrict di = d_z + b * 3 * S, *__restrict d_o = di + S, *__restrict dc = d_o + S;
    T *__restrict d_old = d_old_cell + b * S, *__restrict sum = d_bias;
    #pragma omp simd
    for (int64_t s = 0; s < S; ++s) {
      const T i = gi[s], o = go[s], c = gc[s], t = tanh(new_cell[b * S + s]), d_h = d_new_h[b * S + s];
      const T d_cell = d_new_cell[b * S + s] + d_h * o * (1 - t * t);
      di[s] = d_cell * c * i * (1 - i);
      d_o[s] = d_h * t * o * (1 - o);
      dc[s] = d_cell * i * (c > 0 ? T(1) : c + 1);
      sum[s] += di[s];
      sum[S + s] += d_o[s];
      sum[2 * S + s] += dc[s];
      d_old[s] = d_cell;
    }
  }
}

void check(const char* name, TensorView tensor, TensorView first, int64_t rows, int64_t columns) {
  if (tensor.dtype() != first.dtype()) TVM_FFI_THROW(TypeError) << name << " has another dtype";
  if (tensor.ndim() != 2 || tensor.size(0) != rows || tensor.size(1) != columns)
    TVM_FFI_THROW(ValueError) << name << ": want shape (" << rows << ", " << columns << ")";
}

template <class F> void by_dtype(TensorView tensor, const F& f) {
  if (tensor.dtype().code != kDLFloat) TVM_FFI_THROW(TypeError) << "want float32 or float64";
  if (tensor.dtype().bits == 64) f(double());
  else f(float());
}

template <class T> T* data(TensorView tensor) { return static_cast<T*>(tensor.data_ptr()); }

void forward(TensorView z, TensorView bias, TensorView old_cell, TensorView new_h, TensorView new_cell) {
  // edit
  const int64_t B = old_cell.size(0), S = old_cell.size(1);
  check("z", z, z, B, 3 * S);
  check("bias", bias, z, 1, 3 * S);
  check("old_cell", old_cell, z, B, S);
  check("new_h", new_h, z, B, S);
  check("new_cell", new_cell, z, B, S);
  by_dtype(z, [&](auto zero) {
    using T = decltype(zero);
    cell<T>(B, S, data<T>(z), data<T>(bias), data<T>(old_cell), data<T>(new_h), data<T>(new_cell));
  });
}

void backward(TensorView d_new_h, TensorView d_new_cell, TensorView new_cell, TensorView gates, TensorView d_z,
              TensorView d_old_cell, TensorView d_bias) {
  const int64_t B = new_cell.size(0), S = new_cell.size(1);
  check("gates", gates, gates, B, 3 * S);
  check("d_z", d_z, gates, B, 3 * S);
  check("d_new_h", d_new_h, gates, B, S);
  check("d_new_cell", d_new_cell, gates, B, S);
  check("d_old_cell", d_old_cell, gates, B, S);
  check("d_bias", d_bias, gates, 1, 3 * S);
  by_dtype(gates, [&](auto zero) {
    using T = decltype(zero);
    cell_backward<T>(B, S, data<T>(d_new_h), data<T>(d_new_cell), data<T>(new_cell), data<T>(gates),
                     data<T>(d_z), data<T>(d_old_cell), data<T>(d_bias));
  });
}
"""


def tvm_inputs(B: int = 3, S: int = 5) -> tuple[Any, ...]:
    """Make arguments of `forward`: z, bias, old_cell and the two outputs."""
    import torch

    return torch.randn(B, 3 * S), torch.randn(1, 3 * S), torch.randn(B, S), torch.empty(B, S), torch.empty(B, S)
