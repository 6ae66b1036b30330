import lltm_inline as li

OP = li.Op(
    "product",
    "(Tensor a, Tensor b) -> Tensor c",
    lambda a, b: a @ b,
    {"a": "M K", "b": "K N", "c": "M N"},
    dtypes=("float32",),
    differentiable=False,
    benchmark_sizes=((32, 1024, 1024),),
    doc="the product of two matrices, c[i][j] = a[i][0] b[0][j] + a[i][1] b[1][j] + ...",
)
li.registry.register(OP)
