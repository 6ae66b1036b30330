import lltm_inline as li

OP = li.Op(
    "soft",
    "(Tensor x) -> Tensor y",
    lambda x: x.softmax(1),
    {"x": "B N", "y": "B N"},
    lambda randn, B, N: (50 * randn(B, N),),
    dtypes=("float32",),
    differentiable=False,
    benchmark_sizes=((32, 160),),
    doc="the softmax of each row, y[b][n] = exp(x[b][n] - m) / s, with m the maximum of the row",
)
li.registry.register(OP)
