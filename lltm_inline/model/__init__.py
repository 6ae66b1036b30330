"""What people write and look up: an `Op` says what is to be computed, a `Kernel` how; the registry keeps both.

op, shapes    a schema, a reference, and the shape of each tensor in letters
kernel        texts, parameters and slots; frozen: an edit is a new revision
registry      ops, kernels and revisions by name, `li.registry`
listeners     who wants to know what became of a kernel: journal, panel, live plot
own_file      ops and kernels in a file of the user's own
reserved      names that are taken
"""
