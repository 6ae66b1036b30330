"""Kernels that run: loaded, checked, timed, measured, called; in this process or in the worker.

Kernel ──build_all──> Built ──> Task ──executor.run──> events, then a result, or `Died`

setting     how a kernel is built and run: made in the first line of each public function, handed on whole
built       a kernel with its library and all that loads it in any process; library loads it into this one
executor    carries out a task in this process or in the worker; a task does not know in which
postmortem  makes a `Crash` of a death, after a second look at the kernel
choices     the kernels, sizes and numbers that somebody asks for
load, check, benchmark, memory, sweep, call    the verbs, each with its tasks
"""
