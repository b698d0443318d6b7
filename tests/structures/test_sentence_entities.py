"""Entities of sentences: from facts by overlap, one key for one name, and forms that are left out."""

from __future__ import annotations

import numpy as np
import pytest

from hoptrail.structures.sentences import SentencePlaces
from hoptrail.structures.title_mentions import shape_of
from hoptrail.text.mentions import Shape
from hoptrail.types import Extraction, Fact, Span
from hoptrail_papers.chainrag.linking import Mentions, _digest_of, mentions_in

PLACES = SentencePlaces([("s1", Span("d", 10, 20)), ("s2", Span("d", 0, 9)), ("s3", Span("e", 0, 9))])


def fact(entities: tuple[str, ...], document: str, start: int, end: int) -> Extraction:
    return Extraction((), (Fact("", entities, Span(document, start, end)),))


KEYS = ("1871", "90", "arrow", "dunmere", "isk", "orla finch", "zan")


def naming(found: Mentions, key: str) -> list[int]:
    """The rows that name an entity."""
    rows: list[int] = found.rows[found.digests[found.entities] == _digest_of(key, ())].tolist()
    return rows


def named(found: Mentions) -> list[set[str]]:
    which, entities = found.of_rows(np.arange(3, dtype=np.int32))
    assert which.tolist() == found.rows.tolist()
    assert entities.tolist() == found.entities.tolist()
    keys = [{key for key in KEYS if row in naming(found, key)} for row in range(3)]
    assert sum(map(len, keys)) == len(entities)  # there are no others
    return keys


def test_a_sentence_has_the_entities_of_the_facts_it_overlaps() -> None:
    found = [fact(("Orla Finch", "Isk"), "d", 0, 9), fact(("Dunmere",), "d", 5, 12), fact(("Arrow",), "x", 0, 9)]
    assert named(mentions_in(PLACES, found, ())) == [{"dunmere"}, {"orla finch", "isk", "dunmere"}, set()]


def test_case_and_white_space_part_no_entities_and_each_counts_once() -> None:
    found = [fact(("Orla  FINCH", "orla finch", " "), "d", 0, 9), fact(("Orla\nFinch",), "d", 0, 9)]
    mentions = mentions_in(PLACES, found, ())
    assert len(mentions.digests) == 1
    assert naming(mentions, "orla finch") == [1]
    assert (mentions.rows.tolist(), mentions.entities.tolist()) == ([1], [0])


def test_the_order_of_extractions_does_not_matter_and_arrays_rise() -> None:
    found = [fact(("Isk", "Arrow"), "e", 0, 9), fact(("Isk",), "d", 0, 9), fact(("Zan", "Arrow"), "d", 10, 20)]
    first, second = mentions_in(PLACES, found, ()), mentions_in(PLACES, found[::-1], ())
    assert named(first) == named(second) == [{"zan", "arrow"}, {"isk"}, {"isk", "arrow"}]
    assert np.array_equal(first.digests, second.digests)
    pairs = list(zip(first.rows.tolist(), first.entities.tolist(), strict=True))
    assert pairs == sorted(pairs) == list(zip(second.rows.tolist(), second.entities.tolist(), strict=True))


def test_nothing_found_is_no_mentions() -> None:
    for found in ([], [Extraction(("Isk",), ())], [fact((), "d", 0, 9)]):
        mentions = mentions_in(PLACES, found, ())
        assert len(mentions.digests) == len(mentions.rows) == len(mentions.entities) == 0


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("1871", Shape.DATE),
        ("4 May 1871", Shape.DATE),
        ("May 4", Shape.DATE),
        ("19th century", Shape.DATE),
        ("90", Shape.NUMBER),
        ("1,200", Shape.NUMBER),
        ("5 percent", Shape.NUMBER),
        ("5%", Shape.NUMBER),
        ("2nd", Shape.NUMBER),
        ("twenty-one", Shape.NUMBER),
        ("3-4", Shape.NUMBER),
        ("Orla Finch", Shape.NAME),
        ("May", Shape.NAME),
        ("Apollo 13", Shape.NAME),
        ("2nd Earl of Linn", Shape.NAME),
        ("Иск", Shape.NAME),
        ("川", Shape.NAME),
    ],
)
def test_the_form_of_an_entity(name: str, shape: Shape) -> None:
    assert shape_of(name) is shape


def test_forms_can_be_left_out() -> None:
    found = [fact(("Isk", "1871", "90"), "d", 0, 9)]
    assert named(mentions_in(PLACES, found, ()))[1] == {"1871", "90", "isk"}
    assert named(mentions_in(PLACES, found, {Shape.DATE}))[1] == {"90", "isk"}
    assert named(mentions_in(PLACES, found, {Shape.DATE, Shape.NUMBER}))[1] == {"isk"}
