"""The topic of each passage in a few words, and passages grouped by topic: the analysis of SiReRAG's section 3.

There is one unit of kind topic per passage, with the vector of its words. They are not searched; aggregates are made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import PASSAGES, TOPICS
from hoptrail.language.tasks import Summarise, Task
from hoptrail.setting_limits import AtLeast1, Limited
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.encoding import encode_texts
from hoptrail.structures.extractions import PassageTasks
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Kind, Unit, content_id


@dataclass(frozen=True, slots=True)
class TopicSettings(Limited):
    """`words`: the most words of a topic."""

    words: AtLeast1 = 6


@dataclass(frozen=True, slots=True)
class Topics(PassageTasks[str]):
    """One topic per passage, made by the language."""

    settings: TopicSettings = field(default_factory=TopicSettings)
    name = TOPICS
    built_from = (PASSAGES,)
    needs_language = True
    units = (Kind.TOPIC,)
    doing = "finding topics"
    looks_back = False

    def row_id(self, passage: str) -> str:
        """The id of the passage's topic, which is a unit of its own."""
        return topic_id(passage)

    def stored(self, snapshot: Snapshot) -> Iterable[str]:
        return snapshot.table.ids(Kind.TOPIC)

    def task(self, passage: Unit, before: Unit | None) -> Task[str]:
        """Say what the passage is about in at most `words` words; the passage before it does not matter."""
        del before
        return Summarise((passage,), self.settings.words)

    def keep(self, context: BuildContext, got: Sequence[tuple[Unit, str]]) -> None:
        """Encode and store the topics; an empty one is noted, and asked for again by the next run."""
        units = []
        for passage, said in got:
            topic = squeeze(said)
            if topic:
                units.append(Unit(topic_id(passage.id), Kind.TOPIC, "", topic, passage.sources))
            else:
                what = f"the topic of passage {passage.id} of {passage.title!r} is empty"
                context.account.notes.append(f"{what}. Run the same command again to ask once more.")
        if units:
            context.writer.put_units(units, encode_texts(context, [unit.searchable for unit in units]))


def topic_id(passage: str) -> str:
    return content_id("o", passage)
