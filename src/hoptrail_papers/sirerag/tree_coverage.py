"""Measures an index as SiReRAG (Zhang et al. 2025) does: its table 1, the gold pairs of passages that groups cover, on built
trees, and its table 3, how many propositions, entities and aggregates there are.

A grouping is represented by the pairs of passages within its groups; gold pairs are passages that one question needs. More groups
per passage, or larger groups, cover more gold pairs trivially, so the number of pairs is given beside a coverage.

`similarity`: groups of passages at the lowest level of the similarity tree. `entities`: passages whose facts are in one
aggregate. `relatedness`: passages behind the aggregates that form a lowest group of the relatedness tree. (The paper groups by
topic and by similarity only, before any tree.)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from itertools import combinations

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import RELATEDNESS_TREE, SIMILARITY_TREE
from hoptrail.errors import UsageError
from hoptrail.evaluation.datasets import Dataset, Question
from hoptrail.serving.render_evaluation import share
from hoptrail.structures.extractions import stored_in_order
from hoptrail.text.normal_forms import folded
from hoptrail.types import Kind, Unit
from hoptrail.types.json_object import JsonObject
from hoptrail_papers.comparing.run_tables import TextTable
from hoptrail_papers.sirerag.tree_store import groups_of

Pair = tuple[str, str]  # two passage ids in sorted order

MOST_PASSAGES = 400
"""The pairs of larger groups, whose number grows with the square, are not counted: such a group relates nothing in particular."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of one grouping.

    `groups` and `pairs`: their numbers. `supporting`: the share of gold pairs of supporting passages covered; `all`: the same
    with distractors, None if the data have none. `overlap`: among the supporting pairs covered, the share that `similarity`
    covers as well; None if none is covered.
    """

    grouping: str
    groups: int
    pairs: int
    supporting: float
    all: float | None
    overlap: float | None


@dataclass(frozen=True, slots=True)
class TreeCoverage:
    """The coverage of all groupings in one index."""

    data: str
    rows: tuple[Coverage, ...]

    def to_json(self) -> JsonObject:
        return {"data": self.data, "groupings": {row.grouping: asdict(row) for row in self.rows}}

    def table(self) -> TextTable:
        rows = (
            (row.grouping, f"{row.groups:,}", f"{row.pairs:,}", *map(share, (row.supporting, row.all, row.overlap)))
            for row in self.rows
        )
        title = f"{self.data}: share of gold pairs of passages within one group"
        return TextTable(title, ("grouping", "groups", "pairs", "supporting", "all", "overlap"), tuple(rows))


def measure_tree_coverage(snapshot: Snapshot, dataset: Dataset, names: Mapping[str, Sequence[str]]) -> TreeCoverage:
    """Compute table 1 for one index. `names` has the data set's ids by document id.
    Raises: UsageError: no question has two gold passages.
    """
    supporting = gold_pairs(dataset.questions)
    everything = gold_pairs(dataset.questions, with_candidates=True)
    if not supporting:
        raise UsageError(f"no question of {dataset.name} has two gold passages, so that groups have nothing to cover.")
    predicted = {name: (groups, pairs_of(groups)) for name, groups in _groupings(snapshot, names).items()}
    similarity = predicted["similarity"][1]
    rows = []
    for name, (groups, pairs) in predicted.items():
        share_of_all = coverage(pairs, everything) if everything != supporting else None
        shares = (coverage(pairs, supporting), share_of_all, overlap(pairs, similarity, supporting))
        rows.append(Coverage(name, len(groups), len(pairs), *shares))
    return TreeCoverage(dataset.name, tuple(rows))


def pairs_of(groups: Iterable[Iterable[str]]) -> frozenset[Pair]:
    """All pairs of passages within a group. Time and memory grow with the square of a group's size."""
    return frozenset(pair for group in groups for pair in combinations(sorted(set(group)), 2))


def gold_pairs(questions: Iterable[Question], *, with_candidates: bool = False) -> frozenset[Pair]:
    """All pairs of passages that support the same question; `with_candidates` adds those in its context (the paper's "all")."""
    return pairs_of(question.supporting + (question.candidates if with_candidates else ()) for question in questions)


def coverage(predicted: Set[Pair], gold: Set[Pair]) -> float:
    """The share of the gold pairs (at least one) that are predicted."""
    return len(gold & predicted) / len(gold)


def overlap(one: Set[Pair], other: Set[Pair], gold: Set[Pair]) -> float | None:
    """Among the gold pairs that `one` covers, the share that `other` covers as well (overlap@one); None if it covers none."""
    correct = gold & one
    return len(correct & other) / len(correct) if correct else None


def _groupings(snapshot: Snapshot, names: Mapping[str, Sequence[str]]) -> dict[str, list[frozenset[str]]]:
    passages = {unit.id: _passages(unit, names) for unit in snapshot.units(Kind.PASSAGE)}
    aggregates: dict[str, frozenset[str]] = {}
    entities: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for unit in snapshot.units(Kind.AGGREGATE):
        aggregates[unit.id] = _passages(unit, names)
        entities[unit.title] |= aggregates[unit.id]
    return {
        "similarity": list(_lowest(snapshot, SIMILARITY_TREE, passages)),
        "entities": list(_countable(entities.values())),
        "relatedness": list(_lowest(snapshot, RELATEDNESS_TREE, aggregates)),
    }


def _lowest(snapshot: Snapshot, tree: str, leaves: Mapping[str, frozenset[str]]) -> Iterator[frozenset[str]]:
    """Yield the passages of every group with leaves."""
    groups = groups_of(snapshot, tree).values()
    return _countable(frozenset().union(*(leaves.get(child, ()) for child in children)) for children in groups)


def _countable(groups: Iterable[frozenset[str]]) -> Iterator[frozenset[str]]:
    return (group for group in groups if 2 <= len(group) <= MOST_PASSAGES)


def _passages(unit: Unit, names: Mapping[str, Sequence[str]]) -> frozenset[str]:
    return frozenset(name for span in unit.sources for name in names.get(span.document, ()))


def entity_statistics(snapshot: Snapshot) -> JsonObject:
    """The counts of an index with extractions and aggregates. Entities are compared without case; an aggregate is one
    entity's, whatever its parts.
    """
    mentioned: Counter[str] = Counter()
    chunks = propositions = 0
    entities: set[str] = set()
    for _, extraction in stored_in_order(snapshot, None):
        chunks += 1
        propositions += len(extraction.facts)
        entities.update(map(folded, extraction.entities))
        for fact in extraction.facts:
            mentioned.update({folded(entity) for entity in fact.entities})
    counts = list(mentioned.values()) or [0]
    return {
        "chunks": chunks,
        "propositions": propositions,
        "entities": len(entities | mentioned.keys()),
        "aggregates": len({folded(unit.title) for unit in snapshot.units(Kind.AGGREGATE)}),
        "mean": sum(counts) / len(counts),
        "most": max(counts),
        "fewest": min(counts),
    }
