"""SiReRAG: passages, aggregates of entities and two trees of summaries in one pool."""
