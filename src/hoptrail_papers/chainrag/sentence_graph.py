"""The sentence graph of a corpus: typed links between sentences, which retrieval follows.

ChainRAG (arXiv 2502.14245), sentence graph construction:

    EC   entity co-occurrence    both mention an entity that is neither unique nor everywhere (`linking.py`)
    SS   semantic similarity     each is among the 10 nearest of the other
    SA   structural adjacency    at most 3 sentences apart in the same passage

Deviations: there is one graph for the whole corpus, kept up to date, where the paper makes one per question
(`SentenceGraph.over` makes those with the same functions); SA stays inside a passage, because neighbouring passages of
a context need not belong together; a sentence gets at most `entity_links` EC links at a time, so that a famous name does not link
everything. In the released code links overwrite one another; here links of different kinds coexist.

Retrieval expansion: the caller of `SentenceGraph` chooses seeds, reranks and decides when to stop. Links are arrays; texts stay
on disk.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed, Rows, is_among, joined, unpaired
from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.corpus.structure_names import EXTRACTIONS, SENTENCE_GRAPH, SENTENCES
from hoptrail.corpus.writer import Change, Writer
from hoptrail.errors import UsageError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.models.encoder import FloatMatrix
from hoptrail.setting_limits import AtLeast0, AtLeast1, Limited, Share, ShareAbove0
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Structure
from hoptrail.structures.sentences import SentencePlaces, sentence_places, sentences_inside
from hoptrail.text.mentions import Shape
from hoptrail.types import Kind, Unit
from hoptrail_papers.chainrag.linking import (
    Mentions,
    SharedEntities,
    adjacent_pairs,
    key_entities,
    mentions_in,
    mutual_pairs,
    unordered,
)
from hoptrail_papers.nearest import PROBES, Nearest

KINDS = EC, SS, SA = ("EC", "SS", "SA")


@dataclass(frozen=True, slots=True)
class SentenceGraphSettings(Limited):
    """The paper's m and its distance, which entities make links, and how to find neighbours in a large corpus."""

    neighbours: AtLeast1 = 10  # m
    reach: AtLeast1 = 3
    # Entities in more than this share of the sentences and in more than `entity_floor` are ignored,
    entity_share: Share = 0.01
    entity_floor: AtLeast1 = 20
    # and those in more sentences than this in any corpus: the number of pairs grows with the square.
    entity_most: AtLeast1 = 2_000
    entity_links: AtLeast1 = 20
    key_share: ShareAbove0 = 1.0  # alpha: the share of the entities, by BM25 importance, that make links
    dates: bool = False
    numbers: bool = False
    exact_up_to: AtLeast0 = 30_000
    former: ClassVar[Mapping[str, object]] = {"probes": 24, "seed": 0}

    @property
    def left_out(self) -> frozenset[Shape]:
        """Shapes of entities that make no links."""
        allowed = {Shape.DATE: self.dates, Shape.NUMBER: self.numbers}
        return frozenset(shape for shape, is_allowed in allowed.items() if not is_allowed)


@dataclass(frozen=True)
class Nodes:
    """The sentences to link, by row: the number of the passage, the start in the document, the entities, the vectors."""

    passages: Rows
    starts: NDArray[np.int64]
    mentions: Mentions
    vectors: Callable[[], FloatMatrix]
    settings: SentenceGraphSettings

    def __len__(self) -> int:
        return len(self.starts)

    def similar(
        self, rows: Rows, pause: Callable[[], None] = lambda: None, executor: Executor = LOCAL_EXECUTOR
    ) -> Directed:
        """SS links with an end in `rows`."""
        vectors = self.vectors() if len(rows) else np.zeros((0, 0), dtype=np.float32)  # avoids reading all vectors
        nearest = Nearest(vectors, self.settings.neighbours, self.settings.exact_up_to, PROBES, pause, executor)
        return mutual_pairs(nearest.portions, rows, len(self))

    def sharing(self, rows: Rows) -> Directed:
        """EC links with an end in `rows`."""
        most = max(self.settings.entity_floor, int(self.settings.entity_share * len(self)))
        most = min(most, self.settings.entity_most)
        keys = key_entities(self.mentions, len(self), self.settings.key_share)
        shared = SharedEntities(keys, len(self), most, self.settings.entity_links)
        return mutual_pairs(shared.portions, rows, len(self))

    def all_pairs(self, kind: str) -> Directed:
        if kind == SA:
            return adjacent_pairs(self.passages, self.starts, self.settings.reach)
        rows = np.arange(len(self), dtype=np.int32)
        return self.sharing(rows) if kind == EC else self.similar(rows)


@dataclass(frozen=True, slots=True)
class SentenceLinks(Structure):
    """Links from the sentence with the lower id to that with the higher one, at most one per kind; weights between 0 and 1.

    An update adds the links of new sentences. Existing links stay, even where a new sentence is nearer, so that a sentence may
    get more than `neighbours` SS or `entity_links` EC links over time. With `key_share` below 1, an entity that becomes a key
    entity later does not link two older sentences that have other EC links. The writer removes the links of removed sentences.
    """

    settings: SentenceGraphSettings = field(default_factory=SentenceGraphSettings)
    name = SENTENCE_GRAPH
    built_from = (SENTENCES, EXTRACTIONS)
    links = KINDS

    def update(self, context: BuildContext) -> None:
        """Link sentences without any links, sentences without an EC link by entities, and sentences that lost an SS link by
        similarity. EC is tried again because entities may have been extracted since. If some links of a kind contradict what is
        stored (other entities, other passages), all of that kind are made again. A stopped build begins anew.
        """
        snapshot = context.writer.snapshot()
        places = sentence_places(snapshot)
        nodes = nodes_of(snapshot, places, self.settings)
        adjacent = nodes.all_pairs(SA)
        stored = _valid_links(context.writer, nodes, adjacent, places)
        every = np.arange(len(nodes), dtype=np.int32)
        linked = {kind: np.isin(every, unpaired(keys)) for kind, keys in stored.items()}
        unlinked = ~(linked[EC] | linked[SS] | linked[SA])
        unlinked[_lost_similar(context.change, places)] = True
        sharing = every[~linked[EC]]
        pairs = {
            EC: nodes.sharing(sharing),
            SS: nodes.similar(every[unlinked], context.pause, context.executor),
            SA: adjacent,
        }
        new = {kind: found.where(~is_among(found.keys, stored[kind])) for kind, found in pairs.items()}
        if any(map(len, new.values())):
            context.pause()
            context.writer.links.put_rows(places.ids, new)
        context.report("linking sentences", len(sharing), len(sharing))


def _valid_links(
    writer: Writer, nodes: Nodes, adjacent: Directed, places: SentencePlaces
) -> dict[str, NDArray[np.int64]]:
    """The keys of the stored links, sorted, by kind, after dropping kinds that contradict what is stored."""
    snapshot = writer.snapshot()
    stored = {kind: stored_pairs(snapshot, kind, places) for kind in KINDS}
    sharing = nodes.mentions.share(stored[EC].sources, stored[EC].targets)
    for kind, valid in ((SA, is_among(stored[SA].keys, adjacent.keys)), (EC, sharing)):
        if not valid.all():
            writer.links.drop(kind)
            stored[kind] = stored[kind].where(slice(0))
    return {kind: pairs.keys for kind, pairs in stored.items()}


def nodes_of(
    snapshot: Snapshot, places: SentencePlaces, settings: SentenceGraphSettings, within: Sequence[Unit] | None = None
) -> Nodes:
    """The nodes for the sentences at these places: all of an index, or those `within` some of its passages."""
    some = None if within is None else {unit.id: unit.sources[0] for unit in within}
    every = (span for _, span in snapshot.table.first_sources(Kind.PASSAGE))
    extractions = snapshot.extractions(some)
    return Nodes(
        places.passages(every if some is None else some.values()),
        places.starts,
        mentions_in(places, (found for _, found in extractions), settings.left_out),
        lambda: snapshot.search.vectors_in_order([Kind.SENTENCE], places.ids),
        settings,
    )


def stored_pairs(snapshot: Snapshot, kind: str, places: SentencePlaces) -> Directed:
    return unordered(snapshot.graph.rows(kind, places.ids))


def _lost_similar(change: Change | None, places: SentencePlaces) -> Rows:
    """The rows of the sentences with an SS link to a removed sentence."""
    if change is None or not change.removed:
        return np.zeros(0, np.int32)
    graph, removed = change.before.graph, set(change.before.table.ids(Kind.SENTENCE, change.removed))
    affected = {link.target for link in graph.leaving(removed, SS)}
    affected.update(link.source for link in graph.entering(removed, SS))
    return np.array([row for row, id_ in enumerate(places.ids) if id_ in affected and id_ not in removed], np.int32)


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


@dataclass(frozen=True, slots=True)
class SentenceGraph:
    """Sentences (rising ids) and links of the chosen kinds, whose rows are places in `ids`. Parallel links of different kinds are
    kept. Use `of` or `over`.
    """

    ids: Sequence[str]
    adjacencies: Mapping[str, Adjacency]

    @classmethod
    def of(cls, snapshot: Snapshot, kinds: Sequence[str] = KINDS) -> SentenceGraph:
        """The stored graph of the whole corpus, kept with the snapshot."""
        return cls(sentence_places(snapshot).ids, {kind: _stored(snapshot, kind) for kind in kinds})

    @classmethod
    def over(
        cls,
        passages: Sequence[Unit],
        snapshot: Snapshot,
        kinds: Sequence[str] = KINDS,
        settings: SentenceGraphSettings = SentenceGraphSettings(),
    ) -> SentenceGraph:
        """A graph of only the sentences in `passages`: the paper's mode, with one graph per question.

        Sentences, vectors and entities come from the store; only the links are made here.
        """
        documents = {document.id: document for document in snapshot.documents({unit.document for unit in passages})}
        sentences = (sentence for unit in passages for sentence in sentences_inside(unit, documents[unit.document]))
        spans = {sentence.id: sentence.sources[0] for sentence in sentences}
        ids = sorted(snapshot.table.stored(Kind.SENTENCE, spans))
        nodes = nodes_of(snapshot, SentencePlaces((id_, spans[id_]) for id_ in ids), settings, passages)
        return cls(ids, {kind: Adjacency.of(nodes.all_pairs(kind), len(nodes)) for kind in kinds})

    def neighbours(self, ids: Sequence[str]) -> tuple[str, ...]:
        """All sentences one link away from the frontier `ids`, without the frontier: strongest link first, ties by rising id.

        Weights of all kinds lie between 0 and 1; of several links to a sentence the strongest counts.
        Raises: UsageError: one of `ids` is not a sentence of this graph.
        """
        frontier = [self._row(name) for name in dict.fromkeys(ids)]
        links = [(one, slice(*one.starts[row : row + 2])) for one in self.adjacencies.values() for row in frontier]
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
            known = f"the {len(self.ids):,} sentences of this graph"
            raise UsageError(f"{name!r} is not among {known}; use ids from `ids`.")
        return row


@cached_per_snapshot
def _stored(snapshot: Snapshot, kind: str) -> Adjacency:
    places = sentence_places(snapshot)
    return Adjacency.of(stored_pairs(snapshot, kind, places), len(places.ids))
