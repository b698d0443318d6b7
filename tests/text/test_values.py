"""Values read from short answers, and comparisons decided by them."""

from __future__ import annotations

import pytest

from hoptrail.language.questions.comparisons import find_comparison
from hoptrail.text.values import country_of, date_order, read_date, read_number, same_value


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("14 March 1871", (1871, 3, 14)),
        ("March 14, 1871", (1871, 3, 14)),
        ("May 1900", (1900, 5, 0)),
        ("1926", (1926, 0, 0)),
        ("44", None),
        ("44 BC", (-44, 0, 0)),
        ("15 March 44 BC", (-44, 3, 15)),
        ("March 44 BCE", (-44, 3, 0)),
        ("300 BC", (-300, 0, 0)),
        ("mayor since 1900", (1900, 0, 0)),
        ("3 October 1850 – 9 January 1921", (1850, 10, 3)),
        ("the 17th century", (1600, 0, 0)),
        ("no date", None),
    ],
)
def test_dates_are_read(text: str, date: tuple[int, int, int] | None) -> None:
    assert read_date(text) == date


def test_dates_with_unknown_parts_may_have_no_order() -> None:
    assert date_order((1900, 5, 1), (1901, 0, 0)) == -1
    assert date_order((1900, 5, 1), (1900, 4, 30)) == 1
    assert date_order((1900, 5, 1), (1900, 5, 1)) == 0
    assert date_order((1900, 0, 0), (1900, 5, 1)) is None
    assert date_order((1900, 0, 0), (1900, 0, 0)) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("11,500", 11500),
        ("2.5 million", 2_500_000),
        ("-5 degrees", -5),
        ("−5.5 °C", -5.5),
        ("in 1914-18", 1914),
        ("flight Q-5", 5),
        ("twenty-three", 23),
        ("forty acres", 40),
        ("one of the two", 1),
        ("zero", 0),
        ("a hundred", 100),
        ("three hundred and twenty", 320),
        ("twenty-five million", 25_000_000),
        ("two million three hundred and five thousand", 2_305_000),
        ("-", None),
    ],
)
def test_numbers_are_read(text: str, number: float | None) -> None:
    assert read_number(text) == number


def test_countries_are_read_from_names_and_demonyms() -> None:
    assert country_of("Norwegian") == country_of("Oslo, Norway") == "norway"
    assert country_of("Cambodians") == country_of("Cambodian-born") == "cambodia"
    assert country_of("Vellamar") is None
    assert same_value("a Norwegian", "Norway")
    assert not same_value("Norwegian", "Dane")
    assert country_of("US") == country_of("the U.S.") == "united states"
    assert country_of("tell us") is None
    assert same_value("Austrian-German", "German")
    assert same_value("Danish", "Norwegian- Danish")
    assert not same_value("Austrian-German", "Danish")
    assert same_value("the Harbour Board", "Harbour Board")
    assert not same_value("", "")


@pytest.mark.parametrize("place", ["Tirana", "Perugia", "Indianapolis", "Chinatown", "San Francesco", "East Prussia"])
def test_a_country_within_a_longer_word_is_not_read(place: str) -> None:
    assert country_of(place) is None


@pytest.mark.parametrize(
    ("question", "answers", "verdict"),
    [
        ("Who is older, Ada Lunt or Piet Korver?", ("1 May 1900", "1901"), "Ada Lunt"),
        ("Who is younger, Ada Lunt or Piet Korver?", ("1 May 1900", "1901"), "Piet Korver"),
        ("Who is older, Ada Lunt or Piet Korver?", ("1900", "3 May 1900"), None),
        ("Who is older, Ada Lunt or Piet Korver?", ("1900", None), None),
        ("Who is older, Ada Lunt or Piet Korver?", ("1900",), None),
        ("Who lived longer, Ada Lunt or Piet Korver?", ("1900", "1950", "1900", "1990"), "Piet Korver"),
        ("Which cheese is heavier, the Orrin or the Tam?", ("2 kg", "1.5 kg"), "the Orrin"),
        ("Which club has fewer members, Arden FC or Dun FC?", ("1,200", "900"), "Dun FC"),
        ("Are Arden FC and Dun FC based in the same city?", ("Arden", "Arden"), "yes"),
        ("Are Arden FC and Dun FC based in the same city?", ("Arden", "Dun"), "no"),
        ("Are Arden FC and Dun FC both football clubs?", ("yes", "no"), "no"),
        ("Was Ada Lunt born before Piet Korver?", ("1 May 1900", "1901"), "yes"),
        ("Was Ada Lunt born after Piet Korver?", ("1 May 1900", "1901"), "no"),
        ("Was Ada Lunt born before Piet Korver?", ("1 May 1900", "1 May 1900"), "no"),
        ("Was Ada Lunt born before Piet Korver?", ("1900", "1 May 1900"), None),
        ("Was Ada Lunt born before Piet Korver?", ("1900", None), None),
        ("Did Ada Lunt die later than Piet Korver did?", ("1950", "1949"), "yes"),
        ("Is Ada Lunt older than Piet Korver?", ("1900", "1901"), "yes"),
        ("Is Ada Lunt younger than Piet Korver?", ("1900", "1901"), "no"),
        ("Did Ada Lunt live longer than Piet Korver?", ("1900", "1950", "1900", "1990"), "no"),
        ("Is the Orrin heavier than the Tam?", ("2 kg", "1.5 kg"), "yes"),
        ("Does Arden FC have fewer members than Dun FC?", ("1,200", "900"), "no"),
    ],
)
def test_comparisons_decide_by_their_values(
    question: str, answers: tuple[str | None, ...], verdict: str | None
) -> None:
    comparison = find_comparison(question)
    assert comparison is not None
    assert comparison.verdict(answers) == verdict


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote Night Ferry?",
        "Is Arden FC a club?",
        "Which is it?",
        "or, or or or?",
        ", or",
        "",
        "?",
        "Was Ada Lunt born two years before Piet Korver?",
        "Was Ada Lunt born before Piet Korver died?",
        "Was Ada Lunt born before her brother?",
        "Was Ada Lunt named after Piet Korver?",
        "Was Ada Lunt's mother born before Piet Korver?",
        "Was Ada Lunt born before the director of Night Ferry?",
        "Is Ada Lunt two years older than Piet Korver?",
        "Is Ada Lunt more famous than Piet Korver?",
        "Would Ada Lunt live longer than Piet Korver?",
    ],
)
def test_other_questions_compare_nothing(question: str) -> None:
    assert find_comparison(question) is None
