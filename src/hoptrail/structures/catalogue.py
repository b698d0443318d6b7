"""The structures in the order in which they are built: the table to which a new structure is added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, make_dataclass, replace

from hoptrail.corpus.writer import Writer
from hoptrail.documents.splitting import PassageLimits
from hoptrail.structures.aggregates import Aggregates
from hoptrail.structures.declaration import Structure
from hoptrail.structures.extractions import Extractions, Facts
from hoptrail.structures.neighbours import Bm25Neighbours, DenseNeighbours
from hoptrail.structures.passages import Passages
from hoptrail.structures.profiles import Profiles
from hoptrail.structures.sentence_graph import SentenceLinks
from hoptrail.structures.sentences import Sentences
from hoptrail.structures.structure_names import JOINT_TREE, PASSAGES
from hoptrail.structures.title_mentions import TitleMentions
from hoptrail.structures.topics import Topics
from hoptrail.structures.trees import EntityTree, JointTree, RelatednessTree, SimilarityTree
from hoptrail.structures.triples import Triples

STRUCTURES: tuple[type[Structure], ...] = (
    Passages,
    Extractions,
    Topics,
    Facts,
    Profiles,
    Aggregates,
    SimilarityTree,
    RelatednessTree,
    JointTree,
    EntityTree,
    Sentences,
    SentenceLinks,
    TitleMentions,
    DenseNeighbours,
    Bm25Neighbours,
    Triples,
)
"""Each comes after those it is built from."""


def _settings_fields() -> list[tuple[str, type, object]]:
    """Names, types and defaults of the settings of all structures except passages, whose limits belong to documents."""
    defaults = ((one.name, one().settings) for one in STRUCTURES if one.name != PASSAGES)
    return [(name.replace("-", "_"), type(own), field(default=own)) for name, own in defaults if own is not None]


class StructureSettings(make_dataclass("StructureSettings", _settings_fields(), frozen=True)):  # type: ignore[misc]
    """One field per structure with settings, named like the structure with `_` for `-`."""


def structures_by_name(limits: PassageLimits, settings: StructureSettings | None = None) -> dict[str, Structure]:
    """All structures with their settings; each comes after those it is built from."""
    chosen = settings or StructureSettings()
    known: dict[str, Structure] = {}
    for structure in STRUCTURES:
        own = limits if structure.name == PASSAGES else getattr(chosen, structure.name.replace("-", "_"), None)
        known[structure.name] = structure() if own is None else structure(own)  # type: ignore[call-arg]
    trees = tuple(known[name] for name in JointTree.built_from)
    known[JOINT_TREE] = replace(known[JOINT_TREE], trees=trees)  # type: ignore[type-var]
    return known


def with_foundations(names: Iterable[str], known: Mapping[str, Structure]) -> list[Structure]:
    """The structures with these names and all that they are built from, in the order in which they are built."""
    needed = set(names)
    for structure in reversed(list(known.values())):
        if structure.name in needed:
            needed.update(structure.built_from)
    return [structure for structure in known.values() if structure.name in needed]


def discard_unknown(writer: Writer) -> None:
    """Remove the entries of structures that no longer exist, and links of kinds that none has; units and names stay."""
    for entered in (writer.structures, writer.unfinished, writer.languages):
        for name in entered.keys() - {structure.name for structure in STRUCTURES}:
            del entered[name]
    for kind in writer.snapshot().graph.count().keys() - {kind for structure in STRUCTURES for kind in structure.links}:
        writer.links.drop(kind)
