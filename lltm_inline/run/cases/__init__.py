"""The cases on which a kernel is tried, and what it should give in each.

sizes, layouts, values    what a case is made of: extents and dtypes, how tensors lie in memory, which numbers stand in them
case                      one call of forward and backward, and the ways in which it differs from a plain one
tried, probed             the cases of any op; those that are tried only where its reference has an answer
drawing                   inputs and incoming gradients; reference calls an op's reference on them
expectation               what the reference gives; tolerance is how far a kernel may be off, excuses are what is right all the same
"""
