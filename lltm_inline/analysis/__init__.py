"""Why a kernel is as fast as it is.

loops       the loops in machine code, how much they do at a time, and what they wait for
assembly    these beside the text, with what the compiler says of it, where the time goes first
cuda_code   the same of a CUDA text: what nvcc makes of it for any GPU, and what becomes of that for one
hot         to which lines the time goes
remarks     what the compiler says that it did with each line, and why not more
why         the reasons why a loop is slow, each with its sentences
reasons     what is known of a loop, and the table that says which reason that is and what helps
roofline    what this machine can do at most, measured, and how far timings are from that
"""
