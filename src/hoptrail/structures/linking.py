"""The three kinds of link between sentences, over rows and numbers: adjacent, similar, and sharing entities (ChainRAG).

The same functions make the graph of a corpus, bring it up to date, and make the graph of one question. A link by likeness or by
shared entities stands where each of the two is among the other's best: it has no direction, and no sentence becomes a hub.
Knows nothing of texts, ids or the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.store.columns import Directed, Rows, is_among, joined
from hoptrail.structures.nearest import best_of, parts_of
from hoptrail.structures.sentence_entities import Mentions

EXPANSION = 1 << 20
"""Pairs of sentences that share an entity looked at a time."""


def empty_table(count: int, width: int, dtype: Any) -> NDArray[Any]:
    """Zeros in memory."""
    return np.zeros((count, width), dtype)


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


class Adjacency:
    """SA: sentences of one passage at most `reach` sentences apart; the weight is 1 by the distance."""

    def __init__(self, passages: Rows, starts: NDArray[np.int64], reach: int) -> None:
        """`passages`: the number of each row's passage, -1 for none; `starts`: where the row begins."""
        self._passages, self._reach = passages, reach
        self._order = np.lexsort((starts, passages)).astype(np.int32)
        self._places = np.empty_like(self._order)
        self._places[self._order] = np.arange(len(self._order), dtype=np.int32)

    def of(self, rows: Rows) -> Pairs:
        """Those with an end in `rows`."""
        parts = []
        for step in (step for distance in range(1, self._reach + 1) for step in (-distance, distance)):
            places = self._places[rows] + step
            there = (places >= 0) & (places < len(self._order))
            sources, targets = rows[there], self._order[places[there]]
            near = self._share_a_passage(sources, targets)
            parts.append(Directed(sources[near], targets[near], np.full(int(near.sum()), 1 / abs(step))))
        return unordered(joined(parts), len(self._order))

    def hold(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Which of some pairs are among all of these, whatever their weights."""
        apart = np.abs(self._places[pairs.first] - self._places[pairs.second])
        found: NDArray[np.bool_] = self._share_a_passage(pairs.first, pairs.second) & (apart <= self._reach)
        return found

    def _share_a_passage(self, rows: Rows, others: Rows) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self._passages[rows] == self._passages[others]) & (self._passages[rows] >= 0)
        return found


Best = Callable[[Rows], Directed]
"""Gives edges from rows to what is best for them."""

Room = Callable[[int, int, Any], NDArray[Any]]
"""Gives zeros, by number of rows, of columns, and type."""


@dataclass(frozen=True, slots=True)
class BestOfRows:
    """What is best for each of some rows (rising): tables of shape (len(rows), count), which may lie in files."""

    rows: Rows
    targets: Rows
    """One more than the row, so that 0 is none."""
    weights: NDArray[np.float64]

    @classmethod
    def find(cls, best: Best, rows: Rows, size: int, count: int, room: Room) -> BestOfRows:
        """`best` gives at most `count` a row; it is asked for a part of the rows (of `size` in all) at a time."""
        targets, weights = room(len(rows), count, np.int32), room(len(rows), count, np.float64)
        for part in parts_of(rows, size):
            edges = best(part)
            order = np.argsort(edges.sources, kind="stable")
            sources = edges.sources[order]
            columns = np.arange(len(sources)) - np.searchsorted(sources, sources)
            places = np.searchsorted(rows, sources)
            targets[places, columns] = edges.targets[order] + 1
            weights[places, columns] = edges.weights[order]
        return cls(rows, targets, weights)

    def read(self, rows: Rows) -> tuple[Rows, NDArray[np.float64]]:
        """Targets and weights of any rows, zeros for those that are not here: two arrays of shape (len(rows), count)."""
        here = is_among(rows, self.rows)
        places = np.searchsorted(self.rows, rows[here])
        targets = np.zeros((len(rows), self.targets.shape[1]), dtype=np.int32)
        weights = np.zeros(targets.shape)
        targets[here], weights[here] = self.targets[places], self.weights[places]
        return targets, weights


@dataclass(frozen=True, slots=True)
class MutualPairs:
    """The pairs of rows in which each is among the best of the other, to be read a part at a time.

    What is best for a row was asked once. In memory are some bytes a row and what is being read, where `room` gives files.
    """

    parts: tuple[BestOfRows, BestOfRows]
    size: int

    @classmethod
    def find(cls, best: Best, rows: Rows, size: int, count: int, room: Room = empty_table) -> MutualPairs:
        """Those with an end in `rows` (rising), of `size` in all; `best` gives at most `count` a row."""
        own = BestOfRows.find(best, rows, size, count, room)
        reached = np.zeros(size, dtype=bool)
        for places in parts_of(np.arange(len(rows), dtype=np.int32), len(rows)):
            targets = own.targets[places]
            reached[targets[targets > 0] - 1] = True
        reached[rows] = False
        others = BestOfRows.find(best, np.flatnonzero(reached).astype(np.int32), size, count, room)
        return cls((own, others), size)

    def of(self, rows: Rows) -> Pairs:
        """Those with an end in `rows`, which are among those that they were found for; weights are as from the lower row."""
        targets, _ = self._read(rows)
        there = targets > 0
        sources, targets = np.repeat(rows, there.sum(axis=1)), targets[there] - 1
        mutual = (self._read(targets)[0] == sources[:, np.newaxis] + 1).any(axis=1)
        pairs = unordered(Directed(sources[mutual], targets[mutual], np.zeros(int(mutual.sum()))), self.size)
        targets, weights = self._read(pairs.first)
        return Pairs(pairs.first, pairs.second, weights[targets == pairs.second[:, np.newaxis] + 1])

    def _read(self, rows: Rows) -> tuple[Rows, NDArray[np.float64]]:
        (targets, weights), (others, more) = (part.read(rows) for part in self.parts)
        return targets + others, weights + more


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
