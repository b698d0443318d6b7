"""What each passage is about in a few words: what passages are grouped by in the analysis of SiReRAG's section 3.

A topic is a unit of its own kind, one a passage, with the vector of its words: so it is asked for once, and goes with its
passage. Only aggregates by topic are made from topics (`topic_groups.py`); none is searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hoptrail.errors import UsageError
from hoptrail.fingerprints import fingerprint
from hoptrail.language.tasks import Summarise
from hoptrail.store.writer import Writer
from hoptrail.structures.asking import Inquiry, ask_about, passages_without
from hoptrail.structures.building import Workshop
from hoptrail.structures.names import PASSAGES, TOPICS
from hoptrail.structures.renewing import encode_units
from hoptrail.text.normal_forms import squeeze
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
            Kind.TOPIC, (id_ for id_ in snapshot.unit_ids(Kind.TOPIC) if hash(id_) not in there)
        )
        inquiry = Inquiry(
            lambda unit, _: Summarise((unit,), self.settings.words), lambda got: _keep(workshop, got), "finding topics"
        )
        ask_about(workshop, passages_without(snapshot, done, topic_id), inquiry)


def topic_id(passage: str) -> str:
    return content_id("o", passage)


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
