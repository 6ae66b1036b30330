"""Convolution and batch normalisation as one layer that keeps its input and filters, and computes the rest again.

    forward     z = conv2d(x, w);   y = (z - mean) r, written over z
                kept: x, w, and (mean, r, slope) of each channel

    backward    z   = conv2d(x, w) once more;   y = (z - mean) r on the fly
                d_z = r (g - mean of g) - y slope sum(g y), written over z
                d_x, d_w from d_z, x and w, as two convolutions

with r = 1 / (sqrt(var) + eps), slope = 1 / ((N-1) sqrt(var)), N values per channel, and g = d_y.

What it changes over `conv_bn/unfused`: z is not kept. It is the one tensor that only this layer uses: x is the y of
the layer before, and y is the x of the next one. So a stack holds only x per layer in place of x and z: half of
`unfused`, a third of what autograd holds for `python`. (To throw away and compute again is known as checkpointing; with
`torch.utils.checkpoint` PyTorch does it for any piece of a network.)

What it costs: one convolution more, where forward and backward together have three, so a third more time. What it does
not change: the peak of one layer's own work. While backward runs, z is there again, as d_z, and d_x beside it, and
whatever the library needs for its convolution; what falls is the sum over the layers that wait, so in a stack of four
the peak falls by a third only. Both passes work in place, z becomes y and later z becomes d_z, so that this kernel
never holds two tensors of z's size of its own at once: `unfused` does, in both directions.

Statistics are kept and not computed again: three numbers per channel are cheaper than a pass over z, and the very ones
that made y.

It is possible to go further: y itself holds all that the derivative of the normalisation needs (`batch_norm2d/aten` saves nothing
else), and y is an output, which the next layer keeps anyway. A kernel that saves x, w and y holds no more in a stack
than this one and computes nothing again; only the last layer's y, or one that goes into something that does not keep
its input, is then held for its own sake. Try it: a line of backward, and
`saves=("x", "w", "y")`.
"""

from __future__ import annotations

from ...model.registry import Kernel
from .unfused import PARAMS, SHARED

CPP = (
    SHARED
    + r"""
std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& w, double eps) {
  at::Tensor z = convolution(x, w);
  refuse_one_value(z);
  at::Tensor statistics = normalise(z, z, eps);
  return {z, statistics};
}

std::tuple<at::Tensor, at::Tensor> backward(
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& w, const at::Tensor& statistics, std::array<bool, 2> wanted) {
  if (!wanted[0] && !wanted[1]) return {};
  const at::Tensor z = convolution(x, w);
  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);
  return convolution_backward(z, x, w, wanted[0], wanted[1]);
}
"""
)

KERNEL = Kernel("conv_bn/fused", cpp=CPP, params=PARAMS, saves=("x", "w"), doc=__doc__ or "")
