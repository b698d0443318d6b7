"""Which gold pairs of passages the groups of an index bring together: SiReRAG's table 1 on the trees as they were built.

`similarity` are the groups of passages that are summarised first; `entities` the passages whose facts stand in one aggregate;
`relatedness` the passages behind the aggregates that are summarised together first. (The paper groups by topic and by
similarity alone, before any tree.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import UsageError
from hoptrail.evaluation.clusterings import Pair, coverage, gold_pairs, overlap, pairs_of
from hoptrail.evaluation.datasets import Dataset
from hoptrail.structures.structure_names import RELATEDNESS_TREE, SIMILARITY_TREE
from hoptrail.structures.tree_nodes import groups_of
from hoptrail.types import Kind, Unit

MOST_PASSAGES = 400
"""A group of more passages brings nobody's two together: its pairs, which grow with the square, are not counted."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """One way of grouping: how many groups and pairs it makes, and the share of gold pairs among them (of supporting passages;
    of supporting and distracting ones, None where the data has no distractors). `overlap` is the share of the supporting pairs it
    covers that `similarity` covers too; None where it covers none.
    """

    grouping: str
    groups: int
    pairs: int
    supporting: float
    all: float | None
    overlap: float | None


@dataclass(frozen=True, slots=True)
class TreeCoverage:
    """All ways of grouping in one index."""

    data: str
    rows: tuple[Coverage, ...]

    def to_json(self) -> dict[str, Any]:
        """By name of the grouping."""
        return {"data": self.data, "groupings": {row.grouping: asdict(row) for row in self.rows}}


def measure_tree_coverage(snapshot: Snapshot, dataset: Dataset, names: Mapping[str, Sequence[str]]) -> TreeCoverage:
    """Table 1 for one index; `names` are the data set's ids of a document, by document id.

    Raises:
        UsageError: no question has two gold passages.
    """
    supporting = gold_pairs(dataset.questions)
    everything = gold_pairs(dataset.questions, with_candidates=True)
    if not supporting:
        raise UsageError(f"no question of {dataset.name} has two gold passages, so that groups have nothing to cover.")
    predicted = {name: (groups, pairs_of(groups)) for name, groups in _groupings(snapshot, names).items()}
    similar = predicted["similarity"][1]
    rows = (
        Coverage(
            name,
            len(groups),
            len(pairs),
            coverage(pairs, supporting),
            coverage(pairs, everything) if everything != supporting else None,
            _overlap(pairs, similar, supporting),
        )
        for name, (groups, pairs) in predicted.items()
    )
    return TreeCoverage(dataset.name, tuple(rows))


def _overlap(pairs: frozenset[Pair], similar: frozenset[Pair], gold: frozenset[Pair]) -> float | None:
    return overlap(pairs, similar, gold) if gold & pairs else None


def _groupings(snapshot: Snapshot, names: Mapping[str, Sequence[str]]) -> dict[str, list[frozenset[str]]]:
    passages = {unit.id: _passages(unit, names) for unit in snapshot.units(Kind.PASSAGE)}
    aggregates = {unit.id: (unit.title, _passages(unit, names)) for unit in snapshot.units(Kind.AGGREGATE)}
    entities: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for title, shown in aggregates.values():
        entities[title] |= shown
    related = {id_: shown for id_, (_, shown) in aggregates.items()}
    return {
        "similarity": list(_lowest(snapshot, SIMILARITY_TREE, passages)),
        "entities": list(_countable(entities.values())),
        "relatedness": list(_lowest(snapshot, RELATEDNESS_TREE, related)),
    }


def _lowest(snapshot: Snapshot, tree: str, leaves: Mapping[str, frozenset[str]]) -> Iterator[frozenset[str]]:
    """The passages of every group that has leaves."""
    members = (
        frozenset().union(*(leaves.get(child, frozenset()) for child in children))
        for children in groups_of(snapshot, tree).values()
    )
    return _countable(members)


def _countable(groups: Iterable[frozenset[str]]) -> Iterator[frozenset[str]]:
    return (group for group in groups if 2 <= len(group) <= MOST_PASSAGES)


def _passages(unit: Unit, names: Mapping[str, Sequence[str]]) -> frozenset[str]:
    return frozenset(name for span in unit.sources for name in names.get(span.document, ()))
