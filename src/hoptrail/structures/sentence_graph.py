"""The sentence graph of a corpus: typed links between sentences, over which retrieval walks from what it has found.

ChainRAG (arXiv 2502.14245), sentence graph construction:

    EC   entity co-occurrence    both name an entity that neither stands alone nor everywhere (`linking.py`)
    SS   semantic similarity     each is among the 10 nearest of the other
    SA   structural adjacency    at most 3 sentences apart in the same passage

Deviations: one graph for the whole corpus, kept up to date, where the paper makes one a question (`retrieval/sentence_graph.py`
makes those with the same functions); SA stays inside a passage, because two passages beside each other in a context need not
belong together; a sentence has at most `entity_links` EC links at a time, so that what a famous name touches is not everything.
The released code lets links overwrite one another; here links of different kinds stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import UsageError
from hoptrail.executing.executor import HERE, Executor
from hoptrail.fingerprints import fingerprint
from hoptrail.language.offline.entities import Shape
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.columns import Directed, PackedIds, Rows, is_among
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.linking import (
    Adjacency,
    MutualPairs,
    Pairs,
    Room,
    SharedEntities,
    empty_table,
    no_pairs,
    unordered,
)
from hoptrail.structures.names import EXTRACTIONS, SENTENCE_GRAPH, SENTENCES
from hoptrail.structures.nearest import Nearest
from hoptrail.structures.sentence_entities import Mentions, mentions_in
from hoptrail.structures.sentences import SentencePlaces, sentence_places
from hoptrail.types import Kind

EC = "EC"
SS = "SS"
SA = "SA"
KINDS = (EC, SS, SA)

BATCH = 8192
"""Sentences whose links are kept at a time: each batch is a version of the table, so that small ones cost more."""


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
    dates: bool = False
    numbers: bool = False
    exact_up_to: int = 30_000
    probes: int = 24
    seed: int = 0

    def __post_init__(self) -> None:
        counts = (self.neighbours, self.reach, self.entity_floor, self.entity_most, self.entity_links, self.probes)
        if min(counts) < 1 or min(self.exact_up_to, self.seed) < 0 or not 0 <= self.entity_share <= 1:
            raise UsageError(f"a sentence graph needs counts of at least 1 and a share between 0 and 1, not {self}")

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
        self,
        rows: Rows,
        room: Room = empty_table,
        pause: Callable[[], None] = lambda: None,
        executor: Executor = HERE,
    ) -> MutualPairs:
        """SS links with an end in `rows`."""
        chosen = self.settings
        vectors = self.vectors() if len(rows) else np.zeros((0, 0), dtype=np.float32)  # of all, so not read for nothing
        nearest = Nearest(vectors, chosen.neighbours, chosen.exact_up_to, chosen.probes, chosen.seed, pause, executor)
        return MutualPairs.find(nearest.of, rows, len(self), chosen.neighbours, room)

    def sharing(self, rows: Rows, room: Room = empty_table) -> MutualPairs:
        """EC links with an end in `rows`."""
        most = max(self.settings.entity_floor, int(self.settings.entity_share * len(self)))
        most = min(most, self.settings.entity_most)
        shared = SharedEntities(self.mentions, len(self), most, self.settings.entity_links)
        return MutualPairs.find(shared.of, rows, len(self), self.settings.entity_links, room)

    def all_pairs(self, kind: str) -> Pairs:
        """All links of a kind."""
        rows = np.arange(len(self), dtype=np.int32)
        makers: dict[str, Callable[[], MutualPairs | Adjacency]] = {
            EC: lambda: self.sharing(rows),
            SS: lambda: self.similar(rows),
            SA: self.adjacency,
        }
        return makers[kind]().of(rows)


@dataclass(frozen=True, slots=True)
class SentenceLinks:
    """The structure. Links from the sentence of the lower id to that of the higher, one a kind; weights between 0 and 1.

    A new document brings the links of its own sentences. Whether a sentence is among the best of another is judged by what is
    there at the time: links that stand are left alone, also where a newcomer would now be nearer, so that a sentence may in
    time have more than `neighbours` SS or `entity_links` EC links. Weights stay as they were made. Removal is the writer's.
    """

    settings: SentenceGraphSettings = field(default_factory=SentenceGraphSettings)
    name: str = SENTENCE_GRAPH
    built_from: tuple[str, ...] = (SENTENCES, EXTRACTIONS)
    needs_language: bool = False

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.settings)

    def discard(self, writer: Writer) -> None:
        for kind in KINDS:
            writer.drop_links(kind)

    def update(self, workshop: Workshop) -> None:
        """Link the sentences that have no links yet, and by entities those without an EC link.

        The latter are tried again because what is in their passage may have been found since. Links that contradict what is
        stored (of entities that another language has found, in passages that were cut anew) go, with their kind, and are made
        again. A link is written with the later of its two sentences: one that has a link has all of them, and a stopped build
        goes on with the others to the same end.
        """
        snapshot = workshop.writer.snapshot()
        places = sentence_places(snapshot)
        nodes = nodes_of(snapshot, places, self.settings)
        stored = {kind: stored_pairs(snapshot, kind, places) for kind in KINDS}
        adjacent = nodes.adjacency()
        fits = {
            SA: adjacent.hold(stored[SA]),
            EC: nodes.mentions.share(stored[EC].first, stored[EC].second),
        }
        for kind, fitting in fits.items():
            if not fitting.all():
                workshop.writer.drop_links(kind)
                stored[kind] = no_pairs()
        pending = _without_links(stored.values(), len(nodes))
        without_entities = _without_links([stored[EC]], len(nodes))
        room = workshop.writer.scratch.table
        sharing = nodes.sharing(without_entities, room)
        similar = nodes.similar(pending, room, workshop.pause, workshop.executor)
        order = np.union1d(pending, without_entities).astype(np.int32)
        lacking = {EC: without_entities, SS: pending, SA: pending}
        turn_of = {kind: _turn_of(rows, order, len(nodes)) for kind, rows in lacking.items()}

        known = stored[SA].keys(len(nodes))

        def beside(rows: Rows) -> Pairs:
            pairs = adjacent.of(rows)
            return pairs.where(~is_among(pairs.keys(len(nodes)), known))

        _link_again(workshop, beside, pending, places.ids)
        for turn in range(max(1, -(-len(order) // BATCH))):
            batch = order[turn * BATCH : (turn + 1) * BATCH]
            new = np.intersect1d(batch, pending, assume_unique=True)
            found = {
                EC: sharing.of(np.intersect1d(batch, without_entities, assume_unique=True)),
                SS: similar.of(new),
                SA: beside(new),
            }
            due = {kind: pairs.where(_turns(pairs, turn_of[kind]) == turn) for kind, pairs in found.items()}
            _write(workshop, due, places.ids)
            workshop.report("linking sentences", min((turn + 1) * BATCH, len(order)), len(order))


def nodes_of(snapshot: Snapshot, places: SentencePlaces, settings: SentenceGraphSettings) -> Nodes:
    """Those of all sentences of an index."""
    return Nodes(
        places.passages(snapshot.units(Kind.PASSAGE)),
        places.starts,
        mentions_in(places, (found for _, found in snapshot.extractions()), settings.left_out, snapshot.scratch),
        lambda: snapshot.vectors_in_order([Kind.SENTENCE], places.ids),
        settings,
    )


def stored_pairs(snapshot: Snapshot, kind: str, places: SentencePlaces) -> Pairs:
    """The links of one kind as they are stored."""
    return unordered(snapshot.link_rows(kind, places.ids), len(places.ids))


def _link_again(workshop: Workshop, beside: Callable[[Rows], Pairs], pending: Rows, ids: PackedIds) -> None:
    """Make the SA links that are missing between sentences that have others: their passages were cut anew."""
    others = np.ones(len(ids), dtype=bool)
    others[pending] = False
    rows = np.flatnonzero(others).astype(np.int32)
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        pairs = beside(some)
        between = others[pairs.first] & others[pairs.second]
        _write(workshop, {SA: pairs.where(between & is_among(pairs.first, some))}, ids)


def _without_links(stored: Iterable[Pairs], size: int) -> Rows:
    """Rows that none of these links touches."""
    linked = np.zeros(size, dtype=bool)
    for pairs in stored:
        linked[pairs.first] = True
        linked[pairs.second] = True
    return np.flatnonzero(~linked).astype(np.int32)


def _write(workshop: Workshop, due: Mapping[str, Pairs], ids: PackedIds) -> None:
    if any(map(len, due.values())):
        workshop.pause()
        links = {kind: Directed(pairs.first, pairs.second, pairs.weights) for kind, pairs in due.items()}
        # Each has an end that no link of its kind touched, or was found missing: none is there yet.
        workshop.writer.add_link_rows(ids, links)


def _turn_of(rows: Rows, order: Rows, size: int) -> Rows:
    """The batch of `order` that each of `rows` is in; the first for all others, which lack nothing: shape (size,)."""
    turn_of = np.zeros(size, dtype=np.int32)
    turn_of[rows] = np.searchsorted(order, rows) // BATCH
    return turn_of


def _turns(pairs: Pairs, turn_of: Rows) -> Rows:
    """The batch that each pair is written with: that of the later of its two."""
    return np.maximum(turn_of[pairs.first], turn_of[pairs.second])
