"""What a C++ or CUDA text says, read by tree-sitter: its functions, and what stands in them.

`masks` blanks what is no code; `tree` has the tree, which nobody outside of this room sees; `functions` lists definitions.
Tree-sitter is imported when the first text is read.
"""
