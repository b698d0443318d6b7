"""The entries of Debian changelogs and NEWS files, and of GNU ChangeLogs.

A Debian entry begins with package, version and distribution, and ends with a line that has its author and date
(deb-changelog(5)). A GNU entry begins with a line that has the day, the author and an address. A text that begins with such a
line is a changelog.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hoptrail.text.dates import find_date

_HEADING = (
    r"(?P<title>[A-Za-z0-9][A-Za-z0-9+.-]* \([^()\s]{1,200}\)(?: [A-Za-z0-9][A-Za-z0-9+.-]*)+; ?\w[^\n]*)(?:\n|\Z)"
)
_BEGINS = re.compile(rf"\s*{_HEADING}")
_DATED = r"(?P<title>(?P<day>\d{4}-\d\d-\d\d)[ \t]+\S[^\n<>]{0,80}<[^\n<>]+>)[ \t]*(?:\n|\Z)"
_BEGINS_DATED, _DATED_LINE = re.compile(rf"\s*{_DATED}"), re.compile(rf"^{_DATED}", re.MULTILINE)
_LINE = re.compile(rf"^(?:{_HEADING}| -- [^\n]*>  ?(?P<signed>[^\n]*))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LineHeading:
    """A heading of one line: its title, the end of the line, its level or (negative) rank, and its date, or empty."""

    title: str
    end: int
    level: int = 1
    date: str = ""


def entries_of(text: str) -> dict[int, LineHeading]:
    """The headings of the entries by their start, in order, with the day in the heading or signature; empty if the text does not
    begin with one.
    """
    if _BEGINS_DATED.match(text):
        days = _DATED_LINE.finditer(text)
        return {day.start(): LineHeading(day["title"], day.end(), date=find_date(day["day"])) for day in days}
    if not _BEGINS.match(text):
        return {}
    entries: dict[int, LineHeading] = {}
    last = -1
    for match in _LINE.finditer(text):
        if match["title"]:
            last = match.start()
            entries[last] = LineHeading(match["title"].rstrip(), match.end())
        elif not entries[last].date:
            entries[last] = replace(entries[last], date=find_date(match["signed"]))
    return entries
