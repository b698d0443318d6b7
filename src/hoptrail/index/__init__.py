"""An index: building, syncing and watching it, asking it, and what it contains."""
