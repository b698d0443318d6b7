"""The three kinds of link between sentences, in terms of rows: adjacent, similar, and sharing entities (ChainRAG).

The same functions make the graph of a corpus, update it, and make the graph of one question. Two sentences are linked by
similarity or by shared entities if each is among the best of the other. So no sentence becomes a hub.

A sentence has the entities of the facts of its passage whose spans it overlaps, so the extracting language decides what an entity
is. Names that differ only in case and white space are one entity, as in aggregates. Dates and numbers are recognised in English
only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed, Places, Rows, is_among, joined, paired, ranges, unpaired
from hoptrail.execution.executor import batched
from hoptrail.structures.sentences import SentencePlaces
from hoptrail.structures.title_mentions import shape_of
from hoptrail.text.mentions import Shape
from hoptrail.text.normal_forms import folded
from hoptrail.types import Extraction, Span
from hoptrail_papers.nearest import best_of

_READ = 1024  # extractions read at a time
_COMPARED = 1 << 20  # pairs of rows compared at a time
_RECENT = 1 << 16  # entities whose keys are cached: most are frequent


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


EXPANSION = 1 << 18  # pairs of sentences with a shared entity that are processed at a time
TOGETHER = 1 << 16  # rows processed at a time


def unordered(edges: Directed) -> Directed:
    """The pairs that edges join in either direction: each once, from the lower row, sorted."""
    first = np.minimum(edges.sources, edges.targets)
    second = np.maximum(edges.sources, edges.targets)
    _, places = np.unique(paired(first, second), return_index=True)
    return Directed(first[places], second[places], edges.weights[places])


def adjacent_pairs(passages: Rows, starts: NDArray[np.int64], reach: int) -> Directed:
    """SA: sentences of one passage at most `reach` sentences apart; the weight is 1 / distance.
    `passages`: the passage number of each row, -1 for none; `starts`: where each row's sentence begins.
    """
    order = np.lexsort((starts, passages)).astype(np.int32)
    parts = []
    for distance in range(1, reach + 1):
        sources, targets = order[:-distance], order[distance:]
        near = (passages[sources] == passages[targets]) & (passages[sources] >= 0)
        parts.append(Directed(sources[near], targets[near], np.full(np.count_nonzero(near), 1 / distance)))
    return unordered(joined(parts))


def mutual_pairs(best: Callable[[Rows], Iterator[Directed]], rows: Rows, size: int) -> Directed:
    """The pairs with an end in `rows` (sorted; of `size` rows in all) in which each row is among the best of the other.
    `best` returns edges from rows to their best rows, in portions; it is called once per row. Returns edges from the lower row,
    with the weights from its side.
    """
    own, reached = (np.zeros(size, np.bool_) for _ in range(2))
    own[rows] = True
    edges = list(best(rows))
    for portion in edges:
        reached[portion.targets] = True
    reached[rows] = False
    edges += [portion.where(own[portion.targets]) for portion in best(np.flatnonzero(reached).astype(np.int32))]
    whole = joined(edges)
    rising = whole.sources < whole.targets
    forward, backward = whole.where(rising), whole.where(~rising)
    forward = forward.where(np.argsort(forward.keys))
    return forward.where(is_among(forward.keys, np.sort(paired(backward.targets, backward.sources))))


class SharedEntities:
    """Finds the sentences that share the rarest entities with a sentence: EC.

    Only entities that 2 to `most` sentences mention are used: with one mention they link nothing, with too many they say
    nothing. (The paper keeps the 60 % of highest BM25 importance, see `key_entities`.)
    A shared entity is worth log((n + 1) / mentions) / log(n + 1), between 0 and 1; the values of several are combined as
    independent probabilities, so that a weight stays below 1.
    """

    def __init__(self, mentions: Mentions, size: int, most: int, count: int) -> None:
        """`size`: the number of sentences; `count`: the most links of a sentence."""
        self._size, self._count = size, count
        counts = _entity_counts(mentions)
        used = (counts >= 2) & (counts <= most)
        self._mentions = mentions.of_entities(used)
        self._postings = np.sort(paired(self._mentions.entities, self._mentions.rows))
        """The rows that mention each entity: pairs of entity and row, sorted."""
        self._counts = np.where(used, counts, 0)
        self._starts = np.cumsum(self._counts) - self._counts
        worth = np.log((size + 1) / np.maximum(counts, 1)) / np.log(size + 1)
        self._log_complements = np.log1p(-np.minimum(worth, 1 - 1e-9))
        """log(1 - worth) of each entity."""

    def portions(self, rows: Rows) -> Iterator[Directed]:
        """Edges from each of `rows` to the `count` rows that share most with it. Ties, which are the rule among the sentences
        about one entity, go to the nearest in the circle of rows: then not only the lowest rows get links.
        """
        for start in range(0, len(rows), TOGETHER):
            batch = rows[start : start + TOGETHER]
            which, entities = self._mentions.of_rows(batch)
            for block in self._blocks(which, entities):
                yield self._strongest(batch[which[block]], entities[block])

    def _blocks(self, which: Places, entities: Rows) -> list[Places]:
        """Positions of mentions, those of a row together, about EXPANSION pairs at a time."""
        if not len(which):
            return []
        pairs = np.cumsum(self._counts[entities])
        turns = (pairs // EXPANSION)[np.searchsorted(which, which)]
        return np.split(np.arange(len(which)), np.flatnonzero(np.diff(turns)) + 1)

    def _strongest(self, rows: Rows, entities: Rows) -> Directed:
        which, places = ranges(self._starts[entities], self._counts[entities])
        sources, (_, targets) = rows[which], unpaired(self._postings[places])
        others = sources != targets
        complements = self._log_complements[entities][which]
        edges = _combined(Directed(sources[others], targets[others], complements[others]))
        distances = np.abs(edges.sources - edges.targets)
        return best_of(edges, self._count, np.minimum(distances, self._size - distances))


def _combined(edges: Directed) -> Directed:
    """One edge for each pair of rows, which several entities may have linked; log complements become weights."""
    if not len(edges):
        return edges
    order = np.argsort(edges.keys, kind="stable")  # entities stay in order, so both directions give the same sum
    keys, starts = np.unique(edges.keys[order], return_index=True)
    return Directed(*unpaired(keys), -np.expm1(np.add.reduceat(edges.weights[order], starts)))


def key_entities(mentions: Mentions, size: int, share: float) -> Mentions:
    """The mentions of the `share` of entities with the highest mean BM25 score over all `size` sentences, and of those that equal
    the last of these (ChainRAG's alpha). The "documents" of this BM25 are the sentences, whose "words" are their entities;
    k1 = 1.5, b = 0.75. So what many sentences mention counts more, and single mentions fall out first.
    """
    if share >= 1 or not len(mentions.rows):
        return mentions
    counts = _entity_counts(mentions)
    lengths = np.bincount(mentions.rows, minlength=size)
    weights = 2.5 / (1 + 1.5 * (0.25 + 0.75 * lengths / lengths.mean()))
    total = np.bincount(mentions.entities, weights[mentions.rows], minlength=len(counts))
    importance = np.log1p((size - counts + 0.5) / (counts + 0.5)) * total / size
    return mentions.of_entities(importance >= np.percentile(importance, 100 * (1 - share)))


def _entity_counts(mentions: Mentions) -> NDArray[np.int64]:
    return np.bincount(mentions.entities, minlength=len(mentions.digests))
