"""ChainRAG: completed sub-questions, each searched for in a graph of sentences."""
