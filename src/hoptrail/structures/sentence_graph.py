"""The sentence graph of a corpus: typed links between sentences, over which retrieval walks from what it has found.

ChainRAG (arXiv 2502.14245), sentence graph construction:

    EC   entity co-occurrence    both name an entity that neither stands alone nor everywhere (`linking.py`)
    SS   semantic similarity     each is among the 10 nearest of the other
    SA   structural adjacency    at most 3 sentences apart in the same passage

Deviations: one graph for the whole corpus, kept up to date, where the paper makes one a question (`retrieval/sentences/graph.py`
makes those with the same functions); SA stays inside a passage, because two passages beside each other in a context need not
belong together; a sentence has at most `entity_links` EC links at a time, so that what a famous name touches is not everything.
The released code lets links overwrite one another; here links of different kinds stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import (
    Directed,
    Rows,
    is_among,
    unpaired,
)
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Change, Writer
from hoptrail.errors import UsageError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaring import Structure
from hoptrail.structures.linking import (
    Adjacency,
    SharedEntities,
    key_entities,
    mutual_pairs,
    unordered,
)
from hoptrail.structures.nearest import Nearest
from hoptrail.structures.sentence_entities import Mentions, mentions_in
from hoptrail.structures.sentences import SentencePlaces, sentence_places
from hoptrail.structures.structure_names import EXTRACTIONS, SENTENCE_GRAPH, SENTENCES
from hoptrail.text.mentions import Shape
from hoptrail.types import Kind

EC = "EC"
SS = "SS"
SA = "SA"
KINDS = (EC, SS, SA)


@dataclass(frozen=True, slots=True)
class SentenceGraphSettings:
    """The paper's m and its distance, which entities make links, and how neighbours are found in a large corpus."""

    neighbours: int = 10  # m
    reach: int = 3
    entity_share: float = (
        0.01  # of the sentences: entities named by more of them than this, and than `entity_floor`, say nothing
    )
    entity_floor: int = 20
    entity_most: int = 2_000  # nor do those named by more, however large the corpus: each sentence meets all others
    entity_links: int = 20
    key_share: float = 1.0  # alpha: the share of the entities, by BM25 importance, that make links
    dates: bool = False
    numbers: bool = False
    exact_up_to: int = 30_000
    probes: int = 24
    seed: int = 0

    def __post_init__(self) -> None:
        counts = (self.neighbours, self.reach, self.entity_floor, self.entity_most, self.entity_links, self.probes)
        shares = 0 <= self.entity_share <= 1 and 0 < self.key_share <= 1
        if min(counts) < 1 or min(self.exact_up_to, self.seed) < 0 or not shares:
            raise UsageError(f"a sentence graph needs counts of at least 1 and shares between 0 and 1, not {self}")

    @property
    def left_out(self) -> frozenset[Shape]:
        """Forms of entities that make no links."""
        allowed = {Shape.DATE: self.dates, Shape.NUMBER: self.numbers}
        return frozenset(shape for shape, wanted in allowed.items() if not wanted)


@dataclass(frozen=True)
class Nodes:
    """What links are made from, row by row: the passage (its number) and where it begins there, entities, vectors."""

    passages: Rows
    starts: NDArray[np.int64]
    mentions: Mentions
    vectors: Callable[[], FloatMatrix]
    settings: SentenceGraphSettings

    def __len__(self) -> int:
        return len(self.starts)

    def adjacency(self) -> Adjacency:
        return Adjacency(self.passages, self.starts, self.settings.reach)

    def similar(
        self, rows: Rows, pause: Callable[[], None] = lambda: None, executor: Executor = LOCAL_EXECUTOR
    ) -> Directed:
        """SS links with an end in `rows`."""
        chosen = self.settings
        vectors = self.vectors() if len(rows) else np.zeros((0, 0), dtype=np.float32)  # of all, so not read for nothing
        nearest = Nearest(vectors, chosen.neighbours, chosen.exact_up_to, chosen.probes, chosen.seed, pause, executor)
        return mutual_pairs(nearest.portions, rows, len(self))

    def sharing(self, rows: Rows) -> Directed:
        """EC links with an end in `rows`."""
        most = max(self.settings.entity_floor, int(self.settings.entity_share * len(self)))
        most = min(most, self.settings.entity_most)
        keys = key_entities(self.mentions, len(self), self.settings.key_share)
        shared = SharedEntities(keys, len(self), most, self.settings.entity_links)
        return mutual_pairs(shared.portions, rows, len(self))

    def all_pairs(self, kind: str) -> Directed:
        """All links of a kind."""
        rows = np.arange(len(self), dtype=np.int32)
        makers: dict[str, Callable[[Rows], Directed]] = {EC: self.sharing, SS: self.similar, SA: self.adjacency().of}
        return makers[kind](rows)


@dataclass(frozen=True, slots=True)
class SentenceLinks(Structure):
    """The structure. Links from the sentence of the lower id to that of the higher, one a kind; weights between 0 and 1.

    A new document brings the links of its own sentences. Whether a sentence is among the best of another is judged by what is
    there at the time: links that stand are left alone, also where a newcomer would now be nearer, so that a sentence may in
    time have more than `neighbours` SS or `entity_links` EC links. Weights stay as they were made. With `key_share` below 1 the
    same holds for key entities, whose importance changes with the corpus: an entity that becomes one links new sentences, and
    older ones without an EC link, but not two older sentences that have others. Only a build from scratch looks at all pairs
    (graphs made for a question always do). Removal is the writer's; the sentences that lose an SS link by it are looked at again.
    """

    settings: SentenceGraphSettings = field(default_factory=SentenceGraphSettings)
    name = SENTENCE_GRAPH
    built_from = (SENTENCES, EXTRACTIONS)
    links = KINDS

    def update(self, context: BuildContext) -> None:
        """Link the sentences that have no links yet, by entities those without an EC link, and by likeness those that lost one.

        The second are tried again because what is in their passage may have been found since. Links that contradict what is
        stored (of entities that another language has found, in passages that were cut anew) go, with their kind, and are made
        again. All links are written together: a stopped build begins anew.
        """
        snapshot = context.writer.snapshot()
        places = sentence_places(snapshot)
        nodes = nodes_of(snapshot, places, self.settings)
        adjacent = nodes.adjacency()
        stored = self._standing(context.writer, nodes, adjacent, places)
        linked = {kind: _ends(keys, len(nodes)) for kind, keys in stored.items()}
        alone = ~(linked[EC] | linked[SS] | linked[SA])
        alone[_bereft(context.change, places)] = True
        sharing = np.flatnonzero(~linked[EC]).astype(np.int32)
        pairs = {
            EC: nodes.sharing(sharing),
            SS: nodes.similar(np.flatnonzero(alone).astype(np.int32), context.pause, context.executor),
            SA: adjacent.of(np.arange(len(nodes), dtype=np.int32)),
        }
        due = {kind: found.where(~is_among(found.keys, stored[kind])) for kind, found in pairs.items()}
        if any(map(len, due.values())):
            context.pause()
            context.writer.links.put_rows(places.ids, due)
        context.report("linking sentences", len(sharing), len(sharing))

    def _standing(
        self, writer: Writer, nodes: Nodes, adjacent: Adjacency, places: SentencePlaces
    ) -> dict[str, NDArray[np.int64]]:
        """The keys of the links that stand, rising, by kind, once those have gone that contradict what is stored."""
        snapshot = writer.snapshot()
        stored = {kind: stored_pairs(snapshot, kind, places) for kind in KINDS}
        if not adjacent.hold(stored[SA]).all():
            writer.links.drop(SA)
            stored[SA] = stored[SA].where(np.zeros(len(stored[SA]), np.bool_))
        if not nodes.mentions.share(stored[EC].sources, stored[EC].targets).all():
            writer.links.drop(EC)
            stored[EC] = stored[EC].where(np.zeros(len(stored[EC]), np.bool_))
        return {kind: pairs.keys for kind, pairs in stored.items()}


def nodes_of(snapshot: Snapshot, places: SentencePlaces, settings: SentenceGraphSettings) -> Nodes:
    """Those of all sentences of an index."""
    return Nodes(
        places.passages(span for _, span in snapshot.table.first_sources(Kind.PASSAGE)),
        places.starts,
        mentions_in(places, (found for _, found in snapshot.extractions()), settings.left_out),
        lambda: snapshot.search.vectors_in_order([Kind.SENTENCE], places.ids),
        settings,
    )


def stored_pairs(snapshot: Snapshot, kind: str, places: SentencePlaces) -> Directed:
    """The links of one kind as they are stored."""
    return unordered(snapshot.graph.rows(kind, places.ids))


def _ends(keys: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Whether each of so many rows has one of some links."""
    linked = np.zeros(size, np.bool_)
    for rows in unpaired(keys):
        linked[rows] = True
    return linked


def _bereft(change: Change | None, places: SentencePlaces) -> Rows:
    """The rows of the sentences that were like one of a document that went."""
    if change is None or not change.removed:
        return np.zeros(0, np.int32)
    gone = set(change.before.table.ids_within(Kind.SENTENCE, change.removed))
    ends = [link.target for link in change.before.graph.leaving(gone, SS)]
    lost = {*ends, *(link.source for link in change.before.graph.entering(gone, SS))} - gone
    return np.array([row for row, id_ in enumerate(places.ids) if id_ in lost], np.int32)
