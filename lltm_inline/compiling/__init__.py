"""From the rendered text to a library in the cache.

job          what is to be compiled, under one digest
toolchain    the compilers for a device, and their flags; nvcc is looked for apart
compiler     builds jobs in parallel, each once, whoever asks; inline goes through load_inline
cache        what was built, under its digest, and the directory in which it is
header       the large headers, precompiled in the background; beside them empty libraries for a quick link
front_end    says what is wrong with a text while it is being typed
failures     what becomes of a log that says no: `diagnosis` reads it
watch        ends compilers that nobody waits for any more
"""
