"""Kernels as functions: `load` brings one into this process, once the worker has tried it; `call` runs one in the worker."""
