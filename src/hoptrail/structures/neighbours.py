"""The neighbourhood graph of a corpus: from every passage to the k nearest others, by vectors or by keywords.

SUNAR (neighborhood aware retrieval): G = (V, E) with |E| = k|V|, built once by an encoder that complements the first stage,

    dense-neighbours    by cosine of the vectors, for a first stage by keywords      `nearest.py`
    bm25-neighbours     by BM25 with a passage's own words as the query, for a       `keyword_statistics.py`
                        dense first stage

Links are directed and weighted by cosine or BM25 score. Self, and for BM25 whatever shares no word, is no neighbour. The
released code stores 100 neighbours and uses 10; here as many are stored as may be used. Knows nothing of questions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from hoptrail.corpus.columns import Directed, Rows, is_among, joined, unpaired
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer
from hoptrail.errors import UsageError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, Work
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaring import Structure
from hoptrail.structures.keyword_statistics import KeywordStatistics, passage_keywords
from hoptrail.structures.nearest import BLOCK, Least, Nearest, best_of
from hoptrail.structures.structure_names import BM25_NEIGHBOURS, DENSE_NEIGHBOURS, PASSAGES
from hoptrail.structures.vector_cells import DECIMALS
from hoptrail.types import Kind


@dataclass(frozen=True, slots=True)
class DenseNeighbourSettings:
    """The paper's k, and how neighbours are found in a large corpus (`nearest.py`)."""

    neighbours: int = 10  # k
    exact_up_to: int = 50_000
    probes: int = 24
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.neighbours, self.probes) < 1 or min(self.exact_up_to, self.seed) < 0:
            raise UsageError(f"neighbours and probes are at least 1, exact_up_to and seed at least 0, not {self}")


@dataclass(frozen=True, slots=True)
class Bm25NeighbourSettings:
    """The paper's k; a passage asks with the `words` of its own that are worth most in it (0: with all, each once).

    Twenty-five words link more passages that belong together on the development questions of three data sets than all do, and
    cost less in a large corpus.
    """

    neighbours: int = 10  # k
    words: int = 25

    def __post_init__(self) -> None:
        if self.neighbours < 1 or self.words < 0:
            raise UsageError(f"neighbours are at least 1 and words at least 0, not {self}")


class Likeness(Protocol):
    """Says how near passages are to each other, by row."""

    def of(self, rows: Rows, least: Least | None = None) -> Directed:
        """Edges from each of `rows` (rising) to its nearest others; with `least` also from others to `rows` that they want.

        Ties go to the lower row. `rows` themselves want none: their `least` is inf.
        """
        ...


@dataclass(frozen=True)
class ByKeywords:
    """BM25 of one passage for the words of another, to five decimals. `statistics` has a row a passage.

    A passage that shares words with too few others gets an edge of weight 0 to itself as a sign that no more are to be found.
    """

    statistics: KeywordStatistics
    settings: Bm25NeighbourSettings
    pause: Callable[[], None] = lambda: None
    executor: Executor = LOCAL_EXECUTOR

    def of(self, rows: Rows, least: Least | None = None) -> Directed:
        found = joined(list(self.executor.map(self._work, self._blocks(rows, self.statistics.by_word))))
        many = np.bincount(found.sources, minlength=self.statistics.by_word.shape[1])
        closed = rows[many[rows] < self.settings.neighbours]
        back = [] if least is None else list(self._back(rows, least))
        return joined([found, Directed(closed, closed, np.zeros(len(closed))), *back])

    def _back(self, rows: Rows, least: Least) -> Iterator[Directed]:
        """Not what was found the other way round: here the words that ask are those of the other passage."""
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
        """As many rows at a time as have at most BLOCK scores together, or one."""
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
        """One for all blocks, so that the matrices travel once."""
        function = partial(_best_scored, self._queries, self.statistics.by_word, self.settings.neighbours)
        return Work("comparing", function, lambda rows: f"rows {rows[0]} to {rows[-1]} with all others")

    @cached_property
    def _queries(self) -> Any:
        """Ones at the words that each passage asks with: shape (passages, words)."""
        return dearest_words(self.statistics.matrix, self.settings.words)


def dearest_words(matrix: Any, count: int) -> Any:
    """Ones at the `count` greatest values of each row of a sparse matrix, the first columns of equals; at all for 0."""
    from scipy.sparse import csr_matrix

    sources = np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.indptr))
    kept = best_of(Directed(sources, matrix.indices, matrix.data), count or matrix.shape[1]).in_order()
    return csr_matrix((np.ones(len(kept)), (kept.sources, kept.targets)), shape=matrix.shape)


def _best_scored(queries: Any, by_word: Any, count: int, rows: Rows) -> Directed:
    return _best_stored(queries[rows] @ by_word, rows, count)


def _best_stored(scores: Any, rows: Rows, count: int) -> Directed:
    """Edges from `rows` to the `count` highest values that a CSR matrix of shape (len(rows), passages) stores, to five decimals.

    Most passages share no word with another, so that few values are stored.
    """
    values = np.rint(scores.data * DECIMALS) / DECIMALS
    least = np.full(len(values), -np.inf)
    for start, end in itertools.pairwise(scores.indptr.tolist()):
        if end - start > count + 1:  # the row itself is among them
            least[start:end] = np.partition(values[start:end], -count - 1)[-count - 1]
    sources = np.repeat(rows, np.diff(scores.indptr))
    kept = (values >= least) & (scores.indices != sources)
    edges = Directed(sources[kept], scores.indices[kept].astype(np.int32), values[kept])
    return best_of(edges, count)


@dataclass(frozen=True, slots=True)
class DenseNeighbours(Structure):
    """The structure by vectors. Up to `exact_up_to` passages, bringing it up to date gives what building anew gives.

    A new passage brings its own links and takes the place of farther neighbours of the passages that stand; a passage
    that lost a neighbour by removal finds its nearest again; no other is touched. Where neighbours are sought in cells,
    links that stand are kept as they were found, and a newcomer takes a place only among those it is compared with. Removal
    of links to what is gone is the writer's; where documents were cut into other passages, all are linked anew.
    """

    settings: DenseNeighbourSettings = field(default_factory=DenseNeighbourSettings)
    name = DENSE_NEIGHBOURS
    built_from = (PASSAGES,)
    links = (DENSE_NEIGHBOURS,)

    def update(self, context: BuildContext) -> None:
        """Link the passages that have fewer links than they could have."""

        def likeness(snapshot: Snapshot, ids: Sequence[str]) -> Nearest:
            vectors, chosen = snapshot.search.vectors_in_order([Kind.PASSAGE], ids), self.settings
            how = (chosen.neighbours, chosen.exact_up_to, chosen.probes, chosen.seed)
            return Nearest(vectors, *how, context.pause, context.executor)

        _bring_up_to_date(context, self.name, self.settings.neighbours, likeness)


@dataclass(frozen=True, slots=True)
class Bm25Neighbours(Structure):
    """The structure by keywords.

    Brought up to date as the one by vectors is, with one difference: documents that come or go change what words are worth
    everywhere, and links that stand keep the score they were made with; newcomers are measured against that.
    """

    settings: Bm25NeighbourSettings = field(default_factory=Bm25NeighbourSettings)
    name = BM25_NEIGHBOURS
    built_from = (PASSAGES,)
    links = (BM25_NEIGHBOURS,)

    def update(self, context: BuildContext) -> None:
        """Link the passages that have fewer links than they could have."""

        def likeness(snapshot: Snapshot, _: Sequence[str]) -> ByKeywords:
            return ByKeywords(passage_keywords(snapshot), self.settings, context.pause, context.executor)

        _bring_up_to_date(context, self.name, self.settings.neighbours, likeness)


def _bring_up_to_date(
    context: BuildContext, name: str, count: int, open_likeness: Callable[[Snapshot, Sequence[str]], Likeness]
) -> None:
    """Link the passages that lack links, with the places that they take among others' neighbours. All links are written together:
    a stopped build begins anew.
    """
    writer, snapshot = context.writer, context.writer.snapshot()
    ids = sorted(snapshot.table.ids(Kind.PASSAGE))
    standing = snapshot.graph.rows(name, ids)
    if len(standing) < snapshot.graph.count()[name]:  # some join passages that have since been cut anew
        writer.links.drop(name)
        standing = joined([])
    pending = _lacking(standing, len(ids), count)
    if not len(pending):
        return
    least = np.full(len(ids), np.inf)
    np.minimum.at(least, standing.sources, standing.weights)
    least[pending] = np.inf
    found = open_likeness(snapshot, ids).of(pending, least)
    context.pause()
    own = is_among(found.sources, pending)
    others = np.unique(found.sources[~own])
    of_others = standing.where(is_among(standing.sources, others))
    improved = best_of(_once(joined([of_others, found.where(~own)])), count)
    before = standing.where(is_among(standing.sources, np.union1d(pending, others)))
    _write(writer, name, ids, before, joined([found.where(own), improved]))
    context.report("linking neighbours", len(pending), len(pending))


def _lacking(standing: Directed, size: int, count: int) -> Rows:
    """The passages with fewer links than they could have, but for those whose list is closed (`ByKeywords`)."""
    few = np.bincount(standing.sources, minlength=size) < min(count, size - 1)
    few[standing.sources[standing.sources == standing.targets]] = False
    return np.flatnonzero(few).astype(np.int32)


def _write(writer: Writer, name: str, ids: Sequence[str], before: Directed, after: Directed) -> None:
    """Replace the links of the rows whose neighbours differ."""
    changed = np.unique(unpaired(np.setxor1d(before.keys, after.keys))[0])
    gone = np.unique(before.sources[is_among(before.sources, changed)])
    writer.links.remove(name, {ids[row] for row in gone.tolist()})
    writer.links.put_rows(ids, {name: after.where(is_among(after.sources, changed))})


def _once(edges: Directed) -> Directed:
    """Each edge once, the first of its kind."""
    return edges.where(np.unique(edges.keys, return_index=True)[1])
