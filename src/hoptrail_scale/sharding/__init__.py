"""A corpus larger than one machine: shards, each an index of a part of the documents, searched together.

`building` makes the shards and publishes them. `shard` is one of them: what it is asked, what it returns, and how all are called
in this process; `actors` calls them on Ray. `sharded_index` gathers the candidates for a question into a small index and runs a
recipe over it.
"""
