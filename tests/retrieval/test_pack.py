"""Packing: the budget holds, nothing is said twice, rank order stays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.retrieval.pack import pack
from hoptrail.types import Hit, Kind, Ranking, Span, Unit


def hit(name: str, text: str, *sources: Span, kind: Kind = Kind.PASSAGE) -> Hit:
    return Hit(Unit(name, kind, "", text, sources), 1.0, "test")


def names(hits: Ranking) -> list[str]:
    return [one.unit.id for one in hits]


LONG = hit("long", "x" * 400, Span("d1", 0, 400))
SENTENCE = hit("inside", "x" * 40, Span("d1", 40, 80), kind=Kind.SENTENCE)
OTHER = hit("other", "y" * 40, Span("d2", 0, 40))
BOTH = hit("both", "z" * 40, Span("d1", 0, 10), Span("d2", 0, 10), kind=Kind.AGGREGATE)


def test_a_unit_whose_sources_are_covered_is_dropped() -> None:
    assert names(pack((LONG, SENTENCE, OTHER), 1000)) == ["long", "other"]
    assert names(pack((SENTENCE, LONG), 1000)) == ["inside", "long"]


def test_a_derived_unit_goes_when_all_its_sources_are_covered_and_not_before() -> None:
    assert names(pack((LONG, BOTH), 1000)) == ["long", "both"]
    assert names(pack((LONG, OTHER, BOTH), 1000)) == ["long", "other"]


def test_a_summary_does_not_stand_for_what_it_was_made_from() -> None:
    summary = hit("summary", "s" * 40, *LONG.unit.sources, *OTHER.unit.sources, kind=Kind.SUMMARY)
    assert names(pack((summary, LONG, OTHER), 1000)) == ["summary", "long", "other"]
    assert names(pack((LONG, OTHER, summary), 1000)) == ["long", "other"]


def test_triples_do_not_stand_for_the_sentence_they_were_taken_from() -> None:
    designed, opened = (
        hit(name, "t" * 40, *SENTENCE.unit.sources, kind=Kind.TRIPLE) for name in ("designed", "opened")
    )
    assert names(pack((designed, opened, SENTENCE), 1000)) == ["designed", "opened", "inside"]
    assert names(pack((LONG, designed), 1000)) == ["long"]


def test_what_does_not_fit_is_passed_over_for_what_does() -> None:
    assert names(pack((OTHER, LONG, hit("small", "w" * 20, Span("d3", 0, 20))), 20)) == ["other", "small"]


def test_the_first_is_always_taken() -> None:
    assert names(pack((LONG, OTHER), 1)) == ["long"]
    assert pack((), 100) == ()


def test_tokens_of_scripts_beyond_latin_are_counted_by_character() -> None:
    assert estimated_tokens("") == 0
    assert estimated_tokens("four") == 1
    assert estimated_tokens("fives") == 2
    assert estimated_tokens("日本の首都") == 5


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(0, 3)), max_size=12), st.integers(0, 150))
def test_the_budget_holds_but_for_a_single_unit(sizes: list[tuple[int, int]], budget: int) -> None:
    hits = tuple(hit(f"u{n}", "x" * size, Span(f"d{d}", n, n + size)) for n, (size, d) in enumerate(sizes))
    packed = pack(hits, budget)
    spent = sum(estimated_tokens(one.unit.searchable) for one in packed)
    assert spent <= budget or len(packed) == 1
    assert [one for one in hits if one in packed] == list(packed)
