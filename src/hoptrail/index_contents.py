"""What is in one state of an index: its documents, and how much was made from them."""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.corpus.places import writer_now
from hoptrail.corpus.schema import FORMAT
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.types import Kind, Usage


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document as `show` lists it; `passages` is how many it was split into."""

    id: str
    title: str
    sources: tuple[str, ...]
    passages: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in an index. `usage` is what building it has cost. `reached` says how far a run has come that has not ended."""

    format: int
    encoder: EncoderIdentity
    documents: tuple[DocumentSummary, ...]
    units: dict[Kind, int]
    links: dict[str, int]
    structures: tuple[str, ...]
    usage: Usage
    reached: Reached | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """What can be found by now of an index whose last run has not ended: `searchable` of its `documents`, by the words of their
    `passages`, of which `encoded` have vectors. `writer` says who goes on with it: empty where the run was stopped, None where
    the system does not tell.
    """

    documents: int
    searchable: int
    passages: int
    encoded: int
    writer: str | None = None

    @property
    def line(self) -> str:
        """The same in words, and how to go on."""
        state = f"indexing goes on ({self.writer})" if self.writer else "indexing has not ended"
        state = "indexing was stopped" if self.writer == "" else state
        share = f"{100 * self.encoded // max(self.passages, 1)} % of their passages have vectors"
        found = f"{self.searchable:,} of {self.documents:,} documents can be found so far, {share}"
        return f"{state}: {found}" + ("" if self.writer else "; the same `hoptrail index` goes on with it")


def reached(snapshot: Snapshot) -> Reached | None:
    """How far the last run has come; None where it has ended."""
    if snapshot.head.whole:
        return None
    encoded, waiting = snapshot.count(Kind.PASSAGE), len(snapshot.texts.unencoded(Kind.PASSAGE))
    searchable = len(snapshot.table.count_by_document(Kind.PASSAGE))
    writer = writer_now(snapshot.folder)
    return Reached(len(snapshot.register), searchable, encoded + waiting, encoded, writer)


def contents_of(snapshot: Snapshot) -> Contents:
    """What is in one state of an index."""
    passages = snapshot.table.count_by_document(Kind.PASSAGE)
    documents = tuple(
        DocumentSummary(entry.id, entry.title, entry.sources, passages[entry.id]) for entry in snapshot.register.entries
    )
    head = snapshot.head
    units = {kind: snapshot.count(kind) for kind in snapshot.table.kinds}
    if waiting := len(snapshot.texts.unencoded(Kind.PASSAGE)):
        units[Kind.PASSAGE] = units.get(Kind.PASSAGE, 0) + waiting
    links = snapshot.graph.count()
    return Contents(
        *(FORMAT, head.encoder, documents, units, dict(sorted(links.items())), tuple(head.structures), head.spent),
        reached(snapshot),
    )
