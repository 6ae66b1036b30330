"""What `benchmark` does: inputs, samples, audits, statistics, and what this machine can reach."""
