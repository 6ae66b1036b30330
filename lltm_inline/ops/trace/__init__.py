"""The trace of a matrix: accessors, which check dtype and rank once and then index by strides."""

KERNELS = ("accessor",)
