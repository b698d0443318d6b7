"""Statements are judged by the odds of the reader that settles them."""

from __future__ import annotations

from collections.abc import Sequence

from hoptrail.models.reader import TextReading, ToRead, installed_reader, settling


class Settling:
    """Finds that a text settles the question by the number of its letters that are `a`."""

    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        return [
            TextReading((), yes=0.0, no=0.0, neither=1.0, helps=0.5, settles=pair.text.count("a")) for pair in pairs
        ]


def test_log_odds_stay_within_bounds() -> None:
    assert settling(Settling(), "?", ["ab", "aaab", "bb", "a" * 50]) == [1.0, 3.0, 0.0, 14.0]


def test_a_long_statement_is_cut() -> None:
    assert settling(Settling(), "?", ["b" * 400 + "a" * 4000]) == [0.0]


def test_the_shipped_reader_prefers_what_settles_the_question_to_what_shares_its_words() -> None:
    question = "When may dogs come into the reading room?"
    best, alike, other = settling(
        installed_reader(),
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
    assert settling(installed_reader(), "Who?", []) == []
