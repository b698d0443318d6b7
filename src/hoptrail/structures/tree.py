"""Growing a tree of summaries: group a level's nodes, summarise every group, go on with the summaries (RAPTOR's way).

A tree is grown once and then kept: new leaves find a place, groups that lose their children dissolve, and only summaries
whose sources have changed are made again. All nodes are in the pool that recipes search; the tree itself is never descended.

The paper: SiReRAG, section 4.3; 4 levels as its section 1 says. Deviations: growing stops early where a level has one group;
a group has at least two nodes; a node that is longer than a group may be is in no group. `trees.py` has the four trees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.errors import UsageError
from hoptrail.fingerprints import fingerprint
from hoptrail.language.tasks import Language
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.clustering import Clusterer, ClusteringSettings, open_clusterer
from hoptrail.structures.tree_groups import Grouper, pruned, ungrouped
from hoptrail.structures.tree_nodes import HIGHEST_LEVEL, Children, Grove, Level, groups_of
from hoptrail.structures.tree_summaries import Summariser, stale
from hoptrail.types import Kind

LEAVES = 1
"""The level of the leaves: summaries start on the one above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSettings:
    """How trees are grown and kept up to date.

    Raises:
        UsageError: a value is out of its range.
    """

    levels: int = 4
    """At most, leaves included (paper: 4)."""
    summary_words: int = 100
    """The most words of a summary: about 140 tokens, where the paper's code has no limit and RAPTOR asks for 100. The local
    encoder reads 256 word pieces, so that it sees all of it."""
    clustering: ClusteringSettings = field(default_factory=ClusteringSettings)
    growth: float = 1.5
    """A group that took in later nodes is split once it is this many times as large as clustering would make it."""
    newcomers: float = 0.1
    """Above this share of a level's nodes, those without a group are clustered among themselves instead of being placed."""

    def __post_init__(self) -> None:
        if not 2 <= self.levels <= HIGHEST_LEVEL:
            raise UsageError(f"a tree has 2 to {HIGHEST_LEVEL} levels, not {self.levels}")
        if self.summary_words < 1:
            raise UsageError(f"summary_words must be at least 1, not {self.summary_words}")
        if self.growth < 1:
            raise UsageError(f"growth of groups must be at least 1, not {self.growth}")
        if not 0 <= self.newcomers <= 1:
            raise UsageError(f"the share of newcomers must be between 0 and 1, not {self.newcomers}")


class Tree(ABC):
    """What the trees share. A tree says which nodes stand on a level; the groups of the level above are made of them."""

    __slots__ = ()
    kinds: ClassVar[tuple[Kind, ...]]
    """The kinds of its leaves."""
    settings: TreeSettings
    name: str
    needs_language: bool

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.settings)

    @property
    @abstractmethod
    def built_from(self) -> tuple[str, ...]:
        """See `Structure.built_from`."""

    @abstractmethod
    def members(self, grove: Grove, level: int) -> set[str]:
        """The ids that stand on a level: leaves, and groups whether or not their summaries are made."""

    def vectors(self, grove: Grove, workshop: Workshop, ids: tuple[str, ...]) -> FloatMatrix:  # noqa: ARG002
        """What nodes are grouped by: shape (len(ids), dimension), unit length."""
        return grove.vectors(ids)

    def discard(self, writer: Writer) -> None:
        writer.remove_units(Kind.SUMMARY, set(groups_of(writer.snapshot(), self.name)))
        writer.drop_links(self.name)

    def update(self, workshop: Workshop) -> None:
        """Take away what no longer stands; with a language, place what is new and make the summaries that are due.

        Raises:
            Interrupted, EndpointRefused, RecordingError: nothing more can be made now; what was made is kept.
        """
        grove = Grove(workshop.writer, self.kinds)
        self._prune(grove)
        workshop.pause()
        if workshop.language is None:
            self._note_waiting(grove, workshop)
        else:
            self._grow(grove, workshop, workshop.language)

    def _prune(self, grove: Grove) -> None:
        """From the leaves up, because a group that dissolves is a child that its parents lose."""
        for level in range(LEAVES + 1, HIGHEST_LEVEL + 1):
            before = grove.groups(self.name, level)
            if before:
                grove.write_groups(self.name, before, pruned(before, self.members(grove, level - 1)))
        if strays := grove.strays():
            grove.remove_summaries(strays)

    def _grow(self, grove: Grove, workshop: Workshop, language: Language) -> None:
        clusterer = open_clusterer(self.settings.clustering)
        summariser = Summariser(workshop, language, self.name, self.settings.summary_words)
        for level in range(LEAVES + 1, self.settings.levels + 1):
            groups = self._regroup(grove, workshop, level, clusterer)
            workshop.pause()
            summariser.bring_up_to_date(grove, groups)
            grove.renew()

    def _regroup(self, grove: Grove, workshop: Workshop, level: int, clusterer: Clusterer) -> Children:
        """The groups of a level with every node below in one of them."""
        before = grove.groups(self.name, level)
        nodes = self._nodes(grove, workshop, level - 1)
        after = self._grouper(level, clusterer).regroup(before, nodes)
        grove.write_groups(self.name, before, after, nodes)
        return after

    def _grouper(self, level: int, clusterer: Clusterer) -> Grouper:
        caps, growth = self.settings.clustering, self.settings.growth
        most_nodes, most_words = int(caps.largest * growth), int(caps.most_words * growth)
        return Grouper(self.name, level, clusterer, most_nodes, most_words, self.settings.newcomers)

    def _nodes(self, grove: Grove, workshop: Workshop, level: int) -> Level:
        ids = self._eligible(grove, level)
        words = [grove.nodes[id_].words for id_ in ids]
        return Level(ids, words, lambda: self.vectors(grove, workshop, ids))

    def _eligible(self, grove: Grove, level: int) -> tuple[str, ...]:
        """The nodes of a level that have a text which leaves others room in a summary, by rising id."""
        most = self.settings.clustering.most_words
        members = self.members(grove, level)
        return tuple(sorted(id_ for id_ in members if id_ in grove.nodes and grove.nodes[id_].words <= most))

    def _note_waiting(self, grove: Grove, workshop: Workshop) -> None:
        groups = grove.groups(self.name)
        due = len(stale(grove, groups))
        new = len(ungrouped(groups, self._eligible(grove, LEAVES)))
        if groups and (due or new):
            workshop.account.notes.append(
                f"{self.name}: {due} of {len(groups)} summaries are missing or out of date, and {new} leaves are in no "
                "group. Bring it up to date with `hoptrail index --index DIR --for RECIPE --language NAME`."
            )
