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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import UsageError
from hoptrail.executing.executor import HERE, Executor
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.columns import (
    Directed,
    PackedIds,
    Rows,
    as_bytes,
    id_rows,
    in_order,
    is_among,
    packed,
    rows_among,
    unpaired,
)
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Change, Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.declaring import Structure
from hoptrail.structures.encoding import COMMITS
from hoptrail.structures.linking import (
    TOGETHER,
    Adjacency,
    Pairs,
    SharedEntities,
    gathered,
    key_entities,
    mutual_pairs,
    unordered,
)
from hoptrail.structures.names import EXTRACTIONS, SENTENCE_GRAPH, SENTENCES
from hoptrail.structures.nearest import Nearest
from hoptrail.structures.sentence_entities import Mentions, mentions_in
from hoptrail.structures.sentences import SentencePlaces, sentence_places
from hoptrail.text.mentions import Shape
from hoptrail.types import Kind

EC = "EC"
SS = "SS"
SA = "SA"
KINDS = (EC, SS, SA)

BATCH, LARGEST = 8192, 65_536
"""Sentences whose links are kept at a time: a hundredth part, within these bounds. Each batch is a version of the table, and what
a version costs grows with those before it."""

_DUE = np.dtype([("turn", ">u4"), ("first", ">u4"), ("second", ">u4"), ("weight", "<f8")])
"""High bytes first, so that the pairs of a turn are together when in order."""


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
        self, rows: Rows, pause: Callable[[], None] = lambda: None, executor: Executor = HERE
    ) -> Iterator[Pairs]:
        """SS links with an end in `rows`, in portions."""
        chosen = self.settings
        vectors = self.vectors() if len(rows) else np.zeros((0, 0), dtype=np.float32)  # of all, so not read for nothing
        nearest = Nearest(vectors, chosen.neighbours, chosen.exact_up_to, chosen.probes, chosen.seed, pause, executor)
        return mutual_pairs(nearest.portions, rows, len(self))

    def sharing(self, rows: Rows) -> Iterator[Pairs]:
        """EC links with an end in `rows`, in portions."""
        most = max(self.settings.entity_floor, int(self.settings.entity_share * len(self)))
        most = min(most, self.settings.entity_most)
        keys = key_entities(self.mentions, len(self), self.settings.key_share)
        shared = SharedEntities(keys, len(self), most, self.settings.entity_links)
        return mutual_pairs(shared.portions, rows, len(self))

    def all_pairs(self, kind: str) -> Pairs:
        """All links of a kind."""
        rows = np.arange(len(self), dtype=np.int32)
        makers: dict[str, Callable[[], Iterable[Pairs]]] = {
            EC: lambda: self.sharing(rows),
            SS: lambda: self.similar(rows),
            SA: lambda: [self.adjacency().of(rows)],
        }
        return gathered(makers[kind]())


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
        adjacent = nodes.adjacency()
        lacking = self._lacking(workshop.writer, nodes, adjacent, places)

        def beside(rows: Rows) -> Pairs:
            pairs = adjacent.of(rows)
            return pairs.where(~is_among(pairs.keys, lacking.beside))

        _link_again(workshop, beside, lacking.alone, places.ids)
        _refill(workshop, nodes, lacking, places)
        order, pending = lacking.sharing, np.flatnonzero(lacking.alone).astype(np.int32)
        size = max(BATCH, min(len(order) // COMMITS, LARGEST))
        turns, turns_of_pending = (_turns(rows, order, size, len(nodes)) for rows in (order, pending))
        sharing = PairsByTurn(nodes.sharing(order), turns)
        similar = PairsByTurn(nodes.similar(pending, workshop.pause, workshop.executor), turns_of_pending)
        for turn in range(max(1, -(-len(order) // size))):
            batch = order[turn * size : (turn + 1) * size]
            adjacent_here = beside(batch[lacking.alone[batch]])
            due = adjacent_here.where(_later(adjacent_here, turns_of_pending) == turn)
            _write(workshop, {EC: sharing.of(turn), SS: similar.of(turn), SA: due}, places.ids)
            workshop.report("linking sentences", min((turn + 1) * size, len(order)), len(order))

    def _lacking(self, writer: Writer, nodes: Nodes, adjacent: Adjacency, places: SentencePlaces) -> Lacking:
        """What is to be linked, once the links have gone that contradict what is stored."""
        snapshot = writer.snapshot()
        stored = {kind: StoredPairs.of(snapshot, kind, places) for kind in KINDS}
        fits: dict[str, Callable[[Pairs], NDArray[np.bool_]]] = {
            SA: adjacent.hold,
            EC: lambda pairs: nodes.mentions.share(pairs.first, pairs.second),
        }
        for kind, fitting in fits.items():
            if not all(fitting(pairs).all() for pairs in stored[kind].portions()):
                writer.links.drop(kind)
                stored[kind] = StoredPairs.none()
        linked = {kind: pairs.ends(len(nodes)) for kind, pairs in stored.items()}
        alone = ~(linked[EC] | linked[SS] | linked[SA])
        return Lacking(alone, np.flatnonzero(~linked[EC]).astype(np.int32), stored[SA].keys, stored[SS].keys)


@dataclass(frozen=True, slots=True)
class Lacking:
    """Sentences that lack links."""

    alone: NDArray[np.bool_]
    """Of each row whether it has no link at all."""
    sharing: Rows
    """Those without an EC link, which are the ones alone and others."""
    beside: NDArray[np.int64]
    """Keys of the SA links that stand, rising."""
    similar: NDArray[np.int64]
    """Those of the SS links."""


def nodes_of(snapshot: Snapshot, places: SentencePlaces, settings: SentenceGraphSettings) -> Nodes:
    """Those of all sentences of an index."""
    return Nodes(
        places.passages(span for _, span in snapshot.table.first_sources(Kind.PASSAGE)),
        places.starts,
        mentions_in(places, (found for _, found in snapshot.extractions()), settings.left_out),
        lambda: snapshot.search.vectors_in_order([Kind.SENTENCE], places.ids),
        settings,
    )


def stored_pairs(snapshot: Snapshot, kind: str, places: SentencePlaces) -> Pairs:
    """The links of one kind as they are stored."""
    return unordered(snapshot.graph.rows(kind, places.ids))


@dataclass(frozen=True, slots=True)
class StoredPairs:
    """Which pairs are linked already, by their keys (`Pairs.keys`), which rise."""

    keys: NDArray[np.int64]

    @classmethod
    def of(cls, snapshot: Snapshot, kind: str, places: SentencePlaces) -> StoredPairs:
        return cls(np.sort(stored_pairs(snapshot, kind, places).keys))

    @classmethod
    def none(cls) -> StoredPairs:
        return cls(np.zeros(0, dtype=np.int64))

    def portions(self) -> Iterator[Pairs]:
        """The pairs, without what their links weigh."""
        for start in range(0, len(self.keys), TOGETHER):
            keys = self.keys[start : start + TOGETHER]
            yield Pairs(*unpaired(keys), np.zeros(len(keys)))

    def ends(self, size: int) -> NDArray[np.bool_]:
        """Whether each of so many rows has such a link."""
        linked = np.zeros(size, np.bool_)
        for pairs in self.portions():
            linked[pairs.first] = True
            linked[pairs.second] = True
        return linked


class PairsByTurn:
    """Pairs by the batch that each is written with: that of the later of its two."""

    def __init__(self, portions: Iterable[Pairs], turns: Rows) -> None:
        """`turns`: the batch of each row."""
        self._pairs = in_order(_DUE, (_due(pairs, turns) for pairs in portions))

    def of(self, turn: int) -> Pairs:
        bounds = np.zeros(2, _DUE)
        bounds["turn"] = turn, turn + 1
        found = self._pairs[slice(*as_bytes(self._pairs).searchsorted(as_bytes(bounds)).tolist())]
        return Pairs(found["first"].astype(np.int32), found["second"].astype(np.int32), found["weight"])


def _due(pairs: Pairs, turns: Rows) -> NDArray[np.void]:
    due = np.empty(len(pairs), _DUE)
    due["turn"] = _later(pairs, turns)
    due["first"], due["second"], due["weight"] = pairs.first, pairs.second, pairs.weights
    return due


def _link_again(workshop: Workshop, beside: Callable[[Rows], Pairs], alone: NDArray[np.bool_], ids: PackedIds) -> None:
    """Make the SA links that are missing between sentences that have others: their passages were cut anew."""
    for start in range(0, len(ids), TOGETHER):
        rows = (start + np.flatnonzero(~alone[start : start + TOGETHER])).astype(np.int32)
        pairs = beside(rows)
        between = ~alone[pairs.first] & ~alone[pairs.second]
        _write(workshop, {SA: pairs.where(between & is_among(pairs.first, rows))}, ids)


def _refill(workshop: Workshop, nodes: Nodes, lacking: Lacking, places: SentencePlaces) -> None:
    """Make the SS links that there are now of sentences that lost one with a document that went."""
    lost = _bereft(workshop.change) if workshop.change and workshop.change.went else ()
    found = rows_among(id_rows(sorted(lost)), packed(places.ids))
    rows = np.unique(found[found >= 0]).astype(np.int32)
    for pairs in nodes.similar(rows, workshop.pause, workshop.executor) if len(rows) else ():
        standing = ~lacking.alone[pairs.first] & ~lacking.alone[pairs.second]
        _write(workshop, {SS: pairs.where(standing & ~is_among(pairs.keys, lacking.similar))}, places.ids)


def _bereft(change: Change) -> set[str]:
    """The sentences that were like one of a document that went."""
    gone = set(change.before.table.ids_within(Kind.SENTENCE, change.went))
    ends = [link.target for link in change.before.graph.leaving(gone, SS)]
    return {*ends, *(link.source for link in change.before.graph.entering(gone, SS))} - gone


def _write(workshop: Workshop, due: Mapping[str, Pairs], ids: PackedIds) -> None:
    if any(map(len, due.values())):
        workshop.pause()
        links = {kind: Directed(pairs.first, pairs.second, pairs.weights) for kind, pairs in due.items()}
        # Each has an end that no link of its kind touched, or was found missing: none is there yet.
        workshop.writer.links.put_rows(ids, links)


def _turns(rows: Rows, order: Rows, size: int, count: int) -> Rows:
    """Of each row, of `count`, the batch of `order` that it is in, each of `size`; the first if it is not among `rows`."""
    turns = np.zeros(count, np.int32)
    for start in range(0, len(rows), TOGETHER):
        some = rows[start : start + TOGETHER]
        turns[some] = np.searchsorted(order, some) // size
    return turns


def _later(pairs: Pairs, turns: Rows) -> Rows:
    return np.maximum(turns[pairs.first], turns[pairs.second])
