"""What `benchmark`, `memory` and `sweep` do: inputs, samples, audits, statistics, and what this machine can reach.

benchmark, memory, sweep   the verbs, each with its task
inputs, sample, audit      fresh inputs for each call; rounds in turns; are the results still right
stats, machine             medians with intervals; bandwidth and speed of this machine
"""
