"""The four trees of SiReRAG: which nodes each groups, and by which vectors. `tree.py` grows them.

similarity-tree     passages by similarity (RAPTOR's tree; section 4.1)
relatedness-tree    aggregates, one per entity, by similarity (section 4.3)
joint-tree          groups over the nodes of both, level by level (appendix A)
entity-tree         passages by their entities (ablation E, "dual clustering")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum

from hoptrail.errors import UsageError
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaring import Structure
from hoptrail.structures.encoding import encode_texts
from hoptrail.structures.structure_names import (
    AGGREGATES,
    ENTITY_TREE,
    EXTRACTIONS,
    JOINT_TREE,
    PASSAGES,
    RELATEDNESS_TREE,
    SIMILARITY_TREE,
)
from hoptrail.structures.tree import Tree, TreeSettings
from hoptrail.structures.tree_nodes import LEAVES, members_of
from hoptrail.structures.tree_store import TreeStore
from hoptrail.types import Kind


class LeafPlacement(StrEnum):
    """Where passages enter the similarity tree (table 2)."""

    FLAT = "flat"
    """All on the first level."""
    TWO_LEVEL = "two-level"
    """Abstract ones on the second level, beside the summaries of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityTreeSettings(TreeSettings):
    """Settings of a tree, and the placement of leaves. Raises: UsageError: a value is out of its range."""

    leaf_placement: LeafPlacement = LeafPlacement.FLAT
    abstract: float = 0.2
    """two-level: the share of passages that counts as abstract. Ours: the paper gives none."""

    def __post_init__(self) -> None:
        TreeSettings.__post_init__(self)  # a bare super() fails: slots make the dataclass a new class
        if not 0 < self.abstract < 1:
            raise UsageError(f"the share of abstract passages must be between 0 and 1, not {self.abstract}")


@dataclass(frozen=True, slots=True)
class SimilarityTree(Tree):
    """The tree over passages.

    Deviation (two-level): the paper asks a model which passages give an overview; here the abstract passages are those with the
    fewest entities per word in their extractions. A passage without an extraction is not abstract, and a passage in a group stays
    on its level.
    """

    settings: SimilarityTreeSettings = field(default_factory=SimilarityTreeSettings)
    name = SIMILARITY_TREE
    links = (SIMILARITY_TREE,)

    @property
    def built_from(self) -> tuple[str, ...]:
        """Passages; for two levels extractions, which tell how abstract a passage is."""
        return (PASSAGES,) if self.settings.leaf_placement is LeafPlacement.FLAT else (EXTRACTIONS,)

    def members(self, store: TreeStore, level: int) -> Set[str]:
        """Passages on the first level and groups above; with two levels, abstract passages are beside the lowest groups."""
        if self.settings.leaf_placement is LeafPlacement.FLAT or level > LEAVES + 1:
            return store.leaves(Kind.PASSAGE) if level == LEAVES else store.groups(self.name, level).keys()
        passages = store.leaves(Kind.PASSAGE)
        abstract = self._abstract(store, passages)
        if level > LEAVES:
            return store.groups(self.name, level).keys() | abstract
        return passages - abstract

    def _abstract(self, store: TreeStore, passages: Set[str]) -> set[str]:
        low, high = (members_of(store.groups(self.name, level)) for level in (LEAVES + 1, LEAVES + 2))
        return (high & passages) | (self._least_dense(store, passages) - low)

    def _least_dense(self, store: TreeStore, passages: Set[str]) -> set[str]:
        """The passages with the fewest entities per word, of those with an extraction."""
        nodes = store.nodes(passages)
        counts = ((id_, len(entities)) for id_, entities in store.entities() if id_ in nodes)
        ranked = sorted((count / max(1, nodes[id_].words), id_) for id_, count in counts)
        return {id_ for _, id_ in ranked[: int(self.settings.abstract * len(ranked))]}


@dataclass(frozen=True, slots=True)
class RelatednessTree(Tree):
    """The tree over aggregates."""

    settings: TreeSettings = field(default_factory=TreeSettings)
    name = RELATEDNESS_TREE
    links = (RELATEDNESS_TREE,)

    built_from = (AGGREGATES,)

    def members(self, store: TreeStore, level: int) -> Set[str]:
        """Aggregates on the first level, groups of this tree above."""
        return store.leaves(Kind.AGGREGATE) if level == LEAVES else store.groups(self.name, level).keys()


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

    @classmethod
    def made(cls, settings: object, known: Mapping[str, Structure]) -> Structure:
        """An instance over the trees before it in the catalogue."""
        trees = tuple(tree for name in cls.built_from if isinstance(tree := known.get(name), Tree))
        arguments = {} if settings is None else {"settings": settings}
        return cls(**arguments, **({"trees": trees} if trees else {}))  # type: ignore[arg-type]

    def members(self, store: TreeStore, level: int) -> Set[str]:
        """The nodes of all `trees` on that level."""
        return {id_ for tree in self.trees for id_ in tree.members(store, level)}


@dataclass(frozen=True, slots=True)
class EntityTree(Tree):
    """Groups of passages by a sentence that lists their entities, beside the similarity tree's groups.

    As in the paper's single tree, the second level has both kinds of groups; the third groups the summaries of both by their
    texts, and higher levels only this tree's own. A pool of that tree has the similarity tree's lowest level and all of this one
    (`Pool.lowest`). Passages without entities are in no group.

    The vectors of the sentences are not stored. They are made again whenever a passage has no group yet, which is expensive for a
    large corpus. This is an ablation, not for daily use.
    """

    settings: TreeSettings = field(default_factory=TreeSettings)
    name = ENTITY_TREE
    links = (ENTITY_TREE,)

    built_from = (EXTRACTIONS, SIMILARITY_TREE)

    def members(self, store: TreeStore, level: int) -> Set[str]:
        """Passages with entities on the first level, the groups of both trees on the second, this tree's own above."""
        if level > LEAVES + 1:
            return store.groups(self.name, level).keys()
        if level > LEAVES:
            return store.groups(SIMILARITY_TREE, level).keys() | store.groups(self.name, level).keys()
        return {id_ for id_, entities in store.entities() if entities} & store.leaves(Kind.PASSAGE)

    def vectors(self, store: TreeStore, context: BuildContext, ids: Sequence[str]) -> FloatMatrix:
        """For passages, the vectors of their sentences of entities instead of their own."""
        entities = dict(store.entities(ids))
        if not entities:  # groups
            return store.vectors(ids)
        sentences = [template(entities[id_]) for id_ in ids]
        return encode_texts(context, sentences, lambda done: context.report("encoding", done, len(ids)))


def template(entities: Sequence[str]) -> str:
    """The paper's sentence for grouping passages by their entities."""
    return f"This chunk mentions {' and '.join(entities)}."
