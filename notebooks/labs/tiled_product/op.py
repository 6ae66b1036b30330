import lltm_inline as li

OP = li.Op(
    "tiled",
    "(Tensor a, Tensor b) -> Tensor c",
    lambda a, b: a @ b,
    {"a": "M K", "b": "K N", "c": "M N"},
    dtypes=("float32",),
    differentiable=False,
    benchmark_sizes=((48, 32, 48),),
    doc="the product of two matrices, c[m][n] = a[m][0] b[0][n] + a[m][1] b[1][n] + ...",
)
li.registry.register(OP)
