"""Which sentences name which entities: what was found in their passages, brought down to the sentence.

A sentence has the entities of the facts whose span it overlaps; so the language that extracted decides what an entity is. Names
that differ in case and white space alone are one entity, as in aggregates. Dates and numbers are known in English only.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from hoptrail.executing.executor import batched
from hoptrail.language.offline.entities import Shape, figure_shape
from hoptrail.language.offline.lexicon import MULTIPLIERS, NUMBER_WORDS
from hoptrail.language.offline.text import folded, squeeze
from hoptrail.language.tasks import Extraction
from hoptrail.store.columns import Rows, is_among
from hoptrail.store.scratch import Scratch
from hoptrail.structures.sentences import SentencePlaces

_READ = 1024
"""Extractions read at a time."""
_RECENT = 1 << 16
"""Entities whose keys are remembered: most come often."""
_TOGETHER = 1 << 20
"""Mentions worked on at a time: the row in the upper half of a number, the entity's number in the lower."""
_NUMBER = (1 << 32) - 1

_NUMBER_WORDS = frozenset((*NUMBER_WORDS, *MULTIPLIERS))
_SEPARATOR = re.compile(r"[\s-]")
_DIGIT = re.compile(r"\d")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mentions:
    """Row `rows[i]` names entity `keys[entities[i]]`: each once, by rising row, then entity. `keys` rise."""

    keys: tuple[str, ...]
    rows: Rows
    entities: Rows

    def of(self, key: str) -> Rows:
        """The rows that name an entity, rising."""
        place = bisect_left(self.keys, key)
        if self.keys[place : place + 1] != (key,):
            return np.zeros(0, dtype=np.int32)
        found: Rows = self.rows[self.entities == place]
        return found

    def share(self, first: Rows, second: Rows) -> NDArray[np.bool_]:
        """Whether the rows of each pair name an entity in common."""
        starts = np.searchsorted(self.rows, first)
        counts = np.searchsorted(self.rows, first, "right") - starts
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        entities = self.entities[np.repeat(starts, counts) + offsets]
        named = self.rows.astype(np.int64) * len(self.keys) + self.entities
        wanted = np.repeat(second.astype(np.int64), counts) * len(self.keys) + entities
        pairs = np.repeat(np.arange(len(first)), counts)
        return np.bincount(pairs[is_among(wanted, named)], minlength=len(first)) > 0


def mentions_in(
    places: SentencePlaces,
    extractions: Iterable[Extraction],
    left_out: Collection[Shape],
    scratch: Scratch | None = None,
) -> Mentions:
    """The entities of the sentences at `places`, without those whose form is one of `left_out`."""
    scratch = scratch or Scratch.in_memory()
    key_of = lru_cache(_RECENT)(partial(_key, left_out=left_out))
    numbers: dict[str, int] = {}  # as they come
    column = scratch.column(np.int64)
    for some in batched(extractions, _READ):
        found = array("q")
        for fact in (fact for extraction in some for fact in extraction.facts):
            keys = {key_of(entity) for entity in fact.entities} - {""}
            named = [numbers.setdefault(key, len(numbers)) for key in keys]
            found.extend(
                row << 32 | number for row in (places.overlapping(fact.source) if keys else ()) for number in named
            )
        column.extend(np.array(found, dtype=np.int64))
    in_order = tuple(sorted(numbers))
    ranks = np.empty(len(in_order), dtype=np.int64)
    ranks[[numbers[key] for key in in_order]] = np.arange(len(in_order))
    pairs = column.values()
    for start in range(0, len(pairs), _TOGETHER):
        here = pairs[start : start + _TOGETHER]
        here[:] = here & ~_NUMBER | ranks[here & _NUMBER]
    pairs.sort()
    rows, entities = scratch.column(np.int32), scratch.column(np.int32)
    before = np.int64(-1)
    for start in range(0, len(pairs), _TOGETHER):
        here = pairs[start : start + _TOGETHER]
        once = here[np.diff(here, prepend=before) != 0]
        rows.extend(once >> 32)
        entities.extend(once & _NUMBER)
        before = here[-1]
    return Mentions(in_order, rows.values(), entities.values())


def shape_of(name: str) -> Shape:
    """What the form of a whole entity makes it: a date, a number (also `5 percent`, `2nd`, `third`), or else a name."""
    whole = squeeze(name).strip(" .,")
    if whole[:1].isalpha() and not _DIGIT.search(whole) and _SEPARATOR.split(whole, 1)[0] not in _NUMBER_WORDS:
        return Shape.NAME  # nearly all are: no need to look closer
    figure = figure_shape(whole)
    if figure is not None:
        return figure
    if _ORDINAL.fullmatch(whole) or not any(character.isalpha() for character in whole):
        return Shape.NUMBER
    return Shape.NAME


def _key(entity: str, left_out: Collection[Shape]) -> str:
    """What stands for an entity; nothing where it is left out."""
    return "" if left_out and shape_of(entity) in left_out else folded(entity)
