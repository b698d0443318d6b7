"""Topics: asked for once a passage, kept with their vectors, and aggregates of the passages that share one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import BudgetExhausted
from hoptrail.language.tasks import Reply, Summarise, Task
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures import extractions
from hoptrail.structures.extractions import Extractions
from hoptrail.types import Document, Extraction, Fact, Kind, Usage
from hoptrail_papers.baselines.topics import Topics, TopicSettings, topic_id
from hoptrail_papers.sirerag.aggregates import Aggregates, AggregateSettings, FactGroup, grouped_by_topic
from hoptrail_papers.sirerag.clustering import Groups, Words
from structures.site import Rules, Site
from world import make_document, make_passage

T = TypeVar("T")
TOPICS = {"Orla Finch": "people", "Wrenmouth": "towns", "Dunmere": "towns", "Isk": "rivers", "Lindeth": "towns"}


class Librarian(Rules):
    """Knows the topics by title; has nothing to say of others, and stops after so many."""

    def __init__(self, *failing: str, most: int = 1000) -> None:
        super().__init__(*failing)
        self.most = most

    def perform(self, task: Task[T]) -> Reply[T]:
        if not isinstance(task, Summarise):
            return super().perform(task)
        if len(self.asked) == self.most:
            raise BudgetExhausted("no more money")
        super().perform(task)
        return Reply(TOPICS.get(task.units[0].title, " "), Usage(calls=1))  # type: ignore[arg-type]


@dataclass
class SameVectors:
    """Groups equal vectors, or gives the groups that it is told."""

    groups: tuple[tuple[int, ...], ...] = ()
    words: list[int] = field(default_factory=list)

    def cluster(self, vectors: FloatMatrix, words: Words) -> Groups:
        self.words = list(words)
        if self.groups:
            return [tuple(group) for group in self.groups]
        rows: dict[bytes, list[int]] = {}
        for row, vector in enumerate(vectors):
            rows.setdefault(vector.tobytes(), []).append(row)
        return [tuple(group) for group in rows.values()]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_topic_is_kept_with_its_vector_and_asked_for_once(site: Site, documents: list[Document]) -> None:
    language = Librarian()
    account = site.build(Topics(), add=documents, language=language)
    topics = {unit.sources[0].document: unit for unit in site.units(Kind.TOPIC).values()}
    known = {document.id: TOPICS[document.title] for document in documents if document.title in TOPICS}
    assert {name: unit.text for name, unit in topics.items()} == known
    for unit in topics.values():
        (passage,) = (make_passage(document) for document in documents if document.id == unit.document)
        assert (unit.id, unit.title, unit.sources) == (topic_id(passage.id), "", passage.sources)
    mirror = site.snapshot.search.vectors(Kind.TOPIC)
    expected = site.encoder.encode([site.units(Kind.TOPIC)[name].text for name in mirror.ids])
    assert np.array_equal(mirror.matrix, expected)
    (note,) = account.notes  # of the one that is not known
    assert "'Tallow Bridge' is empty. Run the same command again" in note
    site.build(Topics(), language=language)
    assert sorted(language.asked) == sorted([*(document.title for document in documents), "Tallow Bridge"])


def test_topics_got_before_a_failure_or_a_stop_are_kept(
    site: Site, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extractions, "BATCH", 4)
    known = [document for document in documents if document.title in TOPICS]
    language = Librarian("Isk", most=3)
    with pytest.raises(BudgetExhausted):
        site.build(Topics(), add=known, language=language)
    language.most = 100
    account = site.build(Topics(), language=language)
    assert len(site.units(Kind.TOPIC)) == len(known) - 1
    assert all("finding topics: passage" in note and "'Isk'" in note for note in account.notes)
    assert language.asked.count("Isk") >= 1
    assert sorted(set(language.asked)) == sorted(document.title for document in known)
    assert all(language.asked.count(title) == 1 for title in TOPICS if title != "Isk")


def test_topics_go_with_their_documents_and_a_second_run_writes_nothing(site: Site, documents: list[Document]) -> None:
    known = [document for document in documents if document.title in TOPICS]
    site.build(Topics(), add=known, language=Librarian())
    site.build(Topics(), remove=known[:1])
    assert {unit.document for unit in site.units(Kind.TOPIC).values()} == {document.id for document in known[1:]}
    before = site.snapshot.commit
    site.build(Topics(), language=Librarian())
    assert site.snapshot.commit == before
    with writing_to(site.folder, site.encoder.identity) as writer:
        Topics().discard(writer)
        writer.publish(Usage())
    assert site.units(Kind.TOPIC) == {}


def titles_grouped(snapshot: Snapshot, clusterer: SameVectors) -> list[FactGroup]:
    """The groups of topics, where every passage states one fact: its title."""
    facts = ((unit, Extraction((), (Fact(unit.title, (), unit.sources[0]),))) for unit in snapshot.units(Kind.PASSAGE))
    return list(grouped_by_topic(snapshot, clusterer.cluster, facts))


def test_groups_have_the_title_of_their_most_central_topic(site: Site, documents: list[Document]) -> None:
    site.build(Topics(), add=documents, language=Librarian())
    clusterer = SameVectors()
    groups = titles_grouped(site.snapshot, clusterer)
    assert {group.title: set(group.facts) for group in groups} == {
        "people": {"Orla Finch"},
        "towns": {"Wrenmouth", "Dunmere", "Lindeth"},
        "rivers": {"Isk"},
    }
    assert all(5 < words < 30 for words in clusterer.words)


def test_soft_groups_around_the_same_topic_have_keys_of_their_own(site: Site) -> None:
    documents = [make_document(title, f"{title} is here.") for title in TOPICS]
    site.build(Topics(), add=documents, language=Librarian())
    ids = site.snapshot.search.vectors(Kind.TOPIC).ids
    towns = [row for row, name in enumerate(ids) if site.units(Kind.TOPIC)[name].text == "towns"]
    others = [row for row in range(len(ids)) if row not in towns]
    clusterer = SameVectors(tuple(tuple(sorted((*towns, other))) for other in others))
    groups = titles_grouped(site.snapshot, clusterer)
    assert [group.title for group in groups] == ["towns", "towns"]
    assert groups[0].key + "+" == groups[1].key
    assert all({"Wrenmouth", "Dunmere", "Lindeth"} < set(group.facts) for group in groups)
    assert set(groups[0].facts) != set(groups[1].facts)


def test_aggregates_by_topic_hold_the_facts_of_the_passages_that_share_it(
    site: Site, documents: list[Document]
) -> None:
    structures = (Extractions(), Topics(), Aggregates(AggregateSettings(key="topic")))
    site.build(*structures, add=documents, language=Librarian())
    aggregates = site.units(Kind.AGGREGATE)
    assert aggregates
    facts = {fact.text for _, found in site.snapshot.extractions() for fact in found.facts}
    shown = {line for unit in aggregates.values() for line in unit.text.split("\n")}
    bridge = {"The Tallow Bridge spans the harbour of Dunmere.", "Tallow Bridge was designed by Orla Finch."}
    assert facts - shown == bridge  # it has no topic
    assert {unit.title for unit in aggregates.values()} <= set(TOPICS.values())
    assert all(len(unit.sources) == unit.text.count("\n") + 1 for unit in aggregates.values())
    before = site.snapshot.commit
    site.build(*structures[:1], *structures[2:])
    assert site.snapshot.commit == before


def test_without_topics_there_are_no_groups(site: Site, documents: list[Document]) -> None:
    site.build(Extractions(), Aggregates(AggregateSettings(key="topic")), add=documents, language=Rules())
    assert site.units(Kind.AGGREGATE) == {}


def test_settings_of_topics() -> None:
    assert Topics().needs_language
    assert Topics(TopicSettings(3)).fingerprint != Topics().fingerprint
