"""The topic of each passage in a few words, and passages grouped by topic: the analysis of SiReRAG's section 3.

There is one unit of kind topic per passage, with the vector of its words. They are not searched; aggregates are made of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import PASSAGES, TOPICS
from hoptrail.language.tasks import Summarise, Task
from hoptrail.setting_limits import AtLeast1, Limited
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.encoding import encode_texts
from hoptrail.structures.extractions import PassageTasks
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import words_in
from hoptrail.types import Extraction, Kind, Span, Unit, content_id
from hoptrail_papers.sirerag.clustering import Cluster
from hoptrail_papers.sirerag.facts_by_entity import FactGroup


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
    """The id of the topic of a passage."""
    return content_id("o", passage)


def grouped_by_topic(
    snapshot: Snapshot, cluster: Cluster, found: Iterable[tuple[Unit, Extraction]]
) -> Iterator[FactGroup]:
    """The facts of passages whose topics are in one cluster, in the order of `found`; the title is the most central topic."""
    topics = sorted(snapshot.units(Kind.TOPIC), key=lambda topic: topic.id)
    if not topics:
        return
    rows = {topic.id: row for row, topic in enumerate(topics)}
    vectors = snapshot.search.vectors_in_order([Kind.TOPIC], list(rows))
    lengths = {topic_id(passage.id): words_in(passage.text) for passage in snapshot.units(Kind.PASSAGE)}
    words = np.array([lengths.get(id_, 0) for id_ in rows], np.int32)
    groups = cluster(vectors, words)
    groups_of: defaultdict[str, list[int]] = defaultdict(list)
    for number, members in enumerate(groups):
        for row in members:
            groups_of[topics[row].id].append(number)
    facts = _facts(groups_of, found)
    before: Counter[str] = Counter()
    for number, members in enumerate(groups):
        own = vectors[list(members)]
        topic = topics[members[int(np.argmax(own @ own.mean(axis=0)))]]  # the most central, the first of several
        if number in facts:
            key = topic.id + "+" * before[topic.id]  # soft groups may share their most central topic
            yield FactGroup(key, topic.text, facts[number])
        before[topic.id] += 1


def _facts(
    groups_of: Mapping[str, Sequence[int]], found: Iterable[tuple[Unit, Extraction]]
) -> dict[int, dict[str, Span]]:
    """The facts of each group with their first sources; `groups_of` has the groups of each topic."""
    facts: defaultdict[int, dict[str, Span]] = defaultdict(dict)
    for passage, extraction in found:
        for number in groups_of.get(topic_id(passage.id), ()):
            for fact in extraction.facts:
                if text := squeeze(fact.text):
                    facts[number].setdefault(text, fact.source)
    return facts
