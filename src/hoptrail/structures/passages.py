"""Passages with their vectors and keyword index: what every recipe starts from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TypeVar

from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.executing.executor import Executor, Work, batched, from_to
from hoptrail.fingerprints import fingerprint
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.encoding import encode_batches, kept_at_once
from hoptrail.types import Document, Kind, Unit

B = TypeVar("B")

BATCH = 512
"""Passages kept at a time at least: about ten seconds of encoding on two cores, which is what a kill can cost."""

SPLIT_DOCUMENTS = 128
SPLIT_CHARACTERS = 1_000_000
"""Documents split together: at most this many, or about this many characters."""

HELD_ID = 100
"""Bytes of an id in memory: documents without passages are looked up by their ids, unless these are too many."""


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
        snapshot = workshop.writer.snapshot()
        missing = partial(snapshot.documents, workshop.change.came) if workshop.change else _missing(workshop, snapshot)
        total = sum(_mapped(workshop.executor, partial(_count, self.limits), missing()))
        if not total:
            return
        split = _mapped(workshop.executor, partial(_split, self.limits), missing())
        for batch, vectors in encode_batches(workshop, _batches(split, kept_at_once(workshop, total, BATCH)), total):
            workshop.writer.put_units(batch, vectors)  # their documents have no passages yet


def _missing(workshop: Workshop, snapshot: Snapshot) -> Callable[[], Iterator[Document]]:
    """Gives the documents that have no passages: looked up where they are few, else sought among all."""
    there = (span.document for _, span in snapshot.first_sources(Kind.PASSAGE))
    done = workshop.writer.scratch.digests(map(hash, there))
    most = workshop.writer.scratch.held // HELD_ID
    some = list(islice((id_ for id_ in snapshot.document_ids() if hash(id_) not in done), most + 1))
    if len(some) <= most:
        return lambda: snapshot.documents(some)
    return lambda: (document for document in snapshot.documents() if hash(document.id) not in done)


def _mapped(
    executor: Executor, function: Callable[[Sequence[Document]], B], documents: Iterable[Document]
) -> Iterator[B]:
    work = Work("splitting", function, lambda batch: from_to([f"{one.title!r} ({one.id})" for one in batch]))
    batches = batched(documents, SPLIT_DOCUMENTS, lambda document: len(document.text), SPLIT_CHARACTERS)
    return executor.map(work, batches)


def _split(limits: PassageLimits, documents: Sequence[Document]) -> list[tuple[Unit, ...]]:
    return [passages(document, limits) for document in documents]


def _count(limits: PassageLimits, documents: Sequence[Document]) -> int:
    return sum(len(passages(document, limits)) for document in documents)


def _batches(split: Iterable[list[tuple[Unit, ...]]], size: int) -> Iterator[list[Unit]]:
    """Passages of whole documents, at least `size` at a time, so that a document is either all there or not at all."""
    batch: list[Unit] = []
    for units in chain.from_iterable(split):
        batch += units
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch
