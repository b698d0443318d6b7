"""The structures by name, in the order they are built: the one table that a new structure is entered in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hoptrail.documents.splitting import PassageLimits
from hoptrail.structures.aggregates import Aggregates, AggregateSettings
from hoptrail.structures.building import Structure
from hoptrail.structures.extractions import Extractions, ExtractionSettings
from hoptrail.structures.facts import Facts
from hoptrail.structures.mentions import MentionSettings, TitleMentions
from hoptrail.structures.neighbours import (
    Bm25Neighbours,
    Bm25NeighbourSettings,
    DenseNeighbours,
    DenseNeighbourSettings,
)
from hoptrail.structures.passages import Passages
from hoptrail.structures.profiles import Profiles, ProfileSettings
from hoptrail.structures.sentence_graph import SentenceGraphSettings, SentenceLinks
from hoptrail.structures.sentences import Sentences
from hoptrail.structures.topics import Topics, TopicSettings
from hoptrail.structures.tree import TreeSettings
from hoptrail.structures.trees import EntityTree, JointTree, RelatednessTree, SimilarityTree, SimilarityTreeSettings
from hoptrail.structures.triples import Triples, TripleSettings


@dataclass(frozen=True, slots=True)
class StructureSettings:
    """One field a structure that has settings, under its name."""

    extractions: ExtractionSettings = field(default_factory=ExtractionSettings)
    topics: TopicSettings = field(default_factory=TopicSettings)
    aggregates: AggregateSettings = field(default_factory=AggregateSettings)
    similarity_tree: SimilarityTreeSettings = field(default_factory=SimilarityTreeSettings)
    relatedness_tree: TreeSettings = field(default_factory=TreeSettings)
    joint_tree: TreeSettings = field(default_factory=TreeSettings)
    entity_tree: TreeSettings = field(default_factory=TreeSettings)
    sentence_graph: SentenceGraphSettings = field(default_factory=SentenceGraphSettings)
    mentions: MentionSettings = field(default_factory=MentionSettings)
    dense_neighbours: DenseNeighbourSettings = field(default_factory=DenseNeighbourSettings)
    bm25_neighbours: Bm25NeighbourSettings = field(default_factory=Bm25NeighbourSettings)
    profiles: ProfileSettings = field(default_factory=ProfileSettings)
    triples: TripleSettings = field(default_factory=TripleSettings)


def structures_by_name(limits: PassageLimits, settings: StructureSettings | None = None) -> dict[str, Structure]:
    """Every structure there is, with its settings; each stands after those it is built from."""
    settings = settings or StructureSettings()
    similarity = SimilarityTree(settings.similarity_tree)
    relatedness = RelatednessTree(settings.relatedness_tree)
    structures: tuple[Structure, ...] = (
        Passages(limits),
        Extractions(settings.extractions),
        Topics(settings.topics),
        Facts(),
        Profiles(settings.profiles),
        Aggregates(settings.aggregates),
        similarity,
        relatedness,
        JointTree(settings.joint_tree, (similarity, relatedness)),
        EntityTree(settings.entity_tree),
        Sentences(),
        SentenceLinks(settings.sentence_graph),
        TitleMentions(settings.mentions),
        DenseNeighbours(settings.dense_neighbours),
        Bm25Neighbours(settings.bm25_neighbours),
        Triples(settings.triples),
    )
    return {structure.name: structure for structure in structures}


def with_foundations(names: Iterable[str], known: Mapping[str, Structure]) -> list[Structure]:
    """The structures of these names and all that they stand on, in the order they are built."""
    wanted = set(names)
    for structure in reversed(list(known.values())):
        if structure.name in wanted:
            wanted.update(structure.built_from)
    return [structure for structure in known.values() if structure.name in wanted]
