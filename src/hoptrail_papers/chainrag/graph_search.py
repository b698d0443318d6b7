"""The sentence graph for retrieval: neighbours of sentences, over the whole corpus or over one question's candidates.

ChainRAG (arXiv 2502.14245), retrieval expansion on the sentence graph. The caller chooses seeds, reranks and decides when to
stop. Links are arrays; texts stay on disk.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed, Rows, joined
from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.errors import UsageError
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.sentence_entities import mentions_in
from hoptrail.structures.sentences import SentencePlaces, sentence_places, sentences_inside
from hoptrail.types import Kind, Unit
from hoptrail_papers.chainrag.sentence_graph import KINDS, Nodes, SentenceGraphSettings, stored_pairs


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Links of one kind in both directions: those of row r are at `starts[r]:starts[r + 1]`, by rising target."""

    starts: NDArray[np.intp]
    targets: Rows
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, pairs: Directed, size: int) -> Adjacency:
        """The adjacency of `size` rows from pairs stored in one direction."""
        both = joined([pairs, Directed(pairs.targets, pairs.sources, pairs.weights)]).in_order()
        return cls(np.searchsorted(both.sources, np.arange(size + 1)), both.targets, both.weights)


class SentenceGraph:
    """Sentences and links of the chosen kinds. Parallel links of different kinds are kept. Use `of` or `over`."""

    def __init__(self, snapshot: Snapshot, ids: Sequence[str], adjacencies: Mapping[str, Adjacency]) -> None:
        """`ids` rise; the rows of `adjacencies` are places in `ids`."""
        self._snapshot = snapshot
        self.ids = ids
        self._adjacencies = adjacencies

    @classmethod
    def of(cls, snapshot: Snapshot, kinds: Sequence[str] = KINDS) -> SentenceGraph:
        """The stored graph of the whole corpus, kept with the snapshot. Raises: UsageError: there is no such kind of link."""
        places = sentence_places(snapshot)
        adjacencies = {kind: _stored(snapshot, kind) for kind in _checked(kinds)}
        return cls(snapshot, places.ids, adjacencies)

    @classmethod
    def over(
        cls,
        passages: Sequence[Unit],
        snapshot: Snapshot,
        kinds: Sequence[str] = KINDS,
        settings: SentenceGraphSettings | None = None,
    ) -> SentenceGraph:
        """A graph of only the sentences in `passages`: the paper's mode, with one graph per question.

        Sentences, vectors and entities come from the store; only the links are made here.
        Raises: UsageError: there is no such kind of link, or one of `passages` is not a passage.
        """
        places, vectors = _sentences_in(passages, snapshot)
        extractions = [extraction for _, extraction in snapshot.extractions({passage.id for passage in passages})]
        settings = settings or SentenceGraphSettings()
        nodes = Nodes(
            places.passages(unit.sources[0] for unit in passages),
            places.starts,
            mentions_in(places, extractions, settings.left_out),
            lambda: vectors,
            settings,
        )
        adjacencies = {kind: Adjacency.of(nodes.all_pairs(kind), len(nodes)) for kind in _checked(kinds)}
        return cls(snapshot, places.ids, adjacencies)

    def neighbours(self, ids: Sequence[str]) -> tuple[str, ...]:
        """All sentences one link away from the frontier `ids`, without the frontier: strongest link first, ties by rising id.

        Weights of all kinds lie between 0 and 1; of several links to a sentence the strongest counts.
        Raises: UsageError: one of `ids` is not a sentence of this graph.
        """
        frontier = [self._row(name) for name in dict.fromkeys(ids)]
        links = [(one, slice(*one.starts[row : row + 2])) for one in self._adjacencies.values() for row in frontier]
        if not links:
            return ()
        targets = np.concatenate([kind.targets[places] for kind, places in links])
        weights = np.concatenate([kind.weights[places] for kind, places in links])
        outside = ~np.isin(targets, frontier)
        order = np.lexsort((targets[outside], -weights[outside]))
        return tuple(self.ids[row] for row in dict.fromkeys(targets[outside][order].tolist()))

    def _row(self, name: str) -> int:
        row = bisect_left(self.ids, name)
        if row == len(self.ids) or self.ids[row] != name:
            raise UsageError(
                f"{name!r} is not among the {len(self.ids):,} sentences of this graph; use ids from `ids`."
            )
        return row


def _checked(kinds: Sequence[str]) -> Sequence[str]:
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise UsageError(f"there is no kind of link {unknown[0]!r} between sentences; there are {', '.join(KINDS)}.")
    return kinds


@cached_per_snapshot
def _stored(snapshot: Snapshot, kind: str) -> Adjacency:
    places = sentence_places(snapshot)
    return Adjacency.of(stored_pairs(snapshot, kind, places), len(places.ids))


def _sentences_in(passages: Sequence[Unit], snapshot: Snapshot) -> tuple[SentencePlaces, FloatMatrix]:
    """The stored sentences inside these passages, and their vectors: shape (sentences, dimension)."""
    for unit in passages:
        if unit.kind is not Kind.PASSAGE:
            raise UsageError(
                f"a graph is made over passages; {unit.id} of {unit.title!r} is of kind {unit.kind.value}."
            )
    documents = {document.id: document for document in snapshot.documents({unit.document for unit in passages})}
    sentences = (sentence for unit in passages for sentence in sentences_inside(unit, documents[unit.document]))
    spans = {sentence.id: sentence.sources[0] for sentence in sentences}
    ids = sorted(snapshot.table.stored(Kind.SENTENCE, spans))
    return SentencePlaces((id_, spans[id_]) for id_ in ids), snapshot.search.vectors_in_order([Kind.SENTENCE], ids)
