"""The child process: builds one pipeline, measures, emits events. It imports next to nothing,
since whatever it does competes with what it measures."""
