"""Passages with their vectors and keyword index: what every recipe starts from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.executing.executor import Work, batched, from_to
from hoptrail.structures.building import Workshop
from hoptrail.structures.declaring import Derived, Wanted
from hoptrail.structures.names import PASSAGES
from hoptrail.types import Document, Kind, Unit

SPLIT_DOCUMENTS = 128
SPLIT_CHARACTERS = 1_000_000
"""Documents split together: at most this many, or about this many characters."""


@dataclass(frozen=True, slots=True)
class Passages(Derived):
    """Whole sentences packed to a limit, one vector each."""

    settings: PassageLimits
    name = PASSAGES
    built_from = ()
    units = (Kind.PASSAGE,)

    def wanted(self, workshop: Workshop) -> Wanted:
        """The passages of documents that have none: what has been cut, and paid for, stays as it is."""
        snapshot = workshop.writer.snapshot()
        if workshop.change:
            return Wanted(self.rows(workshop, workshop.change.came), whole=False)
        done = snapshot.table.count_by_document(Kind.PASSAGE)
        return Wanted(self.rows(workshop, {id_ for id_ in snapshot.register.ids() if id_ not in done}), whole=False)

    def rows(self, workshop: Workshop, documents: Collection[str] | None) -> Iterator[Unit]:
        """See `Derived.rows`."""
        read = workshop.writer.snapshot().documents(documents)
        batches = batched(read, SPLIT_DOCUMENTS, lambda document: len(document.text), SPLIT_CHARACTERS)
        work = Work("splitting", partial(_split, self.settings), _name)
        return (unit for units in workshop.executor.map(work, batches) for unit in units)


def _split(limits: PassageLimits, documents: Sequence[Document]) -> list[Unit]:
    return [unit for document in documents for unit in passages(document, limits)]


def _name(documents: Sequence[Document]) -> str:
    return from_to([f"{one.title!r} ({one.id})" for one in documents])
