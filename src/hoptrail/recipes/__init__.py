"""Published systems and baselines, one file each, all the same shape: composition of parts, nothing else."""
