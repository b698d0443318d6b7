"""Statements are judged by the shipped ranker, and by the odds of whichever reader it has."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from hoptrail.models.reader import Reading, ToRead
from hoptrail.models.statement_ranker import installed_ranker, settling


class Helping:
    """Finds that a text helps by the share of its letters that are `a`."""

    def read(self, pairs: Sequence[ToRead]) -> list[Reading]:
        shares = [pair.text.count("a") / max(1, len(pair.text)) for pair in pairs]
        return [Reading((), yes=0.0, no=0.0, neither=1.0, helps=share) for share in shares]


def test_probabilities_become_log_odds_within_bounds() -> None:
    odds = settling(Helping(), "?", ["ab", "aaab", "bb", "aa"])
    assert odds[:2] == pytest.approx([0.0, math.log(3)])
    assert odds[2] == pytest.approx(-odds[3])
    assert math.isfinite(odds[3])


def test_a_long_statement_is_cut() -> None:
    assert settling(Helping(), "?", ["a" * 400 + "b" * 4000]) > [10.0]


def test_the_shipped_ranker_prefers_what_settles_the_question_to_what_shares_its_words() -> None:
    question = "When may dogs come into the reading room?"
    best, alike, other = settling(
        installed_ranker(),
        question,
        [
            "House rules > Animals\nPets are welcome on Friday afternoons.",
            "House rules > Rooms\nThe reading room has a new carpet and forty chairs.",
            "Accounts\nThe annual fee is 30 EUR.",
        ],
    )
    assert best > alike
    assert best > other


def test_nothing_is_judged_of_nothing() -> None:
    assert settling(installed_ranker(), "Who?", []) == []
