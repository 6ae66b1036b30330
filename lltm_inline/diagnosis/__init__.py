"""From a compiler's log to the line, the cause and the cure."""
