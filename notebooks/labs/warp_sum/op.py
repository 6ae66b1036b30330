import lltm_inline as li

OP = li.Op(
    "row_sum",
    "(Tensor x) -> Tensor y",
    lambda x: x.sum(1),
    {"x": "B N", "y": "B"},
    dtypes=("float32",),
    differentiable=False,
    benchmark_sizes=((64, 160),),
    doc="the sum of each row, y[b] = x[b][0] + x[b][1] + ...",
)
li.registry.register(OP)
