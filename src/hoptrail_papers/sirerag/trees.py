"""Trees of summaries, grown as RAPTOR does: group the nodes of a level, summarise each group, repeat with the summaries.

similarity-tree     passages by similarity (RAPTOR's tree; section 4.1)
relatedness-tree    aggregates, one per entity, by similarity (section 4.3)
joint-tree          groups over the nodes of both, level by level (appendix A)
entity-tree         passages by their entities (ablation E, "dual clustering")

A tree is grown once and then updated: new leaves are placed in groups, groups that lose their children dissolve, and only
summaries whose sources have changed are made again. Recipes search a pool of all nodes; the tree itself is never descended.

The paper: SiReRAG; 4 levels as in its section 1. Deviations: growing stops early at a level with one group; a group has at least
two nodes; a node that is longer than a group may be is in no group.

A summary is missing or out of date if its sources differ from those of its group's children. This rule covers new, removed and
changed leaves, stopped builds, and children whose summaries failed before. A summary that is made again has other sources, so the
summaries above it are out of date too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal, cast

from hoptrail.corpus.structure_names import (
    AGGREGATES,
    ENTITY_TREE,
    EXTRACTIONS,
    JOINT_TREE,
    PASSAGES,
    RELATEDNESS_TREE,
    SIMILARITY_TREE,
)
from hoptrail.corpus.writer import Writer
from hoptrail.errors import TaskFailed
from hoptrail.execution.executor import batched
from hoptrail.language.tasks import Language, Summarise
from hoptrail.models.encoder import FloatMatrix
from hoptrail.setting_limits import AtLeast1, Limit, Limited, ShareInside
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Structure
from hoptrail.structures.encoding import encode_texts, kept_at_once
from hoptrail.types import Kind, Unit
from hoptrail_papers.sirerag.clustering import ClusteringSettings, open_clusterer
from hoptrail_papers.sirerag.tree_store import (
    HIGHEST_LEVEL,
    KINDS,
    LEAVES,
    SMALLEST_GROUP,
    Grouper,
    Level,
    Members,
    Node,
    Nodes,
    TreeStore,
    members_of,
    pruned,
    ungrouped,
)

BATCH = 64  # summaries made at a time, and the least number stored together
SOURCES = 1 << 18
"""The most sources of these, of some 200 bytes each: high up in a large tree a summary has tens of thousands."""
_NAMED = 3  # children that a note names


def stale(groups: Members, nodes: Nodes, summaries: Nodes) -> list[str]:
    """The groups with a finished child among `nodes` whose summary is not among `summaries` or is out of date."""
    due = []
    for group, children in groups.items():
        sources = dict.fromkeys(source for node in _finished(children, nodes) for source in node.sources)
        if sources and (group not in summaries or summaries[group].sources != tuple(sources)):
            due.append(group)
    return due


def _finished(children: Iterable[str], nodes: Nodes) -> list[Node]:
    """The children that have a text, by their first sources, so that neighbours in a document stay together."""
    return sorted((nodes[id_] for id_ in children if id_ in nodes), key=lambda node: (node.first, node.id))


@dataclass(frozen=True, slots=True)
class Summariser:
    """Makes the summaries of one tree, of at most `words` words each."""

    context: BuildContext
    language: Language
    tree: str
    words: int

    def bring_up_to_date(self, store: TreeStore, groups: Members, nodes: Nodes) -> None:
        """Make the stale summaries of groups over `nodes`, and store each batch. Failures are noted and left for the next run.
        Raises: Interrupted, EndpointRefused, RecordingError: no more summaries can be made now; finished ones are kept.
        """

        def weight(group: str) -> int:
            return sum(len(nodes[child].sources) for child in groups[group] if child in nodes)

        due, done, doing = stale(groups, nodes, store.nodes(groups.keys())), 0, f"summarising for the {self.tree}"
        for stored in batched(due, kept_at_once(self.context, len(due), BATCH), weight, SOURCES):
            summaries: list[Unit] = []
            try:
                for batch in batched(stored, BATCH, weight, SOURCES):
                    self.context.report(doing, done, len(due))
                    children = {group: _finished(groups[group], nodes) for group in batch}
                    wanted = {child.id for own in children.values() for child in own}
                    units = {unit.id: unit for unit in store.units(wanted)}
                    texts = {group: tuple(units[node.id] for node in own) for group, own in children.items()}
                    self._summarise(texts, summaries)
                    done += len(batch)
                    self.context.pause()
            finally:  # whatever stops the run: they may have been paid for
                if summaries:
                    vectors = encode_texts(self.context, [unit.searchable for unit in summaries])
                    self.context.writer.put_units(summaries, vectors)
                    self.context.writer.checkpoint()
        if due:
            self.context.report(doing, len(due), len(due))

    def _summarise(self, children: Mapping[str, tuple[Unit, ...]], summaries: list[Unit]) -> None:
        """Add the summaries of groups, given with their children, one by one: the language may fail between two."""
        tasks = (Summarise(units, self.words) for units in children.values())
        replies = self.context.perform(self.language, tasks)
        for (group, units), reply in zip(children.items(), replies, strict=True):
            if isinstance(reply, TaskFailed):
                self._note(units, str(reply))
            elif not reply.strip():
                self._note(units, "the reply was empty")
            else:
                sources = tuple(dict.fromkeys(span for unit in units for span in unit.sources))
                summaries.append(Unit(group, Kind.SUMMARY, "", reply.strip(), sources))

    def _note(self, units: Sequence[Unit], reason: str) -> None:
        names = ", ".join(unit.title or unit.id for unit in units[:_NAMED])
        more = f" and {len(units) - _NAMED} more" if len(units) > _NAMED else ""
        self.context.account.notes.append(
            f"{self.tree}: no summary of {names}{more}: {reason}. Run the same command again to try once more."
        )


Levels = Annotated[int, Limit(lambda value: 2 <= value <= HIGHEST_LEVEL, f"is 2 to {HIGHEST_LEVEL}")]
GROWTH = 1.5  # a group with later nodes is split once it is this many times as large as clustering would make it
NEWCOMERS = 0.1
"""Nodes without a group are clustered among themselves if they exceed this share of a level, else placed singly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSettings(Limited):
    """How trees are grown and kept up to date."""

    levels: Levels = 4  # the most levels, leaves included (paper: 4)
    summary_words: AtLeast1 = 100
    """The most words of a summary: about 140 tokens. The paper's code has no limit, RAPTOR asks for 100 tokens. The local
    encoder, which reads 256 word pieces, sees all of it."""
    clustering: ClusteringSettings = field(default_factory=ClusteringSettings)
    former: ClassVar[Mapping[str, object]] = {"growth": 1.5, "newcomers": 0.1}


class Tree(Structure):
    """The common part of the trees. A tree defines the nodes of each level, of which the groups of the level above are made."""

    __slots__ = ()
    settings: TreeSettings
    needs_language = True
    leaf = Kind.PASSAGE

    def members(self, store: TreeStore, level: int) -> Set[str]:
        """The ids of the nodes of a level: leaves on the first, above groups with or without a finished summary."""
        if level == LEAVES:
            return set(store.snapshot.table.ids(self.leaf))
        return store.groups(self.name, level).keys()

    def vectors(self, store: TreeStore, context: BuildContext, ids: Sequence[str]) -> FloatMatrix:  # noqa: ARG002
        """The vectors that group nodes of a level: shape (len(ids), dimension), unit length."""
        return store.snapshot.search.vectors_in_order(KINDS, ids)

    def discard(self, writer: Writer) -> None:
        """Remove this tree's groups and their summaries, whose kind all trees share."""
        store = TreeStore(writer)
        store.remove_groups(list(store.groups(self.name)))
        super().discard(writer)

    def update(self, context: BuildContext) -> None:
        """Remove what is outdated; with a language, place new nodes and make the summaries that are due.
        Raises: Interrupted, EndpointRefused, RecordingError: no more summaries can be made now; finished ones are kept.
        """
        store = TreeStore(context.writer)
        self._prune(store)
        context.pause()
        if context.language is None:
            self._note_waiting(store, context)
        else:
            self._grow(store, context, context.language)

    def _prune(self, store: TreeStore) -> None:
        """Remove lost children and dissolve groups, from the leaves up, because parents lose the groups that dissolve."""
        for level in range(LEAVES + 1, HIGHEST_LEVEL + 1):
            before = store.groups(self.name, level)
            if before:
                changed = pruned(before, self.members(store, level - 1))
                kept = {group: children for group, children in changed.items() if len(children) >= SMALLEST_GROUP}
                store.write_groups(self.name, before, kept)
                store.remove_groups([group for group in changed if group not in kept])
        store.remove_strays()

    def _grow(self, store: TreeStore, context: BuildContext, language: Language) -> None:
        caps = self.settings.clustering
        cluster = open_clusterer(caps)
        most_nodes, most_words = int(caps.largest * GROWTH), int(caps.most_words * GROWTH)
        summariser = Summariser(context, language, self.name, self.settings.summary_words)
        for level in range(LEAVES + 1, self.settings.levels + 1):
            nodes, before = store.nodes(self.members(store, level - 1)), store.groups(self.name, level)
            grouper = Grouper(self.name, level, cluster, most_nodes, most_words, NEWCOMERS)
            eligible = self._eligible(store, context, nodes)
            store.write_groups(self.name, before, grouper.regroup(before, eligible), eligible)
            context.pause()
            summariser.bring_up_to_date(store, store.groups(self.name, level), nodes)
            store.refresh()

    def _eligible(self, store: TreeStore, context: BuildContext, nodes: Nodes) -> Level:
        """The nodes of a level that are short enough to be summarised with others."""
        most = self.settings.clustering.most_words
        words = {id_: node.words for id_, node in nodes.items() if node.words <= most}
        return Level(words, lambda ids: self.vectors(store, context, ids))

    def _note_waiting(self, store: TreeStore, context: BuildContext) -> None:
        total = len(store.groups(self.name))
        if not total:
            return
        due = new = 0
        for level in range(LEAVES + 1, HIGHEST_LEVEL + 1):
            groups, nodes = store.groups(self.name, level), store.nodes(self.members(store, level - 1))
            due += len(stale(groups, nodes, store.nodes(groups.keys())))
            if level == LEAVES + 1:
                new = len(ungrouped(groups, self._eligible(store, context, nodes)))
        if due or new:
            context.account.notes.append(
                f"{self.name}: {due} of {total} summaries are missing or out of date, and {new} leaves are in no "
                "group. Bring it up to date with `hoptrail index --index DIR --for RECIPE --language NAME`."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityTreeSettings(TreeSettings):
    """Settings of a tree, and the placement of leaves."""

    leaf_placement: Literal["flat", "two-level"] = "flat"
    """Where passages enter the tree (table 2). flat: all on the first level; two-level: abstract ones on the second level, beside
    the summaries of the others."""
    abstract: ShareInside = 0.2  # two-level: the share of passages that counts as abstract. Ours: the paper gives none.


@dataclass(frozen=True, slots=True)
class SimilarityTree(Tree):
    """The tree over passages.
    Deviation (two-level): the paper asks a model which passages give an overview; here the abstract passages are those with the
    fewest entities per word in their extractions.
    """

    settings: SimilarityTreeSettings = field(default_factory=SimilarityTreeSettings)
    name = SIMILARITY_TREE
    links = (SIMILARITY_TREE,)

    @property
    def built_from(self) -> tuple[str, ...]:
        """Passages; for two levels extractions, which tell how abstract a passage is."""
        return (PASSAGES,) if self.settings.leaf_placement == "flat" else (EXTRACTIONS,)

    def members(self, store: TreeStore, level: int) -> Set[str]:
        """Passages on the first level and groups above; with two levels, abstract passages are beside the lowest groups."""
        nodes = Tree.members(self, store, level)
        if self.settings.leaf_placement == "flat" or level > LEAVES + 1:
            return nodes
        abstract = self._abstract(store, set(store.snapshot.table.ids(Kind.PASSAGE)))
        return nodes - abstract if level == LEAVES else nodes | abstract

    def _abstract(self, store: TreeStore, passages: Set[str]) -> set[str]:
        """The passages with the fewest entities per word, of those with an extraction; those in a group stay on their level."""
        nodes = store.nodes(passages)
        counts = ((id_, len(found.entities)) for id_, found in store.snapshot.extractions() if id_ in nodes)
        ranked = sorted((count / max(1, nodes[id_].words), id_) for id_, count in counts)
        least_dense = {id_ for _, id_ in ranked[: int(self.settings.abstract * len(ranked))]}
        low, high = (members_of(store.groups(self.name, level)) for level in (LEAVES + 1, LEAVES + 2))
        return (high & passages) | (least_dense - low)


@dataclass(frozen=True, slots=True)
class RelatednessTree(Tree):
    settings: TreeSettings = field(default_factory=TreeSettings)
    name = RELATEDNESS_TREE
    links = (RELATEDNESS_TREE,)
    built_from = (AGGREGATES,)
    leaf = Kind.AGGREGATE


@dataclass(frozen=True, slots=True)
class JointTree(Tree):
    """The tree over the nodes of `trees`, which are built before it: on every level, groups that may have nodes of both.
    Its summaries are not grouped again: the paper finds additional clusters among "the nodes of both trees", and they are nodes
    of neither.
    """

    settings: TreeSettings = field(default_factory=TreeSettings)
    trees: tuple[Tree, ...] = field(default_factory=lambda: (SimilarityTree(), RelatednessTree()))
    name = JOINT_TREE
    links = (JOINT_TREE,)
    built_from = (SIMILARITY_TREE, RELATEDNESS_TREE)

    def over(self, known: Mapping[str, Structure]) -> Structure:
        return replace(self, trees=tuple(cast("Tree", known[name]) for name in self.built_from))

    def members(self, store: TreeStore, level: int) -> Set[str]:
        return {id_ for tree in self.trees for id_ in tree.members(store, level)}


@dataclass(frozen=True, slots=True)
class EntityTree(Tree):
    """Groups of passages by a sentence that lists their entities, beside the similarity tree's groups.

    As in the paper's single tree, the second level has both kinds of groups; the third groups the summaries of both by their
    texts, and higher levels only this tree's own. A pool of that tree has the similarity tree's lowest level and all of this one
    (`Pool.lowest`). Passages without entities are in no group. The vectors of the sentences are not stored, but made again
    whenever a passage has no group yet, which is expensive for a large corpus: this is an ablation, not for daily use.
    """

    settings: TreeSettings = field(default_factory=TreeSettings)
    name = ENTITY_TREE
    links = (ENTITY_TREE,)
    built_from = (EXTRACTIONS, SIMILARITY_TREE)

    def members(self, store: TreeStore, level: int) -> Set[str]:
        """Passages with entities on the first level, the groups of both trees on the second, this tree's own above."""
        nodes = Tree.members(self, store, level)
        if level == LEAVES:
            return nodes & {id_ for id_, found in store.snapshot.extractions() if found.entities}
        return nodes | store.groups(SIMILARITY_TREE, level).keys() if level == LEAVES + 1 else nodes

    def vectors(self, store: TreeStore, context: BuildContext, ids: Sequence[str]) -> FloatMatrix:
        """For passages, the vectors of their sentences of entities instead of their own."""
        extractions = dict(store.snapshot.extractions(ids))
        if not extractions:  # groups
            return Tree.vectors(self, store, context, ids)
        sentences = [template(extractions[id_].entities) for id_ in ids]
        return encode_texts(context, sentences, lambda done: context.report("encoding", done, len(ids)))


def template(entities: Sequence[str]) -> str:
    """The paper's sentence for grouping passages by their entities."""
    return f"This chunk mentions {' and '.join(entities)}."
