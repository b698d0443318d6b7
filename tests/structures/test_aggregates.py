"""Aggregates: every fact about an entity in one text with its sources, only what has changed made again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from hoptrail.corpus.writer import writing_to
from hoptrail.errors import Interrupted
from hoptrail.structures import declaration
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.progress_tracker import ignore
from hoptrail.text.statements import support_of
from hoptrail.text.words import words_in
from hoptrail.types import Document, Extraction, Fact, Kind, Link, Span, Unit, Usage, content_id
from hoptrail_papers.sirerag.aggregates import (
    Aggregates,
    AggregateSettings,
    FactGroup,
    InformativeNames,
    grouped_by_entity,
    is_date_or_number,
    select_aggregates,
    units_of,
)
from structures.site import Rules, Site
from world import make_document, make_passage

EVERYTHING = AggregateSettings(drop_covered_singletons=False, dates_and_numbers=True)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def said(*facts: tuple[str, Sequence[str]], document: str = "d1") -> tuple[Unit, Extraction]:
    """A passage in which these facts were found, one after the other."""
    places = [Span(document, 10 * number, 10 * number + 10) for number in range(len(facts))]
    unit = Unit(f"p{document}", Kind.PASSAGE, document, "text", (Span(document, 0, 10 * len(facts)),))
    found = tuple(Fact(text, tuple(names), place) for (text, names), place in zip(facts, places, strict=True))
    return unit, Extraction((), found)


def by_entity(found: Iterable[tuple[Unit, Extraction]], settings: AggregateSettings = EVERYTHING) -> list[FactGroup]:
    groups = list(grouped_by_entity(found, dates_and_numbers=settings.dates_and_numbers))
    return list(select_aggregates(groups, drop_covered=settings.drop_covered_singletons))


def lines(found: Iterable[tuple[Unit, Extraction]], settings: AggregateSettings = EVERYTHING) -> dict[str, list[str]]:
    return {group.title: list(group.facts) for group in by_entity(found, settings)}


def build(site: Site, settings: AggregateSettings = EVERYTHING, add: Sequence[Document] = ()) -> None:
    site.build(Extractions(), Aggregates(settings), add=add, language=Rules())


def test_facts_of_an_entity_from_all_documents_stand_together_in_order() -> None:
    found = [
        said(("A met B.", ["A", "B"]), ("A slept.", ["A"]), document="d1"),
        said(("B left.", ["B"]), ("A stayed.", ["A"]), document="d2"),
    ]
    assert lines(found) == {"A": ["A met B.", "A slept.", "A stayed."], "B": ["A met B.", "B left."]}


def test_case_and_white_space_do_not_part_entities_and_the_commonest_writing_is_the_title() -> None:
    found = [
        said(("One.", ["ISK river"]), ("Two.", ["Isk  River"]), ("Three.", ["Isk\nRiver"]), ("Four.", ["ẞ", "ss"]))
    ]
    assert lines(found) == {"Isk River": ["One.", "Two.", "Three."], "ẞ": ["Four."]}


def test_short_names_go_with_the_full_name_that_their_document_gives() -> None:
    found = [
        said(("Orla Finch built it.", ["Orla Finch"]), ("Finch left.", ["Finch"]), document="d1"),
        said(("Mr. Finch came.", ["Mr. Finch"]), document="d1"),
        said(("Tom Finch sang.", ["Tom Finch"]), document="d2"),
        said(("Finch sang.", ["finch"]), document="d3"),
    ]
    assert lines(found) == {
        "Orla Finch": ["Orla Finch built it.", "Finch left.", "Mr. Finch came."],
        "Tom Finch": ["Tom Finch sang."],
        "finch": ["Finch sang."],
    }


@pytest.mark.parametrize(
    ("known", "short"),
    [
        (("Orla Finch", "Tom Finch"), "Finch"),
        (("University of Wrenmouth",), "Wrenmouth"),
        (("North Korea",), "Korea"),
        (("New Mexico",), "Mexico"),
        (("Orla Finch",), "Orla"),
        (("the river Isk",), "Isk"),
    ],
)
def test_names_that_may_mean_something_else_stay(known: tuple[str, ...], short: str) -> None:
    found = [said(*((f"{name} is there.", [name]) for name in known), (f"{short} is here.", [short]))]
    assert set(lines(found)) == {*known, short}


def test_the_title_is_a_name_that_was_given() -> None:
    names = InformativeNames("Orla Finch (engineer)")
    assert (names.of("Finch"), names.of("Dr Finch"), names.of("Finches")) == ("Orla Finch", "Orla Finch", "Finches")


def test_without_a_limit_an_aggregate_is_one_text() -> None:
    facts = {f"Fact number {number} is here.": Span("d1", number, number + 1) for number in range(90)}
    assert len(list(units_of([FactGroup("a", "A", facts)], 0))) == 1
    assert len(list(units_of([FactGroup("a", "A", facts)], 150))) == 3


def test_a_fact_stands_once_under_an_entity_with_the_place_where_it_stood_first() -> None:
    found = [said(("It is  so.", ["A", "a", "A"]), document="d1"), said(("It is so.", ["A"]), document="d2")]
    (group,) = by_entity(found)
    assert group.facts == {"It is so.": Span("d1", 0, 10)}


def test_what_has_no_entity_or_no_text_is_left_out() -> None:
    assert lines([said(("It rains.", []), ("  ", ["A"]), ("B was.", ["B", " "]))]) == {"B": ["B was."]}
    assert lines([]) == {}


SINGLETONS = [
    said(("A met B.", ["A", "B"]), ("A slept.", ["A"]), ("C met D.", ["C", "D"]), ("E sang.", ["E"]), document="d1")
]


def test_an_entity_whose_only_fact_another_has_too_is_dropped() -> None:
    kept = lines(SINGLETONS, AggregateSettings())
    # B's only fact is A's too; C and D have the same one; E's is nobody else's.
    assert kept == {"A": ["A met B.", "A slept."], "E": ["E sang."]}
    assert set(lines(SINGLETONS)) == {"A", "B", "C", "E"}  # C and D say the same


def test_of_entities_that_say_the_same_the_longest_name_stays_whatever_the_order() -> None:
    names = ["Finch", "1871", "Orla Finch", "Orla Linch"]
    for order in (names, names[::-1]):
        found = [said(("One.", order), ("Two.", order))]
        assert lines(found) == {"Orla Finch": ["One.", "Two."]}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(
            (name, True)
            for name in ("1871", "May 1871", "3 May 1871", "90", "1,200.5", "19th century", "1940s", "12 %")
        ),
        *((name, False) for name in ("Isk", "Apollo 13", "2018 Impact Factor", "U2", "Form 1040", "火", "May")),
    ],
)
def test_dates_and_numbers_are_told_from_names(name: str, expected: bool) -> None:
    assert is_date_or_number(name) is expected


def test_dates_and_numbers_are_entities_if_asked_for() -> None:
    found = [said(("A came in 1871.", ["A", "1871"]), ("B came in 1871.", ["B", "1871"]))]
    assert set(lines(found, AggregateSettings(dates_and_numbers=True))) == {"1871"}
    # Without 1871, nothing else has the facts of A and of B.
    assert set(lines(found, AggregateSettings())) == {"A", "B"}


def test_a_long_aggregate_is_cut_into_parts_of_whole_facts() -> None:
    facts = [(f"Fact {number} {'word ' * length}".strip(), ["A"]) for number, length in enumerate([3, 3, 20, 0, 8])]
    parts = list(units_of(by_entity([said(*facts)]), 10))
    assert [part.text.split("\n") for part in parts] == [[facts[0][0], facts[1][0]], *([fact] for fact, _ in facts[2:])]
    assert {part.title for part in parts} == {"A"}
    assert [part.id for part in parts] == [content_id("a", "a", str(number)) for number in range(4)]
    assert all(words_in(part.text) <= 10 or "\n" not in part.text for part in parts)
    assert [span for part in parts for span in part.sources] == [Span("d1", at, at + 10) for at in range(0, 50, 10)]


def test_every_line_of_a_stored_aggregate_has_its_sentence_as_source(site: Site, documents: list[Document]) -> None:
    build(site, add=documents)
    texts = {document.id: document for document in documents}
    aggregates = site.units(Kind.AGGREGATE).values()
    assert {"Orla Finch", "Tallow Bridge", "Isk"} <= {unit.title for unit in aggregates}
    for unit in aggregates:
        start = 0
        for line, span in zip(unit.text.split("\n"), unit.sources, strict=True):
            assert support_of(unit, start, start + len(line)) == (span,)
            assert texts[span.document].slice(span).split()[-2:] == line.split()[-2:]
            start += len(line) + 1
    finch = next(unit for unit in aggregates if unit.title == "Orla Finch")
    assert {texts[span.document].title for span in finch.sources} == {"Orla Finch", "Tallow Bridge"}


@pytest.mark.parametrize("settings", [EVERYTHING, AggregateSettings()])
def test_growing_and_shrinking_end_where_building_at_once_does(
    tmp_path: Path, documents: list[Document], settings: AggregateSettings
) -> None:
    grown, whole = Site(tmp_path / "grown"), Site(tmp_path / "whole")
    for document in reversed(documents):
        build(grown, settings, [document])
    grown.build(Extractions(), Aggregates(settings), remove=documents[:2], language=Rules())
    build(whole, settings, documents[2:])
    assert grown.units(Kind.AGGREGATE) == whole.units(Kind.AGGREGATE)
    assert grown.snapshot.search.vectors(Kind.AGGREGATE).ids == whole.snapshot.search.vectors(Kind.AGGREGATE).ids


def test_one_new_document_rewrites_only_the_aggregates_that_it_touches(site: Site, documents: list[Document]) -> None:
    build(site, add=documents)
    before, encoded = site.units(Kind.AGGREGATE), len(site.encoder.texts)
    build(site, add=[make_document("Arrow", "The Arrow rises near Dunmere. The Arrow is long.")])
    after = site.units(Kind.AGGREGATE)
    written = {unit.title for name, unit in after.items() if before.get(name) != unit}
    assert written == {"Arrow", "Dunmere"}
    assert after.keys() - before.keys() == {content_id("a", "arrow", "0")} - before.keys()
    # One passage and two of the aggregates; the others were not even encoded.
    assert len(site.encoder.texts) - encoded == 1 + len(written)
    assert len(after) > 4


def test_no_text_of_a_removed_document_is_left_and_nothing_is_spent_on_that(
    site: Site, documents: list[Document]
) -> None:
    build(site, add=documents)
    bridge = next(document for document in documents if document.title == "Tallow Bridge")
    account = site.build(Extractions(), Aggregates(EVERYTHING), remove=[bridge])
    assert account.usage == Usage()
    for unit in site.units(Kind.AGGREGATE).values():
        assert "spans the harbour" not in unit.text
        assert all(span.document != bridge.id for span in unit.sources)
    # What another document says of the bridge stands.
    assert site.texts(Kind.AGGREGATE)["Orla Finch"].startswith("Orla Finch was born")


def test_an_aggregate_that_changes_keeps_its_links_and_one_that_vanishes_loses_them(
    site: Site, documents: list[Document]
) -> None:
    build(site, add=documents)
    changing, vanishing = content_id("a", "orla finch", "0"), content_id("a", "dunmere", "0")
    assert {changing, vanishing} <= site.units(Kind.AGGREGATE).keys()
    with writing_to(site.folder, site.encoder.identity) as writer:
        writer.links.put(
            [Link("s1", changing, "relatedness-tree", 1.0), Link("s1", vanishing, "relatedness-tree", 1.0)]
        )
        writer.put_extractions({make_passage(document).id: Extraction((), ()) for document in documents[2:4]})
        writer.publish(Usage())
    build(site)
    assert changing in site.units(Kind.AGGREGATE)
    assert vanishing not in site.units(Kind.AGGREGATE)
    assert [link.target for link in site.snapshot.links()] == [changing]


def test_a_stopped_build_goes_on_after_its_last_batch(
    site: Site, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaration, "BATCH", 2)
    site.build(Extractions(), add=documents, language=Rules())
    encoded = len(site.encoder.texts)
    with writing_to(site.folder, site.encoder.identity) as writer:

        def stop_after_two_batches() -> None:
            writer.checkpoint()
            if len(site.encoder.texts) == encoded + 4:
                raise Interrupted("enough")

        with pytest.raises(Interrupted):
            Aggregates(EVERYTHING).update(BuildContext(writer, site.encoder, ignore, stop_after_two_batches))
    build(site)
    made = site.encoder.texts[encoded:]
    assert len(made) == len(set(made)) == len(site.units(Kind.AGGREGATE)) > 4


def test_settings_change_the_fingerprint_and_none_needs_a_language() -> None:
    every = [
        AggregateSettings(),
        AggregateSettings(key="topic"),
        AggregateSettings(drop_covered_singletons=False),
        AggregateSettings(dates_and_numbers=True),
        AggregateSettings(part_words=10),
    ]
    assert len({Aggregates(settings).fingerprint for settings in every}) == len(every)
    assert not any(Aggregates(settings).needs_language for settings in every)
    assert Aggregates().built_from == ("extractions",)
    assert Aggregates(AggregateSettings(key="topic")).built_from == ("extractions", "topics")
