"""The triples of a corpus in memory, read once per snapshot: their slots, and the passage that states each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.structures.triples import STATED, triple_in
from hoptrail.text.normal_forms import folded
from hoptrail.types import Kind


@dataclass(frozen=True)
class StoredTriples:
    """Triples by rising id: `slots` are their texts, `passages` rows in `passage_ids`, -1 if no passage states it."""

    ids: tuple[str, ...]
    slots: tuple[tuple[str, str, str], ...]
    passages: Rows
    passage_ids: tuple[str, ...]

    @classmethod
    def of(cls, snapshot: Snapshot) -> StoredTriples:
        """All triples of a snapshot, read once."""
        return _read(snapshot)

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
def _read(snapshot: Snapshot) -> StoredTriples:
    units = sorted(snapshot.units(Kind.TRIPLE), key=lambda unit: unit.id)
    passages = tuple(unit.id for unit in sorted(snapshot.units(Kind.PASSAGE), key=lambda unit: unit.sources))
    stated = snapshot.graph.rows(STATED, [*(unit.id for unit in units), *passages])
    places = np.full(len(units), -1, np.int32)
    places[stated.sources] = stated.targets - len(units)
    return StoredTriples(
        tuple(unit.id for unit in units), tuple(_slots_in(unit.text) for unit in units), places, passages
    )


def _slots_in(text: str) -> tuple[str, str, str]:
    triple = triple_in(text)
    return triple.subject, triple.relation, triple.object
