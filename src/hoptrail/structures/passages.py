"""Passages with their keyword index and their vectors: the basis of every recipe."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from hoptrail.corpus.structure_names import PASSAGES
from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.execution.executor import Work, batched, from_to
from hoptrail.structures import declaration
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Structure, whole_documents
from hoptrail.structures.encoding import encode_batches, kept_at_once
from hoptrail.types import Document, Kind, Unit

SPLIT_DOCUMENTS = 128
SPLIT_CHARACTERS = 1_000_000
"""Documents that are split together: at most this many, or about this many characters."""


@dataclass(frozen=True, slots=True)
class Passages(Structure):
    """Whole sentences packed to a limit. A passage is found by its words once it is cut, and by its vector once it is encoded.
    Existing passages, which may have been paid for, stay as they are.
    """

    settings: PassageLimits
    name = PASSAGES
    built_from = ()
    units = (Kind.PASSAGE,)
    encodes = Kind.PASSAGE

    def update(self, context: BuildContext) -> None:
        """Encode the passages without vectors, and cut and encode the documents without passages. The latter are stored with
        their vectors only, because the documents that they replace can be found until then.
        """
        snapshot = context.writer.snapshot()
        added = context.change.added if context.change else None
        waiting = snapshot.numbered.unencoded()
        uncut = snapshot.table.documents_without(Kind.PASSAGE, added)
        fresh = [unit for units in self._cut(context, uncut) for unit in units]
        total = len(waiting) + len(fresh)
        if not total:
            return
        size, done = kept_at_once(context, total, declaration.BATCH), 0
        batches = chain(whole_documents(snapshot.numbered.stream(waiting), size), whole_documents(fresh, size))
        for batch, vectors in encode_batches(context, batches, total):
            put = context.writer.put_vectors if done < len(waiting) else context.writer.put_units
            put(batch, vectors)
            done += len(batch)
        context.pause()

    def cut(self, context: BuildContext, documents: Collection[str]) -> None:
        """Store the passages of documents that have none, without vectors."""
        for units in self._cut(context, documents):
            context.writer.put_units(units, None)
            context.pause()

    def _cut(self, context: BuildContext, documents: Collection[str]) -> Iterator[list[Unit]]:
        read = context.writer.snapshot().documents(documents)
        batches = batched(read, SPLIT_DOCUMENTS, lambda document: len(document.text), SPLIT_CHARACTERS)
        work = Work(
            "splitting",
            partial(_split, self.settings),
            lambda batch: from_to([f"{document.title!r} ({document.id})" for document in batch]),
        )
        return context.executor.map(work, batches)


def _split(limits: PassageLimits, documents: Sequence[Document]) -> list[Unit]:
    return [unit for document in documents for unit in passages(document, limits)]
