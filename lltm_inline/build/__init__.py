"""From the rendered text to a library in the cache.

job          what is to be compiled, under one digest
toolchain    the C++ compiler, its flags and its linker; nvcc is its fellow for CUDA
compiler     builds jobs in parallel, each once, whoever asks; inline goes through load_inline
cache        what was built, under its digest; directory looks after the place itself
header       the large headers, precompiled in the background; includes tells which files a text reads
failures     what becomes of a log that says no: `diagnosis` reads it
watch        ends compilers that nobody waits for any more
"""
