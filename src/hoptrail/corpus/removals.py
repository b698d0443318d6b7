"""The names of removed documents, as digests: a removal that is repeated can be told from a wrong name, and no name is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from hoptrail.corpus.database import Database

MOST = 10_000
"""Digests that are kept, the latest."""


def note_removed(database: Database, names: Iterable[str]) -> None:
    """Enter names of documents that the transaction removes."""
    digests = [(_digest(name),) for name in dict.fromkeys(names)]
    database.run_each("INSERT OR REPLACE INTO removals (digest) VALUES (?)", digests[-MOST:])
    database.run("DELETE FROM removals WHERE rowid <= (SELECT max(rowid) FROM removals) - ?", MOST)


def was_removed(database: Database, names: Iterable[str]) -> bool:
    """Whether a document was removed that had one of these names."""
    return any(database.rows("SELECT 1 FROM removals WHERE digest = ?", _digest(name)) for name in names)


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:16]
