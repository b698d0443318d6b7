"""HiRAG section 3: the Indexed Wikicorpus (one document per entity) and the Profile Wikicorpus, built from a Wikipedia dump."""
