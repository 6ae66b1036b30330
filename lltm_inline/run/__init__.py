"""Where kernels run, and on what: in this process or in the worker, on inputs that are made for them.

Kernel ──build_all──> Built ──> Task ──executor.run──> events, then a result, or `Died`

setting     how kernels are built and run, made in the first line of each public function and handed on whole; and on what
built       a kernel with its library and all that loads it in any process; library loads it into this one
executor    carries out a task in this process or in the worker; a task does not know in which
function    a loaded kernel, to be called; fake is what torch.compile sees of it
cases       a folder: the cases on which a kernel is tried, and what it should give; compare holds its results against that
"""
