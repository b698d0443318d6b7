"""What each passage is about in a few words: what passages are grouped by in the analysis of SiReRAG's section 3.

A topic is a unit of its own kind, one a passage, with the vector of its words: so it is asked for once, and goes with its
passage. Only aggregates by topic are made from topics (`topic_groups.py`); none is searched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer
from hoptrail.errors import UsageError
from hoptrail.language.tasks import Summarise, Task
from hoptrail.structures.building import Workshop
from hoptrail.structures.declaring import Asked
from hoptrail.structures.encoding import encode_batches
from hoptrail.structures.names import PASSAGES, TOPICS
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
class Topics(Asked[str]):
    """One topic a passage, by the language."""

    settings: TopicSettings = field(default_factory=TopicSettings)
    name = TOPICS
    built_from = (PASSAGES,)
    needs_language = True
    units = (Kind.TOPIC,)
    doing = "finding topics"
    looks_back = False

    def row_id(self, passage: str) -> str:
        """See `Asked.row_id`."""
        return topic_id(passage)

    def stored(self, snapshot: Snapshot) -> Iterable[str]:
        """See `Asked.stored`."""
        return snapshot.table.ids(Kind.TOPIC)

    def remove(self, writer: Writer, rows: Collection[str]) -> None:
        """See `Asked.remove`."""
        writer.remove_units(Kind.TOPIC, rows)

    def task(self, passage: Unit, before: Unit | None) -> Task[str]:
        """See `Asked.task`."""
        del before
        return Summarise((passage,), self.settings.words)

    def keep(self, workshop: Workshop, got: Sequence[tuple[Unit, str]]) -> None:
        """See `Asked.keep`."""
        units = []
        for passage, said in got:
            topic = squeeze(said)
            if topic:
                units.append(Unit(topic_id(passage.id), Kind.TOPIC, "", topic, passage.sources))
            else:
                what = f"the topic of passage {passage.id} of {passage.title!r} is empty"
                workshop.account.notes.append(f"{what}. Run the same command again to ask once more.")
        for batch, vectors in encode_batches(workshop, [units], len(units)):
            workshop.writer.put_units(batch, vectors)


def topic_id(passage: str) -> str:
    return content_id("o", passage)
