"""Dates in texts, headings, file names and front matter, as ISO 8601 days or months.

Reads digits in ISO order (`2024-03-05`, `20240305` in a file name), digits with dots and the day first (`5.3.2024`), and English
month names. Digits with slashes are read only in ISO order: `3/5/2024` is March in one country and May in another.
"""

from __future__ import annotations

import re
from datetime import date

from hoptrail.text.lexicon import MONTHS
from hoptrail.types import Block, Unit

_SHORT = [month[:3] for month in MONTHS]
_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|{'|'.join(_SHORT)}|sept)\.?"
_ORDINAL = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!\d){_YEAR}(?P<mark>[-/._])(?P<number>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})(?!\d)",
        r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<number>[01]\d)(?P<day>[0-3]\d)(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})\.\s?(?P<number>\d{{1,2}})\.\s?{_YEAR}",
        rf"(?<!\w){_ORDINAL}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}",
        rf"(?<!\w){_MONTH}\s+{_ORDINAL},?\s+{_YEAR}",
        rf"(?<!\w){_MONTH},?\s+{_YEAR}",
        rf"(?<!\d){_YEAR}-(?P<number>[01]\d)(?![-\d])",
    )
)

_WITHOUT_YEAR = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (rf"(?<!\w){_ORDINAL}\s+(?:of\s+)?{_MONTH}(?!\w)", rf"(?<!\w){_MONTH}\s+{_ORDINAL}(?!\w)")
)
_BARE_YEAR = re.compile(r"(?<![\w.,/£$€:#-])(?P<year>(?:1[5-9]|20)\d\d)(?![\w/%-]|[.,:]\d)")
_LEAP_YEAR = "2000"
_STATING = re.compile(
    r"^(?!.*\b(?:next|previous|until|before) )"
    r"(?:.*\b(?:(?:in force|effective|valid)(?: (?:from|since|as of))?|as (?:of|at)|updated|changed|revised|reviewed)"
    r"|.{0,40}\b(?:date|dated|issued|adopted|approved|edition|version|(?<!the )minutes|(?<!the )meeting)\b[^.;:]{0,40}?)"
    r"(?: on| of| from|:)*\W{0,4}$",
    re.IGNORECASE,
)
"""What precedes the date of a document in its first lines: `In force from`, `Last updated:`, `Minutes of the meeting of`."""
_PERIOD = re.compile(
    rf"(?:\d(?:st|nd|rd|th)?|{'|'.join((*MONTHS, *_SHORT))})\.?\s*(?:[-–/]|\b(?:and|to|until)\b)\s*\Z", re.IGNORECASE
)
"""The beginning of a period before its end."""
_PLACE = re.compile(r"[^\W\d][\w .'-]{0,30},\s*(?:the )?", re.IGNORECASE)
"""What else stands in a line with the date of a letter: `Leith, 5 March 2024`."""


def find_date(text: str) -> str:
    """The first date in `text` with a year, to the day (`2024-03-05`) or month (`2024-03`); empty if there is none."""
    return next((iso for _, iso in _match_dates(text, _PATTERNS)), "")


def date_spans(text: str) -> list[tuple[int, int]]:
    """The offsets of the dates in `text` with a year, none overlapping, and none that only ends a period (`12-14 March 2024`)."""
    spans: list[tuple[int, int]] = []
    last = 0
    for match, _ in _dates_apart(text, _PATTERNS):
        if not _PERIOD.search(text, last, match.start()):
            spans.append(match.span())
        last = match.end()
    return spans


def stated_date(line: str) -> str:
    """The date that a line at the beginning of a document gives to it: announced, or alone; empty if there is none."""
    for match, iso in _match_dates(line, _PATTERNS):
        before, after = line[: match.start()].lstrip(" \t*_#|"), line[match.end() :].strip(" \t.*_|")
        alone = not after and (not before or _PLACE.fullmatch(before))
        if alone or _STATING.search(before):
            return iso
    return ""


def date_of(block: Block | None, title: str) -> str:
    """The ISO date that applies to a block (None: plain text) of a document with this title; empty if there is none."""
    return block.date or date_above(block.path, title) if block else date_above((), title)


def date_above(path: tuple[str, ...], title: str) -> str:
    """The date in the innermost heading that has one, else in the title."""
    return find_date(" ".join((*path[::-1], title)))


def unit_date(unit: Unit) -> str:
    """The latest date of a unit's blocks, else that of its title; empty if there is none."""
    return max((date_of(block, unit.title) for block in unit.blocks), default="") or find_date(unit.title)


def dates_asked(text: str) -> tuple[tuple[str, str], ...]:
    """The dates in a question, each as written and in ISO 8601 (`--03-05` without a year)."""
    return tuple((match.group(), iso) for match, iso in _dates_apart(text, (*_PATTERNS, *_WITHOUT_YEAR)))


def dates_said(text: str) -> frozenset[str]:
    """Every date in `text` in each form that a question may use: the day, the day without its year, the month."""
    forms: set[str] = set()
    for _, iso in _match_dates(text, (*_PATTERNS, *_WITHOUT_YEAR)):
        forms |= {iso, iso[:7], f"-{iso[4:]}"} if len(iso) == len("2024-03-05") else {iso}
    return frozenset(forms)


def dates_within(text: str) -> list[str]:
    """The dates in `text` with a year in their order, as ISO days, months or years (`2024`)."""
    return [iso for _, iso in _dates_apart(text, (*_PATTERNS, _BARE_YEAR))]


def _dates_apart(text: str, patterns: tuple[re.Pattern[str], ...]) -> list[tuple[re.Match[str], str]]:
    """Those matches that do not overlap."""
    found: list[tuple[re.Match[str], str]] = []
    for match, iso in _match_dates(text, patterns):
        if not found or match.start() >= found[-1][0].end():
            found.append((match, iso))
    return found


def _match_dates(text: str, patterns: tuple[re.Pattern[str], ...]) -> list[tuple[re.Match[str], str]]:
    """Matches with their ISO dates by start; where two start together, the longer first."""
    matches = (match for pattern in patterns for match in pattern.finditer(text))
    ordered = sorted(matches, key=lambda match: (match.start(), -len(match.group())))
    return [(match, iso) for match in ordered if (iso := _iso(match.groupdict()))]


def _iso(parts: dict[str, str | None]) -> str:
    """The ISO date of a match's groups, or their year; empty if the calendar has no such day."""
    if parts.keys() == {"year"}:
        return parts["year"] or ""
    name = (parts.get("month") or "").lower()
    month = _SHORT.index(name[:3]) + 1 if name else int(parts.get("number") or 0)
    day = parts.get("day")
    year = parts.get("year")
    try:
        whole = date(int(year or _LEAP_YEAR), month, int(day or 1))
    except ValueError:
        return ""
    if year is None:
        return f"-{whole.isoformat()[4:]}"
    return whole.isoformat() if day else f"{whole:%Y-%m}"
