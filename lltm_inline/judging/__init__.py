"""One command from somebody's file to a verdict: right, wrong, refused, crashed, or right without computing.

forms       what a file is, by what it defines
judge       `judge`: reads it here, runs it in the worker, tells of a crash; `judge_many`: a folder
inside      the worker's part
running     runs the file's own Python: no GPU, limits, other sizes; answers for `load_inline`
subjects    KernelBench's and KernelBot's files: what is compared with what, and at which sizes
trial       compares, and looks for cheats
verdict     `Verdict` as text, JSON and SARIF
command     the verbs of the command line
"""
