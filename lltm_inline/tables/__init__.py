"""What was measured, as values: rows of one kind, which become text, CSV, JSON, and elsewhere HTML and plots.

timings, memory, sweep   `li.Timings`, `li.Memory`, `li.Sweep`
partial                  what is known while a benchmark still runs
words                    one rule for "1.3x faster (1.2-1.4)", "no measurable difference" and "too noisy to tell"
"""
