"""The worker: a process of its own in which kernels are run, so that whatever they do, the caller's process lives to tell.

notebook ──spawn──> fork server ──fork, 10 ms──> worker ──dies of a kernel──> the fork server says how; the next is forked

client       the caller's side: the one worker of this process, and a new one when it has died
fork_client  the caller's side of the fork server; process: one worker, held to its limits
forkserver   the process that imports torch once, starts no thread, and forks workers
worker       the worker's side: runs requests one after another, and notes their steps in the black box
channel      messages and tensors between the two; safe_pickle reads only what is expected
steps        where a task says which step of a kernel begins and ends: a worker's monitor is told
black_box    memory that outlives a crash; the recorder fills in signal, address and frames
"""
