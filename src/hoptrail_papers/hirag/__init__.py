"""HiRAG with Rethink: document first, passage second, verify, rethink."""
