"""Passages grouped by their topics, and what is said in each group.

Rows are those of the topics, by rising id. A topic stands for its passage, which it is named after (`topics.topic_id`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from hoptrail.corpus.columns import PackedIds, Rows, id_rows, packed, paired, rows_among, unpaired
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.executing.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.clustering import Clusterer, Groups
from hoptrail.structures.gathering import Gathering, Place, place_of
from hoptrail.structures.topics import topic_id
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import words_in
from hoptrail.types import Kind, Unit

_READ = 4096
"""Units, or groups, that are looked at together."""


@dataclass(frozen=True, slots=True)
class TopicGroups:
    """The `members` of each group, and of each group the most `central` one, which gives it its title."""

    topics: PackedIds
    members: Groups
    central: Rows


def topic_groups(snapshot: Snapshot, clusterer: Clusterer) -> TopicGroups:
    """The passages that have a topic, clustered by the vectors of their topics."""
    topics = snapshot.table.ids_in_order(Kind.TOPIC)
    if not len(topics):
        return TopicGroups(topics, Groups.of([]), np.zeros(0, np.int32))
    vectors = snapshot.search.vectors_in_order([Kind.TOPIC], topics)
    words = np.zeros(len(topics), np.int32)
    for some in batched(snapshot.units(Kind.PASSAGE), _READ):
        for row, passage in zip(_rows(topics, map(_topic_of, some)).tolist(), some, strict=True):
            if row >= 0:
                words[row] = words_in(passage.text)
    members = clusterer.cluster(vectors, words)
    central = (_most_central(vectors, rows) for rows in members.each())
    return TopicGroups(topics, members, np.fromiter(central, np.int32, len(members)))


def gathered_by_topic(
    groups: TopicGroups, found: Iterable[tuple[Unit, Extraction]], snapshot: Snapshot
) -> Iterator[Gathering]:
    """The facts of the passages of each group, in the order of `found`. A fact needs no entity here."""
    names = _named(groups, snapshot)
    for number, facts in sorted(_said(groups, found).items()):
        yield Gathering(*names[number], facts)


def _named(groups: TopicGroups, snapshot: Snapshot) -> dict[int, tuple[str, str]]:
    """Of each group its key and its title."""
    named: dict[int, tuple[str, str]] = {}
    central = _GroupsOfRows(Groups(groups.central, np.arange(len(groups.central) + 1)))
    for some in batched(snapshot.units(Kind.TOPIC), _READ):
        rows = _rows(groups.topics, (topic.id for topic in some))
        for topic, numbers in zip(some, central.of(rows), strict=True):
            for before, number in enumerate(numbers):  # soft groups may share their most central topic
                named[number] = topic.id + "+" * before, topic.text
    return named


def _said(groups: TopicGroups, found: Iterable[tuple[Unit, Extraction]]) -> dict[int, dict[str, Place]]:
    """Of each group its facts, each with where it stands first."""
    members = _GroupsOfRows(groups.members)
    said: dict[int, dict[str, Place]] = {}
    for some in batched(found, _READ):
        rows = _rows(groups.topics, (_topic_of(passage) for passage, _ in some))
        for (_, extraction), numbers in zip(some, members.of(rows), strict=True):
            for fact in extraction.facts if numbers else ():
                if text := squeeze(fact.text):
                    for number in numbers:
                        said.setdefault(number, {}).setdefault(text, place_of(fact))
    return said


class _GroupsOfRows:
    """Which groups each row is in."""

    def __init__(self, groups: Groups) -> None:
        self._pairs = np.sort(paired(groups.rows, np.repeat(np.arange(len(groups)), np.diff(groups.starts))))
        """Row and group as one number each."""

    def of(self, rows: Rows) -> Iterator[list[int]]:
        """The numbers of the groups of each of some rows, rising; none of row -1."""
        ends = (self._pairs.searchsorted(paired(rows + after, np.zeros_like(rows))) for after in range(2))
        for first, last in zip(*ends, strict=True):
            yield unpaired(self._pairs[first:last])[1].tolist()


def _rows(topics: PackedIds, ids: Iterable[str]) -> Rows:
    return rows_among(id_rows(ids), packed(topics))


def _topic_of(passage: Unit) -> str:
    return topic_id(passage.id)


def _most_central(vectors: FloatMatrix, rows: Rows) -> int:
    """The row nearest to the middle of `rows`; the first of several."""
    members = vectors[rows]
    return int(rows[np.argmax(members @ members.mean(axis=0))])
