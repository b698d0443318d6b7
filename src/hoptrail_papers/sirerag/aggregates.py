"""Aggregates: all facts about one entity, from all documents, as one text. The leaves of SiReRAG's relatedness tree.

    section 4.2, paragraph 5   facts of one entity, by document and in order; facts without an entity are left out
    released code              the singleton rule; equal texts are kept once (the paper mentions neither)

Deviations: entities are compared without case (as in the code; the paper says exact match); a fact occurs once under an entity
however often it names it; a long aggregate is cut into parts that the encoder can read whole (not with `part_words = 0`, as in
the paper). With `key = "topic"` the passages of a topic replace those of an entity, as in the analysis of section 3
(`topics.py`). A family name is merged with the full name that its document gives: after `Orla Finch`, `Finch`
means her. Other entities that differ in more than case and white space (`Orla Finch`, `O. Finch`) are not merged.

SiReRAG, figures 6 to 8: only the most informative name of each entity, given the text before it. A model is asked for that; names
that rules extract are resolved here, document by document. Only family names are resolved: a single word, perhaps after a form of
address, that is the last word of exactly one longer name so far in the document. `Wrenmouth` is not `University of Wrenmouth`,
and `Korea` is not `North Korea`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import AGGREGATES, EXTRACTIONS, TOPICS
from hoptrail.setting_limits import AtLeast0, Limited
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Derived
from hoptrail.structures.extractions import stored_in_order
from hoptrail.text.lexicon import DEMONYMS, word_set
from hoptrail.text.mentions import figure_shape
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.text.words import words_in
from hoptrail.types import Extraction, Kind, Span, Unit, content_id
from hoptrail_papers.baselines.topics import topic_id
from hoptrail_papers.sirerag.clustering import Cluster, ClusteringSettings, open_clusterer


class FactGroup(NamedTuple):
    """The facts of one aggregate: each text with its first source, in order. `key` identifies the entity."""

    key: str
    title: str
    facts: dict[str, Span]


def grouped_by_entity(found: Iterable[tuple[Unit, Extraction]], *, dates_and_numbers: bool) -> Iterator[FactGroup]:
    """The facts about each entity, by key, from passages in document order; the title is the (first) most common spelling."""
    facts: defaultdict[str, dict[str, Span]] = defaultdict(dict)
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for _, group in groupby(found, lambda pair: pair[0].document):
        passages = list(group)
        names = InformativeNames(passages[0][0].title)
        for _, extraction in passages:
            for name in (*extraction.entities, *(name for fact in extraction.facts for name in fact.entities)):
                names.note(name)
            for fact in extraction.facts:
                text = squeeze(fact.text)
                for entity in map(names.of, fact.entities if text else ()):
                    if key := folded(entity):
                        facts[key].setdefault(text, fact.source)
                        spellings[key][squeeze(entity)] += 1
    for key in sorted(facts):
        commonest = spellings[key].most_common(1)[0][0]
        if dates_and_numbers or not is_date_or_number(commonest):
            yield FactGroup(key, commonest, facts[key])


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
    facts = _facts_of_groups(groups_of, found)
    before: Counter[str] = Counter()
    for number, members in enumerate(groups):
        own = vectors[list(members)]
        topic = topics[members[int(np.argmax(own @ own.mean(axis=0)))]]  # the most central, the first of several
        if number in facts:
            key = topic.id + "+" * before[topic.id]  # soft groups may share their most central topic
            yield FactGroup(key, topic.text, facts[number])
        before[topic.id] += 1


def _facts_of_groups(
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


def select_aggregates(groups: Sequence[FactGroup], *, drop_covered: bool) -> Iterator[FactGroup]:
    """Drop duplicates: of groups with the same facts the one with the longest key stays, of equally long ones the first.
    With `drop_covered`, entities whose only fact is also a fact of another entity, kept or not, are dropped before.
    """
    counts = Counter(fact for group in groups for fact in group.facts) if drop_covered else Counter[str]()
    kept = [group for group in groups if len(group.facts) > 1 or counts[next(iter(group.facts))] < 2]
    best: dict[tuple[str, ...], str] = {}
    for group in sorted(kept, key=lambda group: (-len(group.key), group.key)):
        best.setdefault(tuple(group.facts), group.key)
    keys = set(best.values())
    return (group for group in kept if group.key in keys)


def is_date_or_number(name: str) -> bool:
    """Whether a name is only a date or a number: `May 1871`, `90`, `19th century`. Month names and number words are English."""
    return not any(character.isalpha() for character in name) or figure_shape(name.strip(" .,")) is not None


LONGEST = 4  # the most words of a full name

ADDRESSES = word_set("mr mrs ms miss dr sir lady lord professor prof king queen")
TELLING_APART = word_set(
    "north south east west northern southern eastern western central upper lower new old great greater little inner outer saint "
    "st mount lake river port fort san santa los las el la le the isle cape bay first second third world"
)
"""First words with which a longer name means another thing, not the same more fully."""


class InformativeNames:
    """The full names in one document so far."""

    def __init__(self, title: str) -> None:
        self._full: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.note(base_title(title))

    def note(self, name: str) -> None:
        words = _words_of(name)
        full = " ".join(words)
        if 1 < len(words) <= LONGEST and _is_full(words):
            self._full[folded(words[-1])].setdefault(folded(full), full)

    def of(self, name: str) -> str:
        """The full name that a name is short for, else the name itself."""
        words = _words_of(name)
        if len(words) != 1 or words[0].casefold() in DEMONYMS:
            return name
        full = list(self._full.get(folded(words[0]), {}).values())
        return full[0] if len(full) == 1 else name


def _words_of(name: str) -> list[str]:
    """The words of a name, without a form of address before others."""
    words = name.split()
    return words[1:] if len(words) > 1 and words[0].casefold().rstrip(".") in ADDRESSES else words


def _is_full(words: list[str]) -> bool:
    """Whether the last of these words may be short for them."""
    capitals = all(word[:1].isalpha() and word[:1] != word[:1].lower() for word in words)
    return capitals and words[0].casefold().rstrip(".") not in TELLING_APART


@dataclass(frozen=True, slots=True)
class AggregateSettings(Limited):
    """`key`: what facts are grouped by. `drop_covered_singletons`: no aggregate for an entity whose only fact names another
    entity too. `dates_and_numbers`: whether these are entities. `part_words`: the most words of a part; 0: no limit. `topics`:
    how topics are clustered for the key `topic`.
    """

    key: Literal["entity", "topic"] = "entity"
    drop_covered_singletons: bool = True
    dates_and_numbers: bool = False
    part_words: AtLeast0 = 150
    topics: Literal["leiden", "raptor"] = "leiden"
    former: ClassVar[Mapping[str, object]] = {
        "topics": {
            "method": "leiden",
            "most_words": 7_500,
            "target": 10,
            "smallest": 3,
            "largest": 40,
            "neighbours": 5,
            **ClusteringSettings.former,
        }
    }


@dataclass(frozen=True, slots=True)
class Aggregates(Derived):
    """One aggregate per entity, in parts where it is long. Its id depends on the entity, not on the facts."""

    settings: AggregateSettings = field(default_factory=AggregateSettings)
    name = AGGREGATES
    by_document = False
    units = (Kind.AGGREGATE,)

    @property
    def built_from(self) -> tuple[str, ...]:
        return (EXTRACTIONS, TOPICS) if self.settings.key == "topic" else (EXTRACTIONS,)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Unit]:
        """All aggregates, anew, which is cheap. Raises: UsageError: the clustering method is not installed."""
        snapshot, settings = context.writer.snapshot(), self.settings
        found = stored_in_order(snapshot, documents)
        if settings.key == "topic":
            groups = grouped_by_topic(snapshot, open_clusterer(ClusteringSettings(method=settings.topics)), found)
        else:
            groups = grouped_by_entity(found, dates_and_numbers=settings.dates_and_numbers)
        covered = settings.key == "entity" and settings.drop_covered_singletons
        return units_of(select_aggregates(list(groups), drop_covered=covered), settings.part_words)


def units_of(groups: Iterable[FactGroup], part_words: int) -> Iterator[Unit]:
    """The aggregates: one line per fact, one source per line. A single fact above the limit is one part; 0 is no limit."""
    for group in groups:
        for number, facts in enumerate(_parts(group.facts, part_words)):
            texts, sources = zip(*facts, strict=True)
            id_ = content_id("a", group.key, str(number))
            yield Unit(id_, Kind.AGGREGATE, group.title, "\n".join(texts), sources)


def _parts(facts: Mapping[str, Span], most: int) -> Iterator[list[tuple[str, Span]]]:
    """Runs of facts with at most `most` words together (0: no limit), at least one fact each."""
    part: list[tuple[str, Span]] = []
    length = 0
    for text, source in facts.items():
        words = words_in(text)
        if part and most and length + words > most:
            yield part
            part, length = [], 0
        part.append((text, source))
        length += words
    if part:
        yield part
