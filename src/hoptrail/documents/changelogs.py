"""The entries of changelogs, Debian's (and its NEWS files) and GNU's.

An entry of Debian's begins with a line that has package, version and distribution, and ends with one that says who signed it and
when: deb-changelog(5). One of GNU's begins with a line that has the day, who made the change, and an address. A text is a
changelog where it begins with such a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hoptrail.text.dates import find_date

_HEADING = (
    r"(?P<title>[A-Za-z0-9][A-Za-z0-9+.-]* \([^()\s]{1,200}\)(?: [A-Za-z0-9][A-Za-z0-9+.-]*)+; ?\w[^\n]*)(?:\n|\Z)"
)
_BEGINS = re.compile(rf"\s*{_HEADING}")
_DATED = r"(?P<title>(?P<day>\d{4}-\d\d-\d\d)[ \t]+\S[^\n<>]{0,80}<[^\n<>]+>)[ \t]*(?:\n|\Z)"
_BEGINS_DATED, _DATED_LINE = re.compile(rf"\s*{_DATED}"), re.compile(rf"^{_DATED}", re.MULTILINE)
_LINE = re.compile(rf"^(?:{_HEADING}| -- [^\n]*>  ?(?P<signed>[^\n]*))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """The heading of an entry and where its line ends; `date` is its day, or that on which it is signed, empty if it is not."""

    title: str
    end: int
    date: str


def entries_of(text: str) -> dict[int, Entry]:
    """The entries by where their headings begin, in order; none where the text does not begin with one."""
    if _BEGINS_DATED.match(text):
        return {
            found.start(): Entry(found["title"], found.end(), find_date(found["day"]))
            for found in _DATED_LINE.finditer(text)
        }
    if not _BEGINS.match(text):
        return {}
    entries: dict[int, Entry] = {}
    last = -1
    for found in _LINE.finditer(text):
        if found["title"]:
            last = found.start()
            entries[last] = Entry(found["title"].rstrip(), found.end(), "")
        elif not entries[last].date:
            entries[last] = Entry(entries[last].title, entries[last].end, find_date(found["signed"]))
    return entries
