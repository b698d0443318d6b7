"""Running batches of work in this process or on Ray."""
