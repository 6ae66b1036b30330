"""What people write and look up: an `Op` says what is to be computed, a `Kernel` how; the registry keeps both.

op, shapes    a schema, a reference, and the shape of each tensor in letters
kernel        texts, parameters and slots; frozen: an edit is a new revision
registry      ops, kernels and revisions by name, `li.registry`; it tells the journal what happens to them
outcomes      what building and timing show of kernels, noted in the registry
own_file      ops and kernels in a file of the user's own
reserved      names that are taken
"""
