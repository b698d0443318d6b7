"""Dates in the notations that people use; ambiguous digits are no date."""

from __future__ import annotations

import pytest

from hoptrail.text.dates import date_spans, dates_asked, dates_said, dates_within, find_date, stated_date


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2024-03-05", "2024-03-05"),
        ("Minutes of 2024/3/5, in full", "2024-03-05"),
        ("2024_03_05 notes", "2024-03-05"),
        ("2024-03-05T10:00:00+01:00", "2024-03-05"),
        ("notes-20240305-final", "2024-03-05"),
        ("5.3.2024", "2024-03-05"),
        ("am 05. 03. 2024", "2024-03-05"),
        ("5 March 2024", "2024-03-05"),
        ("the 1st of May, 1999", "1999-05-01"),
        ("Sept. 21st, 2020", "2020-09-21"),
        ("Tuesday, DECEMBER 31 2019", "2019-12-31"),
        ("March 2024", "2024-03"),
        ("Report 2024-03", "2024-03"),
        ("29 February 2024", "2024-02-29"),
    ],
)
def test_dates_are_found(text: str, date: str) -> None:
    assert find_date(text) == date


@pytest.mark.parametrize(
    "text",
    [
        "",
        "March",
        "2024",
        "version 3.5.2",
        "3/5/2024",
        "2024-13-01",
        "1234567820240305",
        "May I ask 2024 people",
        "12024-03-05",
        "2024-03-055",
        "decided 2024",
        "5.3.24",
    ],
)
def test_incomplete_and_ambiguous_dates_are_not_read(text: str) -> None:
    assert find_date(text) == ""


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("From 5 March 2024 to 2024-04-01", "2024-03-05"),
        ("March 2024, on 2024-03-07", "2024-03"),
        ("2024-13-45, that is 2024-03-05", "2024-03-05"),
        ("31 February 2024", "2024-02"),
        ("5 March 2024", "2024-03-05"),  # not the month `March 2024` within it
    ],
)
def test_the_first_valid_date_counts(text: str, date: str) -> None:
    assert find_date(text) == date


@pytest.mark.parametrize(
    ("question", "dates"),
    [
        ("What was decided on 5 February 2024?", (("5 February 2024", "2024-02-05"),)),
        ("who is on the ferry on sunday 10 november", (("10 november", "--11-10"),)),
        ("costs in March 2023 and on 2024-01-02", (("March 2023", "2023-03"), ("2024-01-02", "2024-01-02"))),
        ("how long is quay 4", ()),
    ],
)
def test_questions_give_dates_with_and_without_a_year(question: str, dates: tuple[tuple[str, str], ...]) -> None:
    assert dates_asked(question) == dates


def test_a_date_has_the_forms_day_day_without_year_and_month() -> None:
    assert dates_said("On 5 February 2024") == {"2024-02-05", "--02-05", "2024-02"}
    assert dates_said("on 5 February") == {"--02-05"}


@pytest.mark.parametrize(
    ("line", "date"),
    [
        ("5 March 2024", "2024-03-05"),
        ("Leith, 5 March 2024", "2024-03-05"),
        ("**Date:** 2024-03-05", "2024-03-05"),
        ("Adopted by the general meeting on 17 April 2024. In force from 1 June 2024.", "2024-04-17"),
        ("These rules are in force since 3 May 2022 and bind all.", "2022-05-03"),
        ("As of September 2022. Errors to Beate.", "2022-09"),
        ("Version 11, January 2025. Replaces version 10 (2022).", "2025-01"),
        ("Minutes of the meeting of 5 May 2020", "2020-05-05"),
    ],
)
def test_a_line_at_the_beginning_gives_its_document_a_date(line: str, date: str) -> None:
    assert stated_date(line) == date


@pytest.mark.parametrize(
    "line",
    [
        "Ida Berg was born on 5 March 1931 in Varden.",
        "Born 1 May 1931",
        "The meeting of 5 May 2020 chose Ida.",
        "Present: Ida. Next meeting 5 June 2024",
        "Status: in production since March 2022",
        "Valid until 5 May 2026",
        "No date",
    ],
)
def test_other_dates_are_not_those_of_the_document(line: str) -> None:
    assert stated_date(line) == ""


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("Meeting - 12 March 2024", ["12 March 2024"]),
        ("Camp 12-14 March 2024", []),
        ("Work in March and April 2024, paid on 2024-05-02", ["2024-05-02"]),
        ("Release 3.2.7 (20 Oct 2022)", ["20 Oct 2022"]),
        ("12.3.2024 and 5.4.2024", ["12.3.2024", "5.4.2024"]),
    ],
)
def test_dates_where_they_stand_without_the_ends_of_periods(text: str, dates: list[str]) -> None:
    assert [text[start:end] for start, end in date_spans(text)] == dates


def test_all_dates_with_a_year_are_found_in_their_order() -> None:
    text = "In 1934, then on 5 March 2024 (not 2024-1, £2024, 12.2024, 2024.5 or 20240 of them) and in June 2023."
    assert dates_within(text) == ["1934", "2024-03-05", "2023-06"]
