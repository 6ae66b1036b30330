"""Graph convolution in plain PyTorch: the reference that every other kernel is checked against.

    y = a x w + b                                                   (N, O)

with an adjacency matrix a (N, N) of N nodes, dense and as a rule normalised; x (N, F), F features of each node; w (F, O)
and b (O). Row n of a x is a weighted sum of the features of the neighbours of node n, and w maps it to O new ones.

Products of matrices are associative, their cost is not: a multiply-add for each of

    (a x) w     N N F + N F O
    a (x w)     N F O + N N O

so which order is the better one follows from F and O alone. Python reads `a @ x @ w` as the first.

What the op teaches: which products there are, which of them somebody wants, and which are there already. Of the four
gradients the first layer of a network wants two, those of w and b; d_a alone is a product of N N O multiply-adds.

Source: Kipf and Welling, https://arxiv.org/abs/1609.02907, equation 2, with a bias
"""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

from ...model.registry import Cost, Op


def graph_conv(a: Tensor, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Gather the features of each node's neighbours and map them through a matrix.

    Args:
        a: (N, N); row n holds the weights of the neighbours of node n.
        x: (N, F).
        w: (F, O).
        b: (O).

    Returns:
        y (N, O).

    Example:
        >>> import torch
        >>> ring = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
        >>> x = torch.tensor([[10.0], [20.0], [30.0]])
        >>> graph_conv(ring, x, torch.ones(1, 2), torch.tensor([0.0, 5.0]))  # each node sees the next one
        tensor([[20., 25.],
                [30., 35.],
                [10., 15.]])
    """
    return a @ x @ w + b


def inputs(randn: Callable[..., Tensor], N: int, F: int, O: int) -> tuple[Tensor, ...]:  # noqa: E741  (the letters of ops)
    """Draw one set of inputs; a and w are scaled so that y is of the size of x, as normalisation does it."""
    return randn(N, N) / math.sqrt(max(N, 1)), randn(N, F), randn(F, O) / math.sqrt(max(F, 1)), randn(O)


def cost(itemsize: int, N: int, F: int, O: int) -> Cost:  # noqa: E741
    """Count what a perfect kernel moves and computes when the gradients of w and b are made.

    The order is the one with fewer multiply-adds in both directions together: through (a x) w, where a x is there for
    d_w = (a x)^T d_y, if F < 2 O; else through a (x w), where backward has a product with a of its own, x^T (a^T d_y).
    """
    again = F >= 2 * O
    width = O if again else F
    return Cost(
        forward_bytes=itemsize * float(N * N + N * F + F * O + O + N * O),
        forward_flops=2.0 * N * (N * width + F * O) + N * O,
        backward_bytes=itemsize * float((N * N if again else 0) + N * F + N * O + F * O + O),
        backward_flops=2.0 * N * ((N * O if again else 0) + F * O) + N * O,
    )


OP = Op(
    "graph_conv",
    "(Tensor a, Tensor x, Tensor w, Tensor b) -> Tensor y",
    reference=graph_conv,
    shapes={"a": "N N", "x": "N F", "w": "F O", "b": "O", "y": "N O"},
    inputs=inputs,
    benchmark_sizes=((64, 32, 16), (256, 128, 32), (512, 64, 64), (512, 96, 64), (512, 32, 128), (1024, 256, 64)),
    parameters=("w", "b"),
    cost=cost,
    doc=__doc__ or "",
)
