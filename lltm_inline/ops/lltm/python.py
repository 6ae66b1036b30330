"""LLTM in plain PyTorch: the reference that every other kernel is checked against.

A long-long-term memory is an LSTM that never forgets: it has no forget gate, and its candidate cell goes through an
ELU instead of a tanh. B rows of F features and a state of S numbers each:

    z        = [old_h, input] weights^T + bias                      (B, 3S), split into z_i, z_o, z_c of (B, S)
    i, o, c  = sigmoid(z_i), sigmoid(z_o), elu(z_c)                 input gate, output gate, candidate cell
    new_cell = old_cell + c i                                       (B, S)
    new_h    = tanh(new_cell) o                                     (B, S)

with input (B, F), weights (3S, S+F), bias (3S), old_h and old_cell (B, S).

Seven calls follow the GEMM, each of which reads and writes a whole matrix, and autograd keeps most of what they read:
this is what the other kernels of this folder improve.

Source: https://docs.pytorch.org/tutorials/advanced/cpp_extension.html
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ...model.registry import Cost, Op

PARTS = ("input gate", "output gate", "candidate cell")


def lltm(input: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor) -> tuple[Tensor, Tensor]:
    """Advance an LLTM cell by one step.

    Args:
        input: (B, F).
        weights: (3S, S+F); rows of the input gate, the output gate and the candidate cell, columns of old_h and input.
        bias: (3S).
        old_h: (B, S).
        old_cell: (B, S).

    Returns:
        new_h and new_cell, each (B, S).

    Example:
        >>> B, F, S = 3, 17, 5
        >>> x, weights, bias, state = torch.ones(B, F), torch.zeros(3 * S, S + F), torch.zeros(3 * S), torch.zeros(B, S)
        >>> new_h, new_cell = lltm(x, weights, bias, state, state + 1)
        >>> new_cell[0].tolist()  # nothing is forgotten
        [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    z = torch.addmm(bias, torch.cat([old_h, input], dim=1), weights.t())
    input_gate, output_gate, candidate = z.chunk(3, dim=1)
    new_cell = old_cell + torch.nn.functional.elu(candidate) * torch.sigmoid(input_gate)
    new_h = torch.tanh(new_cell) * torch.sigmoid(output_gate)
    return new_h, new_cell


def inputs(randn: Callable[..., Tensor], B: int, F: int, S: int) -> tuple[Tensor, ...]:
    """Draw one set of inputs as the tutorial does: weights and bias uniform in +-1/sqrt(S), the others normal."""

    def uniform(*shape: int) -> Tensor:
        # erf(x / sqrt 2) of a normal number is uniform in (-1, 1).
        return torch.erf(randn(*shape) / math.sqrt(2)) / math.sqrt(max(S, 1))

    return randn(B, F), uniform(3 * S, S + F), uniform(3 * S), randn(B, S), randn(B, S)


def cost(itemsize: int, B: int, F: int, S: int) -> Cost:
    """Count what a perfect kernel moves and computes when the gradients of weights, bias and old_cell are made."""
    gemm = 2.0 * B * (S + F) * 3 * S
    parameters = 3 * S * (S + F) + 3 * S
    step = B * F + 4 * B * S  # input and state in, state out
    # Backward reads input, old_h, two gradients and four values of each cell; it writes d_old_cell and the parameters'.
    backward = B * F + B * S * (1 + 2 + 4 + 1) + parameters
    return Cost(
        forward_bytes=itemsize * float(step + parameters),
        forward_flops=gemm + 10.0 * B * S,
        backward_bytes=itemsize * float(backward),
        backward_flops=gemm + 20.0 * B * S,
    )


OP = Op(
    "lltm",
    "(Tensor input, Tensor weights, Tensor bias, Tensor old_h, Tensor old_cell) -> (Tensor new_h, Tensor new_cell)",
    reference=lltm,
    shapes={
        "input": "B F",
        "weights": "3S S+F",
        "bias": "3S",
        "old_h": "B S",
        "old_cell": "B S",
        "new_h": "B S",
        "new_cell": "B S",
    },
    inputs=inputs,
    benchmark_sizes=((16, 32, 128), (64, 1024, 128)),
    parameters=("weights", "bias"),
    parts={"weights": PARTS, "bias": PARTS},
    cost=cost,
    doc=__doc__ or "",
)
