"""Facts gathered by entity, of a corpus whose facts memory does not hold: entities in parts, of which one is in memory at a time.

Which entities stay can hang on all parts; of these, numbers are held: 8 bytes for each fact of each entity, and a name and some
hundred bytes for each entity that stays.
"""

from __future__ import annotations

import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hoptrail.language.offline.entities import Shape, find_mentions
from hoptrail.language.offline.text import folded, squeeze
from hoptrail.language.tasks import Extraction
from hoptrail.store.columns import Digests
from hoptrail.store.scratch import SetAside
from hoptrail.types import Span


@dataclass(slots=True)
class Gathering:
    """Facts that become one aggregate: each text with where it stands first, in order; and how the entity is written."""

    facts: dict[str, Span] = field(default_factory=dict)
    written: Counter[str] = field(default_factory=Counter)

    @property
    def title(self) -> str:
        """The commonest writing; the first of several."""
        return self.written.most_common(1)[0][0]


Gatherings = Iterable[dict[str, Gathering]]
"""By key, in parts, each key in one of them; gone through more than once."""

Said = tuple[str, str, str, Span]
"""An entity's key, how it is written, a fact's text and where that stands."""


class GatheredByEntity:
    """What extractions say of each entity, in the order they are put, and in parts as many as there are rooms for records."""

    def __init__(self, rooms: Sequence[SetAside[Said]], *, dates_and_numbers: bool) -> None:
        self._rooms = rooms
        self._dates_and_numbers = dates_and_numbers

    def put(self, extraction: Extraction) -> None:
        for fact in extraction.facts:
            text = squeeze(fact.text)
            for entity in fact.entities if text else ():
                if key := folded(entity):
                    room = self._rooms[zlib.crc32(key.encode()) % len(self._rooms)]
                    room.put((key, squeeze(entity), text, fact.source))

    def __iter__(self) -> Iterator[dict[str, Gathering]]:
        for room in self._rooms:
            part: dict[str, Gathering] = {}
            for key, written, text, place in room:
                gathering = part.setdefault(key, Gathering())
                gathering.facts.setdefault(text, place)
                gathering.written[written] += 1
            if not self._dates_and_numbers:
                part = {key: one for key, one in part.items() if not is_date_or_number(one.title)}
            yield part


def chosen(parts: Gatherings, *, drop_covered: bool) -> Iterator[tuple[str, Gathering]]:
    """The gatherings that stay, by key: of those with the same facts the one with the longest name; of equally long ones the
    first by name.

    With `drop_covered` entities go first whose only fact another entity has as well, whether that one stays or not.
    """
    shared = _shared_facts(parts) if drop_covered else Digests()
    first: dict[int, tuple[int, str]] = {}
    for key, gathering in _not_covered(parts, shared):
        digest, rank = hash(tuple(gathering.facts)), (-len(key), key)
        first[digest] = min(rank, first.get(digest, rank))
    for key, gathering in _not_covered(parts, shared):
        if first[hash(tuple(gathering.facts))][1] == key:
            yield key, gathering


def _shared_facts(parts: Gatherings) -> Digests:
    """Those that several entities have."""
    every = array("q")
    for part in parts:
        for gathering in part.values():
            every.extend(map(hash, gathering.facts))
    digests, counts = np.unique(np.array(every, dtype=np.int64), return_counts=True)
    return Digests(digests[counts > 1].tolist())


def _not_covered(parts: Gatherings, shared: Digests) -> Iterator[tuple[str, Gathering]]:
    for part in parts:
        for key, gathering in part.items():
            if len(gathering.facts) > 1 or hash(next(iter(gathering.facts))) not in shared:
                yield key, gathering


def is_date_or_number(name: str) -> bool:
    """Whether a name is nothing else: `May 1871`, `90`, `19th century`. Months and number words are known in English only."""
    if not any(character.isalpha() for character in name):
        return True
    whole = name.strip(" .,")
    return any(
        mention.text == whole and mention.shape in {Shape.DATE, Shape.NUMBER} for mention in find_mentions(whole)
    )
