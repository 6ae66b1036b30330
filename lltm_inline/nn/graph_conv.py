"""The layer of a graph convolutional network as a module."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..model.registry import Kernel
from .base import ALL, ALL_BUT_FIRST, KernelModule, require


class GraphConv(KernelModule):
    """Gather the features of each node's neighbours and map them, adj (input weight) + bias, with a kernel.

    The layer of a graph convolutional network in its plain form, with arguments, names and first values as in Kipf's
    own code. The adjacency matrix is dense and comes with each call; normalise it beforehand.

    Args:
        in_features: F.
        out_features: O.
        kernel: of op `graph_conv`, or its label.
        device, dtype: of the parameters.

    Attributes:
        weight: (F, O), uniform in +-1/sqrt(O) at first. Not transposed, unlike that of `torch.nn.Linear`.
        bias: (O), in the same range.

    Raises:
        UnknownKernelError: no kernel of that label.
        InputError: a kernel of another op, or a size below zero.

    Example:
        >>> layer = GraphConv(17, 5, kernel="graph_conv/python")
        >>> adjacency = torch.eye(3)  # three nodes, each its own neighbour
        >>> x = torch.randn(3, 17)
        >>> bool(torch.allclose(layer(x, adjacency), x @ layer.weight + layer.bias, atol=1e-6))
        True

    Source: Kipf and Welling, https://arxiv.org/abs/1609.02907; https://github.com/tkipf/pygcn
    """

    op = "graph_conv"
    _sizes = ("in_features", "out_features")
    weight: torch.nn.Parameter
    bias: torch.nn.Parameter

    def __init__(
        self,
        in_features: int,
        out_features: int,
        kernel: str | Kernel = "graph_conv/fused",
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require("GraphConv", device, dtype, in_features=in_features, out_features=out_features)
        self.in_features = in_features
        self.out_features = out_features
        self.kernel = kernel
        self.weight = torch.nn.Parameter(torch.empty(in_features, out_features, device=device, dtype=dtype))
        self.bias = torch.nn.Parameter(torch.empty(out_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, uniform in +-1/sqrt(out_features)."""
        bound = 1 / math.sqrt(max(self.out_features, 1))
        for parameter in (self.weight, self.bias):
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor, adj: Tensor) -> Tensor:
        """Convolve over the graph.

        Args:
            input: features of the N nodes, (N, F).
            adj: (N, N); row n holds the weights of the neighbours of node n.

        Returns:
            (N, O).

        Raises:
            RuntimeError: a shape, dtype or device that does not fit the parameters or the other argument.
            BuildError, ToolchainError: the first call builds the kernel.
        """
        weight = self.weight
        self._check("input", input, weight, ALL_BUT_FIRST, (self.in_features,), "(N, {})")
        nodes = input.shape[0]
        self._check("adj", adj, weight, ALL, (nodes, nodes), "({}, {})")
        return self._load(input)(adj, input, weight, self.bias)
