"""What `check` does, step by step: cases, runs, comparisons, and the words for what it finds."""
