"""Dates in the notations that people use; ambiguous digits are no date."""

from __future__ import annotations

import calendar
from datetime import date as day_of
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.text.dates import (
    date_above,
    date_of,
    date_spans,
    dates_asked,
    dates_said,
    dates_within,
    find_date,
    stated_date,
    unit_date,
)
from hoptrail.types import Block, BlockKind, Kind, Span, Unit

DAYS = st.dates(min_value=day_of(1900, 1, 1), max_value=day_of(2099, 12, 31))
TEXTS = st.lists(
    st.sampled_from(
        [
            *(
                "5",
                "31",
                "0",
                "5.3.2024",
                "2024-03-05",
                "20240305",
                "March",
                "Feb.",
                "sept",
                "May",
                "2024",
                "1934",
                "of",
                "and",
            ),
            *("3rd", "12-14", "-", "to", ",", "\n", "\u00a0", "٥", "５", "😀", "\x00", "2024-13", "£2024", "24"),
        ]
    ),
    max_size=25,
).map(" ".join)


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


@given(DAYS)
def test_a_day_is_the_same_day_in_every_written_form(day: day_of) -> None:
    name, short = calendar.month_name[day.month], calendar.month_abbr[day.month]
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10 if day.day // 10 != 1 else 0, "th")
    forms = [
        *(
            day.isoformat(),
            f"{day:%Y/%m/%d}",
            f"{day:%Y.%m.%d}",
            f"{day:%Y_%m_%d}",
            f"{day:%Y%m%d}",
            f"IMG_{day:%Y%m%d}_1.jpg",
        ),
        *(f"{day.year}-{day.month}-{day.day}", f"{day.day}.{day.month}.{day.year}", f"{day:%d. %m. %Y}"),
        *(
            f"{day.day} {name} {day.year}",
            f"{day.day}{ending} of {name.upper()}, {day.year}",
            f"{day.day} {short}. {day.year}",
        ),
        *(
            f"{name} {day.day}, {day.year}",
            f"{short.lower()} {day.day}{ending} {day.year}",
            f"{short}. {day.day},\n{day.year}",
        ),
    ]
    for form in forms:
        assert find_date(form) == find_date(f"Notes of {form}, in full") == day.isoformat(), form
    for form in forms[9:]:
        undated = form.replace(str(day.year), "").rstrip(" ,\n")
        assert [iso for _, iso in dates_asked(f"what was on {undated}?")] == [f"--{day:%m-%d}"], undated


@given(DAYS)
def test_a_day_is_never_read_where_day_and_month_may_be_exchanged(day: day_of) -> None:
    for form in (f"{day:%d/%m/%Y}", f"{day:%m/%d/%Y}", f"{day:%d-%m-%Y}", f"{day:%d/%m/%y}"):
        assert find_date(form) == ""
        assert dates_asked(form) == ()


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2023-02-29",
            "30.2.2024",
            "2024-00-05",
            "20241305",
            "20240431",
            "0.5.2024",
            "32.1.2024",
            "31 February",
            "31 June",
        ),
        *(
            "0 March",
            "March 0",
            "March 32",
            "5 Mai 2024",
            "5 Marches 2024",
            "12 Mayor 2024",
            "Smarch 2024",
            "2024–03–05",
        ),
        *("1899-12-31", "2100-01-01", "5 March 1850", "5-March-2024", "March of 2024"),
    ],
)
def test_what_no_calendar_has_is_no_date(text: str) -> None:
    assert find_date(text) == ""
    assert date_spans(text) == []
    assert {iso[:2] for iso in dates_said(text)} <= {"--"}  # at most a day without its year: `5 March`


@pytest.mark.parametrize("day", ["0 March", "March 0", "31 February", "30th of Feb.", "April 31st", "99 May"])
def test_a_question_for_an_impossible_day_asks_for_no_day(day: str) -> None:
    assert dates_asked(f"what was on {day}?") == ()
    assert dates_said(f"It was on {day}.") == frozenset()


def test_29_february_is_a_day_without_a_year_and_in_leap_years() -> None:
    assert dates_asked("on 29 February") == (("29 February", "--02-29"),)
    assert [find_date(f"29 Feb {year}") for year in (1900, 2000, 2023, 2024)] == [
        "1900-02",
        "2000-02-29",
        "2023-02",
        "2024-02-29",
    ]


@given(TEXTS)
def test_dates_stand_where_they_say_in_order_and_apart(text: str) -> None:
    spans = date_spans(text)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    for start, end in spans:
        assert find_date(text[start:end]) in dates_within(text)
    for written, iso in dates_asked(text):
        assert written in text
        assert iso in dates_said(text)


@given(TEXTS)
def test_the_first_date_is_the_first_of_all_dates(text: str) -> None:
    days = [iso for iso in dates_within(text) if len(iso) > len("2024")]
    assert find_date(text) == (days[0] if days else "")
    assert set(days) <= dates_said(text)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("Open 1st to 3rd May 2024", []),
        ("from March to May 2024, and in July 2024", ["July 2024"]),
        ("3 May 2024 – 5 May 2024", ["3 May 2024", "5 May 2024"]),
        ("Jan/Feb 2024", []),
        ("between 5 March 2024 and 7 March 2024", ["5 March 2024", "7 March 2024"]),
        ("5 March 2024\r\n6 March 2024", ["5 March 2024", "6 March 2024"]),
        ("\x00 5 March 2024 \u200b 😀 7.3.2024", ["5 March 2024", "7.3.2024"]),
    ],
)
def test_only_a_period_with_one_year_has_no_day_of_its_own(text: str, dates: list[str]) -> None:
    assert [text[start:end] for start, end in date_spans(text)] == dates


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("1499, 1500, 1999 and 2099 and 2100", ["1500", "1999", "2099"]),
        ("the 1980s, flat 1934b, #1934, 1934/35, 1934%, $1934", []),
        ("in 1934. Then 1935, or (1936)?", ["1934", "1935", "1936"]),
        ("10:1934 and 1934:10 and 1,934", []),
        ("12024 and 20245 and 5.1934", []),
        ("March 1934 and 1934", ["1934-03", "1934"]),
    ],
)
def test_a_bare_year_is_told_from_other_numbers(text: str, years: list[str]) -> None:
    assert dates_within(text) == years


@pytest.mark.parametrize(
    ("line", "date"),
    [
        ("# Minutes, 5 March 2024", "2024-03-05"),
        ("| Last updated | 2024-03-05 |", "2024-03-05"),
        ("Effective as of 1 July 2024 until 2025-01-01", "2024-07-01"),
        ("Valid from March 2024", "2024-03"),
        ("REVISED: 5.3.2024", "2024-03-05"),
        ("2024-03-05.", "2024-03-05"),
        ("Port Arden, the 5th of March 2024", "2024-03-05"),
        ("Next review on 5 March 2024", ""),
        ("Replaces the edition before 5 March 2024", ""),
        ("5 March 2024 was a Tuesday", ""),
        ("", ""),
        ("\x00", ""),
    ],
)
def test_only_what_announces_a_date_gives_it_to_a_document(line: str, date: str) -> None:
    assert stated_date(line) == date


def test_the_innermost_heading_with_a_date_gives_it_and_then_the_title() -> None:
    assert date_above(("2023-01-01", "On 5 March 2024", "Votes"), "2022-02-02") == "2024-03-05"
    assert date_above(("Votes",), "Minutes 2022-02-02") == "2022-02-02"
    assert date_above((), "Minutes") == ""


def test_a_block_has_its_own_date_or_that_above_it() -> None:
    path = ("March 2024",)
    assert date_of(Block(BlockKind.PARAGRAPH, 0, 5, path=path, date="2024-03-07"), "2022-02-02") == "2024-03-07"
    assert date_of(Block(BlockKind.PARAGRAPH, 0, 5, path=path), "2022-02-02") == "2024-03"
    assert date_of(None, "2022-02-02") == "2022-02-02"


def test_a_unit_has_the_latest_date_of_its_blocks_or_that_of_its_title() -> None:
    dates = ("2023-05-01", "2024-03-05", "")
    blocks = tuple(Block(BlockKind.PARAGRAPH, at, at + 1, date=date) for at, date in enumerate(dates))
    unit = Unit("u", Kind.PASSAGE, "Minutes 2022-02-02", "abc", (Span("d", 0, 3),), blocks)
    assert unit_date(unit) == "2024-03-05"
    assert unit_date(Unit("u", Kind.PASSAGE, "Minutes 2022-02-02", "abc", (Span("d", 0, 3),))) == "2022-02-02"
    assert unit_date(Unit("u", Kind.PASSAGE, "Minutes", "abc", (Span("d", 0, 3),), blocks[2:])) == ""


@pytest.mark.parametrize(
    "text", ["1 " * 100_000, "1" + " " * 200_000, "5 March" + " " * 200_000, "March " * 50_000, "1." * 100_000]
)
def test_dates_are_looked_for_in_linear_time(text: str) -> None:
    assert find_date(text) == ""  # each takes minutes where a pattern reads on from every character
    assert not date_spans(text)
    assert not dates_within(text)
