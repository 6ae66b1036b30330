"""LLTM with everything but the GEMMs in one vectorised, parallel pass.

    forward     z        = [old_h, input] weights^T                         (B, 3S)
                i, o, c  = sigmoid(z_i + b_i), sigmoid(z_o + b_o), elu(z_c + b_c)
                new_cell = old_cell + c i                                   (B, S)
                new_h    = tanh(new_cell) o                                 (B, S)

    backward    t        = tanh(new_cell)
                d_cell   = d_new_cell + d_new_h o (1 - t^2)                 = d_old_cell
                d_z      = [d_cell c i (1 - i),  d_new_h t o (1 - o),  d_cell i elu'(c)],   elu' = 1 if c > 0 else c + 1
                d_bias   = sum of d_z over the batch
                d_weights = d_z^T [old_h, input]
                d_old_h, d_input = d_z weights[:, :S], d_z weights[:, S:]

What it changes over `lltm/aten`, where each line of these formulas is a call that reads and writes whole matrices:

* One pass. A row of z is read once, and everything that follows from it is computed in registers. The bias is added in
  this pass, so the GEMM does not need it; d_bias is summed in this pass, so d_z is not read again for it.
* In place. The activations i, o, c overwrite z, which is not needed any more. elu' comes from the saved c, so no
  exponential can overflow; t is computed again rather than kept.
* One exponential. sigmoid, elu and tanh all follow from expm1, which is a dozen multiply-adds over a whole vector.
  Calling the library's exp, expm1 and tanh instead (write `z.exp()` and see) costs twice the time of the pass.
* No concatenation in forward: z is the sum of two products, and the halves of `weights` are views. Backward builds
  [old_h, input] only if d_weights is wanted, because there one long GEMM is faster than two.
* Only what is wanted: one GEMM for each gradient that is wanted, so d_old_h and d_input each cost only their own.
* No dispatcher. `at::cpu::` names the CPU code itself: a microsecond less per call, where a whole forward pass at
  (16, 32, 128) takes twenty.

Threads are torch's own (`torch_parallel_for`): clang's OpenMP would bring a second pool, whose threads spin against
torch's, and make the kernel ten times slower. Work is cut into blocks of rows that do not depend on the number of
threads, and so d_bias does not either. Less than one block is done right here: waking threads takes microseconds.

`GRAIN` is the number of cells (b, s) in a block. `SPLIT`: above this number of rows per thread the GEMM of d_weights is
cut along the batch, one product per thread, because BLAS would cut its small result instead, with too little work for each thread.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/cpu/vec/vec.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/empty_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/sum_cpu_dispatch.h>
#include <torch/csrc/stable/c/shim.h>

// expm1(x) = 2^k expm1(r) + (2^k - 1) with x = k ln 2 + r and |r| <= ln 2 / 2, where a short series is exact enough.
template <class T> struct Expm1;
template <> struct Expm1<float> {
  static constexpr float lowest = -87, highest = 88;                          // 2^k stays a normal number
  static constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;  // k ln2_high is exact
  static constexpr int mantissa_bits = 23, exponent_bias = 127;
  static constexpr float series[] = {1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2};
};
template <> struct Expm1<double> {
  static constexpr double lowest = -708, highest = 709;
  static constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
  static constexpr int mantissa_bits = 52, exponent_bias = 1023;
  static constexpr double series[] = {1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800,
                                      1. / 362880,     1. / 40320,     1. / 5040,     1. / 720,
                                      1. / 120,        1. / 24,        1. / 6,        1. / 2};
};

template <class V> V expm1(V given) {
  using namespace at::vec;
  using T = typename V::value_type;
  using Int = int_same_size_t<T>;
  using C = Expm1<T>;
  const V x = clamp(given, V(C::lowest), V(C::highest));
  const V k = (x * V(1.4426950408889634)).round();
  const V r = fmadd(k, V(-C::ln2_low), fmadd(k, V(-C::ln2_high), x));
  V p(0);
  for (const T coefficient : C::series) p = fmadd(p, r, V(coefficient));
  const auto exponent = convert_to_int_of_same_size(k) + Vectorized<Int>(C::exponent_bias);
  const V power = cast<T>(exponent << Vectorized<Int>(C::mantissa_bits));
  // e^x - 1 >= x: what is infinite stays so, and sigmoid(-inf) is 0.
  return maximum(given, fmadd(power, fmadd(p * r, r, r), power - V(1)));
}

template <class V> V sigmoid(V z) { return V(1) / (V(2) + expm1(z.neg())); }
template <class V> V elu(V z) { return V::blendv(expm1(z), z, z > V(0)); }
template <class V> V tanh(V z) {
  const V e = expm1(at::vec::minimum(z + z, V(60)));  // tanh is 1 long before 30, and e / (e + 2) must not overflow
  return e / (e + V(2));
}

inline int64_t rows_of_block(int64_t S) { return std::max<int64_t>(16, GRAIN / std::max<int64_t>(S, 1)); }
inline int64_t blocks_of(int64_t B, int64_t S) { return std::max<int64_t>(1, (B - 1) / rows_of_block(S) + 1); }

// Calls f(block, first row, last row) for all blocks of rows, on torch's threads. One block alone is done right here.
template <class F> void each_block(int64_t B, int64_t S, const F& f) {
  const int64_t rows = rows_of_block(S);
  const auto run = [&](int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) f(n, n * rows, std::min(B, (n + 1) * rows));
  };
  if (B <= rows) return run(0, 1);
  const auto call = [](int64_t first, int64_t last, void* g) { (*static_cast<decltype(run)*>(g))(first, last); };
  torch_parallel_for(0, blocks_of(B, S), 1, call, const_cast<void*>(static_cast<const void*>(&run)));
}

// Calls f(s, load, store) for the columns of one row, a vector at a time; the last vector may be a part of one.
template <class V, class F> void each_vector(int64_t S, const F& f) {
  using T = typename V::value_type;
  int64_t s = 0;
  for (; s + V::size() <= S; s += V::size()) {
    f(s, [](const T* from) { return V::loadu(from); }, [](T* to, const V& v) { v.store(to); });
  }
  if (const int n = S - s; n > 0) {
    f(s, [n](const T* from) { return V::loadu(from, n); }, [n](T* to, const V& v) { v.store(to, n); });
  }
}

inline at::Tensor empty(at::IntArrayRef sizes, const at::Tensor& like) { return at::cpu::empty(sizes, like.options()); }

// Columns first:last of a matrix, and the transpose: views, made without the dispatcher.
inline at::Tensor view(const at::Tensor& m, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset = 0) {
  return at::cpu::as_strided(m, sizes, strides, m.storage_offset() + offset);
}
inline at::Tensor columns(const at::Tensor& m, int64_t first, int64_t last) {
  return view(m, {m.size(0), last - first}, m.strides(), first * m.stride(1));
}
inline at::Tensor transpose(const at::Tensor& m) {
  return view(m, {m.size(1), m.size(0)}, {m.stride(1), m.stride(0)});
}

// z (B, 3S) becomes the activations i, o, c.
template <class T>
void cell(const at::Tensor& z, const at::Tensor& bias, const at::Tensor& old_cell, const at::Tensor& new_h,
          const at::Tensor& new_cell) {
  using V = at::vec::Vectorized<T>;
  const int64_t B = old_cell.size(0), S = old_cell.size(1);
  const T *bias_p = bias.const_data_ptr<T>(), *old_cell_p = old_cell.const_data_ptr<T>();
  T* z_p = z.mutable_data_ptr<T>();
  T *new_h_p = new_h.mutable_data_ptr<T>(), *new_cell_p = new_cell.mutable_data_ptr<T>();
  each_block(B, S, [=](int64_t, int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      T* gates = z_p + b * 3 * S;
      each_vector<V>(S, [=](int64_t s, auto load, auto store) {
        T *gate_i = gates + s, *gate_o = gate_i + S, *gate_c = gate_o + S;
        const V i = sigmoid(load(gate_i) + load(bias_p + s));
        const V o = sigmoid(load(gate_o) + load(bias_p + S + s));
        const V c = elu(load(gate_c) + load(bias_p + 2 * S + s));
        const V next = load(old_cell_p + b * S + s) + c * i;
        store(gate_i, i);
        store(gate_o, o);
        store(gate_c, c);
        store(new_cell_p + b * S + s, next);
        store(new_h_p + b * S + s, tanh(next) * o);
      });
    }
  });
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(
    const at::Tensor& input, const at::Tensor& weights, const at::Tensor& bias, const at::Tensor& old_h,
    const at::Tensor& old_cell) {
  const int64_t B = input.size(0), F = input.size(1), S = old_h.size(1);
  at::Tensor gates = empty({B, 3 * S}, input), new_h = empty({B, S}, input), new_cell = empty({B, S}, input);
  at::cpu::mm_out(gates, old_h, transpose(columns(weights, 0, S)));
  at::cpu::addmm_(gates, input, transpose(columns(weights, S, S + F)));
  const at::Tensor bias_row = bias.contiguous(), old_cell_rows = old_cell.contiguous();  // kept while in use
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "lltm", [&] {
    cell<scalar_t>(gates, bias_row, old_cell_rows, new_h, new_cell);
  });
  return {new_h, new_cell, gates};
}

// d_z (B, 3S), d_old_cell (B, S) if it is defined, and in row n of `sums` the sum of d_z over block n.
template <class T>
void cell_backward(
    const at::Tensor& d_new_h, const at::Tensor& d_new_cell, const at::Tensor& new_cell, const at::Tensor& gates,
    const at::Tensor& d_z, const at::Tensor& d_old_cell, const at::Tensor& sums) {
  using V = at::vec::Vectorized<T>;
  const int64_t B = new_cell.size(0), S = new_cell.size(1);
  const T *gates_p = gates.const_data_ptr<T>(), *new_cell_p = new_cell.const_data_ptr<T>();
  const T *d_new_h_p = d_new_h.const_data_ptr<T>(), *d_new_cell_p = d_new_cell.const_data_ptr<T>();
  T *d_z_p = d_z.mutable_data_ptr<T>(), *sums_p = sums.mutable_data_ptr<T>();
  T* d_old_cell_p = d_old_cell.defined() ? d_old_cell.mutable_data_ptr<T>() : nullptr;
  each_block(B, S, [=](int64_t block, int64_t first, int64_t last) {
    T* sum = sums_p + block * 3 * S;
    std::fill_n(sum, 3 * S, T(0));
    for (int64_t b = first; b < last; ++b) {
      each_vector<V>(S, [=](int64_t s, auto load, auto store) {
        const T* gate = gates_p + b * 3 * S + s;
        const V i = load(gate), o = load(gate + S), c = load(gate + 2 * S), t = tanh(load(new_cell_p + b * S + s));
        const V d_h = load(d_new_h_p + b * S + s);
        const V d_cell = load(d_new_cell_p + b * S + s) + d_h * o * (V(1) - t * t);
        const V d_i = d_cell * c * i * (V(1) - i);
        const V d_o = d_h * t * o * (V(1) - o);
        const V d_c = d_cell * i * V::blendv(c + V(1), V(1), c > V(0));
        T* d_gate = d_z_p + b * 3 * S + s;
        store(d_gate, d_i);
        store(d_gate + S, d_o);
        store(d_gate + 2 * S, d_c);
        store(sum + s, load(sum + s) + d_i);
        store(sum + S + s, load(sum + S + s) + d_o);
        store(sum + 2 * S + s, load(sum + 2 * S + s) + d_c);
        if (d_old_cell_p) store(d_old_cell_p + b * S + s, d_cell);
      });
    }
  });
}

// [old_h, input], a row next to a row.
at::Tensor concatenate(const at::Tensor& old_h, const at::Tensor& input) {
  const int64_t B = input.size(0), F = input.size(1), S = old_h.size(1);
  at::Tensor both = empty({B, S + F}, input);
  const at::Tensor left = old_h.contiguous(), right = input.contiguous();
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "lltm", [&] {
    const scalar_t *left_p = left.const_data_ptr<scalar_t>(), *right_p = right.const_data_ptr<scalar_t>();
    scalar_t* both_p = both.mutable_data_ptr<scalar_t>();
    each_block(B, S + F, [=](int64_t, int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        std::copy_n(left_p + b * S, S, both_p + b * (S + F));
        std::copy_n(right_p + b * F, F, both_p + b * (S + F) + S);
      }
    });
  });
  return both;
}

// a^T b for a (B, M) and b (B, N), both dense.
at::Tensor product_over_batch(const at::Tensor& a, const at::Tensor& b) {
  const int64_t B = a.size(0), M = a.size(1), N = b.size(1);
  at::Tensor out = empty({M, N}, a);
  uint32_t threads = 1;
  torch_get_num_threads(&threads);
  const int64_t parts = threads, rows = B / parts;
  if (parts == 1 || rows < SPLIT) return at::cpu::mm_out(out, transpose(a), b);
  at::Tensor products = empty({parts, M, N}, a);
  at::cpu::bmm_out(products, view(a, {parts, M, rows}, {rows * M, 1, M}), view(b, {parts, rows, N}, {rows * N, N, 1}));
  at::cpu::sum_out(out, products, at::IntArrayRef{0});
  const int64_t done = parts * rows, rest = B - done;
  if (rest) at::cpu::addmm_(out, view(a, {M, rest}, {1, M}, done * M), view(b, {rest, N}, {N, 1}, done * N));
  return out;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& d_new_h, const at::Tensor& d_new_cell, const at::Tensor& input, const at::Tensor& weights,
    const at::Tensor& old_h, const at::Tensor& new_cell, const at::Tensor& gates, std::array<bool, 5> wanted) {
  const int64_t B = input.size(0), F = input.size(1), S = old_h.size(1), blocks = blocks_of(B, S);
  const at::Tensor d_h_rows = d_new_h.contiguous(), d_cell_rows = d_new_cell.contiguous();  // they may be expanded
  const at::Tensor d_z = empty({B, 3 * S}, input), sums = empty({blocks, 3 * S}, input);
  at::Tensor d_input, d_weights, d_bias, d_old_h, d_old_cell;
  if (wanted[4]) d_old_cell = empty({B, S}, input);
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "lltm", [&] {
    cell_backward<scalar_t>(d_h_rows, d_cell_rows, new_cell, gates, d_z, d_old_cell, sums);
  });
  if (wanted[0]) at::cpu::mm_out(d_input = empty({B, F}, input), d_z, columns(weights, S, S + F));
  if (wanted[1]) d_weights = product_over_batch(d_z, concatenate(old_h, input));
  if (wanted[2]) d_bias = blocks == 1 ? view(sums, {3 * S}, {1}) : sums.sum(0);
  if (wanted[3]) at::cpu::mm_out(d_old_h = empty({B, S}, input), d_z, columns(weights, 0, S));
  return {d_input, d_weights, d_bias, d_old_h, d_old_cell};
}
"""

KERNEL = Kernel(
    "lltm/fused",
    cpp=CPP,
    params={"GRAIN": 2048, "SPLIT": 256},
    saves=("input", "weights", "old_h", "new_cell"),
    doc=__doc__ or "",
)
