"""Malformed arguments thrown at every public name: only errors of ours come out, and nothing is left in the cache."""
