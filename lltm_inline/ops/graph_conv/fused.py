"""Graph convolution with no product that it can do without.

    forward     F < 2 O:    p = a x   (N, F),   y = p w + b                         N N F + N F O multiply-adds
                else:       p = x w   (N, O),   y = a p + b                         N N O + N F O

    backward    F < 2 O:    d_w = p^T d_y                                           N F O
                else:       r = a^T d_y,        d_w = x^T r                         N N O + N F O
                F <= O:     q = d_y w^T,        d_a = q x^T,        d_x = a^T q     width F
                F > O:      r = a^T d_y,        d_a = d_y (x w)^T,  d_x = r w^T     width O
                            d_b = sum of d_y over the nodes

What it changes over `graph_conv/aten`, which always goes through (a x) w:

* The order, found by counting multiply-adds. All orders have the same terms N F O; what differs is the width of the products
  with the large a. Through (a x) w there is one of width F in forward, and d_w costs none, because a x is kept; through
  a (x w) there is one of width O in each direction. So F is compared with 2 O. Where a network narrows from 256
  features to 64, at 1024 nodes, forward takes a third of the time of (a x) w, and both directions two thirds.
* d_a and d_x have their own choice, of whichever width is the smaller.
* What is there is used: p is kept for backward, and r serves two gradients. p is kept in a buffer of (N, 2 O), which
  has room for either product, a x being taken only if F < 2 O. (A shape that depends on which of two numbers is
  smaller could not be told to torch.compile.)
* b goes into y before the last product, which adds to what it finds: no pass over y afterwards.
* Only what is wanted, and no q or r if nobody wants what follows from it. Transposes are views that BLAS reads as they are.
* Each product by the faster of MKL, which is what `mm` is, and oneDNN, measured when a size of its class first comes
  (`lltm_inline/ops/gemm.py`). oneDNN must be far ahead, `AHEAD`, as it is where a large a meets a narrow matrix: a lead of
  a tenth, measured alone on an AMD Zen 4, turns into a loss among other products.
* No dispatcher: `at::cpu::` names the CPU code itself.

No kernel has fewer multiply-adds in forward and backward together, where of the four only w and b want gradients. Forward
alone would have fewer through a (x w) from F > O on, and so would a hidden layer, whose x wants a gradient, too; but
forward cannot know what backward will be asked for. Where F < 2 O, the products are
PyTorch's own; what is gained there is the pass over y, the microseconds of the calls, and the faster library.

`GRAIN` is the number of bytes of y that one thread fills with b at least; the others are those of `gemm.py`.
"""

from __future__ import annotations

from ...model.registry import Kernel
from .. import gemm

HEADERS = """\
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/sum_cpu_dispatch.h>
#include <cstring>
"""

TEXT = r"""
inline at::Tensor empty(at::IntArrayRef sizes, const at::Tensor& like) { return at::cpu::empty(sizes, like.options()); }

// A view, made without the dispatcher.
inline at::Tensor transpose(const at::Tensor& m) {
  return at::cpu::as_strided(m, {m.size(1), m.size(0)}, {m.stride(1), m.stride(0)}, m.storage_offset());
}

at::Tensor product(const char* name, const at::Tensor& a, const at::Tensor& b) {
  return gemm::faster(name, a, a.size(0), b.size(1), a.size(1),
      [&] { return gemm::mkl(a, b); }, [&] { return gemm::onednn(a, b); });
}

// The same row in every row, written as bytes: a copy need not know what they mean.
at::Tensor rows_of(const at::Tensor& row, int64_t count) {
  at::Tensor out = empty({count, row.size(0)}, row);
  const size_t bytes = row.nbytes();
  const char* from = static_cast<const char*>(row.const_data_ptr());
  char* to = static_cast<char*>(out.mutable_data_ptr());
  at::parallel_for(0, count, GRAIN / (bytes + 1) + 1, [=](int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) std::memcpy(to + n * bytes, from, bytes);
  });
  return out;
}

// a b + row: the last product adds to what it finds.
at::Tensor product_plus_row(const at::Tensor& a, const at::Tensor& b, const at::Tensor& row) {
  const at::Tensor dense = row.contiguous();  // kept alive while its pointer is in use
  const auto mkl = [&] {
    at::Tensor out = rows_of(dense, a.size(0));
    return at::cpu::addmm_(out, a, b);
  };
  return gemm::faster("y", a, a.size(0), b.size(1), a.size(1), mkl, [&] { return gemm::onednn(a, b, &dense); });
}

// Whether forward goes through a x: one product with a, of width F, in place of two of width O, one in each direction.
inline bool neighbours_first(const at::Tensor& w) { return w.size(0) < 2 * w.size(1); }

// The first elements of a buffer as a matrix of so many columns.
inline at::Tensor matrix_in(const at::Tensor& buffer, int64_t columns) {
  return at::cpu::as_strided(buffer, {buffer.size(0), columns}, {columns, 1}, buffer.storage_offset());
}

// a b at the start of a buffer of so many columns.
at::Tensor product_in_buffer(const char* name, const at::Tensor& a, const at::Tensor& b, int64_t columns) {
  return gemm::faster(name, a, a.size(0), b.size(1), a.size(1), [&] {
    const at::Tensor buffer = empty({a.size(0), columns}, a);
    at::Tensor p = matrix_in(buffer, b.size(1));
    at::cpu::mm_out(p, a, b);
    return buffer;
  }, [&] {
    const at::Tensor buffer = empty({a.size(0), columns}, a), p = gemm::onednn(a, b);
    std::memcpy(buffer.mutable_data_ptr(), p.const_data_ptr(), p.nbytes());
    return buffer;
  });
}

std::tuple<at::Tensor, at::Tensor> forward(
    const at::Tensor& a, const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
  const int64_t F = w.size(0), O = w.size(1);
  if (neighbours_first(w)) {
    const at::Tensor kept = product_in_buffer("a x", a, x, 2 * O);
    return {product_plus_row(matrix_in(kept, F), w, b), kept};
  }
  const at::Tensor kept = product_in_buffer("x w", x, w, 2 * O);
  return {product_plus_row(a, matrix_in(kept, O), b), kept};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& d_y, const at::Tensor& a, const at::Tensor& x, const at::Tensor& w, const at::Tensor& kept,
    std::array<bool, 4> wanted) {
  const int64_t F = w.size(0), O = w.size(1);
  const bool has_ax = neighbours_first(w);
  at::Tensor d_a, d_x, d_w, d_b, r;
  if (wanted[2] && has_ax) d_w = product("d_w", transpose(matrix_in(kept, F)), d_y);
  if ((wanted[1] && F > O) || (wanted[2] && !has_ax)) r = product("a^T d_y", transpose(a), d_y);
  if (wanted[2] && !has_ax) d_w = product("d_w", transpose(x), r);
  if (F > O) {
    if (wanted[0]) d_a = product("d_a", d_y, transpose(has_ax ? product("x w", x, w) : matrix_in(kept, O)));
    if (wanted[1]) d_x = product("d_x", r, transpose(w));
  } else if (wanted[0] || wanted[1]) {
    const at::Tensor q = product("d_y w^T", d_y, transpose(w));
    if (wanted[0]) d_a = product("d_a", q, transpose(x));
    if (wanted[1]) d_x = product("d_x", transpose(a), q);
  }
  if (wanted[3]) at::cpu::sum_out(d_b = empty({O}, d_y), d_y, at::IntArrayRef{0});
  return {d_a, d_x, d_w, d_b};
}
"""

KERNEL = Kernel(
    "graph_conv/fused",
    cpp=HEADERS + gemm.HEADERS + gemm.TEXT + TEXT.lstrip("\n"),
    params={"GRAIN": 1 << 17, **gemm.PARAMS, "AHEAD": 0.6},
    saves=("a", "x", "w"),
    doc=__doc__ or "",
)
