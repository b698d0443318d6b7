"""Reading and writing trees in the index. Links store the groups; a unit of kind summary is the finished text of the group with
the same id. So the index has the whole state of a stopped build.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from hoptrail.corpus.structure_names import ENTITY_TREE, JOINT_TREE, RELATEDNESS_TREE, SIMILARITY_TREE
from hoptrail.corpus.writer import Writer
from hoptrail.execution.executor import batched
from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail.types import Kind, Link, Unit
from hoptrail_papers.sirerag.tree_nodes import Level, Members, Node, Weights, groups_of, level_of

TREES = (SIMILARITY_TREE, RELATEDNESS_TREE, JOINT_TREE, ENTITY_TREE)
"""The kinds of links from summaries to their children."""

KINDS = (Kind.PASSAGE, Kind.AGGREGATE, Kind.SUMMARY)
"""The kinds of units that are nodes."""

WRITTEN = 65_536
"""Links written at a time."""

_DIGITS = 5
"""Decimals of the weight of a link: those that do not depend on the machine's order of summation."""


class TreeStore:
    """The units and the groups of all trees. Sees changes of groups at once, new summaries after `refresh`."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._trees: dict[str, Weights] = {}
        self.refresh()

    def refresh(self) -> None:
        """See everything that was written."""
        self._snapshot = self._writer.snapshot()

    def groups(self, tree: str, level: int | None = None) -> Weights:
        """The groups of a tree, all or those of one level, with or without a finished summary."""
        if tree not in self._trees:
            self._trees[tree] = groups_of(self._snapshot, tree)
        groups = self._trees[tree]
        return groups if level is None else {group: own for group, own in groups.items() if level_of(group) == level}

    def leaves(self, kind: Kind) -> set[str]:
        """The ids of all units of a kind."""
        return set(self._snapshot.table.ids(kind))

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        """The nodes that have a text, by id."""
        return {unit.id: Node.of(unit) for unit in self.units(ids)}

    def units(self, ids: Collection[str]) -> Iterator[Unit]:
        """The units of nodes, in no order."""
        return (unit for kind in KINDS for unit in self._snapshot.units(kind, ids))

    def vectors(self, ids: Sequence[str]) -> FloatMatrix:
        """The stored vectors of nodes: shape (len(ids), dimension)."""
        return self._snapshot.search.vectors_in_order(KINDS, ids)

    def entities(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The entities of passages with a stored extraction, all or these, in no order."""
        return ((id_, extraction.entities) for id_, extraction in self._snapshot.extractions(ids))

    def write_groups(self, tree: str, before: Weights, changed: Members, nodes: Level | None = None) -> None:
        """Write the groups that are new or have other children than `before`.
        The weight of a new link is the cosine between the child and the centre of its group, from `nodes`; others keep theirs.
        """
        if not changed:
            return
        self._writer.links.remove(tree, changed.keys() & before.keys())
        links = (
            Link(group, child, tree, weight)
            for group, children in sorted(changed.items())
            for child, weight in _weighted(children, before.get(group, {}), nodes)
        )
        for batch in batched(links, WRITTEN):
            self._writer.links.put(batch)
        self._trees.pop(tree, None)
        self.refresh()

    def remove_groups(self, ids: Iterable[str]) -> None:
        """Remove groups with their summaries, and the links from and to them."""
        if self._writer.remove_units(Kind.SUMMARY, ids):
            self._trees.clear()
            self.refresh()

    def remove_strays(self) -> None:
        """Remove summaries without a group: all its children were removed, and its links with them."""
        groups = {group for tree in TREES for group in self.groups(tree)}
        self.remove_groups([id_ for id_ in self._snapshot.table.ids(Kind.SUMMARY) if id_ not in groups])


def _weighted(
    children: Collection[str], known: Mapping[str, float], nodes: Level | None
) -> Iterator[tuple[str, float]]:
    """The children of a group with the weights of their links, some of which are `known`."""
    present = [child for child in children if nodes is not None and child in nodes]
    new = [place for place, child in enumerate(present) if child not in known]
    weights = dict(known)
    if nodes is not None and new:
        vectors = nodes.matrix[nodes.rows(present)]
        cosines = (vectors[new] @ unit_length(vectors.sum(axis=0))).tolist()
        weights |= {present[place]: round(cosine, _DIGITS) for place, cosine in zip(new, cosines, strict=True)}
    return ((child, weights[child]) for child in children)
