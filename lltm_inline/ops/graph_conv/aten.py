"""Graph convolution in C++ with ATen: the tutorial's extension, with all four gradients.

    forward     y   = (a x) w + b                                       (N, O)
    backward    d_z = d_y w^T                                           (N, F)
                d_a = d_z x^T                                           (N, N)
                d_x = a^T d_z                                           (N, F)
                d_w = (a x)^T d_y                                       (F, O)
                d_b = sum of d_y over the nodes                         (O)

What it changes over `graph_conv/function`: the language, and nothing else. Each line calls the BLAS that PyTorch calls,
and at large sizes it takes as long. At small ones the microseconds of Python in backward are gone.

The tutorial's own C++ extension was slower than plain PyTorch, 78.8 s against 27.5 s. C++ does not cost that: compiled
without optimisation, as plain `load_inline` does, this text is as fast, because all the work is inside the library.
What takes time is what is computed:

* backward makes d_a and d_x though both are data. With a x that is three products of N N F multiply-adds where PyTorch
  has one, so 3 times its time where N is much larger than O, and that is nearly what the tutorial saw.
* a x, if it is not kept for d_w but multiplied out again, is a fourth.

`benchmarks/graph_conv.py` times a text of that kind and takes these away one by one. Here each product asks first
whether it is wanted (`wanted`, in the order of the op's inputs), and a x is kept: an extra tensor behind the output.
"""

from __future__ import annotations

from ...model.registry import Kernel

CPP = r"""
#include <ATen/ATen.h>

std::tuple<at::Tensor, at::Tensor> forward(
    const at::Tensor& a, const at::Tensor& x, const at::Tensor& w, const at::Tensor& b) {
  const at::Tensor neighbours = a.mm(x);
  return {neighbours.mm(w) + b, neighbours};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward(
    const at::Tensor& d_y, const at::Tensor& a, const at::Tensor& x, const at::Tensor& w, const at::Tensor& neighbours,
    std::array<bool, 4> wanted) {
  at::Tensor d_a, d_x, d_w, d_b;
  if (wanted[0] || wanted[1]) {
    const at::Tensor d_neighbours = d_y.mm(w.t());
    if (wanted[0]) d_a = d_neighbours.mm(x.t());
    if (wanted[1]) d_x = a.t().mm(d_neighbours);
  }
  if (wanted[2]) d_w = neighbours.t().mm(d_y);
  if (wanted[3]) d_b = d_y.sum(0);
  return {d_a, d_x, d_w, d_b};
}
"""

KERNEL = Kernel("graph_conv/aten", cpp=CPP, saves=("a", "x", "w"), doc=__doc__ or "")
