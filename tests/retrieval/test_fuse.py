"""Fusion by rank and by score, worked out by hand."""

from __future__ import annotations

import math

import pytest

from hoptrail.retrieval.fuse import convex_fusion, interleave, reciprocal_rank_fusion, shares_of_best
from hoptrail.retrieval.ranking import ranked
from hoptrail.types import Hit, Kind, Ranking, Span, Unit


def ranking(**scores: float) -> Ranking:
    return ranked(
        Hit(Unit(name, Kind.PASSAGE, "", name, (Span("d", 0, 1),)), score, "test") for name, score in scores.items()
    )


def names(hits: Ranking) -> list[str]:
    return [hit.unit.id for hit in hits]


def test_reciprocal_ranks_add_up() -> None:
    fused = reciprocal_rank_fusion([ranking(a=9, b=8, c=7), ranking(c=0.3, b=0.2)], 10, 60)
    assert names(fused) == ["c", "b", "a"]
    assert [hit.score for hit in fused] == pytest.approx([1 / 63 + 1 / 61, 1 / 62 + 1 / 62, 1 / 61])


def test_convex_fusion_weighs_shares_of_the_best() -> None:
    fused = convex_fusion([ranking(a=10, b=8, c=6), ranking(c=0.8, b=0.2)], [0.6, 0.4], 10, 2)
    assert names(fused) == ["c", "a", "b"]
    assert [hit.score for hit in fused] == pytest.approx([0.6 * 0.6 + 0.4, 0.6 + 0.4 * 0.25, 0.6 * 0.8 + 0.4 * 0.25])


def test_what_a_ranking_that_is_not_full_lacks_has_no_share_of_it() -> None:
    """A word that one passage alone has: all others would have as large a share of the keyword search as that passage."""
    keyword, dense = ranking(d=3.2), ranking(a=0.9, b=0.8, c=0.7, d=0.6)
    assert names(convex_fusion([keyword, dense], [0.5, 0.5], 10, 5))[0] == "d"
    assert names(convex_fusion([keyword, dense], [0.5, 0.5], 10, 1))[0] == "a"  # cut off: others may be as good


def test_negative_scores_and_empty_rankings_share_nothing() -> None:
    assert shares_of_best(ranking(a=4, b=-1)) == {"a": 1, "b": 0}
    assert shares_of_best(ranking(a=-1, b=-2)) == {"a": 0, "b": 0}
    assert shares_of_best(()) == {}
    assert convex_fusion([(), ()], [0.5, 0.5], 5, 5) == ()
    assert names(convex_fusion([(), ranking(a=2, b=1)], [0.5, 0.5], 5, 5)) == ["a", "b"]


def test_only_the_limit_is_kept_and_ties_go_by_id() -> None:
    assert names(reciprocal_rank_fusion([ranking(b=1), ranking(a=1)], 1, 60)) == ["a"]


def test_interleaving_takes_turns_without_repeats() -> None:
    turns = interleave([ranking(a=3, b=2, c=1), (), ranking(b=9, d=8)], 10)
    assert names(turns) == ["a", "b", "d", "c"]
    assert [hit.score for hit in turns] == [1, 1 / 2, 1 / 3, 1 / 4]
    assert names(interleave([ranking(a=3, b=2, c=1)], 2)) == ["a", "b"]
    assert interleave([], 5) == ()


def test_scores_that_are_no_numbers_come_last() -> None:
    assert names(ranking(a=math.nan, b=-math.inf, c=math.inf, d=0)) == ["c", "d", "a", "b"]
