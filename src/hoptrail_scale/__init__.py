"""Many machines: building on Ray, publishing on object stores, corpora in shards."""
