"""The triples that are searched, in memory: which slots each has, and which passage states it.

All of a corpus, read once a snapshot; where these are too many to be held, those around a question (`triples_around.py`), looked
up anew for each. Whoever works with triples does not see the difference.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hoptrail.store.columns import Rows
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.vectors import VectorMirror
from hoptrail.structures.names import TRIPLES
from hoptrail.structures.triples import triple_in
from hoptrail.text.normal_forms import folded
from hoptrail.types import Kind, Unit


@dataclass(frozen=True)
class StoredTriples:
    """Triples by rising id: `slots` are their texts, `passages` rows in `passage_ids`, -1 where no passage holds it.

    `whole` says that these are all triples of the corpus, and `passage_ids` all passages.
    """

    ids: tuple[str, ...]
    slots: tuple[tuple[str, str, str], ...]
    passages: Rows
    passage_ids: tuple[str, ...]
    whole: bool = True

    @classmethod
    def of(cls, snapshot: Snapshot) -> StoredTriples:
        """All of them, read once a snapshot."""
        return snapshot.derived((TRIPLES, "stored"), lambda: _read(snapshot))

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
        """Keys of its subject and its object in `entities`."""
        subject, _, object_ = self.slots[row]
        return folded(subject), folded(object_)

    def vectors(self, snapshot: Snapshot, kind: Kind, ids: Callable[[], Collection[str]]) -> VectorMirror:
        """Vectors of at least the units that `ids` gives: all of the kind where all triples are here."""
        return snapshot.vectors(kind) if self.whole else snapshot.vectors_of(kind, ids())


def some_triples(texts: Mapping[str, str], stating: Mapping[str, str]) -> StoredTriples:
    """A part of all, from the texts of their units, by id; `stating`: by id, too, the passages that state them."""
    ids = tuple(sorted(texts))
    passages = tuple(sorted({stating[id_] for id_ in ids if id_ in stating}))
    rows = {passage: row for row, passage in enumerate(passages)}
    places = np.array([rows.get(stating.get(id_, ""), -1) for id_ in ids], dtype=np.int32)
    return StoredTriples(ids, tuple(_slots_in(texts[id_]) for id_ in ids), places, passages, whole=False)


def _read(snapshot: Snapshot) -> StoredTriples:
    units = sorted(snapshot.units(Kind.TRIPLE), key=lambda unit: unit.id)
    passages = sorted(snapshot.units(Kind.PASSAGE), key=lambda unit: unit.sources)
    places = np.array(list(map(_holder(passages), units)), dtype=np.int32)
    slots = tuple(_slots_in(unit.text) for unit in units)
    return StoredTriples(tuple(unit.id for unit in units), slots, places, tuple(passage.id for passage in passages))


def _slots_in(text: str) -> tuple[str, str, str]:
    triple = triple_in(text)
    return triple.subject, triple.relation, triple.object


def _holder(passages: Sequence[Unit]) -> Callable[[Unit], int]:
    """Finds the place of the passage in which a unit's source begins, -1 where there is none; `passages` rise by source."""
    starts = [(passage.sources[0].document, passage.sources[0].start) for passage in passages]

    def holding(unit: Unit) -> int:
        source = unit.sources[0]
        place = bisect_right(starts, (source.document, source.start)) - 1
        inside = place >= 0 and passages[place].document == source.document
        return place if inside and source.start < passages[place].sources[0].end else -1

    return holding
