"""The triples of a corpus, in memory, read once a snapshot: which slots each has, and which passage states it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.snapshot import Snapshot, made_once
from hoptrail.structures.triples import triple_in
from hoptrail.text.normal_forms import folded
from hoptrail.types import Kind, Unit


@dataclass(frozen=True)
class StoredTriples:
    """Triples by rising id: `slots` are their texts, `passages` rows in `passage_ids`, -1 where no passage holds it."""

    ids: tuple[str, ...]
    slots: tuple[tuple[str, str, str], ...]
    passages: Rows
    passage_ids: tuple[str, ...]

    @classmethod
    def of(cls, snapshot: Snapshot) -> StoredTriples:
        """All of them, read once a snapshot."""
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
        """Keys of its subject and its object in `entities`."""
        subject, _, object_ = self.slots[row]
        return folded(subject), folded(object_)


@made_once
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
