"""What `check` does: sections of runs and comparisons, and the words for what they find.

check, supervise    from outside: builds the kernel, has it examined, and makes a report also of one that crashes
examine, runner     the check itself: section after section, one case at a time
interface, derivatives, purity, opcheck, safety    the sections; parity is the runner's own
guard, guarded      memory between pages that fault when they are touched
explain, report     findings, in the words that a person reads
postmortem          a second look at a kernel that has crashed
check_many          many kernels, in one table
"""
