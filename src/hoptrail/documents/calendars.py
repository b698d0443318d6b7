"""Parses calendars (iCalendar, RFC 5545) and contacts (vCard, RFC 6350): a heading and a row of fields for each entry.

A long description follows as paragraphs. Pictures, sounds and time zones are left out. The days of events do not date the file.
"""

from __future__ import annotations

import re
from calendar import day_name, month_name
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from quopri import decodestring

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_LINE = re.compile(
    r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<parameters>(?:;[^:\"]*(?:\"[^\"]*\")?)*):(?P<value>.*)", re.DOTALL
)
_ENCODING = re.compile(r";ENCODING=([^;:]*)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d))?")
_ENTRIES = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Note", "VCARD": "Name"}
_FIELDS = (
    {"DTSTART": "Start", "DTEND": "End", "DURATION": "Duration", "DUE": "Due", "COMPLETED": "Completed"}
    | {"RRULE": "Repeats", "RDATE": "Also", "EXDATE": "Except"}
    | {"LOCATION": "Place", "ORGANIZER": "Organiser", "ATTENDEE": "Attendee", "STATUS": "Status"}
    | {"CATEGORIES": "Categories", "URL": "Address", "NICKNAME": "Nickname", "ORG": "Organisation"}
    | {"TITLE": "Position", "ROLE": "Role", "TEL": "Phone", "EMAIL": "Mail", "ADR": "Address"}
    | {"BDAY": "Birthday", "ANNIVERSARY": "Anniversary"}
)
"""What the fields are called, in the order in which they are read."""
_NAMES, _TEXTS = ("SUMMARY", "FN"), ("DESCRIPTION", "NOTE", "COMMENT")
_MOMENTS = frozenset(("DTSTART", "DTEND", "DUE", "COMPLETED", "BDAY", "ANNIVERSARY", "RDATE", "EXDATE"))
_PARTED = frozenset(("ADR", "ORG"))
_LENGTHS = {"W": "weeks", "D": "days", "H": "h", "M": "min", "S": "s"}
_WEEKDAYS = dict(zip(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), day_name, strict=True))
_ORDINALS = {"1": "first ", "2": "second ", "3": "third ", "4": "fourth ", "5": "fifth ", "-1": "last "}
_ORDINALS |= {"-2": "second to last ", "-3": "third to last ", "-4": "fourth to last ", "": ""}
_KINDS = frozenset(("home", "work", "cell", "mobile", "fax", "pager"))


@dataclass(slots=True)
class _Entry:
    """An event, task or contact (an empty `kind` is left out). `written`: fields by their names in the file, as they are."""

    kind: str
    place: str
    name: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def add(self, name: str, value: str, written: str) -> None:
        """Add a line with this name and value; `written`: its parameters."""
        encoding = "".join(_ENCODING.findall(written.upper())[-1:])
        if encoding in ("B", "BASE64") or value.startswith("data:"):
            return
        if encoding == "QUOTED-PRINTABLE":
            value = decodestring(value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
        if name in _NAMES:
            self.name = squeeze(_plain(value))
        elif name == "N" and not self.name:  # as some programs write it alone
            family, *given = f"{value};;;;".split(";")[:5]
            self.name = squeeze(_plain(" ".join((given[2], given[0], given[1], family, given[3]))))
        elif name in _TEXTS:
            self.texts.append(_plain(value).strip())
        elif name in _FIELDS and (shown := _shown(name, value, written)):
            kinds = sorted(_KINDS & set(re.findall(r"\w+", written.lower())))
            label = f"{_FIELDS[name]} ({', '.join(kinds)})" if kinds else _FIELDS[name]
            self.fields[label] = f"{self.fields[label]}, {shown}" if label in self.fields else shown
            self.written[name] = value

    def pieces(self) -> Iterator[Piece]:
        yield Piece(BlockKind.HEADING, self.name or self.kind, 1, place=self.place)
        if (end := self.written.get("DTEND", "")) > self.written.get("DTSTART", ""):
            self.fields["End"] = _moment(end, is_end=True)
        if self.fields.get("End") == self.fields.get("Start"):
            self.fields.pop("End", "")
        cells = (*([(self.kind, self.name)] if self.name else []), *self.fields.items())
        yield Piece(BlockKind.ROW, cells=cells, place=self.place, labelled=True)
        for text in self.texts:
            for paragraph in re.split(r"\n\s*\n", text):
                yield Piece(BlockKind.PARAGRAPH, paragraph, place=self.place)


def parse_calendar(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a calendar, whose title is the name that programs give it, or contacts. Raises: Unreadable: it has no entries."""
    decoded = decode(data)
    title, opened, entries = "", list[_Entry](), list[_Entry]()
    for number, line in _unfolded(decoded.text):
        match = _LINE.fullmatch(line)
        name = match["name"].upper() if match else ""
        if match and name == "BEGIN":
            opened.append(_Entry(_ENTRIES.get(match["value"].strip().upper(), ""), f"line {number}"))
        elif name == "END" and opened:
            entries.append(opened.pop())
        elif match and name == "X-WR-CALNAME":
            title = _plain(match["value"])
        elif match and opened:
            opened[-1].add(name, match["value"], match["parameters"])
    entries += opened  # the file ends within them
    pieces = [piece for entry in entries if entry.kind for piece in entry.pieces()]
    if not pieces:
        raise Unreadable("holds no events, tasks or contacts")
    return assemble(title, pieces, decoded.notes, limits.text)


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers. One goes on with the line before after a space, and in quoted-printable after a `=`."""
    last, first = "", 1
    for number, line in enumerate(text.split("\n"), 1):
        if line[:1] in (" ", "\t") and last:
            last += line[1:]
        elif last.endswith("=") and "QUOTED-PRINTABLE" in last.partition(":")[0].upper():
            last = last[:-1] + line
        else:
            yield first, last
            last, first = line, number
    yield first, last


def _shown(name: str, value: str, written: str) -> str:
    if name in _MOMENTS:
        return ", ".join(_moment(one) for one in value.split(","))
    if name == "DURATION":
        return " ".join(f"{number} {_LENGTHS[unit]}" for number, unit in re.findall(r"(\d+)([WDHMS])", value))
    if name == "RRULE":
        return _rule(dict(part.split("=", 1) for part in value.split(";") if "=" in part))
    if name in ("ORGANIZER", "ATTENDEE"):
        called = re.search(r";CN=(\"[^\"]*\"|[^;:]*)", written, re.IGNORECASE)
        address = re.sub(r"^mailto:", "", value, flags=re.IGNORECASE)
        return f"{called[1].strip(chr(34))} ({address})" if called else address
    if name in _PARTED:
        return ", ".join(filter(None, (squeeze(_plain(part)) for part in re.split(r"(?<!\\);", value))))
    return squeeze(_plain(re.sub(r"^(?:tel|mailto):", "", value)))


def _moment(value: str, *, is_end: bool = False) -> str:
    """A day, and its time if it has one. `is_end`: a day without a time is the one after the last."""
    if (moment := _MOMENT.match(value)) is None:
        return value
    year, month, day, hour, minute = moment.groups()
    try:
        on = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0))  # noqa: DTZ001 - of its own zone
        on -= timedelta(days=is_end and not hour)
    except (ValueError, OverflowError):
        return value
    clock = f" at {on:%H:%M}{' UTC' if value.endswith('Z') else ''}" if hour else ""
    return f"{on.day} {on:%B %Y}{clock}"


def _rule(rule: dict[str, str]) -> str:
    """When an event repeats: `every 2 weeks, on Tuesday, 3 times`."""
    often, number = rule.get("FREQ", "").lower(), rule.get("INTERVAL", "1")
    unit = "day" if often == "daily" else often.removesuffix("ly")
    days = re.findall(r"([+-]?\d*)(MO|TU|WE|TH|FR|SA|SU)", rule.get("BYDAY", ""))
    weekdays = [f"{_ordinal(which)}{_WEEKDAYS[day]}" for which, day in days]
    places = "and ".join(_ordinal(which) for which in rule.get("BYSETPOS", "").split(","))
    months = [month_name[int(one)] for one in re.findall(r"\b(?:1[0-2]|[1-9])\b", rule.get("BYMONTH", ""))]
    words = [
        often if number == "1" else f"every {number} {unit}s",
        f"on {places}{(' or ' if places else ' and ').join(weekdays)}" if weekdays else "",
        f"on day {rule['BYMONTHDAY']}" if "BYMONTHDAY" in rule else "",
        f"in {' and '.join(months)}" if months else "",
        f"{rule['COUNT']} times" if "COUNT" in rule else "",
        f"until {_moment(rule['UNTIL'])}" if "UNTIL" in rule else "",
    ]
    return ", ".join(filter(None, words))


def _ordinal(written: str) -> str:
    which = written.lstrip("+")
    return _ORDINALS.get(which, f"{which}. ")


def _plain(value: str) -> str:
    return _ESCAPED.sub(lambda escaped: "\n" if escaped[1] in "nN" else escaped[1], value)
