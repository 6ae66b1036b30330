"""Graph convolution as a `torch.autograd.Function` in Python: the derivative written down.

    forward     y   = (a x) w + b                                       (N, O)
    backward    d_z = d_y w^T                                           (N, F)
                d_a = d_z x^T                                           (N, N)
                d_x = a^T d_z                                           (N, F)
                d_w = (a x)^T d_y                                       (F, O)
                d_b = sum of d_y over the nodes                         (O)

What it changes over `graph_conv/python`: autograd has one node for the whole, not one for each product, and calls this
class. The products are the same ones, so large sizes gain nothing; small ones lose, since Python now runs in backward.

* `ctx.needs_input_grad` says what is wanted, in the order of the arguments. Without these questions d_a and d_x cost
  N N F multiply-adds each, as much as the whole of forward, where a and x are data that want no gradient at all.
* What backward needs again is saved, not computed again: a x is a third such product.
* `once_differentiable`: backward computes below autograd, so a second derivative would be silently zero. It is an error.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ...model.registry import Kernel


class GraphConv(torch.autograd.Function):
    """y = a x w + b with its derivative."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        """Compute y and keep a x for d_w."""
        neighbours = a.mm(x)
        ctx.save_for_backward(a, x, w, neighbours)
        return neighbours.mm(w) + b

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the gradients that are wanted."""
        a, x, w, neighbours = ctx.saved_tensors
        want_a, want_x, want_w, want_b = ctx.needs_input_grad
        d_a = d_x = d_w = d_b = None
        if want_a or want_x:
            d_neighbours = d_y.mm(w.t())
            d_a = d_neighbours.mm(x.t()) if want_a else None
            d_x = a.t().mm(d_neighbours) if want_x else None
        if want_w:
            d_w = neighbours.t().mm(d_y)
        if want_b:
            d_b = d_y.sum(0)
        return d_a, d_x, d_w, d_b


def graph_conv(a: Tensor, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Gather the features of each node's neighbours and map them through a matrix; see `graph_conv/python`.

    Example:
        >>> N, F, O = 3, 5, 7
        >>> graph_conv(torch.eye(N), torch.ones(N, F), torch.ones(F, O), torch.zeros(O)).shape
        torch.Size([3, 7])
    """
    return GraphConv.apply(a, x, w, b)


KERNEL = Kernel("graph_conv/function", python=graph_conv, doc=__doc__ or "")
