"""Passages with their vectors and keyword index: what every recipe starts from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.fingerprints import fingerprint
from hoptrail.models.encoder import Progress
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.types import Document, Kind, Unit

BATCH = 512
"""Passages encoded and kept at a time: about ten seconds of work on two cores, which is what a kill can cost."""


@dataclass(frozen=True, slots=True)
class Passages:
    """Whole sentences packed to a limit, one vector each."""

    limits: PassageLimits
    name: str = "passages"
    built_from: tuple[str, ...] = ()
    needs_language: bool = False

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.limits)

    def discard(self, writer: Writer) -> None:
        writer.drop_units(Kind.PASSAGE)

    def update(self, workshop: Workshop) -> None:
        """Split and encode the documents that have no passages yet. Removal is the writer's: a passage has one document."""
        missing = self._missing(workshop.writer)
        if not missing:
            return
        documents = workshop.writer.snapshot()
        total = sum(len(passages(document, self.limits)) for document in documents.documents(missing))
        done = 0
        for batch in self._batches(documents.documents(missing)):
            workshop.pause()
            vectors = workshop.encoder.encode([unit.searchable for unit in batch], _progress(workshop, done, total))
            workshop.writer.put_units(batch, vectors)
            done += len(batch)

    def _missing(self, writer: Writer) -> set[str]:
        snapshot = writer.snapshot()
        there = {unit.document for unit in snapshot.units(Kind.PASSAGE)}
        return {entry.id for entry in snapshot.entries} - there

    def _batches(self, documents: Iterable[Document]) -> Iterator[list[Unit]]:
        """Passages of whole documents, at least BATCH at a time, so that a document is either all there or not at all."""
        batch: list[Unit] = []
        for document in documents:
            batch += passages(document, self.limits)
            if len(batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch


def _progress(workshop: Workshop, before: int, total: int) -> Progress:
    return lambda encoded, _: workshop.report("encoding", before + encoded, total)
