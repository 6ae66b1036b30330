"""Graph convolution: three factors, and two orders in which to multiply them.

`python` is the reference; `function` writes its derivative down in Python, `aten` in C++, which gains nothing; `fused`
chooses the order of the products and computes none that it can do without. Each module says what it changes over the
one before and what that gains.
"""

KERNELS = ("function", "aten", "fused")
