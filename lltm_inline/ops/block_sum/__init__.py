"""The sum of each row on a GPU: one block a row, shared memory, barriers, and the lanes of a warp together."""

KERNELS = ("cuda",)
