"""Passages with their keyword index and their vectors: what every recipe starts from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.execution.executor import Work, batched, from_to
from hoptrail.structures import declaring
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaring import Structure, whole_documents
from hoptrail.structures.encoding import encode_batches, kept_at_once
from hoptrail.structures.structure_names import PASSAGES
from hoptrail.types import Document, Kind, Unit

SPLIT_DOCUMENTS = 128
SPLIT_CHARACTERS = 1_000_000
"""Documents split together: at most this many, or about this many characters."""
READ = 1024
"""Passages that are read at a time to be encoded."""


@dataclass(frozen=True, slots=True)
class Passages(Structure):
    """Whole sentences packed to a limit. They are found by their words once they are cut, and by their vectors, one each, once
    they are encoded. What has been cut, and paid for, stays as it is.
    """

    settings: PassageLimits
    name = PASSAGES
    built_from = ()
    units = (Kind.PASSAGE,)
    encodes = Kind.PASSAGE

    def update(self, context: BuildContext) -> None:
        """Encode the passages that have no vectors, and cut and encode the documents that have no passages: readers see those
        only with their vectors, because what they replace is found until then.
        """
        snapshot = context.writer.snapshot()
        came = context.change.added if context.change else None
        waiting = snapshot.texts.unencoded(Kind.PASSAGE)
        fresh = [
            unit for units in self._cut(context, snapshot.table.documents_without(Kind.PASSAGE, came)) for unit in units
        ]
        total = len(waiting) + len(fresh)
        if not total:
            return
        stored = (unit for at in range(0, len(waiting), READ) for unit in snapshot.texts.units(waiting[at : at + READ]))
        size, done = kept_at_once(context, total, declaring.BATCH), 0
        batches = chain(whole_documents(stored, size), whole_documents(fresh, size))
        for batch, vectors in encode_batches(context, batches, total):
            put = context.writer.put_vectors if done < len(waiting) else context.writer.put_units
            put(batch, vectors)
            done += len(batch)
        context.pause()

    def cut(self, context: BuildContext, documents: Collection[str]) -> None:
        """Store the passages of some documents that have none: they are found by their words until they are encoded."""
        for units in self._cut(context, documents):
            context.writer.put_units(units, None)
            context.pause()

    def _cut(self, context: BuildContext, documents: Collection[str]) -> Iterator[list[Unit]]:
        read = context.writer.snapshot().documents(documents)
        batches = batched(read, SPLIT_DOCUMENTS, lambda document: len(document.text), SPLIT_CHARACTERS)
        return context.executor.map(Work("splitting", partial(_split, self.settings), _name), batches)


def _split(limits: PassageLimits, documents: Sequence[Document]) -> list[Unit]:
    return [unit for document in documents for unit in passages(document, limits)]


def _name(documents: Sequence[Document]) -> str:
    return from_to([f"{one.title!r} ({one.id})" for one in documents])
