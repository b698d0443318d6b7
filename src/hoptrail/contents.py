"""What is in one state of an index: its documents, and how much was made from them."""

from __future__ import annotations

from dataclasses import dataclass

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
    """What is in an index. `usage` is what building it has cost. Where the last run has not ended (`whole` is False), only
    `searchable` documents are found yet.
    """

    format: int
    encoder: EncoderIdentity
    documents: tuple[DocumentSummary, ...]
    units: dict[Kind, int]
    links: dict[str, int]
    structures: tuple[str, ...]
    usage: Usage
    whole: bool = True
    searchable: int = 0


def contents_of(snapshot: Snapshot) -> Contents:
    """What is in one state of an index."""
    passages = snapshot.table.count_by_document(Kind.PASSAGE)
    documents = tuple(
        DocumentSummary(entry.id, entry.title, entry.sources, passages[entry.id]) for entry in snapshot.register.entries
    )
    head = snapshot.head
    units = {kind: snapshot.count(kind) for kind in snapshot.table.kinds}
    links = snapshot.graph.count()
    return Contents(
        *(FORMAT, head.encoder, documents, units, dict(sorted(links.items())), tuple(head.structures), head.spent),
        *(head.whole, len(passages)),
    )
