"""Facts gathered by entity, of a corpus whose facts memory does not hold: entities in parts, of which one is in memory at a time.

Which entities stay can hang on all parts; of these, numbers are held: 8 bytes for each fact of each entity, and a name and some
hundred bytes for each entity that stays.
"""

from __future__ import annotations

import zlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hoptrail.language.offline.entities import Shape, find_mentions
from hoptrail.language.offline.text import folded, squeeze
from hoptrail.language.tasks import Extraction, Fact
from hoptrail.store.columns import Digests
from hoptrail.store.scratch import SetAside

Place = tuple[str, int, int]
"""A span as a plain tuple: there are very many, and less work goes into writing and reading one than into a record."""


def place_of(fact: Fact) -> Place:
    return fact.source.document, fact.source.start, fact.source.end


class Gathering(NamedTuple):
    """Facts that become one aggregate: each text with where it stands first, in order. `key` stands for the entity."""

    key: str
    title: str
    facts: dict[str, Place]


Said = tuple[str, str, str, Place]
"""An entity's key, how it is written, a fact's text and where that stands."""


class EntityRooms:
    """What extractions say of each entity, in the order they are put; an entity's all in one room, as many as there are."""

    def __init__(self, rooms: Sequence[SetAside[Said]]) -> None:
        self._rooms = rooms

    def put(self, extraction: Extraction) -> None:
        for fact in extraction.facts:
            text, place = squeeze(fact.text), place_of(fact)
            for entity in fact.entities if text else ():
                if key := folded(entity):
                    room = self._rooms[zlib.crc32(key.encode()) % len(self._rooms)]
                    room.put((key, squeeze(entity), text, place))

    def gathered(self) -> Iterator[Gathering]:
        """The entities of one room after the other; the title is the commonest writing, the first of several."""
        for room in self._rooms:
            facts: defaultdict[str, dict[str, Place]] = defaultdict(dict)
            written: defaultdict[str, Counter[str]] = defaultdict(Counter)
            for key, name, text, place in room:
                facts[key].setdefault(text, place)
                written[key][name] += 1
            for key, found in facts.items():
                yield Gathering(key, written[key].most_common(1)[0][0], found)


def chosen(gathered: Iterable[Gathering], *, drop_covered: bool) -> Iterator[Gathering]:
    """Those that stay: of some with the same facts the one with the longest key; of equally long ones the first.

    With `drop_covered` entities go first whose only fact another entity has as well, whether that one stays or not. What is
    `gathered` is gone through more than once.
    """
    shared = _shared_facts(gathered) if drop_covered else Digests()
    first: dict[int, tuple[int, str]] = {}
    for one in _not_covered(gathered, shared):
        digest, rank = hash(tuple(one.facts)), (-len(one.key), one.key)
        first[digest] = min(rank, first.get(digest, rank))
    return (one for one in _not_covered(gathered, shared) if first[hash(tuple(one.facts))][1] == one.key)


def _shared_facts(gathered: Iterable[Gathering]) -> Digests:
    """Those that several entities have."""
    every = array("q")
    for one in gathered:
        every.extend(map(hash, one.facts))
    digests, counts = np.unique(np.array(every, dtype=np.int64), return_counts=True)
    return Digests(digests[counts > 1].tolist())


def _not_covered(gathered: Iterable[Gathering], shared: Digests) -> Iterator[Gathering]:
    return (one for one in gathered if len(one.facts) > 1 or hash(next(iter(one.facts))) not in shared)


def is_date_or_number(name: str) -> bool:
    """Whether a name is nothing else: `May 1871`, `90`, `19th century`. Months and number words are known in English only."""
    if not any(character.isalpha() for character in name):
        return True
    whole = name.strip(" .,")
    return any(
        mention.text == whole and mention.shape in {Shape.DATE, Shape.NUMBER} for mention in find_mentions(whole)
    )
