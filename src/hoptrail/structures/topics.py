"""What each passage is about in a few words, and the passages grouped by that: what SiReRAG's section 3 analyses.

A topic is a unit of its own kind, one a passage, with the vector of its words: so it is asked for once, and goes with its
passage. Only aggregates by topic are made from topics; none is searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hoptrail.documents.splitting import words_in
from hoptrail.errors import UsageError
from hoptrail.fingerprints import fingerprint
from hoptrail.language.offline.text import squeeze
from hoptrail.language.tasks import Summarise
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Writer
from hoptrail.structures.asking import Inquiry, ask_about, passages_without
from hoptrail.structures.building import Workshop
from hoptrail.structures.clustering import Clusterer
from hoptrail.structures.names import PASSAGES, TOPICS
from hoptrail.structures.renewing import encode_units
from hoptrail.types import Kind, Unit, content_id


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """`words`: the most words of a topic."""

    words: int = 6

    def __post_init__(self) -> None:
        if self.words < 1:
            raise UsageError(f"words must be at least 1, not {self.words}")


@dataclass(frozen=True, slots=True)
class Topics:
    """One topic a passage, by the language."""

    settings: TopicSettings = field(default_factory=TopicSettings)
    name: str = TOPICS
    built_from: tuple[str, ...] = (PASSAGES,)
    needs_language: bool = True

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.settings)

    def discard(self, writer: Writer) -> None:
        writer.drop_units(Kind.TOPIC)

    def update(self, workshop: Workshop) -> None:
        """Ask for the topics of passages without one; those of passages that are gone go.

        Raises:
            EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: the topics got until then are kept.
        """
        snapshot = workshop.writer.snapshot()
        scratch = workshop.writer.scratch
        there = scratch.digests(hash(topic_id(id_)) for id_ in snapshot.unit_ids(Kind.PASSAGE))
        done = scratch.digests(map(hash, snapshot.unit_ids(Kind.TOPIC)))
        workshop.writer.remove_units(
            Kind.TOPIC, {id_ for id_ in snapshot.unit_ids(Kind.TOPIC) if hash(id_) not in there}
        )
        inquiry = Inquiry(
            lambda unit: Summarise((unit,), self.settings.words), lambda got: _keep(workshop, got), "finding topics"
        )
        ask_about(workshop, passages_without(snapshot, done, topic_id), inquiry)


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """Passages (ids, rising by topic id) that share a topic: `title`, that of the most central one, whose id is `key`."""

    key: str
    title: str
    passages: tuple[str, ...]


def topic_id(passage: str) -> str:
    return content_id("o", passage)


def topic_groups(snapshot: Snapshot, clusterer: Clusterer) -> list[TopicGroup]:
    """The passages that have a topic, clustered by the vectors of their topics."""
    mirror = snapshot.vectors(Kind.TOPIC)
    if not mirror.ids:
        return []
    titles = {unit.id: unit.text for unit in snapshot.units(Kind.TOPIC)}
    passages = {topic_id(unit.id): unit for unit in snapshot.units(Kind.PASSAGE)}
    words = [words_in(passages[topic].text) for topic in mirror.ids]
    groups: dict[str, TopicGroup] = {}
    for rows in clusterer.cluster(mirror.matrix, words):
        central = mirror.ids[_most_central(mirror.matrix, rows)]
        key = central
        while key in groups:  # soft groups may share their most central topic
            key += "+"
        groups[key] = TopicGroup(key, titles[central], tuple(passages[mirror.ids[row]].id for row in rows))
    return list(groups.values())


def _most_central(matrix: FloatMatrix, rows: Sequence[int]) -> int:
    """The row nearest to the middle of `rows`; the first of several."""
    members = matrix[list(rows)]
    return rows[int(np.argmax(members @ members.mean(axis=0)))]


def _keep(workshop: Workshop, got: Sequence[tuple[Unit, str]]) -> None:
    units = []
    for passage, said in got:
        topic = squeeze(said)
        if topic:
            units.append(Unit(topic_id(passage.id), Kind.TOPIC, "", topic, passage.sources))
        else:
            what = f"the topic of passage {passage.id} of {passage.title!r} is empty"
            workshop.account.notes.append(f"{what}. Run the same command again to ask once more.")
    encode_units(workshop, units)
