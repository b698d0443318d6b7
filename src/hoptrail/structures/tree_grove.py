"""What the store holds for trees, read level by level into columns, and the way to change it.

Links are the groups; a unit of kind summary is the finished text of the group of the same id. So nothing is kept beside the
store, and a stopped build finds its state there. Knows the store; does not know how groups are found or summaries are made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import ID, PackedIds, Rows, rows_among
from hoptrail.corpus.writer import Writer
from hoptrail.executing.executor import batched
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.names import ENTITY_TREE, JOINT_TREE, RELATEDNESS_TREE, SIMILARITY_TREE
from hoptrail.structures.tree_memberships import TOGETHER, Group, Grouped, Ids, runs_of, texts
from hoptrail.structures.tree_nodes import Level, Nodes, middle
from hoptrail.types import Kind, Link, Unit

TREES = (SIMILARITY_TREE, RELATEDNESS_TREE, JOINT_TREE, ENTITY_TREE)
"""The kinds of links that summaries hang on."""

WRITTEN = 65_536
"""Links held as records at a time."""

_DIGITS = 5
"""Of a link's weight: those that do not depend on the machine's order of adding."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The ids that stand on a level: leaves, and groups whether or not their summaries are made; units of these kinds."""

    kinds: tuple[Kind, ...]
    ids: Ids


def together(parts: Sequence[Standing]) -> Standing:
    """What stands in one of these."""
    kinds = {kind for part in parts for kind in part.kinds}
    return Standing(tuple(sorted(kinds)), rising(part.ids for part in parts))


def rising(ids: Iterable[NDArray[np.bytes_]]) -> Ids:
    """Some ids, which may be there repeatedly, in their order."""
    return runs_of(np.sort(np.concatenate([np.zeros(0, ID), *ids])))[0]


def chosen(ids: Ids, others: Ids, *, among: bool) -> Ids:
    """Those of `ids` that are, or are not, among others."""
    found: Ids = ids[(rows_among(ids, others) >= 0) == among]
    return found


def summaries_of(groups: Grouped) -> Standing:
    """Some groups, as what stands on their level."""
    return Standing((Kind.SUMMARY,), groups.ids)


class Grove:
    """The units and the groups of all trees. Groups that are written or removed are seen here at once, summaries that are made
    after `renew`.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._trees: dict[str, Grouped] = {}
        self.renew()

    def renew(self) -> None:
        self._snapshot = self._writer.snapshot()

    def _regrouped(self, *trees: str) -> None:
        """The groups of some trees are others now."""
        for tree in trees:
            self._trees.pop(tree, None)
        self.renew()

    def groups(self, tree: str, level: int | None = None) -> Grouped:
        """The groups of a tree, all or those of one level, whether or not their summaries are made."""
        if tree not in self._trees:
            self._trees[tree] = Grouped.of(self._snapshot.graph.in_order(tree))
        return self._trees[tree] if level is None else self._trees[tree].level(level)

    def leaves(self, kind: Kind) -> Standing:
        """All units of a kind."""
        return Standing((kind,), np.asarray(self._snapshot.table.ids_in_order(kind)))

    def standing(self, tree: str, level: int) -> Standing:
        """The groups of one level of a tree."""
        return summaries_of(self.groups(tree, level))

    def nodes(self, standing: Standing) -> Nodes:
        """Those that have a text."""
        found = (
            (kind, some) for kind in standing.kinds for some in self._snapshot.table.origins_among(kind, standing.ids)
        )
        return Nodes(found)

    def vectors(self, standing: Standing, ids: Ids) -> FloatMatrix:
        """The stored vectors of some that stand there: shape (len(ids), dimension)."""
        return self._snapshot.search.vectors_in_order(standing.kinds, PackedIds(ids))

    def units(self, nodes: Nodes, rows: Rows) -> dict[str, Unit]:
        """Nodes with their texts, by id."""
        return {unit.id: unit for kind, ids in nodes.by_kind(rows) for unit in self._snapshot.units(kind, ids)}

    def entities(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The entities of all passages that have a stored extraction, or of some, in no order."""
        return ((id_, found.entities) for id_, found in self._snapshot.extractions(ids))

    def write_groups(self, tree: str, before: Grouped, changed: Iterable[Group], nodes: Level | None = None) -> None:
        """Write groups that are new, or have other children than `before`; the others stay.

        A new link weighs the cosine between child and centre of its group, out of `nodes`; the others keep their weights.
        """
        batch: Sequence[Link] = ()
        for batch in batched(self._links(tree, before, Grouped.gathered(changed), nodes), WRITTEN):
            self._writer.links.put(batch)
        if batch:
            self._regrouped(tree)

    def _links(self, tree: str, before: Grouped, after: Grouped, nodes: Level | None) -> Iterator[Link]:
        """The links of some groups; those that they had before are removed."""
        for part in after.parts():
            self._writer.links.remove(tree, texts(part.ids[rows_among(part.ids, before.ids) >= 0]))
        for part in after.parts(TOGETHER):
            known = [before.weights_of(group.id) for group in part]
            for group, weights in zip(part, _weighed(part, known, nodes), strict=True):
                for child in group.children:
                    yield Link(group.id, child, tree, weights[child])

    def remove_groups(self, ids: Iterable[str]) -> None:
        """Remove groups with their summaries, and the links from and to them."""
        if self._writer.remove_units(Kind.SUMMARY, ids):
            self._regrouped(*TREES)

    def remove_strays(self) -> None:
        """Remove summaries whose group is gone: all its children were removed, and its links with them."""
        groups = set(self._snapshot.graph.sources(TREES))
        self.remove_groups([id_ for id_ in self._snapshot.table.ids(Kind.SUMMARY) if id_ not in groups])

    def put_summaries(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        """Keep summaries, which take the place of those that are there."""
        self._writer.put_units(units, vectors)


def _weighed(
    groups: Grouped, known: Sequence[Mapping[str, float]], nodes: Level | None
) -> Iterator[Mapping[str, float]]:
    """The weights of the links from each of a few groups, by child; some are `known`."""
    if nodes is None:
        yield from known
        return
    here = nodes.rows_of(groups.members)
    vectors, done = nodes.gathered(here[here >= 0]), 0
    for group, weights, there in zip(groups, known, np.split(here >= 0, np.cumsum(groups.sizes)[:-1]), strict=True):
        children = list(compress(group.children, there.tolist()))
        own = vectors[done : done + len(children)]
        done += len(children)
        new = [at for at, child in enumerate(children) if child not in weights]
        near = (own[new] @ middle(own)).tolist()
        yield {**weights, **{children[at]: round(cosine, _DIGITS) for at, cosine in zip(new, near, strict=True)}}
