"""Times in questions: which dates fit, by exact comparison, and answers from what is dated so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.questions.times import TimeAsked, time_asked
from hoptrail.language.tasks import Read
from hoptrail.models.question_tagger import TimeRelation
from hoptrail.types import Block, BlockKind, Unit

MakeUnit = Callable[[str, str], Unit]

FITS = (
    ("before 2024", "2023-12-31 2023 1900", "2024 2024-01 2025"),
    ("until 2024", "2023 2024 2024-05", "2025"),
    ("before June 2024", "2024-05-31 2024", "2024-06 2024-06-01 2024-07 2025"),
    ("since 2024", "2024 2024-01-01 2025", "2023-12-31"),
    ("after 5 March 2024", "2024-03-06 2024-03 2024", "2024-03-05 2024-02 2023"),
    ("in 2024", "2024 2024-05 2024-05-01", "2023 2025-01"),
    ("between May 2023 and May 2024", "2023-05-01 2023 2023-12 2024-05-31", "2023-04 2024-06 2025"),
)
NAMES = ("Who coaches Tidal 1998?", "Where is the first aid box?", "When does the last bus leave?", "Who wrote 1984?")


@pytest.mark.parametrize(("said", "fitting", "others"), FITS)
def test_dates_are_compared_as_far_as_they_are_known(said: str, fitting: str, others: str) -> None:
    time = time_asked(f"Who chaired the club {said}?")
    assert time
    assert [date for date in (*fitting.split(), *others.split()) if time.fits([date], "")] == fitting.split()
    assert time.fits([], "")
    assert time.question == ("Who chaired the club in 2024?" if said == "in 2024" else "Who chaired the club?")


def test_what_was_in_a_year_may_be_said_later() -> None:
    time = TimeAsked(TimeRelation.IN, ("2024",), "in 2024", "")
    assert [above for above in ("2023-12", "2024-02", "2025-01") if time.fits([], above)] == ["2024-02", "2025-01"]


def test_times_without_a_date_and_names_restrict_nothing() -> None:
    assert [question for question in (*NAMES, "Who chaired the club in June?") if time_asked(question)] == []


def test_times_are_reckoned_from_today() -> None:
    today = datetime.now(UTC).astimezone().date()
    for words, date in {"last year": f"{today.year - 1}", "this month": f"{today:%Y-%m}"}.items():
        time = time_asked(f"Who chaired the club {words}?")
        assert time
        assert time.ends == (date,)


@pytest.fixture
def minutes(passage: MakeUnit) -> list[Unit]:
    """Minutes of three years, and what has no date."""
    chairs = {"2021-05-04": "Ada Lunt", "2023-05-09": "Bo Oke", "2025-05-13": "Cy Foss"}
    units = []
    for date, name in chairs.items():
        unit = passage(f"Minutes {date}", f"The chair of the rowing club is {name}.")
        start = unit.sources[0].start
        block = Block(BlockKind.PARAGRAPH, start, start + len(unit.text), ("Minutes",), date=date)
        units.append(replace(unit, blocks=(block,)))
    return [*units, passage("Rules", "The key of the boat house hangs behind the stove.")]


@pytest.mark.parametrize(
    ("question", "answer", "note"),
    [
        ("Who was chair of the rowing club before 2023?", "Ada Lunt", "“before 2023”: 2021-05-04"),
        ("Who chairs the rowing club since 2024?", "Cy Foss", "“since 2024”: 2025-05-13"),
        ("Who is the most recent chair of the rowing club?", "Cy Foss", "“most recent”: 2021-05-04 to 2025-05-13"),
        ("Who was chair of the rowing club before 2001?", None, "No date that was found fits “before 2001”"),
        ("Where does the key of the boat house hang?", "behind the stove", ""),
    ],
)
def test_an_answer_is_from_what_is_dated_so(minutes: list[Unit], question: str, answer: str | None, note: str) -> None:
    found = OfflineLanguage().perform(Read(question, tuple(minutes))).value
    likeliest = found.answer or (found.withheld.answer if found.withheld else "")
    assert answer in likeliest if answer else found.answer is None
    assert [note in one for one in found.notes] == [True] * bool(note)
