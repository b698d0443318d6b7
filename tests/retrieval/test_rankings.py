"""Fusion by rank and by score, worked out by hand; packing: the budget holds, nothing is said twice, rank order stays."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.retrieval.rankings import (
    convex_scores,
    interleave,
    pack,
    ranked,
    reciprocal_ranks,
    rescored,
    scores_of,
    shares_of_best,
)
from hoptrail.types import Hit, Kind, Ranking, Span, Unit
from hoptrail_papers.comprag.comprag import keep_ahead


def ranking(**scores: float) -> Ranking:
    return ranked(
        Hit(Unit(name, Kind.PASSAGE, "", name, (Span("d", 0, 1),)), score, "test") for name, score in scores.items()
    )


def names(hits: Ranking) -> list[str]:
    return [hit.unit.id for hit in hits]


def rrf(rankings: Sequence[Ranking], limit: int) -> Ranking:
    return rescored(rankings, reciprocal_ranks(map(scores_of, rankings)), limit)


def convex(rankings: Sequence[Ranking], weights: Sequence[float], limit: int, depth: int) -> Ranking:
    return rescored(rankings, convex_scores(list(map(scores_of, rankings)), weights, depth), limit)


def test_reciprocal_ranks_add_up() -> None:
    fused = rrf([ranking(a=9, b=8, c=7), ranking(c=0.3, b=0.2)], 10)
    assert names(fused) == ["c", "b", "a"]
    assert [hit.score for hit in fused] == pytest.approx([1 / 63 + 1 / 61, 1 / 62 + 1 / 62, 1 / 61])


def test_convex_fusion_weighs_shares_of_the_best() -> None:
    fused = convex([ranking(a=10, b=8, c=6), ranking(c=0.8, b=0.2)], [0.6, 0.4], 10, 2)
    assert names(fused) == ["c", "a", "b"]
    assert [hit.score for hit in fused] == pytest.approx([0.6 * 0.6 + 0.4, 0.6 + 0.4 * 0.25, 0.6 * 0.8 + 0.4 * 0.25])


def test_what_a_ranking_that_is_not_full_lacks_has_no_share_of_it() -> None:
    """A word that one passage alone has: all others would have as large a share of the keyword search as that passage."""
    keyword, dense = ranking(d=3.2), ranking(a=0.9, b=0.8, c=0.7, d=0.6)
    assert names(convex([keyword, dense], [0.5, 0.5], 10, 5))[0] == "d"
    assert names(convex([keyword, dense], [0.5, 0.5], 10, 1))[0] == "a"  # cut off: others may be as good


def test_negative_scores_and_empty_rankings_share_nothing() -> None:
    assert shares_of_best({"a": 4, "b": -1}) == {"a": 1, "b": 0}
    assert shares_of_best({"a": -1, "b": -2}) == {"a": 0, "b": 0}
    assert shares_of_best({}) == {}
    assert convex([(), ()], [0.5, 0.5], 5, 5) == ()
    assert names(convex([(), ranking(a=2, b=1)], [0.5, 0.5], 5, 5)) == ["a", "b"]


def test_only_the_limit_is_kept_and_ties_go_by_id() -> None:
    assert names(rrf([ranking(b=1), ranking(a=1)], 1)) == ["a"]


def test_interleaving_takes_turns_without_repeats() -> None:
    turns = interleave([ranking(a=3, b=2, c=1), (), ranking(b=9, d=8)], 10)
    assert names(turns) == ["a", "b", "d", "c"]
    assert [hit.score for hit in turns] == [1, 1 / 2, 1 / 3, 1 / 4]
    assert names(interleave([ranking(a=3, b=2, c=1)], 2)) == ["a", "b"]
    assert interleave([], 5) == ()


def test_a_unit_keeps_the_channel_that_found_it_first() -> None:
    (found,) = ranking(a=1)
    other = Hit(found.unit, 9, "other")
    assert [hit.channel for hit in interleave([(found,), (other,)], 5)] == ["test"]
    assert [hit.channel for hit in interleave([(other,), (found,)], 5)] == ["other"]


def test_what_is_kept_ahead_pushes_others_back_and_scores_still_fall() -> None:
    fused = ranking(a=0.9, b=0.8, c=0.7, d=0.6, e=0.5)
    moved = keep_ahead(fused, ranking(e=9, d=8, a=7), 2, 3)
    assert names(moved) == ["a", "d", "e", "b", "c"]
    assert [hit.score for hit in moved] == pytest.approx([0.9, 0.6, 0.5, 0.5, 0.7 * 0.5 / 0.8])
    assert keep_ahead(fused, ranking(b=9, a=8), 2, 2) == fused, "they are ahead already: scores stay as they are"
    assert keep_ahead(fused, (), 2, 3) == fused
    assert keep_ahead((), ranking(a=1), 1, 3) == ()


letters = st.permutations("abcdefgh")


@given(letters, letters, st.integers(0, 8), st.integers(0, 8))
def test_keeping_ahead_reorders_and_loses_nothing(fused: list[str], other: list[str], ahead: int, kept: int) -> None:
    kept = min(kept, ahead)
    first, second = (ranking(**{name: 8.0 - at for at, name in enumerate(order)}) for order in (fused, other))
    moved = keep_ahead(first, second, kept, ahead)
    assert sorted(names(moved)) == sorted(fused)
    assert set(other[:kept]) <= set(names(moved)[:ahead])
    for part in (names(moved)[:ahead], names(moved)[ahead:]):
        assert part == [name for name in fused if name in part], "both parts keep their order"
    assert sorted((hit.score for hit in moved), reverse=True) == [hit.score for hit in moved]


def test_scores_that_are_no_numbers_come_last() -> None:
    assert names(ranking(a=math.nan, b=-math.inf, c=math.inf, d=0)) == ["c", "d", "a", "b"]


def hit(name: str, text: str, *sources: Span, kind: Kind = Kind.PASSAGE) -> Hit:
    return Hit(Unit(name, kind, "", text, sources), 1.0, "test")


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


def test_the_budget_may_be_spent_to_the_last_token_and_repeats_may_be_wanted() -> None:
    cost = estimated_tokens(OTHER.unit.searchable)
    twice = hit("twice", "y" * 40, Span("d3", 0, 40))
    assert names(pack((OTHER, twice), 2 * cost)) == ["other", "twice"]
    assert names(pack((OTHER, twice), 2 * cost - 1)) == ["other"]
    assert names(pack((LONG, SENTENCE), 1000, repeats=True)) == ["long", "inside"]


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
