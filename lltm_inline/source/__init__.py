"""A kernel's text: read, completed, and made into the file that a compiler takes.

types            which types of C++ stand for those of an op
signature        the functions in a text, held against the op's schema
template         slots and parameters filled in: the rendered text, and which of its lines are whose; kernels and devices by name
binding          the generated lines that register the kernel with PyTorch
launchers        what a CUDA text without torch's headers is called through
custom_classes   classes that a text registers

The C++ of template, binding and launchers is in prelude.cpp, binding.cpp and launchers.cpp, part by part (`native.parts`).
"""
