"""Where work is done: in this process, or on Ray. Knows nothing of what the work is."""
