"""The ops that ship with the playground, one room each. Importing this package registers them; nothing is compiled."""

from __future__ import annotations

from . import (
    axpy,
    batch_norm2d,
    complex_abs2,
    conv2d,
    conv_bn,
    cube,
    d_sigmoid,
    graph_conv,
    linear,
    lltm,
    mul_constant,
    sin_add,
    trace,
)

__all__ = [
    "axpy",
    "batch_norm2d",
    "complex_abs2",
    "conv2d",
    "conv_bn",
    "cube",
    "d_sigmoid",
    "graph_conv",
    "linear",
    "lltm",
    "mul_constant",
    "sin_add",
    "trace",
]
