"""The three kinds of link between sentences, over rows and numbers: adjacent, similar, and sharing entities (ChainRAG).

The same functions make the graph of a corpus, bring it up to date, and make the graph of one question. A link by likeness or by
shared entities stands where each of the two is among the other's best: it has no direction, and no sentence becomes a hub.
Knows nothing of texts, ids or the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.structures.nearest import Directed, Rows, best_of, is_among, joined
from hoptrail.structures.sentence_entities import Mentions

EXPANSION = 1 << 20
"""Pairs of sentences that share an entity looked at a time."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Unordered pairs of rows, each once, rising: `first` < `second`, arrays of one length."""

    first: Rows
    second: Rows
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.first)

    def where(self, chosen: NDArray[np.bool_]) -> Pairs:
        return Pairs(self.first[chosen], self.second[chosen], self.weights[chosen])

    def keys(self, size: int) -> NDArray[np.int64]:
        """One number a pair, rising; `size` is the number of rows there are."""
        return self.first.astype(np.int64) * size + self.second


def unordered(edges: Directed, size: int) -> Pairs:
    """The pairs that edges join, whatever their direction and however often."""
    first = np.minimum(edges.sources, edges.targets)
    second = np.maximum(edges.sources, edges.targets)
    _, places = np.unique(first.astype(np.int64) * size + second, return_index=True)
    return Pairs(first[places], second[places], edges.weights[places])


def no_pairs() -> Pairs:
    return unordered(joined([]), 0)


def contained(pairs: Pairs, others: Pairs, size: int) -> NDArray[np.bool_]:
    """Which of `pairs` are among `others`, whatever their weights."""
    return is_among(pairs.keys(size), others.keys(size))


def adjacent_pairs(passages: Rows, starts: NDArray[np.int64], reach: int) -> Pairs:
    """SA: sentences of one passage at most `reach` sentences apart; the weight is 1 by the distance.

    `passages`: the number of each row's passage, -1 for none; `starts`: where the row begins.
    """
    order = np.lexsort((starts, passages)).astype(np.int32)
    parts = []
    for distance in range(1, reach + 1):
        before, after = order[:-distance], order[distance:]
        near = (passages[before] == passages[after]) & (passages[before] >= 0)
        parts.append(Directed(before[near], after[near], np.full(int(near.sum()), 1 / distance)))
    return unordered(joined(parts), len(passages))


def mutual_pairs(best: Callable[[Rows], Directed], rows: Rows, size: int) -> Pairs:
    """The pairs with one end in `rows` at least in which each is among the `best` of the other."""
    own = best(rows)
    edges = joined([own, best(np.setdiff1d(own.targets, rows).astype(np.int32))])
    keys = np.minimum(edges.sources, edges.targets).astype(np.int64) * size
    keys += np.maximum(edges.sources, edges.targets)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = order[:-1][keys[1:] == keys[:-1]]  # a mutual pair has an edge from either end
    fresh = np.zeros(size, dtype=bool)
    fresh[rows] = True
    firsts = firsts[fresh[edges.sources[firsts]] | fresh[edges.targets[firsts]]]
    return unordered(Directed(edges.sources[firsts], edges.targets[firsts], edges.weights[firsts]), size)


class SharedEntities:
    """Finds the sentences that share the rarest entities with a sentence: EC.

    An entity counts where 2 to `most` sentences name it: one that stands alone joins nothing, one that stands everywhere says
    nothing. (The paper keeps the 60 % of highest BM25 importance, which drops hardly any but the first sort.) Each shared
    entity is worth log((n + 1) / named) / log(n + 1), between 0 and 1; several are added as independent chances are, so that a
    weight stays below 1.
    """

    def __init__(self, mentions: Mentions, size: int, most: int, count: int) -> None:
        """`size`: how many sentences there are; `count`: how many others a sentence has at most."""
        named = np.bincount(mentions.entities, minlength=len(mentions.keys))
        telling = ((named >= 2) & (named <= most))[mentions.entities]
        self._rows, self._entities = mentions.rows[telling], mentions.entities[telling]
        order = np.lexsort((self._rows, self._entities))
        self._postings = self._rows[order]
        self._starts = np.searchsorted(self._entities[order], np.arange(len(mentions.keys) + 1))
        worth = np.log((size + 1) / np.maximum(named, 1)) / np.log(size + 1)
        self._doubts = np.log1p(-np.minimum(worth, 1 - 1e-9))
        self._size, self._count = size, count

    def of(self, rows: Rows) -> Directed:
        """Edges from each of `rows` to those that share most with it, at most `count`.

        Ties, which are the rule among the sentences about one entity, go to those nearest in the circle of rows: all of them
        come to have about as many links, where the lowest rows would get them all.
        """
        return joined([self._strongest(chosen) for chosen in self._blocks(rows)])

    def _blocks(self, rows: Rows) -> Iterator[NDArray[np.intp]]:
        """Places of the mentions of `rows`, those of a row together, about EXPANSION pairs at a time."""
        wanted = np.zeros(self._size, dtype=bool)
        wanted[rows] = True
        chosen = np.flatnonzero(wanted[self._rows])
        if not len(chosen):
            return
        pairs = np.cumsum(np.diff(self._starts)[self._entities[chosen]])
        turns = (pairs // EXPANSION)[np.searchsorted(self._rows[chosen], self._rows[chosen])]
        yield from np.split(chosen, np.flatnonzero(np.diff(turns)) + 1)

    def _strongest(self, chosen: NDArray[np.intp]) -> Directed:
        entities = self._entities[chosen]
        counts = np.diff(self._starts)[entities]
        sources = np.repeat(self._rows[chosen], counts)
        doubts = np.repeat(self._doubts[entities], counts)
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        targets = self._postings[np.repeat(self._starts[entities], counts) + offsets]
        others = sources != targets
        return self._ranked(self._summed(Directed(sources[others], targets[others], doubts[others])))

    def _summed(self, edges: Directed) -> Directed:
        """One edge where several entities made one each; doubts become a weight."""
        keys = edges.sources.astype(np.int64) * self._size + edges.targets
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
