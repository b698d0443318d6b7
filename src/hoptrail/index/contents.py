"""The contents of a snapshot: its documents, and counts of what was made from them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hoptrail.corpus.locations import writer_now
from hoptrail.corpus.schema import FORMAT
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.types import Kind, Usage


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document as `show` lists it; `passages` is their number, `date` its ISO date, if it has one."""

    id: str
    title: str
    sources: tuple[str, ...]
    passages: int
    date: str = ""


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in an index. `usage` is what building it has cost, `reached` the progress of a run that has not ended. `unread` are
    the files that the last run over their folder did not read, with the reasons; a view has none.
    """

    format: int
    encoder: EncoderIdentity
    documents: tuple[DocumentSummary, ...]
    units: dict[Kind, int]
    links: dict[str, int]
    structures: tuple[str, ...]
    usage: Usage
    reached: Reached | None = None
    unread: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reached:
    """How much of an index can be found while its last run has not ended.

    `searchable` of its `documents` are found by the words of their `passages`, of which `encoded` have vectors. `writer` names
    the process that continues the run: empty where it was stopped, None where the system does not tell.
    """

    documents: int
    searchable: int
    passages: int
    encoded: int
    writer: str | None = None

    @property
    def line(self) -> str:
        state = f"indexing goes on ({self.writer})" if self.writer else "indexing has not ended"
        state = "indexing was stopped" if self.writer == "" else state
        share = f"{100 * self.encoded // max(self.passages, 1)} % of their passages have vectors"
        searchable = f"{self.searchable:,} of {self.documents:,} documents can be found so far, {share}"
        return f"{state}: {searchable}" + ("" if self.writer else "; the same `hoptrail index` goes on with it")


def reached(snapshot: Snapshot) -> Reached | None:
    """The progress of the last run; None where it has ended."""
    if snapshot.head.whole:
        return None
    encoded, waiting = snapshot.count(Kind.PASSAGE), len(snapshot.numbered.unencoded())
    searchable = len(snapshot.table.passages_by_document())
    writer = writer_now(snapshot.folder)
    return Reached(len(snapshot.register), searchable, encoded + waiting, encoded, writer)


def contents_of(snapshot: Snapshot) -> Contents:
    passages = snapshot.table.passages_by_document()
    documents = tuple(
        DocumentSummary(entry.id, entry.title, entry.sources, passages[entry.id], entry.date)
        for entry in snapshot.register.entries
    )
    head = snapshot.head
    units = {kind: snapshot.count(kind) for kind in snapshot.table.kinds}
    if waiting := len(snapshot.numbered.unencoded()):
        units[Kind.PASSAGE] = units.get(Kind.PASSAGE, 0) + waiting
    return Contents(
        format=FORMAT,
        encoder=head.encoder,
        documents=documents,
        units=units,
        links=dict(sorted(snapshot.graph.count().items())),
        structures=tuple(head.structures),
        usage=head.spent,
        reached=reached(snapshot),
        unread={} if snapshot.is_view else snapshot.register.unread(),
    )
