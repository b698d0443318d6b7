"""The triples of a corpus in memory, read once per snapshot: their slots, and the passage that states each."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.text.normal_forms import folded
from hoptrail.types import Kind, Span
from hoptrail_papers.comprag.triples import slot_id, slots_in


@dataclass(frozen=True)
class StoredTriples:
    """Triples by rising id: `slots` are their texts, `passages` rows in `passage_ids` of the passage around each, or -1."""

    ids: tuple[str, ...]
    slots: tuple[tuple[str, str, str], ...]
    passages: Rows
    passage_ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def entities(self) -> Mapping[str, Rows]:
        """Rows of the triples with this subject or object, rising; case and white space do not matter."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for row, (subject, _, object_) in enumerate(self.slots):
            for key in {folded(subject), folded(object_)}:
                found[key].append(row)
        return {key: np.array(rows, dtype=np.int32) for key, rows in found.items()}

    def named_by(self, row: int) -> tuple[str, str]:
        """The keys of a triple's subject and object in `entities`."""
        subject, _, object_ = self.slots[row]
        return folded(subject), folded(object_)


@cached_per_snapshot
def stored_triples(snapshot: Snapshot) -> StoredTriples:
    """All triples of a snapshot, read once."""
    units = sorted(snapshot.units(Kind.TRIPLE), key=lambda unit: unit.id)
    passages = sorted((unit.sources[0], unit.id) for unit in snapshot.units(Kind.PASSAGE))
    begins = [(span.document, span.start) for span, _ in passages]

    def passage_of(place: Span) -> int:
        row = bisect_right(begins, (place.document, place.start)) - 1
        return row if row >= 0 and passages[row][0].covers(place) else -1

    return StoredTriples(
        tuple(unit.id for unit in units),
        tuple(slots_in(unit.text) for unit in units),
        np.array([passage_of(unit.sources[0]) for unit in units], np.int32),
        tuple(id_ for _, id_ in passages),
    )


def slot_vectors(corpus: Corpus, texts: Sequence[str]) -> FloatMatrix:
    """The vectors of slots of visible triples: shape (len(texts), dimension).

    A slot is stored with the source of one of its triples, so that a view may hide it; then it is encoded here.
    Raises: KeyError: without a view, some have no vector.
    """
    snapshot, ids = corpus.snapshot, list(map(slot_id, texts))
    if not snapshot.is_view:
        return snapshot.search.vectors_in_order([Kind.SLOT], ids)
    stored = snapshot.table.stored(Kind.SLOT, ids)
    visible = np.array([id_ in stored for id_ in ids], dtype=bool)
    vectors = np.zeros((len(ids), snapshot.head.encoder.dimension), dtype=np.float32)
    vectors[visible] = snapshot.search.vectors_in_order([Kind.SLOT], [id_ for id_ in ids if id_ in stored])
    if not visible.all():
        vectors[~visible] = corpus.encoder.encode([text for text, seen in zip(texts, visible, strict=True) if not seen])
    return vectors
