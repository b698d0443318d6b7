"""The four trees of SiReRAG: which nodes each groups, and by which vectors. How trees are grown stands in `tree.py`.

similarity-tree     passages by likeness (RAPTOR's tree; section 4.1)
relatedness-tree    aggregates, one an entity, by likeness (section 4.3)
joint-tree          groups over the nodes of both, level by level (appendix A)
entity-tree         passages by the entities they name (ablation E, "dual clustering")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from hoptrail.errors import UsageError
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.building import Workshop
from hoptrail.structures.encoding import encode_texts
from hoptrail.structures.names import (
    AGGREGATES,
    ENTITY_TREE,
    EXTRACTIONS,
    JOINT_TREE,
    PASSAGES,
    RELATEDNESS_TREE,
    SIMILARITY_TREE,
)
from hoptrail.structures.tree import LEAVES, Tree, TreeSettings
from hoptrail.structures.tree_nodes import Grove
from hoptrail.types import Kind


class LeafPlacement(StrEnum):
    """Where passages enter the similarity tree (table 2)."""

    FLAT = "flat"
    """All on the first level."""
    TWO_LEVEL = "two-level"
    """Abstract ones on the second level, beside the summaries of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityTreeSettings(TreeSettings):
    """With the placement of leaves.

    Raises:
        UsageError: a value is out of its range.
    """

    leaf_placement: LeafPlacement = LeafPlacement.FLAT
    abstract: float = 0.2
    """two-level: the share of passages that counts as abstract. Ours: the paper gives none."""

    def __post_init__(self) -> None:
        TreeSettings.__post_init__(self)  # a dataclass with slots is made anew, which a bare super() does not survive
        if not 0 < self.abstract < 1:
            raise UsageError(f"the share of abstract passages must be between 0 and 1, not {self.abstract}")


@dataclass(frozen=True, slots=True)
class SimilarityTree(Tree):
    """Over passages.

    Deviation (two-level): the paper asks a model which passages give an overview; here those are abstract that name the
    fewest entities a word, by the stored extractions. A passage without an extraction is not, and one that has a group stays
    on its level whatever comes later.
    """

    settings: SimilarityTreeSettings = field(default_factory=SimilarityTreeSettings)
    name: str = SIMILARITY_TREE
    needs_language: bool = True
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.PASSAGE,)

    @property
    def built_from(self) -> tuple[str, ...]:
        """See `Structure.built_from`."""
        return (PASSAGES,) if self.settings.leaf_placement is LeafPlacement.FLAT else (EXTRACTIONS,)

    def members(self, grove: Grove, level: int) -> set[str]:
        """See `Tree.members`."""
        groups = set(grove.groups(self.name, level))
        if self.settings.leaf_placement is LeafPlacement.FLAT or level > LEAVES + 1:
            return grove.of_kind(Kind.PASSAGE) if level == LEAVES else groups
        abstract = self._abstract(grove)
        return grove.of_kind(Kind.PASSAGE) - abstract if level == LEAVES else groups | abstract

    def _abstract(self, grove: Grove) -> set[str]:
        entities = {id_: found for id_, found in grove.entities().items() if id_ in grove.nodes}
        density = {id_: len(found) / max(1, grove.nodes[id_].words) for id_, found in entities.items()}
        ranked = sorted(density, key=lambda id_: (density[id_], id_))
        settled_low = grove.members(self.name, LEAVES + 1)
        settled_high = grove.members(self.name, LEAVES + 2) & grove.of_kind(Kind.PASSAGE)
        return settled_high | (set(ranked[: int(self.settings.abstract * len(ranked))]) - settled_low)


@dataclass(frozen=True, slots=True)
class RelatednessTree(Tree):
    """Over aggregates."""

    settings: TreeSettings = field(default_factory=TreeSettings)
    name: str = RELATEDNESS_TREE
    needs_language: bool = True
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.AGGREGATE,)

    @property
    def built_from(self) -> tuple[str, ...]:
        """See `Structure.built_from`."""
        return (AGGREGATES,)

    def members(self, grove: Grove, level: int) -> set[str]:
        """See `Tree.members`."""
        return grove.of_kind(Kind.AGGREGATE) if level == LEAVES else set(grove.groups(self.name, level))


@dataclass(frozen=True, slots=True)
class JointTree(Tree):
    """Over the nodes of `trees`, which are built before it: on every level, groups that may hold nodes of both.

    Its summaries stand beside those of the two trees. They are not grouped again themselves: the paper finds additional
    clusters among "the nodes of both trees", and these are not nodes of either.
    """

    settings: TreeSettings = field(default_factory=TreeSettings)
    trees: tuple[Tree, ...] = field(default_factory=lambda: (SimilarityTree(), RelatednessTree()))
    name: str = JOINT_TREE
    needs_language: bool = True
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.PASSAGE, Kind.AGGREGATE)

    @property
    def built_from(self) -> tuple[str, ...]:
        """See `Structure.built_from`."""
        return tuple(tree.name for tree in self.trees)

    def members(self, grove: Grove, level: int) -> set[str]:
        """See `Tree.members`."""
        return {id_ for tree in self.trees for id_ in tree.members(grove, level)}


@dataclass(frozen=True, slots=True)
class EntityTree(Tree):
    """Passages grouped by a sentence that lists their entities, and summarised as they are; stands beside the similarity tree.

    Above, it groups the summaries of both, by their texts. The paper has one tree with both kinds of groups on its second
    level: that is a similarity tree of 2 levels and this one of 4. Passages without entities are in no group.

    The sentences' vectors are not stored: they are made anew whenever a passage has no group yet, which is dear on a large
    corpus. This is an ablation, not for daily use.
    """

    settings: TreeSettings = field(default_factory=TreeSettings)
    name: str = ENTITY_TREE
    needs_language: bool = True
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.PASSAGE,)

    @property
    def built_from(self) -> tuple[str, ...]:
        """See `Structure.built_from`."""
        return (EXTRACTIONS, SIMILARITY_TREE)

    def members(self, grove: Grove, level: int) -> set[str]:
        """See `Tree.members`."""
        if level > LEAVES:
            return {group for tree in (SIMILARITY_TREE, self.name) for group in grove.groups(tree, level)}
        return {id_ for id_, entities in grove.entities().items() if entities and id_ in grove.nodes}

    def vectors(self, grove: Grove, workshop: Workshop, ids: tuple[str, ...]) -> FloatMatrix:
        """Of passages, those of the sentences in place of their own."""
        if not any(grove.nodes[id_].kind is Kind.PASSAGE for id_ in ids):
            return grove.vectors(ids)
        entities = grove.entities()
        texts = [template(entities[id_]) for id_ in ids]
        return encode_texts(workshop, texts, lambda done: workshop.report("encoding", done, len(texts)))


def template(entities: Sequence[str]) -> str:
    """What stands for a passage when passages are grouped by their entities."""
    return f"This text is about {', '.join(entities)}."
