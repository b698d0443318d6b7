"""The entries of Debian's changelogs and NEWS files: a line with package, version and distribution, what changed, and a line
with who signed the entry and when.

The format is that of deb-changelog(5). A text is one where it begins with such a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hoptrail.text.dates import find_date

_HEADING = (
    r"(?P<title>[A-Za-z0-9][A-Za-z0-9+.-]* \([^()\s]{1,200}\)(?: [A-Za-z0-9][A-Za-z0-9+.-]*)+; ?\w[^\n]*)(?:\n|\Z)"
)
_BEGINS = re.compile(rf"\s*{_HEADING}")
_LINE = re.compile(rf"^(?:{_HEADING}| -- [^\n]*>  ?(?P<signed>[^\n]*))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """The heading of an entry and where its line ends; `date` is that of the line that signs it, empty where none does."""

    title: str
    end: int
    date: str


def entries_of(text: str) -> dict[int, Entry]:
    """The entries by where their headings begin, in order; none where the text does not begin with one."""
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
