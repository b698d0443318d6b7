"""Values read from short answers, and comparisons decided by them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.text.lexicon import COUNTRIES
from hoptrail.text.values import (
    Date,
    countries_of,
    country_of,
    date_order,
    read_amount,
    read_date,
    read_number,
    same_answer,
    same_value,
)


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
    ("text", "date"),
    [
        ("May 5th, 2019", (2019, 5, 5)),
        ("1900, May 3", (1900, 5, 3)),
        ("3\u00a0May\n1900", (1900, 5, 3)),
        ("2024-03-05", (2024, 3, 5)),
        ("2024-03", (2024, 3, 0)),
        ("12/05/1990", (1990, 0, 0)),
        ("the 1980s", (1980, 0, 0)),
        ("c. 1204", (1204, 0, 0)),
        ("800 AD", (800, 0, 0)),
        ("5 June 300 BC", (-300, 6, 5)),
        ("20th century BC", (-1900, 0, 0)),
        ("between 1914 and 1918", (1914, 0, 0)),
        ("12,000 people", None),
        ("1,200", None),
        ("March 5,1990", (1990, 3, 5)),
        ("5 March", None),
        ("the year 12345", None),
        ("", None),
        ("\x00😀", None),
    ],
)
def test_years_centuries_and_iso_dates_are_told_from_other_figures(text: str, date: Date | None) -> None:
    assert read_date(text) == date


DATES = st.tuples(st.integers(-50, 2100), st.integers(0, 12), st.integers(0, 31))


@given(DATES, DATES)
def test_the_order_of_dates_turns_with_them_and_unknown_parts_leave_it_open(one: Date, other: Date) -> None:
    order = date_order(one, other)
    back = date_order(other, one)
    assert back == (None if order is None else -order)
    if 0 not in one and 0 not in other:
        assert order == (one > other) - (one < other)
    assert (date_order(one, one) == 0) == (0 not in one)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3,5 kg", 3.5),
        ("-3,5", -3.5),
        ("12,50 EUR", 12.5),
        ("1,5 million", 1_500_000),
        ("it is 3,5.", 3.5),
        ("1,234", 1234),
        ("1,234,567.89", 1_234_567.89),
        ("12,00,000", 1_200_000),
        ("5, or 6", 5),
        ("$5 or €1,000", 5),
        ("€1,000", 1000),
        ("5%", 5),
        ("(-3)", -3),
        ("0.5", 0.5),
        ("1.5.2", 1.5),
        ("3.2 billion", 3_200_000_000),
        ("٣", 3),
        ("number 5 of twenty", 5),
    ],
)
def test_the_first_number_is_read_with_its_sign_and_its_separators(text: str, number: float) -> None:
    assert read_number(text) == pytest.approx(number)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Ten Thousand", 10_000),
        ("thousand and one", 1001),
        ("twenty one", 21),
        ("twenty-one hundred", 2100),
        ("two hundred thousand", 200_000),
        ("one hundred and one thousand and five", 101_005),
        ("ten or eleven", 10),
        ("ninety", 90),
        ("a couple", None),
        ("tenor", None),
        ("", None),
        ("½ 😀 \x00", None),
    ],
)
def test_numbers_in_words_are_added_and_multiplied(text: str, number: float | None) -> None:
    assert read_number(text) == number


def test_times_that_something_takes_are_read_in_seconds() -> None:
    assert [read_amount(text) for text in ("90 minutes", "about 2 hours", "three weeks")] == [5400, 7200, 1_814_400]
    assert [read_amount(text) for text in ("12 seats", "£45", "soon")] == [12, 45, None]


@given(st.integers(-(10**12), 10**12))
def test_a_whole_number_is_read_in_every_way_of_writing_it(number: int) -> None:
    for written in (
        f"{number}",
        f"{number:,}",
        f"about {number:,} of them.",
        f"({number:,})",
        f"{number}".replace("-", "−"),
    ):
        assert read_number(written) == number


@given(st.integers(-(10**6), 10**6), st.sampled_from([1, 2]))
def test_a_comma_before_one_or_two_digits_is_that_of_a_decimal(number: int, places: int) -> None:
    written = f"{number / 10**places:.{places}f}"
    assert read_number(written.replace(".", ",")) == read_number(written) == float(written)


@pytest.mark.parametrize("country", COUNTRIES)
def test_every_country_is_named_by_itself_and_by_its_people(country: str) -> None:
    assert country_of(country.title()) == country_of(f"it was in {country.upper()}.") == country
    for people in COUNTRIES[country].split():
        assert country_of(f"a {people} boat") == country


@pytest.mark.parametrize(
    ("text", "countries"),
    [
        ("Germany and France", {"germany", "france"}),
        ("Brazilian-American", {"brazil", "united states"}),
        ("Italian\u2013Swiss / Dutch", {"italy", "switzerland", "netherlands"}),
        ("Germany, and Peru", {"germany", "peru"}),
        ("U.K.-US", {"united kingdom", "united states"}),
        ("New\n Zealand", {"new zealand"}),
        ("TELL US MORE", set()),
        ("Indiana and Niger", set()),
        ("", set()),
    ],
)
def test_countries_joined_in_an_answer_are_read_one_by_one(text: str, countries: set[str]) -> None:
    assert countries_of(text) == countries


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ida Berg", "Berg", True),
        ("IDA BERG", "ida berg", True),
        ("Zu\u0308rich", "Zürich", True),
        ("14 March 1871", "March 1871", True),
        ("U.S.", "the United States", True),
        ("Danish", "Denmark", True),
        ("12 kg", "12", True),
        ("the", "The.", True),
        ("1871", "1872", False),
        ("Ida Berg", "Ida Holm", False),
        ("Danish", "Norwegian", False),
        ("the", "a", False),
        ("yes", "no", False),
        ("Berg", "", False),
    ],
)
def test_answers_are_the_same_where_one_says_what_the_other_says(one: str, other: str, *, same: bool) -> None:
    assert same_answer(one, other) is same_answer(other, one) is same


@pytest.mark.parametrize(
    "text", ["1," * 100_000, "1" * 200_000, "5 " * 100_000, "1st " * 60_000, "a-" * 100_000, " " * 200_000]
)
def test_values_are_looked_for_in_linear_time(text: str) -> None:
    read_date(text)  # each takes minutes where a pattern reads on from every character
    countries_of(text)
    same_value(text, "Peru")
    read_number(text)
