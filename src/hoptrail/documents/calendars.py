"""Parses calendars (iCalendar, RFC 5545) and contacts (vCard, RFC 6350): a heading and a row of fields for each entry.

A long description follows as paragraphs. Pictures, sounds and time zones are left out. The days of events do not date the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
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
    {"DTSTART": "Start", "DTEND": "End", "DUE": "Due", "COMPLETED": "Completed", "RRULE": "Repeats"}
    | {"LOCATION": "Place", "ORGANIZER": "Organiser", "ATTENDEE": "Attendee", "STATUS": "Status"}
    | {"CATEGORIES": "Categories", "URL": "Address", "NICKNAME": "Nickname", "ORG": "Organisation"}
    | {"TITLE": "Position", "ROLE": "Role", "TEL": "Phone", "EMAIL": "Mail", "ADR": "Address"}
    | {"BDAY": "Birthday", "ANNIVERSARY": "Anniversary"}
)
"""What the fields are called, in the order in which they are read."""
_NAMES, _TEXTS = ("SUMMARY", "FN"), ("DESCRIPTION", "NOTE", "COMMENT")
_MOMENTS = frozenset(("DTSTART", "DTEND", "DUE", "COMPLETED", "BDAY", "ANNIVERSARY"))
_PARTED = frozenset(("ADR", "ORG", "N"))
_KINDS = frozenset(("home", "work", "cell", "mobile", "fax", "pager"))


@dataclass(slots=True)
class _Entry:
    """An event, task or contact (`kind`; empty for a part that is left out): its name, fields and longer texts."""

    kind: str
    place: str
    name: str = ""
    fields: dict[str, str] = field(default_factory=dict)
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
        elif name in _TEXTS:
            self.texts.append(_plain(value).strip())
        elif name in _FIELDS and (shown := _shown(name, value, written)):
            kinds = sorted(_KINDS & set(re.findall(r"\w+", written.lower())))
            label = f"{_FIELDS[name]} ({', '.join(kinds)})" if kinds else _FIELDS[name]
            self.fields[label] = f"{self.fields[label]}, {shown}" if label in self.fields else shown

    def pieces(self) -> Iterator[Piece]:
        yield Piece(BlockKind.HEADING, self.name or self.kind, 1, place=self.place)
        cells = (*([(self.kind, self.name)] if self.name else []), *self.fields.items())
        yield Piece(BlockKind.ROW, cells=cells, place=self.place, labelled=True)
        for text in self.texts:
            for paragraph in re.split(r"\n\s*\n", text):
                yield Piece(BlockKind.PARAGRAPH, paragraph, place=self.place)


def parse_calendar(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a calendar or contacts; the title of a calendar is the name that programs give it.
    Raises: Unreadable: the file has no entries.
    """
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
    pieces = [piece for entry in entries if entry.kind for piece in entry.pieces()]
    if not pieces:
        raise Unreadable("holds no events, tasks or contacts")
    return assemble(title, pieces, decoded.notes, limits.text)


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers. A line that begins with a space goes on with the one before, as does one in quoted-printable
    after a line that ends with `=`.
    """
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
    """The value of a field as a person reads it."""
    if name in _MOMENTS and (moment := _MOMENT.match(value)):
        year, month, day, hour, minute = moment.groups()
        try:
            on = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0))  # noqa: DTZ001 - of its own zone
        except ValueError:
            return value
        clock = f" at {on:%H:%M}{' UTC' if value.endswith('Z') else ''}" if hour else ""
        return f"{on.day} {on:%B %Y}{clock}"
    if name == "RRULE":
        rule = dict(part.split("=", 1) for part in value.split(";") if "=" in part)
        ends = _shown("DUE", rule["UNTIL"], "") if "UNTIL" in rule else ""
        times = f"{rule['COUNT']} times" if "COUNT" in rule else ""
        words = [rule.get("FREQ", "").lower(), rule.get("BYDAY", ""), times, f"until {ends}" if ends else ""]
        return ", ".join(filter(None, words))
    if name in ("ORGANIZER", "ATTENDEE"):
        called = re.search(r";CN=(\"[^\"]*\"|[^;:]*)", written, re.IGNORECASE)
        address = re.sub(r"^mailto:", "", value, flags=re.IGNORECASE)
        return f"{called[1].strip(chr(34))} ({address})" if called else address
    if name in _PARTED:
        return ", ".join(filter(None, (squeeze(_plain(part)) for part in re.split(r"(?<!\\);", value))))
    return squeeze(_plain(re.sub(r"^(?:tel|mailto):", "", value)))


def _plain(value: str) -> str:
    return _ESCAPED.sub(lambda escaped: "\n" if escaped[1] in "nN" else escaped[1], value)
