"""Aggregates: all facts about one entity, from all documents, as one text. The leaves of SiReRAG's relatedness tree.

    section 4.2, paragraph 5   facts of one entity, by document and in order; facts without an entity are left out
    released code              the singleton rule; equal texts are kept once (the paper mentions neither)

Deviations: entities are compared without case (as in the code; the paper says exact match); a fact occurs once under an entity
however often it names it; a long aggregate is cut into parts that the encoder can read whole (not with `part_words = 0`, as in
the paper). With `key = "topic"` the passages of a topic replace those of an entity, as in the analysis of section 3
(`topics.py`). A family name is merged with the full name that its document gives (`facts_by_entity.py`); other entities that
differ in more than case and white space (`Orla Finch`, `O. Finch`) are not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from hoptrail.corpus.structure_names import AGGREGATES, EXTRACTIONS, TOPICS
from hoptrail.setting_limits import AtLeast0, Limited
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Derived
from hoptrail.structures.extractions import stored_in_order
from hoptrail.text.words import words_in
from hoptrail.types import Kind, Span, Unit, content_id
from hoptrail_papers.baselines.topics import grouped_by_topic
from hoptrail_papers.sirerag.clustering import ClusteringSettings, open_clusterer
from hoptrail_papers.sirerag.facts_by_entity import FactGroup, grouped_by_entity, select_aggregates


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
    topics: ClusteringSettings = field(default_factory=ClusteringSettings)


@dataclass(frozen=True, slots=True)
class Aggregates(Derived):
    """One aggregate per entity, in parts where it is long. Its id depends on the entity, not on the facts."""

    settings: AggregateSettings = field(default_factory=AggregateSettings)
    name = AGGREGATES
    by_document = False
    units = (Kind.AGGREGATE,)

    @property
    def built_from(self) -> tuple[str, ...]:
        """Extractions, and topics where facts are grouped by them."""
        return (EXTRACTIONS, TOPICS) if self.settings.key == "topic" else (EXTRACTIONS,)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Unit]:
        """All aggregates, anew, which is cheap. Raises: UsageError: the clustering method is not installed."""
        snapshot, settings = context.writer.snapshot(), self.settings
        found = stored_in_order(snapshot, documents)
        if settings.key == "topic":
            groups = grouped_by_topic(snapshot, open_clusterer(settings.topics), found)
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
