"""Reading an index of version 0.1, which is kept in LanceDB tables. Nothing is written.

    documents, extractions, links    one row each
    unit-KIND                        one row per unit, with its vector
    head                             one row: JSON that names the valid version of each table

A record that no version of hoptrail writes, and whatever the library raises, becomes IndexDamaged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hoptrail.corpus.places import OLD_INDEX
from hoptrail.errors import IndexDamaged, IndexUnavailable, UsageError
from hoptrail.language.tasks import Extraction, Fact, Triple
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.types import Document, Kind, Link, Span, Unit, Usage

READ = 4096
"""Rows that are read together;"""
READ_DOCUMENTS = 16
"""of documents, whose texts may be long."""

REASON = 250
"""Characters of the library's error that are shown."""

Row = Mapping[str, Any]
T = TypeVar("T")


class OldIndex:
    """The newest state of the index in a folder, also that of a run that was stopped."""

    def __init__(self, folder: Path) -> None:
        """Raises: UsageError (lancedb is not installed), IndexUnavailable, IndexDamaged."""
        self._folder = folder
        self._database = _connect(folder)
        with self._reading():
            [row] = self._database.open_table("head").to_arrow().to_pylist()
            head = json.loads(row["payload"])
            self.encoder = EncoderIdentity(**head["encoder"])
            self.spent = Usage(**head["spent"])
            self.finished: frozenset[str] = frozenset(head["structures"] | head["pending_structures"])
            self.structures: frozenset[str] = self.finished.union(head["unfinished"], head["pending_unfinished"])
            self._versions: dict[str, int] = head["pending"] or head["tables"]
            self.paid: dict[str, str] = {
                name: maker for name, maker in sorted(head["languages"].items()) if not maker.startswith("offline")
            }
            """The structures that a model made, with its name."""

    def count(self, table: str) -> int:
        """The number of rows of a table."""
        with self._reading():
            return int(self._open(table).count_rows()) if table in self._versions else 0

    def documents(self) -> Iterator[Document]:
        """All documents."""
        for documents in self._batches("documents", _document, READ_DOCUMENTS):
            yield from documents

    def units(self, kind: Kind) -> Iterator[tuple[list[Unit], FloatMatrix]]:
        """The units of a kind with their vectors, in batches."""
        for rows in self._batches(unit_table(kind), lambda row: (_unit(row, kind), row["vector"])):
            with self._reading():
                vectors = np.array([vector for _, vector in rows], np.float32)
            yield [unit for unit, _ in rows], vectors

    def extractions(self) -> Iterator[dict[str, Extraction]]:
        """The extractions by the ids of their passages, in batches."""
        return map(dict, self._batches("extractions", lambda row: (row["id"], _extraction(row))))

    def links(self, kinds: Collection[str]) -> Iterator[list[Link]]:
        """The links of these kinds, in batches."""
        for links in self._batches("links", lambda row: Link(*(row[name] for name in Link.__slots__))):
            yield [link for link in links if link.kind in kinds]

    def _batches(self, table: str, made: Callable[[Row], T], size: int = READ) -> Iterator[list[T]]:
        """What `made` makes of the rows of a table."""
        if table in self._versions:
            with self._reading():
                for batch in self._open(table).search().to_batches(batch_size=size):
                    yield [made(row) for row in batch.to_pylist()]

    def _open(self, table: str) -> Any:
        opened = self._database.open_table(table)
        opened.checkout(self._versions[table])
        return opened

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError, ValueError, LookupError, TypeError) as error:
            reason = str(error).strip().partition("\n")[0][:REASON]
            raise IndexDamaged(
                f"{self._folder} cannot be read as an index of hoptrail 0.1 ({reason}). Repair it with that version, or index "
                f"the documents into a new folder."
            ) from error


def unit_table(kind: Kind) -> str:
    """The name of the table of a kind."""
    return f"unit-{kind}"


def _connect(folder: Path) -> Any:
    if not (folder / OLD_INDEX).is_dir():
        raise IndexUnavailable(f"there is no index of hoptrail 0.1 at {folder}: it has no {OLD_INDEX}.")
    os.environ.setdefault("LANCEDB_LOG", "error")  # otherwise it reports its inner workings on the terminal
    try:
        import lancedb
    except ImportError as error:
        raise UsageError(
            f"an index of hoptrail 0.1 is read with the package lancedb, which cannot be imported ({error}). Install it with "
            f"`pip install 'hoptrail[upgrade]'`, then run the same command again."
        ) from error
    return lancedb.connect(folder)


def _document(row: Row) -> Document:
    ends, sources, notes = (tuple(row[name]) for name in ("sentence_ends", "sources", "notes"))
    return Document(row["id"], row["title"], row["text"], ends, sources, notes)


def _unit(row: Row, kind: Kind) -> Unit:
    title, searchable = row["title"], row["searchable"]
    text = searchable[len(title) + 1 :] if title else searchable
    return Unit(row["id"], kind, title, text, tuple(map(_span, row["sources"])))


def _span(row: Row) -> Span:
    return Span(row["document"], row["start"], row["end"])


def _extraction(row: Row) -> Extraction:
    triples = row.get("triples") or [None] * len(row["facts"])
    facts = (
        Fact(fact["text"], tuple(fact["entities"]), _span(fact), Triple(**triple) if triple else None)
        for fact, triple in zip(row["facts"], triples, strict=True)
    )
    return Extraction(tuple(row["entities"]), tuple(facts))
