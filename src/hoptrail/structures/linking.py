"""The three kinds of link between sentences, over rows and numbers: adjacent, similar, and sharing entities (ChainRAG).

The same functions make the graph of a corpus, bring it up to date, and make the graph of one question. A link by likeness or by
shared entities stands where each of the two is among the other's best: it has no direction, and no sentence becomes a hub.
Knows nothing of texts, ids or the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed, Places, Rows, is_among, joined, paired, ranges, unpaired
from hoptrail.structures.nearest import best_of
from hoptrail.structures.sentence_entities import Mentions

EXPANSION = 1 << 18
"""Pairs of sentences that share an entity looked at a time."""

TOGETHER = 1 << 16
"""Rows worked on at a time."""


def unordered(edges: Directed) -> Directed:
    """The pairs that edges join, whatever their direction and however often: each once, from the lower row, rising."""
    first = np.minimum(edges.sources, edges.targets)
    second = np.maximum(edges.sources, edges.targets)
    _, places = np.unique(paired(first, second), return_index=True)
    return Directed(first[places], second[places], edges.weights[places])


class Adjacency:
    """SA: sentences of one passage at most `reach` sentences apart; the weight is 1 by the distance."""

    def __init__(self, passages: Rows, starts: NDArray[np.int64], reach: int) -> None:
        """`passages`: the number of each row's passage, -1 for none; `starts`: where the row begins."""
        self._passages, self._reach = passages, reach
        self._order = np.lexsort((starts, passages)).astype(np.int32)
        self._places = np.empty_like(self._order)
        self._places[self._order] = np.arange(len(passages), dtype=np.int32)

    def of(self, rows: Rows) -> Directed:
        """Those with an end in `rows`."""
        parts = []
        for step in (step for distance in range(1, self._reach + 1) for step in (-distance, distance)):
            places = self._places[rows] + step
            there = (places >= 0) & (places < len(self._order))
            sources, targets = rows[there], self._order[places[there]]
            near = self._share_a_passage(sources, targets)
            parts.append(Directed(sources[near], targets[near], np.full(int(near.sum()), 1 / abs(step))))
        return unordered(joined(parts))

    def hold(self, pairs: Directed) -> NDArray[np.bool_]:
        """Which of some pairs are among all of these, whatever their weights."""
        apart = np.abs(self._places[pairs.sources] - self._places[pairs.targets])
        found: NDArray[np.bool_] = self._share_a_passage(pairs.sources, pairs.targets) & (apart <= self._reach)
        return found

    def _share_a_passage(self, rows: Rows, others: Rows) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self._passages[rows] == self._passages[others]) & (self._passages[rows] >= 0)
        return found


Best = Callable[[Rows], Iterator[Directed]]
"""Gives edges from rows to what is best for them, each once, in portions."""


def mutual_pairs(best: Best, rows: Rows, size: int) -> Directed:
    """The pairs of rows in which each is among the best of the other, as edges from the lower, with an end in `rows` (rising);
    there are `size` rows.

    What is best for a row is asked once. Weights are as from the lower row.
    """
    own, reached = (np.zeros(size, np.bool_) for _ in range(2))
    own[rows] = True
    edges = list(best(rows))
    for some in edges:
        reached[some.targets] = True
    reached[rows] = False
    edges += [some.where(own[some.targets]) for some in best(np.flatnonzero(reached).astype(np.int32))]
    whole = joined(edges)
    rising = whole.sources < whole.targets
    there, back = whole.where(rising), whole.where(~rising)
    keys = paired(there.sources, there.targets)
    order = np.argsort(keys)
    mutual = order[is_among(keys[order], np.sort(paired(back.targets, back.sources)))]
    return there.where(mutual)


class SharedEntities:
    """Finds the sentences that share the rarest entities with a sentence: EC.

    An entity counts where 2 to `most` sentences name it: one that stands alone joins nothing, one that stands everywhere says
    nothing. (The paper keeps the 60 % of highest BM25 importance, see `key_entities`: that drops hardly any but the first sort.)
    Each shared entity is worth log((n + 1) / named) / log(n + 1), between 0 and 1; several are added as independent chances are,
    so that a weight stays below 1.
    """

    def __init__(self, mentions: Mentions, size: int, most: int, count: int) -> None:
        """`size`: how many sentences there are; `count`: how many others a sentence has at most."""
        self._size, self._count = size, count
        self._named = _counted(mentions)
        self._mentions = _telling(mentions, self._named, most)
        self._postings = _postings(self._mentions)
        self._starts: NDArray[np.int64] = np.concatenate(
            [[0], np.cumsum(np.where(_tells(self._named, most), self._named, 0))]
        )

    def portions(self, rows: Rows) -> Iterator[Directed]:
        """Edges from each of `rows` to those that share most with it, at most `count`.

        Ties, which are the rule among the sentences about one entity, go to those nearest in the circle of rows: all of them
        come to have about as many links, where the lowest rows would get them all.
        """
        for start in range(0, len(rows), TOGETHER):
            some = rows[start : start + TOGETHER]
            which, entities = self._mentions.of_rows(some)
            for block in self._blocks(which, entities):
                yield self._strongest(some[which[block]], entities[block])

    def _blocks(self, which: Places, entities: Rows) -> list[Places]:
        """Places of mentions, those of a row together, about EXPANSION pairs at a time."""
        if not len(which):
            return []
        pairs = np.cumsum(self._sharing(entities))
        turns = (pairs // EXPANSION)[np.searchsorted(which, which)]
        return np.split(np.arange(len(which)), np.flatnonzero(np.diff(turns)) + 1)

    def _sharing(self, entities: Rows) -> NDArray[np.int64]:
        """How many rows name each entity."""
        return self._starts[entities + 1] - self._starts[entities]

    def _strongest(self, rows: Rows, entities: Rows) -> Directed:
        which, places = ranges(self._starts[entities], self._sharing(entities))
        sources, (_, targets) = rows[which], unpaired(self._postings[places])
        doubts = self._doubts(entities)[which]
        others = sources != targets
        return self._ranked(self._summed(Directed(sources[others], targets[others], doubts[others])))

    def _doubts(self, entities: Rows) -> NDArray[np.float64]:
        worth = np.log((self._size + 1) / self._named[entities]) / np.log(self._size + 1)
        doubts: NDArray[np.float64] = np.log1p(-np.minimum(worth, 1 - 1e-9))
        return doubts

    def _summed(self, edges: Directed) -> Directed:
        """One edge where several entities made one each; doubts become a weight."""
        keys = paired(edges.sources, edges.targets)
        order = np.argsort(keys, kind="stable")  # entities stay in order, so both directions add up to the same
        _, starts = np.unique(keys[order], return_index=True)
        if not len(starts):
            return edges
        firsts = order[starts]
        weights = -np.expm1(np.add.reduceat(edges.weights[order], starts))
        return Directed(edges.sources[firsts], edges.targets[firsts], weights)

    def _ranked(self, edges: Directed) -> Directed:
        apart = np.abs(edges.sources - edges.targets)
        return best_of(edges, self._count, np.minimum(apart, self._size - apart))


def key_entities(mentions: Mentions, size: int, share: float) -> Mentions:
    """The mentions of that share of the entities whose mean BM25 score, over the sentences that name them, is highest (ChainRAG's
    alpha). A sentence is a document there whose words are its entities; k1 = 1.5, b = 0.75, of `size` sentences in all.
    """
    if share >= 1 or not len(mentions.rows):
        return mentions
    named = _counted(mentions)
    lengths = np.bincount(mentions.rows, minlength=size)
    weighed = 2.5 / (1 + 1.5 * (0.25 + 0.75 * lengths / lengths[lengths > 0].mean()))
    total = np.bincount(mentions.entities, weighed[mentions.rows], minlength=len(named))
    importance = np.log1p((size - named + 0.5) / (named + 0.5)) * total / np.maximum(named, 1)
    kept = np.zeros(len(named), np.bool_)
    kept[np.argsort(-importance, kind="stable")[: int(np.ceil(share * len(named)))]] = True
    chosen = kept[mentions.entities]
    return Mentions(mentions.digests, mentions.rows[chosen], mentions.entities[chosen])


def _counted(mentions: Mentions) -> NDArray[np.int64]:
    """How many rows name each entity."""
    return np.bincount(mentions.entities, minlength=len(mentions.digests))


def _tells(named: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Whether an entity that so many rows name counts."""
    return (named >= 2) & (named <= most)


def _telling(mentions: Mentions, named: NDArray[np.int64], most: int) -> Mentions:
    """The mentions of the entities that count."""
    telling = _tells(named, most)[mentions.entities]
    return Mentions(mentions.digests, mentions.rows[telling], mentions.entities[telling])


def _postings(mentions: Mentions) -> NDArray[np.int64]:
    """The rows that name each entity: entity and row as one number each, rising."""
    return np.sort(paired(mentions.entities, mentions.rows))
