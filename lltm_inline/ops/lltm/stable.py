"""LLTM's fused pass on LibTorch's stable ABI headers only.

    forward     z        = [old_h, input] weights^T                         (B, 3S)
                i, o, c  = sigmoid(z_i + b_i), sigmoid(z_o + b_o), elu(z_c + b_c)
                new_cell = old_cell + c i;   new_h = tanh(new_cell) o       (B, S)

    backward    d_cell   = d_new_cell + d_new_h o (1 - tanh(new_cell)^2)    = d_old_cell
                d_z      = [d_cell c i (1 - i),  d_new_h tanh(new_cell) o (1 - o),  d_cell i (c > 0 ? 1 : c + 1)]
                and from d_z the gradients of weights, bias, old_h and input, those that are wanted

What it changes over `lltm/fused`: not the arithmetic, but what it is written in.

* `torch/csrc/stable` has a Tensor that is a handle, and functions with a C interface. A compiler reads it in a
  fraction of the time that ATen takes, and a library built on it works with later versions of torch as it is.
* The pass is a plain loop over s. `omp simd` promises the compiler that its iterations are independent; it then makes
  vectors of whatever width the machine has. So everything in the loop must be simple arithmetic, without branches and
  without calls of libm; expm1 below is, and the choices (`z > 0 ? z : e`) become masks.
* GEMMs go through the C interface of the CPU code (`aoti_torch_cpu_mm_out`), threads through torch's own pool.
* Every call returns an error code: `STABLE_TORCH_ERROR_CODE_CHECK` turns it into an exception.

As fast as `lltm/fused`, but for a few microseconds per call (each handle is an allocation of its own), and for batches
so large that `lltm/fused` cuts the GEMM of d_weights along them (its `SPLIT`).
`GRAIN` is the number of cells (b, s) in a block of rows.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <tuple>

#define CHECK STABLE_TORCH_ERROR_CODE_CHECK

using torch::stable::Tensor;

// Named apart from those of libm, which a plain call would find for double and which do not vectorise.
namespace fast {

// expm1(x) = 2^k expm1(r) + (2^k - 1), where x = k ln 2 + r and |r| <= ln 2 / 2: a short series is exact to rounding.
// What is added to a number to round it to an integer, in the low bits of the sum, is 1.5 * 2^mantissa_bits.
inline float series(float r) {
  float p = 1.f / 5040;
  p = p * r + 1.f / 720;
  p = p * r + 1.f / 120;
  p = p * r + 1.f / 24;
  p = p * r + 1.f / 6;
  p = p * r + 1.f / 2;
  return p * r * r + r;
}

inline double series(double r) {
  double p = 1. / 6227020800;
  p = p * r + 1. / 479001600;
  p = p * r + 1. / 39916800;
  p = p * r + 1. / 3628800;
  p = p * r + 1. / 362880;
  p = p * r + 1. / 40320;
  p = p * r + 1. / 5040;
  p = p * r + 1. / 720;
  p = p * r + 1. / 120;
  p = p * r + 1. / 24;
  p = p * r + 1. / 6;
  p = p * r + 1. / 2;
  return p * r * r + r;
}

template <class T> struct Format;
template <> struct Format<float> {
  using Int = int32_t;
  static constexpr int mantissa_bits = 23, exponent_bias = 127;
  static constexpr float lowest = -87, highest = 88, rounder = 0x1.8p23f;     // 2^k stays a normal number
  static constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;  // k ln2_high is exact
};
template <> struct Format<double> {
  using Int = int64_t;
  static constexpr int mantissa_bits = 52, exponent_bias = 1023;
  static constexpr double lowest = -708, highest = 709, rounder = 0x1.8p52;
  static constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
};

template <class T> inline T expm1(T given) {
  using C = Format<T>;
  T x = given < C::lowest ? C::lowest : given;  // written so that nan stays nan
  x = x > C::highest ? C::highest : x;
  const T rounded = x * T(1.4426950408889634) + C::rounder;
  const T k = rounded - C::rounder;
  const T r = (x - k * C::ln2_high) - k * C::ln2_low;
  const auto exponent = std::bit_cast<typename C::Int>(rounded) + C::exponent_bias;
  const T power = std::bit_cast<T>(exponent << C::mantissa_bits);
  const T value = power * series(r) + (power - 1);
  return value < given ? given : value;  // e^x - 1 >= x: what is infinite stays so, and sigmoid(-inf) is 0
}

template <class T> inline T sigmoid(T z) { return T(1) / (T(2) + expm1<T>(-z)); }

template <class T> inline T elu(T z) {
  const T e = expm1<T>(z);
  return z > 0 ? z : e;
}

template <class T> inline T tanh(T z) {
  const T e = expm1<T>(z > T(30) ? T(60) : z + z);  // tanh is 1 long before 30, and e / (e + 2) must not overflow
  return e / (e + T(2));
}

}  // namespace fast

inline Tensor empty(std::initializer_list<int64_t> sizes, const Tensor& like) {
  int32_t dtype;
  CHECK(aoti_torch_get_dtype(like.get(), &dtype));
  const int64_t strides[] = {*(sizes.end() - 1), 1};
  const int64_t* first_stride = strides + (2 - sizes.size());
  AtenTensorHandle handle;
  CHECK(aoti_torch_empty_strided(
      sizes.size(), sizes.begin(), first_stride, dtype, aoti_torch_device_type_cpu(), 0, &handle));
  return Tensor(handle);
}

// A view of m; `offset` counts from m's own first element.
inline Tensor view(const Tensor& m, std::array<int64_t, 2> sizes, std::array<int64_t, 2> strides, int64_t offset) {
  AtenTensorHandle handle;
  CHECK(aoti_torch__reinterpret_tensor(
      m.get(), 2, sizes.data(), strides.data(), offset, &handle));
  return Tensor(handle);
}

// Columns first:last of a matrix, and the transpose: views.
inline Tensor columns(const Tensor& m, int64_t first, int64_t last) {
  return view(m, {m.size(0), last - first}, {m.stride(0), m.stride(1)}, first * m.stride(1));
}
inline Tensor transpose(const Tensor& m) {
  return view(m, {m.size(1), m.size(0)}, {m.stride(1), m.stride(0)}, 0);
}

inline Tensor dense(const Tensor& m) { return m.is_contiguous() ? m : torch::stable::contiguous(m); }

inline Tensor mm(const Tensor& a, const Tensor& b) {
  Tensor out = empty({a.size(0), b.size(1)}, a);
  CHECK(aoti_torch_cpu_mm_out(out.get(), a.get(), b.get()));
  return out;
}

template <class T> T* data(const Tensor& m) { return static_cast<T*>(m.data_ptr()); }

// Calls f with a number of the tensor's type.
template <class F> void by_dtype(const Tensor& m, const F& f) {
  if (m.scalar_type() == torch::headeronly::ScalarType::Double) f(double());
  else f(float());
}

inline int64_t rows_of_block(int64_t S) { return std::max<int64_t>(16, GRAIN / std::max<int64_t>(S, 1)); }
inline int64_t blocks_of(int64_t B, int64_t S) { return std::max<int64_t>(1, (B - 1) / rows_of_block(S) + 1); }

// Calls f(block, first row, last row) for all blocks of rows, on torch's threads. One block alone is done right here.
template <class F> void each_block(int64_t B, int64_t S, const F& f) {
  const int64_t rows = rows_of_block(S);
  const auto run = [&](int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) f(n, n * rows, std::min(B, (n + 1) * rows));
  };
  if (B <= rows) run(0, 1);
  else torch::stable::parallel_for(0, blocks_of(B, S), 1, run);
}

// One row: z becomes the activations i, o, c.
template <class T>
void cell(int64_t S, T* __restrict i_row, T* __restrict o_row, T* __restrict c_row, const T* __restrict bias,
          const T* __restrict old_cell, T* __restrict new_h, T* __restrict new_cell) {
  #pragma omp simd
  for (int64_t s = 0; s < S; ++s) {
    const T i = fast::sigmoid(i_row[s] + bias[s]);
    const T o = fast::sigmoid(o_row[s] + bias[S + s]);
    const T c = fast::elu(c_row[s] + bias[2 * S + s]);
    const T next = old_cell[s] + c * i;
    i_row[s] = i;
    o_row[s] = o;
    c_row[s] = c;
    new_cell[s] = next;
    new_h[s] = fast::tanh(next) * o;
  }
}

std::tuple<Tensor, Tensor, Tensor> forward(
    const Tensor& input, const Tensor& weights, const Tensor& bias, const Tensor& old_h, const Tensor& old_cell) {
  const int64_t B = input.size(0), F = input.size(1), S = old_h.size(1);
  Tensor new_h = empty({B, S}, input), new_cell = empty({B, S}, input);
  Tensor gates = mm(old_h, transpose(columns(weights, 0, S)));
  const Tensor rest = transpose(columns(weights, S, S + F));
  CHECK(aoti_torch_cpu_addmm_out(gates.get(), gates.get(), input.get(), rest.get(), 1, 1));

  const Tensor bias_row = dense(bias), old_cell_rows = dense(old_cell);  // kept alive while pointers are in use
  by_dtype(input, [&](auto zero) {
    using T = decltype(zero);
    T *z = data<T>(gates), *h = data<T>(new_h), *next = data<T>(new_cell);
    const T *b_row = data<T>(bias_row), *old = data<T>(old_cell_rows);
    each_block(B, S, [=](int64_t, int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        T* row = z + b * 3 * S;
        cell<T>(S, row, row + S, row + 2 * S, b_row, old + b * S, h + b * S, next + b * S);
      }
    });
  });
  return {new_h, new_cell, gates};
}

// One row of d_z and, unless it is null, of d_old_cell; d_z is added to `sum` on the way.
template <class T>
void cell_backward(int64_t S, const T* __restrict gates, const T* __restrict new_cell, const T* __restrict d_new_h,
                   const T* __restrict d_new_cell, T* __restrict d_z, T* __restrict d_old_cell, T* __restrict sum) {
  #pragma omp simd
  for (int64_t s = 0; s < S; ++s) {
    const T i = gates[s], o = gates[S + s], c = gates[2 * S + s], t = fast::tanh(new_cell[s]);
    const T d_cell = d_new_cell[s] + d_new_h[s] * o * (1 - t * t);
    const T d_i = d_cell * c * i * (1 - i);
    const T d_o = d_new_h[s] * t * o * (1 - o);
    const T d_c = d_cell * i * (c > 0 ? T(1) : c + 1);
    d_z[s] = d_i;
    d_z[S + s] = d_o;
    d_z[2 * S + s] = d_c;
    if (d_old_cell) d_old_cell[s] = d_cell;
    sum[s] += d_i;
    sum[S + s] += d_o;
    sum[2 * S + s] += d_c;
  }
}

// [old_h, input], a row next to a row.
Tensor concatenate(const Tensor& old_h, const Tensor& input) {
  const int64_t B = input.size(0), F = input.size(1), S = old_h.size(1);
  const Tensor both = empty({B, S + F}, input), left_rows = dense(old_h), right_rows = dense(input);
  by_dtype(input, [&](auto zero) {
    using T = decltype(zero);
    const T *left = data<T>(left_rows), *right = data<T>(right_rows);
    T* out = data<T>(both);
    each_block(B, S + F, [=](int64_t, int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        std::copy_n(left + b * S, S, out + b * (S + F));
        std::copy_n(right + b * F, F, out + b * (S + F) + S);
      }
    });
  });
  return both;
}

// d_bias (3S): the sum over rows of `sums`.
Tensor sum_of_rows(const Tensor& sums) {
  const int64_t rows = sums.size(0), width = sums.size(1);
  const Tensor total = empty({width}, sums);
  by_dtype(sums, [&](auto zero) {
    using T = decltype(zero);
    const T* row = data<T>(sums);
    T* out = data<T>(total);
    std::copy_n(row, width, out);
    for (int64_t n = 1; n < rows; ++n) {
      for (int64_t j = 0; j < width; ++j) out[j] += row[n * width + j];
    }
  });
  return total;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> backward(
    const Tensor& d_new_h, const Tensor& d_new_cell, const Tensor& input, const Tensor& weights, const Tensor& old_h,
    const Tensor& new_cell, const Tensor& gates, std::array<bool, 5> wanted) {
  const int64_t B = input.size(0), F = input.size(1), S = old_h.size(1);
  const Tensor d_h_rows = dense(d_new_h), d_cell_rows = dense(d_new_cell);  // gradients may come expanded
  const Tensor d_z = empty({B, 3 * S}, input), d_old_cell = wanted[4] ? empty({B, S}, input) : Tensor();
  const Tensor sums = empty({blocks_of(B, S), 3 * S}, input);  // of d_z, a row for each block
  by_dtype(input, [&](auto zero) {
    using T = decltype(zero);
    const T *g = data<T>(gates), *next = data<T>(new_cell), *d_h = data<T>(d_h_rows), *d_c = data<T>(d_cell_rows);
    T *dz = data<T>(d_z), *d_old = wanted[4] ? data<T>(d_old_cell) : nullptr, *sums_p = data<T>(sums);
    each_block(B, S, [=](int64_t block, int64_t first, int64_t last) {
      T* sum = sums_p + block * 3 * S;
      std::fill_n(sum, 3 * S, T(0));
      for (int64_t b = first; b < last; ++b) {
        const int64_t at = b * S;
        cell_backward<T>(S, g + 3 * at, next + at, d_h + at, d_c + at, dz + 3 * at, d_old ? d_old + at : nullptr, sum);
      }
    });
  });
  return {
      wanted[0] ? mm(d_z, columns(weights, S, S + F)) : Tensor(),
      wanted[1] ? mm(transpose(d_z), concatenate(old_h, input)) : Tensor(),
      wanted[2] ? sum_of_rows(sums) : Tensor(),
      wanted[3] ? mm(d_z, columns(weights, 0, S)) : Tensor(),
      d_old_cell,
  };
}
"""

KERNEL = Kernel(
    "lltm/stable",
    cpp=CPP,
    params={"GRAIN": 2048},
    saves=("input", "weights", "old_h", "new_cell"),
    api="stable",
    doc=__doc__ or "",
)
