"""The neighbourhood graph of a corpus: from every passage to the k nearest others, by vectors or by keywords.

SUNAR (neighborhood aware retrieval): G = (V, E) with |E| = k|V|, built once with a similarity that complements the first stage:
`dense-neighbours` by cosine for a first stage by keywords, `bm25-neighbours` with a passage's own words as the query for a dense
one. Links are directed and weighted by cosine or BM25 score. A passage is not its own neighbour, and for BM25 neighbours share a
word. The released code stores 100 neighbours and uses 10; here all stored ones may be used.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from hoptrail.corpus.columns import Directed, Rows, is_among, joined, unpaired
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import BM25_NEIGHBOURS, DENSE_NEIGHBOURS, PASSAGES
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, Work
from hoptrail.setting_limits import AtLeast0, AtLeast1, Limited
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Structure
from hoptrail.types import Kind
from hoptrail_papers.keyword_statistics import KeywordStatistics
from hoptrail_papers.nearest import BLOCK, DECIMALS, PROBES, Least, Nearest, best_of


@dataclass(frozen=True, slots=True)
class DenseNeighbourSettings(Limited):
    """The paper's k, and how to find neighbours in a large corpus (`nearest.py`)."""

    neighbours: AtLeast1 = 10  # k
    exact_up_to: AtLeast0 = 50_000
    former: ClassVar[Mapping[str, object]] = {"probes": 24, "seed": 0}


@dataclass(frozen=True, slots=True)
class Bm25NeighbourSettings(Limited):
    """The paper's k, and the number of `words` in a passage's query: those of the greatest weight in it (0: all, each once).
    On the development questions of three data sets, queries of 25 words link more passages that belong together than queries of
    all words, and they cost less in a large corpus.
    """

    neighbours: AtLeast1 = 10  # k
    words: AtLeast0 = 25


@dataclass(frozen=True)
class ByKeywords:
    """BM25 of one passage for the words of another, to five decimals. `statistics` has one row per passage.
    A passage that shares words with too few others gets an edge of weight 0 to itself, which marks its list as complete.
    """

    statistics: KeywordStatistics
    settings: Bm25NeighbourSettings
    pause: Callable[[], None] = lambda: None
    executor: Executor = LOCAL_EXECUTOR

    def of(self, rows: Rows, least: Least | None = None) -> Directed:
        """See `Nearest.of`; a row with fewer than `neighbours` edges also gets the one that marks its list as complete."""
        found = joined(list(self.executor.map(self._work, self._blocks(rows, self.statistics.by_word))))
        many = np.bincount(found.sources, minlength=self.statistics.by_word.shape[1])
        closed = rows[many[rows] < self.settings.neighbours]
        back = [] if least is None else list(self._back(rows, least))
        return joined([found, Directed(closed, closed, np.zeros(len(closed))), *back])

    def _back(self, rows: Rows, least: Least) -> Iterator[Directed]:
        """The edges that other passages want to `rows`. BM25 is not symmetric: the query has the words of the other passage."""
        others = np.flatnonzero(least < np.inf).astype(np.int32)
        if not len(others):
            return
        worth = self.statistics.by_word[:, rows]
        for block in self._blocks(others, worth):
            scores = (self._queries[block] @ worth).tocoo()
            values = np.rint(scores.data * DECIMALS) / DECIMALS
            kept = values >= least[block[scores.row]]
            yield Directed(block[scores.row[kept]], rows[scores.col[kept]], values[kept])

    def _blocks(self, rows: Rows, by_word: Any) -> Iterator[Rows]:
        """Runs of rows with at most BLOCK scores together, or of a single row."""
        most = np.cumsum(self._queries[rows] @ np.diff(by_word.indptr))
        start = 0
        while start < len(rows):
            self.pause()
            reached = most[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(most, reached + BLOCK, side="right")))
            yield rows[start:end]
            start = end

    @cached_property
    def _work(self) -> Work[Rows, Directed]:
        """One work for all blocks, so that the matrices are sent to other processes once."""
        function = partial(_best_scored, self._queries, self.statistics.by_word, self.settings.neighbours)
        return Work("comparing", function, lambda rows: f"rows {rows[0]} to {rows[-1]} with all others")

    @cached_property
    def _queries(self) -> Any:
        """The query of each passage as ones at its words: shape (passages, words)."""
        return dearest_words(self.statistics.matrix, self.settings.words)


def dearest_words(matrix: Any, count: int) -> Any:
    """Ones at the `count` greatest values of each row of a sparse matrix (0: all values); ties go to the lower column."""
    from scipy.sparse import csr_matrix

    sources = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
    kept = best_of(Directed(sources, matrix.indices, matrix.data), count or matrix.shape[1]).in_order()
    return csr_matrix((np.ones(len(kept)), (kept.sources, kept.targets)), shape=matrix.shape)


def _best_scored(queries: Any, by_word: Any, count: int, rows: Rows) -> Directed:
    """Edges from `rows` to the `count` passages with the highest scores above 0, to five decimals."""
    scores = queries[rows] @ by_word  # sparse: most pairs of passages share no word
    values = np.rint(scores.data * DECIMALS) / DECIMALS
    least = np.full(len(values), -np.inf)
    for start, end in itertools.pairwise(scores.indptr.tolist()):
        if end - start > count + 1:  # the row itself is among them
            least[start:end] = np.partition(values[start:end], -count - 1)[-count - 1]
    sources = np.repeat(rows, np.diff(scores.indptr))
    kept = (values >= least) & (scores.indices != sources)
    edges = Directed(sources[kept], scores.indices[kept].astype(np.int32), values[kept])
    return best_of(edges, count)


class Neighbours(Structure):
    """Links from passages to their nearest others. The writer removes links to removed passages."""

    __slots__ = ()
    built_from = (PASSAGES,)

    @abstractmethod
    def likeness(self, context: BuildContext, snapshot: Snapshot, ids: Sequence[str]) -> Nearest | ByKeywords:
        """Measures how similar the passages with these ids, which are sorted, are."""

    def update(self, context: BuildContext) -> None:
        """Link the passages that have fewer links than they could have: new ones, and those that lost a neighbour. They replace
        farther neighbours of others. All links are written together, so a stopped build begins anew.
        """
        writer, snapshot, name = context.writer, context.writer.snapshot(), self.name
        count: int = self.settings.neighbours  # type: ignore[union-attr]
        ids = sorted(snapshot.table.ids(Kind.PASSAGE))
        stored = snapshot.graph.rows(name, ids)
        if len(stored) < snapshot.graph.count()[name]:  # some join passages that have since been cut anew
            writer.links.drop(name)
            stored = joined([])
        lacking = np.bincount(stored.sources, minlength=len(ids)) < min(count, len(ids) - 1)
        lacking[stored.sources[stored.sources == stored.targets]] = False  # their lists are complete (`ByKeywords`)
        pending = np.flatnonzero(lacking).astype(np.int32)
        if not len(pending):
            return
        least = np.full(len(ids), np.inf)
        np.minimum.at(least, stored.sources, stored.weights)
        least[pending] = np.inf
        found = self.likeness(context, snapshot, ids).of(pending, least)
        context.pause()
        own = is_among(found.sources, pending)
        others = np.unique(found.sources[~own])
        candidates = joined([stored.where(is_among(stored.sources, others)), found.where(~own)])
        improved = best_of(candidates.where(np.unique(candidates.keys, return_index=True)[1]), count)
        before = stored.where(is_among(stored.sources, np.union1d(pending, others)))
        after = joined([found.where(own), improved])
        changed = np.unique(unpaired(np.setxor1d(before.keys, after.keys))[0])
        outdated = np.unique(before.sources[is_among(before.sources, changed)])
        writer.links.remove(name, {ids[row] for row in outdated.tolist()})
        writer.links.put_rows(ids, {name: after.where(is_among(after.sources, changed))})
        context.report("linking neighbours", len(pending), len(pending))


@dataclass(frozen=True, slots=True)
class DenseNeighbours(Neighbours):
    """Neighbours by vectors. Up to `exact_up_to` passages, an update gives the same result as building anew. Where neighbours are
    found in cells, existing links stay, and a new passage becomes a neighbour only of passages that it is compared with.
    """

    settings: DenseNeighbourSettings = field(default_factory=DenseNeighbourSettings)
    name = DENSE_NEIGHBOURS
    links = (DENSE_NEIGHBOURS,)

    def likeness(self, context: BuildContext, snapshot: Snapshot, ids: Sequence[str]) -> Nearest:
        vectors = snapshot.search.vectors_in_order([Kind.PASSAGE], ids)
        how = (self.settings.neighbours, self.settings.exact_up_to, PROBES)
        return Nearest(vectors, *how, context.pause, context.executor)


@dataclass(frozen=True, slots=True)
class Bm25Neighbours(Neighbours):
    """Neighbours by keywords. Added and removed documents change the weights of words everywhere, but existing links keep their
    scores, and new links are compared with these.
    """

    settings: Bm25NeighbourSettings = field(default_factory=Bm25NeighbourSettings)
    name = BM25_NEIGHBOURS
    links = (BM25_NEIGHBOURS,)

    def likeness(self, context: BuildContext, snapshot: Snapshot, ids: Sequence[str]) -> ByKeywords:
        statistics = KeywordStatistics.of(unit.searchable for unit in snapshot.numbered.in_order(ids))
        return ByKeywords(statistics, self.settings, context.pause, context.executor)
