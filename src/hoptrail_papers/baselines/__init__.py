"""What the papers compare with: chains of thought, interleaved retrieval, graphs and trees of others."""
