"""The tables of `index.sqlite`, and their formats: an index of another format is refused here.

Units and documents have numbers, assigned in the order of adding and never reused. Arrays and postings refer to them by number,
all other code by id.
"""

from __future__ import annotations

from pathlib import Path

from hoptrail.errors import IndexMismatch

APPLICATION = 0x686F7074  # SQLite's application id of an index of hoptrail

FORMAT = 4
"""Increased whenever an older hoptrail could misread what a newer one writes; 1 and 2 had no SQLite. The tokenisation in
`keywords.py` is part of it: the words of a removed passage are found by tokenising its text again.
"""

OLD_FORMAT = 3
"""Of version 0.2: checksums of pages and none of rows. Read as it is; the first writer carries it over (`carrying_over.py`)."""


def refuse_other_format(folder: Path, version: int | None) -> None:
    """`version`: the format of the database; None where there is none. Raises: IndexMismatch: a format that is not read."""
    if version is None:
        version = 1 if (folder / "head.lance").exists() else FORMAT
    if version < OLD_FORMAT:
        raise IndexMismatch(
            f"{folder} holds an index of an older format, which this version of hoptrail cannot read. Index the documents into a "
            f"new folder: `hoptrail index SOURCE... --index NEW`. To keep the ledger of chat replies, copy "
            f"{folder / 'replies.sqlite'} into that folder first."
        )
    if version > FORMAT:
        raise IndexMismatch(
            f"{folder} has index format {version}; this hoptrail reads format {FORMAT}. Update hoptrail, or index the documents "
            f"into a new folder."
        )


TABLES = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS structures (
    name TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    language TEXT NOT NULL,
    finished INTEGER NOT NULL,
    settled TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    sentence_ends BLOB NOT NULL, -- int32
    notes TEXT NOT NULL, -- a list as JSON
    date TEXT NOT NULL,
    date_from TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0 -- of the row, as in other tables (`sums.py`)
);
CREATE INDEX IF NOT EXISTS documents_title ON documents (title);

CREATE TABLE IF NOT EXISTS blocks ( -- those of a document tile its text
    document INTEGER NOT NULL,
    start INTEGER NOT NULL,
    packed TEXT NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (document, start)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS sources ( -- which document was read where
    source TEXT NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (source, document)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sources_document ON sources (document);

CREATE TABLE IF NOT EXISTS units (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    document INTEGER NOT NULL, -- of the first source, and where that is
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    further INTEGER NOT NULL, -- how many more sources there are
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    sentence_ends BLOB NOT NULL, -- int32, from the start of the text; empty for kinds whose text stands in no document
    checksum INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS units_document ON units (document);

CREATE TABLE IF NOT EXISTS reserved ( -- numbers of units that links lead from or to, and that are not there (yet, or for now)
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reserved_number ON reserved (number);

CREATE TABLE IF NOT EXISTS further_sources (
    unit INTEGER NOT NULL,
    place INTEGER NOT NULL,
    document INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (unit, place)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS further_sources_document ON further_sources (document);

CREATE TABLE IF NOT EXISTS extractions (
    unit INTEGER PRIMARY KEY,
    entities TEXT NOT NULL, -- lists as JSON
    facts TEXT NOT NULL,
    checksum INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS segments (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    family TEXT NOT NULL,
    kind TEXT NOT NULL,
    rows INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS arrays (
    segment INTEGER NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    shape TEXT NOT NULL,
    checksum INTEGER NOT NULL, -- CRC-32 of the numbers
    data BLOB, -- of a small array; a larger one is in arrays/SEGMENT-NAME.npy
    sums BLOB, -- of the blocks of a larger one (`arrays.py`)
    PRIMARY KEY (segment, name)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS gone ( -- rows of segments that no longer count, as each commit took them away
    segment INTEGER NOT NULL,
    part INTEGER NOT NULL,
    rows BLOB NOT NULL, -- int32
    PRIMARY KEY (segment, part)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS postings ( -- by segment first, so that a segment is merged or removed in one piece
    segment INTEGER NOT NULL,
    term TEXT NOT NULL,
    docs BLOB NOT NULL, -- rows of the segment, int32, rising
    tfs BLOB NOT NULL, -- how often each has the term, uint16
    checksum INTEGER NOT NULL,
    PRIMARY KEY (segment, term)
) WITHOUT ROWID;

-- Those of version 0.2 have none of the following before they are written to. Without the first every file is read again.

CREATE TABLE IF NOT EXISTS files ( -- how a file is known again whose document is there
    path TEXT PRIMARY KEY,
    document INTEGER NOT NULL,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL, -- nanoseconds; 0 where times cannot be relied on
    changed INTEGER NOT NULL,
    digest BLOB NOT NULL,
    reading TEXT NOT NULL -- by which limits and code it was read
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS files_document ON files (document);

CREATE TABLE IF NOT EXISTS unread ( -- files that the last run over their folder did not read
    path TEXT PRIMARY KEY,
    reason TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS former ( -- where documents were read that have moved since
    source TEXT PRIMARY KEY,
    document INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS former_document ON former (document);

CREATE TABLE IF NOT EXISTS removals (digest BLOB NOT NULL UNIQUE); -- of the names of removed documents, the latest last
"""
