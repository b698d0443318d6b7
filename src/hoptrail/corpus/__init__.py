"""The data plane of an index folder: one SQLite database, mapped arrays beside it, and a few query objects.

    index.sqlite     documents with their blocks and sources, units, extractions, keyword postings, settings, and which segments
                     of arrays there are
    arrays/          immutable segments that are too large for a row: vectors, links, names (plain .npy files)

Reading is `Snapshot.open`, writing is `writing_to`; nobody else opens tables or files. Within, units go by numbers (`texts`,
`vectors`, `names`, `keywords`, `row_writer`), without by ids (`documents`, `links`, `searching`, `writer`). In what
order files get onto the disk: `durable.py`.
"""
