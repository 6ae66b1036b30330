"""What `check` does: sections of runs and comparisons, and the words for what they find.

check            from outside: builds the kernel, has it examined, and makes a report also of one that crashes
examine, runner  the check itself: section after section, one case at a time
interface, derivatives, purity, opcheck, safety    the sections; parity is the runner's own
large            large numbers in arguments `int`, tried first in a copy of the process
guard            memory between pages that fault when they are touched, and calls of a kernel with such tensors
explain, report     findings, in the words that a person reads
perturb          what a wrong result does not answer to, by changing what goes in
postmortem       a second look at a kernel that has crashed
check_many       many kernels, in one table
"""
