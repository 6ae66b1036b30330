"""The cases on which a kernel is tried, and what it should give in each.

case          one call of forward and backward at a size of the op, and the ways in which it differs from a plain one
layouts       how tensors lie in memory; values are the numbers that stand in them
tried         the cases of an op; drawing makes their inputs and incoming gradients
expectation   what the reference gives; tolerance is how far a kernel may be off, and what excuses it
"""
