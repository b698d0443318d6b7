"""Calendars and contacts apart from their blocks (see `blocks/calendar`): odd dates and rules, folded lines, and damaged ends."""

from __future__ import annotations

import pytest

from documents.block_lines import lines_of
from hoptrail.documents.calendars import parse_calendar
from hoptrail.documents.limits import DEFAULT_LIMITS, Unreadable


def row(*lines: str, kind: str = "VEVENT") -> str:
    """The cells of the only entry, which has these lines, after its name."""
    (line,) = [
        line
        for line in lines_of(
            "calendar", "\n".join(("BEGIN:VCALENDAR", f"BEGIN:{kind}", *lines, f"END:{kind}", "END:VCALENDAR"))
        )
        if line.startswith("row")
    ]
    return line.split(" | ", 3)[3].partition(" ¦ ")[2]


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (
            ("DTSTART;TZID=Europe/Rome:20260303T190000", "DTEND;TZID=Europe/Rome:20260303T203000"),
            "Start=3 March 2026 at 19:00 ¦ End=3 March 2026 at 20:30",
        ),
        (("DTSTART;VALUE=DATE:20260714", "DTEND;VALUE=DATE:20260715"), "Start=14 July 2026"),
        (("DTSTART;VALUE=DATE:20260714", "DTEND;VALUE=DATE:20260716"), "Start=14 July 2026 ¦ End=15 July 2026"),
        (("DTSTART:20240229", "DTEND:20240301"), "Start=29 February 2024"),
        (("DTSTART:20240101T000000Z", "DTEND:20240101T000000Z"), "Start=1 January 2024 at 00:00 UTC"),
        (("DTSTART:20261399", "DTEND:tomorrow"), "Start=20261399 ¦ End=tomorrow"),
        (("DURATION:P1DT3H", "EXDATE:20260303,20260310"), "Duration=1 days 3 h ¦ Except=3 March 2026, 10 March 2026"),
    ],
)
def test_days_are_written_out_and_what_is_none_stays(lines: tuple[str, ...], shown: str) -> None:
    assert row("SUMMARY:Fair", *lines) == shown


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("FREQ=DAILY", "daily"),
        ("FREQ=HOURLY;INTERVAL=6", "every 6 hours"),
        ("FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20260401", "weekly, on Monday and Wednesday, until 1 April 2026"),
        ("FREQ=MONTHLY;BYDAY=1MO,-1FR;INTERVAL=3", "every 3 months, on first Monday and last Friday"),
        ("FREQ=MONTHLY;BYDAY=+2TU,9TU", "monthly, on second Tuesday and 9. Tuesday"),
        ("FREQ=MONTHLY;BYSETPOS=-1;BYDAY=MO,TU", "monthly, on last Monday or Tuesday"),
        ("FREQ=YEARLY;BYMONTH=3,12;BYMONTHDAY=24", "yearly, on day 24, in March and December"),
        ("FREQ=YEARLY;COUNT=4", "yearly, 4 times"),
        ("FREQ=DAILY;UNTIL=soon", "daily, until soon"),
    ],
)
def test_rules_are_sentences(rule: str, shown: str) -> None:
    assert row("SUMMARY:Choir", f"RRULE:{rule}") == f"Repeats={shown}"


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (
            ('ATTENDEE;CN="Brun, Ada";ROLE=CHAIR:mailto:ada@e.org', "ATTENDEE:MAILTO:bo@e.org"),
            "Attendee=Brun, Ada (ada@e.org), bo@e.org",
        ),
        (("URL:https://e.org/a:b?c;d",), "Address=https://e.org/a:b?c;d"),
        (("LOCATION:Quay\\, room\\; 4\\nUpstairs",), "Place=Quay, room; 4 Upstairs"),
        (("LOCATION:Qu", " ay by th", "\te mill"), "Place=Quay by the mill"),
        (("ATTACH;ENCODING=BASE64:QUJD", "RRULE:nonsense", "X-NOTE:no"), ""),
        (("BEGIN:VALARM", "DESCRIPTION:Wake", "LOCATION:Bed", "END:VALARM", "STATUS:CONFIRMED"), "Status=CONFIRMED"),
    ],
)
def test_fields_are_read_as_they_are_meant(lines: tuple[str, ...], shown: str) -> None:
    assert row("SUMMARY:Choir", *lines) == shown


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            (
                "FN:Ada Brun",
                "TEL;TYPE=HOME,VOICE:+41 1",
                "TEL;TYPE=CELL:+41 2",
                "TEL;TYPE=HOME:tel:+41 3",
                "ADR;TYPE=WORK:;;Quay 4;Foss;;88131;",
            ),
            "Ada Brun ¦ Phone (home)=+41 1, +41 3 ¦ Phone (cell)=+41 2 ¦ Address (work)=Quay 4, Foss, 88131",
        ),
        (("N:Brun;Ada;M.;Dr.;PhD", "ORG:Yard\\; Sons;Sails"), "Dr. Ada M. Brun PhD ¦ Organisation=Yard; Sons, Sails"),
        (("N:Brun", "BDAY:--0609"), "Brun ¦ Birthday=--0609"),
        (("FN:עדה ברון", "item1.TEL:+1", "item1.X-ABLabel:Boat"), "עדה ברון ¦ Phone=+1"),
        (("N;ENCODING=QUOTED-PRINTABLE:B=C3=B6hm;J=C3=BC=", "rgen", "PHOTO;ENCODING=B:AAAA", " BBBB"), "Jürgen Böhm"),
    ],
)
def test_contacts_have_their_name_and_the_kinds_of_their_numbers(lines: tuple[str, ...], expected: str) -> None:
    name = expected.partition(" ¦ ")[0]
    card = "\n".join(("BEGIN:VCARD", "VERSION:3.0", *lines, "END:VCARD"))
    assert lines_of("calendar", card) == [f"heading 1 |  | line 1 | {name}", f"row | {name} | line 1 | Name={expected}"]


def test_long_texts_are_paragraphs_below_their_entry() -> None:
    text = (
        "BEGIN:VJOURNAL\r\nDESCRIPTION:One.\\nTwo\\, three.\\n\\n  Four \\\\ five.\r\nCOMMENT:Six\r\nEND:VJOURNAL\r\n"
    )
    assert lines_of("calendar", text) == [
        "heading 1 |  | line 1 | Note",
        "paragraph | Note | line 1 | One.\\nTwo, three.",
        "paragraph | Note | line 1 |   Four \\\\ five.",
        "paragraph | Note | line 1 | Six",
    ]


def test_an_entry_that_the_end_of_the_file_cuts_off_is_read_as_far_as_it_goes() -> None:
    events = (
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Choir\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:Fair\nLOCATION:Quay\nBEGIN:VA"
    )
    assert lines_of("calendar", events)[2:] == [
        "heading 1 |  | line 5 | Fair",
        "row | Fair | line 5 | Event=Fair ¦ Place=Quay",
    ]
    assert lines_of("calendar", f"END:VEVENT\n{events}")[2:3] == ["heading 1 |  | line 6 | Fair"]


@pytest.mark.parametrize(
    "text", ["", "text", "BEGIN:VCALENDAR\nEND:VCALENDAR", "BEGIN:VTIMEZONE\nTZID:x\nEND:VTIMEZONE"]
)
def test_a_file_without_entries_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="holds no events, tasks or contacts"):
        parse_calendar(text.encode(), DEFAULT_LIMITS)
