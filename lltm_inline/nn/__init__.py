"""Modules over a kernel of your choice: the kernel computes, the module keeps the parameters.

Each is a drop-in for the module of plain PyTorch that it is named after: the same parameters, the same names in its
`state_dict`, the same initial values. In addition it has `kernel`, which may be set to another one at any time.
"""

from __future__ import annotations

from .base import KernelModule
from .conv_bn import ConvBN2d
from .graph_conv import GraphConv
from .linear import Linear
from .lltm import LLTM

__all__ = ["LLTM", "ConvBN2d", "GraphConv", "KernelModule", "Linear"]
