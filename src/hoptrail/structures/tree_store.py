"""What the store holds for trees, read level by level, and the way to change it.

Links are the groups; a unit of kind summary is the finished text of the group of the same id. So nothing is kept beside the
store, and a stopped build finds its state there. Knows the store; does not know how groups are found or summaries are made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hoptrail.corpus.writer import Writer
from hoptrail.execution.executor import batched
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.structure_names import ENTITY_TREE, JOINT_TREE, RELATEDNESS_TREE, SIMILARITY_TREE
from hoptrail.structures.tree_nodes import Level, Members, Node, Weights, groups_of, level_of, middle
from hoptrail.types import Kind, Link, Unit

TREES = (SIMILARITY_TREE, RELATEDNESS_TREE, JOINT_TREE, ENTITY_TREE)
"""The kinds of links that summaries hang on."""

WRITTEN = 65_536
"""Links held as records at a time."""

_DIGITS = 5
"""Of a link's weight: those that do not depend on the machine's order of adding."""


@dataclass(frozen=True, slots=True)
class NodeSet:
    """The ids that stand on a level: leaves, and groups whether or not their summaries are made; units of these kinds."""

    kinds: tuple[Kind, ...]
    ids: Collection[str]


def together(parts: Sequence[NodeSet]) -> NodeSet:
    """What stands in one of these."""
    kinds = {kind for part in parts for kind in part.kinds}
    return NodeSet(tuple(sorted(kinds)), {id_ for part in parts for id_ in part.ids})


class TreeStore:
    """The units and the groups of all trees. Groups that are written or removed are seen here at once, summaries that are made
    after `refresh`.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._trees: dict[str, Weights] = {}
        self.refresh()

    def refresh(self) -> None:
        self._snapshot = self._writer.snapshot()

    def groups(self, tree: str, level: int | None = None) -> Weights:
        """The groups of a tree, all or those of one level, whether or not their summaries are made."""
        if tree not in self._trees:
            self._trees[tree] = groups_of(self._snapshot, tree)
        every = self._trees[tree]
        return every if level is None else {group: one for group, one in every.items() if level_of(group) == level}

    def leaves(self, kind: Kind) -> NodeSet:
        """All units of a kind."""
        return NodeSet((kind,), set(self._snapshot.table.ids(kind)))

    def standing(self, tree: str, level: int) -> NodeSet:
        """The groups of one level of a tree."""
        return NodeSet((Kind.SUMMARY,), self.groups(tree, level).keys())

    def nodes(self, standing: NodeSet) -> dict[str, Node]:
        """Those that have a text, by id."""
        return {unit.id: Node.of(unit) for kind in standing.kinds for unit in self._snapshot.units(kind, standing.ids)}

    def vectors(self, standing: NodeSet, ids: Sequence[str]) -> FloatMatrix:
        """The stored vectors of some that stand there: shape (len(ids), dimension)."""
        return self._snapshot.search.vectors_in_order(standing.kinds, ids)

    def units(self, nodes: Iterable[Node]) -> dict[str, Unit]:
        """Nodes with their texts, by id."""
        by_kind: dict[Kind, list[str]] = {}
        for node in nodes:
            by_kind.setdefault(node.kind, []).append(node.id)
        return {unit.id: unit for kind, ids in by_kind.items() for unit in self._snapshot.units(kind, ids)}

    def entities(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The entities of all passages that have a stored extraction, or of some, in no order."""
        return ((id_, found.entities) for id_, found in self._snapshot.extractions(ids))

    def write_groups(self, tree: str, before: Weights, changed: Members, nodes: Level | None = None) -> None:
        """Write groups that are new, or have other children than `before`; the others stay.

        A new link weighs the cosine between child and centre of its group, out of `nodes`; the others keep their weights.
        """
        if not changed:
            return
        self._writer.links.remove(tree, changed.keys() & before.keys())
        links = (
            Link(group, child, tree, weight)
            for group, children in sorted(changed.items())
            for child, weight in _weighed(children, before.get(group, {}), nodes)
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
        """Remove summaries whose group is gone: all its children were removed, and its links with them."""
        groups = {group for tree in TREES for group in self.groups(tree)}
        self.remove_groups([id_ for id_ in self._snapshot.table.ids(Kind.SUMMARY) if id_ not in groups])

    def put_summaries(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        """Keep summaries, which take the place of those that are there."""
        self._writer.put_units(units, vectors)


def _weighed(children: Collection[str], known: Mapping[str, float], nodes: Level | None) -> Iterator[tuple[str, float]]:
    """The children of a group with the weights of their links, of which some are `known`."""
    here = [child for child in children if nodes is not None and child in nodes]
    new = [at for at, child in enumerate(here) if child not in known]
    weights = dict(known)
    if nodes is not None and new:
        own = nodes.matrix[nodes.rows(here)]
        cosines = (own[new] @ middle(own)).tolist()
        weights |= {here[at]: round(cosine, _DIGITS) for at, cosine in zip(new, cosines, strict=True)}
    return ((child, weights[child]) for child in children)
