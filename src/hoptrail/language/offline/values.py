"""Values that can be compared: dates, numbers, countries and plain names, read from short answers.

A missing month or day counts as unknown: `1926` and `3 May 1926` are neither earlier nor later than each other.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hoptrail.language.offline.lexicon import COUNTRIES, DEMONYMS, MONTHS, MULTIPLIERS, NUMBER_WORDS
from hoptrail.language.offline.text import content_stems, squeeze, without_article, words

Date = tuple[int, int, int]
"""Year, month, day; 0 for what is not said. Years before the common era are negative."""

_YEAR = re.compile(r"\b(\d{3,4})s?\b")
_CENTURY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\s+century\b")
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b")
_DIGITS = re.compile(r"\d[\d,]{0,20}(?:\.\d{1,9})?")


def read_date(text: str) -> Date | None:
    """The first date in `text`."""
    lowered = text.lower()
    year = _YEAR.search(lowered)
    century = _CENTURY.search(lowered)
    if year is None and century is None:
        return None
    number = int(year.group(1)) if year else (int(century.group(1)) - 1) * 100 if century else 0
    if re.search(r"\bbce?\b", lowered):
        number = -number
    month = next((place for place, name in enumerate(MONTHS, 1) if name in lowered), 0)
    day = _DAY.search(lowered) if month else None
    return number, month, int(day.group(1)) if day else 0


def date_order(first: Date, second: Date) -> int | None:
    """-1 when `first` is earlier, 1 when later, 0 when they are the same day; None when what they say cannot tell."""
    for one, other in zip(first, second, strict=True):
        if one != other:
            return None if 0 in {one, other} else -1 if one < other else 1
        if one == 0:
            return None
    return 0


def read_number(text: str) -> float | None:
    """The first number in `text`, in digits or words, with `million` and its like multiplied out."""
    digits = _DIGITS.search(text)
    factor = next((MULTIPLIERS[word.lower] for word in words(text) if word.lower in MULTIPLIERS), 1)
    if digits:
        return float(digits.group().replace(",", "")) * factor
    parts = [NUMBER_WORDS[part] for word in words(text) for part in word.lower.split("-") if part in NUMBER_WORDS]
    if parts:
        return float(sum(parts)) * factor
    return float(factor) if factor > 1 else None


@lru_cache(maxsize=4_096)
def country_of(text: str) -> str | None:
    """The country that `text` names or whose people or language it names, in lower case."""
    lowered = squeeze(text).lower()
    known = next((country for country in COUNTRIES if country in lowered), None)
    return known or next((DEMONYMS[word.lower] for word in words(text) if word.lower in DEMONYMS), None)


def same_value(first: str, second: str) -> bool:
    """Whether two short answers say the same: the same country, one name inside the other, or equal content words."""
    countries = country_of(first), country_of(second)
    if None not in countries:
        return countries[0] == countries[1]
    one, other = (content_stems(without_article(text)) for text in (first, second))
    return bool(one and other) and (one <= other or other <= one)
