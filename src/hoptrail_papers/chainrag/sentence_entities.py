"""Which sentences mention which entities, derived from the extractions of their passages.

A sentence has the entities of the facts whose spans it overlaps, so the extracting language decides what an entity is. Names that
differ only in case and white space are one entity, as in aggregates. Dates and numbers are recognised in English only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Places, Rows, is_among, paired, ranges, unpaired
from hoptrail.execution.executor import batched
from hoptrail.structures.sentences import SentencePlaces
from hoptrail.structures.title_mentions import shape_of
from hoptrail.text.mentions import Shape
from hoptrail.text.normal_forms import folded
from hoptrail.types import Extraction, Span

_READ = 1024
"""Extractions read at a time."""
_COMPARED = 1 << 20
"""Pairs of rows compared at a time."""
_RECENT = 1 << 16
"""Entities whose keys are cached: most are frequent."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """Row `rows[i]` mentions entity number `entities[i]`: each pair once, ordered by row, then number.

    `digests` are those of the entities' keys by number, sorted: the names themselves would take too much memory. Among ten
    million entities the probability that any two share a digest is three in a million.
    """

    digests: NDArray[np.uint64]
    rows: Rows
    entities: Rows

    def of_rows(self, rows: Rows) -> tuple[Places, Rows]:
        """The entities of these rows, as pairs of a position in `rows` and an entity, sorted."""
        first, last = (np.searchsorted(self.rows, rows, side) for side in ("left", "right"))
        which, places = ranges(first, last - first)
        return which, self.entities[places]

    def of_entities(self, mask: NDArray[np.bool_]) -> Mentions:
        """The mentions of the entities that a mask chooses: shape (entities,)."""
        chosen = mask[self.entities]
        return Mentions(self.digests, self.rows[chosen], self.entities[chosen])

    def share(self, first: Rows, second: Rows) -> NDArray[np.bool_]:
        """Whether the rows of each pair have an entity in common."""
        shares = np.zeros(len(first), np.bool_)
        for start in range(0, len(first), _COMPARED):
            block = slice(start, start + _COMPARED)
            ours, theirs = (paired(*self.of_rows(rows[block])) for rows in (first, second))
            shared, _ = unpaired(ours[is_among(ours, theirs)])
            shares[start + shared] = True
        return shares


def mentions_in(places: SentencePlaces, extractions: Iterable[Extraction], left_out: Collection[Shape]) -> Mentions:
    """The entities of the sentences at `places`, without those with a shape in `left_out`."""
    none = np.zeros(0, np.int32), np.zeros(0, np.uint64)
    columns = zip(none, *_digests_by_row(places, extractions, left_out), strict=True)
    rows, row_digests = map(np.concatenate, columns)
    digests, entities = np.unique(row_digests, return_inverse=True)
    pairs = np.unique(paired(rows, entities))
    return Mentions(digests, *unpaired(pairs))


def _digests_by_row(
    places: SentencePlaces, extractions: Iterable[Extraction], left_out: Collection[Shape]
) -> Iterator[tuple[Rows, NDArray[np.uint64]]]:
    """The rows of mentions with the digests of their entities, in no order and with repeats."""
    digest_of = lru_cache(_RECENT)(partial(_digest_of, left_out=left_out))
    for batch in batched(extractions, _READ):
        spans: list[Span] = []
        flat: list[int] = []
        counts: list[int] = []
        for fact in (fact for extraction in batch for fact in extraction.facts):
            if digests := {digest for digest in map(digest_of, fact.entities) if digest is not None}:
                spans.append(fact.source)
                flat += digests
                counts.append(len(digests))
        which, rows = places.overlapping(spans)
        sizes = np.array(counts, dtype=np.int64)
        mention, entity = ranges((np.cumsum(sizes) - sizes)[which], sizes[which])
        yield rows[mention], np.array(flat, dtype=np.uint64)[entity]


def _digest_of(entity: str, left_out: Collection[Shape]) -> int | None:
    """The digest of an entity's key; None where it is left out."""
    key = "" if left_out and shape_of(entity) in left_out else folded(entity)
    if not key:
        return None
    # Unlike `hash`, the same in every process, because it determines the order of entities.
    return int.from_bytes(blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest())
