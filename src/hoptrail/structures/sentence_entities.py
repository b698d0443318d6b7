"""Which sentences name which entities: what was found in their passages, brought down to the sentence.

A sentence has the entities of the facts whose span it overlaps; so the language that extracted decides what an entity is. Names
that differ in case and white space alone are one entity, as in aggregates. Dates and numbers are known in English only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Places, Rows, is_among, paired, ranges, unpaired
from hoptrail.execution.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.structures.sentences import SentencePlaces
from hoptrail.structures.title_scanning import name_key
from hoptrail.text.lexicon import MULTIPLIERS, NUMBER_WORDS
from hoptrail.text.mentions import Shape, figure_shape
from hoptrail.text.normal_forms import folded, squeeze
from hoptrail.types import Span

_READ = 1024
"""Extractions read at a time."""
_COMPARED = 1 << 20
"""Pairs of rows compared at a time."""
_RECENT = 1 << 16
"""Entities whose keys are remembered: most come often."""

_NUMBER_WORDS = frozenset((*NUMBER_WORDS, *MULTIPLIERS))
_SEPARATOR = re.compile(r"[\s-]")
_DIGIT = re.compile(r"\d")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mentions:
    """Row `rows[i]` names the entity of number `entities[i]`: each once, by rising row, then number.

    `digests` has that of each entity's key by number, rising: names themselves are more than memory should hold. Of ten million
    any two have the same digest with a chance of three in a million.
    """

    digests: NDArray[np.uint64]
    rows: Rows
    entities: Rows

    def of_rows(self, rows: Rows) -> tuple[Places, Rows]:
        """The entities that some rows name: places in `rows`, rising, each with the number of an entity, rising too."""
        first, last = (np.searchsorted(self.rows, rows, side) for side in ("left", "right"))
        which, places = ranges(first, last - first)
        return which, self.entities[places]

    def share(self, first: Rows, second: Rows) -> NDArray[np.bool_]:
        """Whether the rows of each pair name an entity in common."""
        found = np.zeros(len(first), np.bool_)
        for start in range(0, len(first), _COMPARED):
            some = slice(start, start + _COMPARED)
            ours, theirs = (paired(*self.of_rows(rows[some])) for rows in (first, second))
            shared, _ = unpaired(ours[is_among(ours, theirs)])
            found[start + shared] = True
        return found


def mentions_in(
    places: SentencePlaces,
    extractions: Iterable[Extraction],
    left_out: Collection[Shape],
) -> Mentions:
    """The entities of the sentences at `places`, without those whose form is one of `left_out`."""
    none = np.zeros(0, np.int32), np.zeros(0, np.uint64)
    found = zip(none, *_found(places, extractions, left_out), strict=True)
    rows, named = map(np.concatenate, found)
    digests, entities = np.unique(named, return_inverse=True)
    pairs = np.unique(paired(rows, entities))
    return Mentions(digests, *unpaired(pairs))


def _found(
    places: SentencePlaces, extractions: Iterable[Extraction], left_out: Collection[Shape]
) -> Iterator[tuple[Rows, NDArray[np.uint64]]]:
    """The rows of mentions as they come, and the digests of their entities."""
    digest_of = lru_cache(_RECENT)(partial(_digest_of, left_out=left_out))
    for some in batched(extractions, _READ):
        spans: list[Span] = []
        named: list[int] = []
        counts: list[int] = []
        for fact in (fact for extraction in some for fact in extraction.facts):
            if digests := {digest for digest in map(digest_of, fact.entities) if digest is not None}:
                spans.append(fact.source)
                named += digests
                counts.append(len(digests))
        which, rows = places.overlapping(spans)
        many = np.array(counts, dtype=np.int64)
        mention, entity = ranges((np.cumsum(many) - many)[which], many[which])
        yield rows[mention], np.array(named, dtype=np.uint64)[entity]


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


def _digest_of(entity: str, left_out: Collection[Shape]) -> int | None:
    """What stands for an entity; nothing where it is left out."""
    key = "" if left_out and shape_of(entity) in left_out else folded(entity)
    if not key:
        return None
    # The same in every process, unlike a hash: the order of entities must be.
    return int.from_bytes(blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest())


@lru_cache(maxsize=100_000)
def entity_key(entity: str) -> str:
    """The key of the name that an extracted entity is; nothing for a date or a number."""
    return "" if shape_of(entity) in {Shape.DATE, Shape.NUMBER} else name_key(folded(entity))
