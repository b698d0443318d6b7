"""The four trees of SiReRAG: which nodes each groups, and by which vectors. How trees are grown stands in `tree.py`.

similarity-tree     passages by likeness (RAPTOR's tree; section 4.1)
relatedness-tree    aggregates, one an entity, by likeness (section 4.3)
joint-tree          groups over the nodes of both, level by level (appendix A)
entity-tree         passages by the entities they name (ablation E, "dual clustering")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from hoptrail.structures.tree_store import NodeSet, TreeStore, together
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
    name = SIMILARITY_TREE

    @property
    def built_from(self) -> tuple[str, ...]:
        """See `Structure.built_from`."""
        return (PASSAGES,) if self.settings.leaf_placement is LeafPlacement.FLAT else (EXTRACTIONS,)

    def members(self, store: TreeStore, level: int) -> NodeSet:
        """See `Tree.members`."""
        if self.settings.leaf_placement is LeafPlacement.FLAT or level > LEAVES + 1:
            return store.leaves(Kind.PASSAGE) if level == LEAVES else store.standing(self.name, level)
        passages = store.leaves(Kind.PASSAGE)
        abstract = self._abstract(store, passages)
        if level > LEAVES:
            return together([store.standing(self.name, level), NodeSet(passages.kinds, abstract)])
        return NodeSet(passages.kinds, set(passages.ids) - abstract)

    def _abstract(self, store: TreeStore, passages: NodeSet) -> set[str]:
        low, high = (members_of(store.groups(self.name, level)) for level in (LEAVES + 1, LEAVES + 2))
        return high.intersection(passages.ids) | (self._least_dense(store, passages) - low)

    def _least_dense(self, store: TreeStore, passages: NodeSet) -> set[str]:
        """The passages that name the fewest entities a word, of those that have an extraction."""
        nodes = store.nodes(passages)
        named = ((id_, len(entities)) for id_, entities in store.entities() if id_ in nodes)
        ranked = sorted((count / max(1, nodes[id_].words), id_) for id_, count in named)
        return {id_ for _, id_ in ranked[: int(self.settings.abstract * len(ranked))]}


@dataclass(frozen=True, slots=True)
class RelatednessTree(Tree):
    """Over aggregates."""

    settings: TreeSettings = field(default_factory=TreeSettings)
    name = RELATEDNESS_TREE

    built_from = (AGGREGATES,)

    def members(self, store: TreeStore, level: int) -> NodeSet:
        """See `Tree.members`."""
        return store.leaves(Kind.AGGREGATE) if level == LEAVES else store.standing(self.name, level)


@dataclass(frozen=True, slots=True)
class JointTree(Tree):
    """Over the nodes of `trees`, which are built before it: on every level, groups that may hold nodes of both.

    Its summaries stand beside those of the two trees. They are not grouped again themselves: the paper finds additional
    clusters among "the nodes of both trees", and these are not nodes of either.
    """

    settings: TreeSettings = field(default_factory=TreeSettings)
    trees: tuple[Tree, ...] = field(default_factory=lambda: (SimilarityTree(), RelatednessTree()))
    name = JOINT_TREE

    built_from = (SIMILARITY_TREE, RELATEDNESS_TREE)

    @classmethod
    def made(cls, settings: object, known: Mapping[str, Structure]) -> Structure:
        """Over the trees that stand before it."""
        trees = tuple(tree for name in cls.built_from if isinstance(tree := known.get(name), Tree))
        chosen = {} if settings is None else {"settings": settings}
        return cls(**chosen, **({"trees": trees} if trees else {}))  # type: ignore[arg-type]

    def members(self, store: TreeStore, level: int) -> NodeSet:
        """See `Tree.members`."""
        return together([tree.members(store, level) for tree in self.trees])


@dataclass(frozen=True, slots=True)
class EntityTree(Tree):
    """Passages grouped by a sentence that lists their entities, and summarised as they are, beside the similarity tree's groups.

    The paper has one tree with both kinds of groups on its second level, and so has this: on the third it groups the summaries of
    both, by their texts, and above only its own. A pool of that tree has the similarity tree's lowest level and all of this
    one (`Pool.lowest`). Passages without entities are in no group.

    The sentences' vectors are not stored: they are made anew whenever a passage has no group yet, which is dear on a large
    corpus. This is an ablation, not for daily use.
    """

    settings: TreeSettings = field(default_factory=TreeSettings)
    name = ENTITY_TREE

    built_from = (EXTRACTIONS, SIMILARITY_TREE)

    def members(self, store: TreeStore, level: int) -> NodeSet:
        """See `Tree.members`."""
        if level > LEAVES + 1:
            return store.standing(self.name, level)
        if level > LEAVES:
            return together([store.standing(tree, level) for tree in (SIMILARITY_TREE, self.name)])
        passages = store.leaves(Kind.PASSAGE)
        naming = {id_ for id_, entities in store.entities() if entities}
        return NodeSet(passages.kinds, naming.intersection(passages.ids))

    def vectors(self, store: TreeStore, context: BuildContext, members: NodeSet, ids: Sequence[str]) -> FloatMatrix:
        """Of passages, those of the sentences in place of their own."""
        if Kind.PASSAGE not in members.kinds:
            return store.vectors(members, ids)
        entities = dict(store.entities(ids))
        sentences = [template(entities[id_]) for id_ in ids]
        return encode_texts(context, sentences, lambda done: context.report("encoding", done, len(ids)))


def template(entities: Sequence[str]) -> str:
    """What stands for a passage when passages are grouped by their entities: the paper's sentence."""
    return f"This chunk mentions {' and '.join(entities)}."
