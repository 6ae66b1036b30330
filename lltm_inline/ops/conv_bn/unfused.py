"""Convolution and batch normalisation in C++ as two layers one after the other, each of which keeps what it needs.

    forward     z = conv2d(x, w);   y = (z - mean) r,   r = 1 / (sqrt(var) + eps)
                kept: x and w by the convolution, z and (mean, r, slope) of each channel by the normalisation

    backward    y   = (z - mean) r once more, on the fly
                d_z = r (g - mean of g) - y slope sum(g y),             slope = 1 / ((N-1) sqrt(var)),  g = d_y
                d_x, d_w from d_z, x and w, as two convolutions

What it changes over `conv_bn/python`, for which autograd keeps z twice, as z - mean and as the input of `std`,
and a graph of four nodes: the derivative of the normalisation is worked out by hand and needs z once. The loops are
those of `batch_norm2d/aten`, the convolutions those of `conv2d/aten`, which say how they are made, and there is almost
nothing between them.

It is here to be compared with. Between forward and backward a stack of such layers holds two images per layer, y (the
next layer's x) and z. `conv_bn/fused` holds one.
"""

from __future__ import annotations

from ...model.registry import Kernel
from ..batch_norm2d import aten as batch_norm2d
from ..conv2d import aten as conv2d

#: What `fused` shares with this kernel: the ops of two other rooms, and the one size that is an error here.
SHARED = (
    conv2d.CONVOLUTION
    + batch_norm2d.PASSES
    + r"""
inline void refuse_one_value(const at::Tensor& z) {
  TORCH_CHECK_VALUE(
      z.size(0) * z.size(2) * z.size(3) != 1, "conv_bn: the variance of one value per channel is undefined: the convolution has shape ",
      z.sizes(), ", want B*(H-K+1)*(W-L+1) > 1");
}
"""
)

CPP = (
    SHARED
    + r"""
std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& w, double eps) {
  at::Tensor z = convolution(x, w);
  refuse_one_value(z);
  at::Tensor y = at::cpu::empty(z.sizes(), z.options());
  at::Tensor statistics = normalise(z, y, eps);
  return {y, z, statistics};
}

std::tuple<at::Tensor, at::Tensor> backward(
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& z, const at::Tensor& statistics,
    std::array<bool, 2> wanted) {
  if (!wanted[0] && !wanted[1]) return {};
  const at::Tensor d_z = at::cpu::empty(z.sizes(), z.options());
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, d_z, statistics);
  return convolution_backward(d_z, x, w, wanted[0], wanted[1]);
}
"""
)

PARAMS = {**conv2d.PARAMS, **batch_norm2d.PARAMS}

KERNEL = Kernel("conv_bn/unfused", cpp=CPP, params=PARAMS, saves=("x", "w"), doc=__doc__ or "")
