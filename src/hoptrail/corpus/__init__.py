"""The data plane of an index folder: one SQLite database, mapped arrays beside it, and a few query objects.

    index.sqlite     documents with their blocks and sources, units, extractions, keyword postings, settings, and the list of the
                     segments of arrays
    arrays/          immutable segments that are too large for a row: vectors, links, names (plain .npy files)

`Snapshot.open` reads, `writing_to` writes; no other code opens tables or files. Inside the package units go by numbers (`rows`,
`names`, `keywords`), outside by ids (`documents`, `units`, `links`, `searching`, `writer`). `durable.py` says in what order files
are written.
"""
