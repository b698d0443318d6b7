"""Growing a tree of summaries as RAPTOR does: group the nodes of a level, summarise each group, repeat with the summaries.

A tree is grown once and then updated: new leaves are placed in groups, groups that lose their children dissolve, and only
summaries whose sources have changed are made again. Recipes search a pool of all nodes; the tree itself is never descended.

The paper: SiReRAG, section 4.3; 4 levels as in its section 1. Deviations: growing stops early at a level with one group; a group
has at least two nodes; a node that is longer than a group may be is in no group. `trees.py` defines the four trees.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from hoptrail.corpus.writer import Writer
from hoptrail.errors import UsageError
from hoptrail.language.tasks import Language
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.clustering import Cluster, ClusteringSettings, open_clusterer
from hoptrail.structures.declaring import Structure
from hoptrail.structures.tree_groups import SMALLEST_GROUP, Grouper, pruned, ungrouped
from hoptrail.structures.tree_nodes import HIGHEST_LEVEL, LEAVES, Level, Nodes
from hoptrail.structures.tree_store import TreeStore
from hoptrail.structures.tree_summaries import Summariser, stale


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSettings:
    """How trees are grown and kept up to date. Raises: UsageError: a value is out of its range."""

    levels: int = 4
    """The most levels, leaves included (paper: 4)."""
    summary_words: int = 100
    """The most words of a summary: about 140 tokens. The paper's code has no limit, RAPTOR asks for 100 tokens. The local
    encoder, which reads 256 word pieces, sees all of it."""
    clustering: ClusteringSettings = field(default_factory=ClusteringSettings)
    growth: float = 1.5
    """A group with later nodes is split once it is this many times as large as clustering would make it."""
    newcomers: float = 0.1
    """Nodes without a group are clustered among themselves if they exceed this share of a level, else placed singly."""

    def __post_init__(self) -> None:
        if not 2 <= self.levels <= HIGHEST_LEVEL:
            raise UsageError(f"a tree has 2 to {HIGHEST_LEVEL} levels, not {self.levels}")
        if self.summary_words < 1:
            raise UsageError(f"summary_words must be at least 1, not {self.summary_words}")
        if self.growth < 1:
            raise UsageError(f"growth of groups must be at least 1, not {self.growth}")
        if not 0 <= self.newcomers <= 1:
            raise UsageError(f"the share of newcomers must be between 0 and 1, not {self.newcomers}")


class Tree(Structure):
    """The common part of the trees. A tree defines the nodes of each level, of which the groups of the level above are made."""

    __slots__ = ()
    settings: TreeSettings
    needs_language = True

    @abstractmethod
    def members(self, store: TreeStore, level: int) -> Set[str]:
        """The ids of the nodes of a level: leaves, and groups with or without a finished summary."""

    def vectors(self, store: TreeStore, context: BuildContext, ids: Sequence[str]) -> FloatMatrix:  # noqa: ARG002
        """The vectors that group nodes of a level: shape (len(ids), dimension), unit length."""
        return store.vectors(ids)

    def discard(self, writer: Writer) -> None:
        """Remove this tree's groups and their summaries, whose kind all trees share."""
        store = TreeStore(writer)
        store.remove_groups(list(store.groups(self.name)))
        super().discard(writer)

    def update(self, context: BuildContext) -> None:
        """Remove what is outdated; with a language, place new nodes and make the summaries that are due.

        Raises:
            Interrupted, EndpointRefused, RecordingError: no more summaries can be made now; finished ones are kept.
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
        cluster = open_clusterer(self.settings.clustering)
        summariser = Summariser(context, language, self.name, self.settings.summary_words)
        for level in range(LEAVES + 1, self.settings.levels + 1):
            nodes = store.nodes(self.members(store, level - 1))
            self._regroup(store, self._eligible(store, context, nodes), level, cluster)
            context.pause()
            summariser.bring_up_to_date(store, store.groups(self.name, level), nodes)
            store.refresh()

    def _regroup(self, store: TreeStore, nodes: Level, level: int, cluster: Cluster) -> None:
        """Put every node below a level into a group of that level."""
        before = store.groups(self.name, level)
        caps, growth = self.settings.clustering, self.settings.growth
        most_nodes, most_words = int(caps.largest * growth), int(caps.most_words * growth)
        grouper = Grouper(self.name, level, cluster, most_nodes, most_words, self.settings.newcomers)
        store.write_groups(self.name, before, grouper.regroup(before, nodes), nodes)

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
