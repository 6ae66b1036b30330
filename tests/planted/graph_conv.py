"""Wrong kernels of the graph convolution; `edits/graph_conv.txt` has them, each with the reason for which a check must reject it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lltm_inline.ops.graph_conv.function import GraphConv
from tests.planted.kernels import of_op


class _Silent(torch.autograd.Function):
    """The derivative by hand, without a word about the second one."""

    forward = staticmethod(GraphConv.forward)

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor, ...]:
        """Compute below autograd, as forward did."""
        a, x, w, neighbours = ctx.saved_tensors
        with torch.no_grad():
            d_neighbours = d_y.mm(w.t())
            return d_neighbours.mm(x.t()), a.t().mm(d_neighbours), neighbours.t().mm(d_y), d_y.sum(0)


#: The planted kernels by name, and what makes a kernel of one.
PLANTED, kernel_of = of_op("graph_conv", silent=lambda a, x, w, b: _Silent.apply(a, x, w, b))

#: Right, and slow: all four gradients are made, whoever wants them, as the tutorial's extension made them.
TUTORIAL = PLANTED.pop("tutorial")
