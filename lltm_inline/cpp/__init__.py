"""What a C++ or CUDA text says, read by tree-sitter, which is imported when the first text is read.

masks      comments, strings, directives and branches that are not taken become blanks: what is left is code, where it was; and what
           directives say, such as the headers that are included
tree       tree-sitter's tree of it, which only this room sees
functions  the functions that a text defines: types, names, defaults, namespaces, and where their bodies are; variables
bodies     what stands in these: calls, launches of kernels, loops, what is returned; what stands between commas
"""
