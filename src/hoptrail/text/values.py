"""Comparable values in short answers: dates, numbers, countries and plain names.

A missing month or day is unknown: neither of `1926` and `3 May 1926` is earlier than the other.
"""

from __future__ import annotations

import re
from functools import lru_cache

from hoptrail.text.lexicon import COUNTRIES, DEMONYMS, MONTHS, MULTIPLIERS, NUMBER_WORDS
from hoptrail.text.normal_forms import same_words, squeeze
from hoptrail.text.words import content_stems, words

Date = tuple[int, int, int]  # year, month, day; 0 if unknown. Years before the common era are negative.

_YEAR = re.compile(r"\b(?:(?P<before>\d{1,4})\s?(?=bce?\b)|(?P<year>(?<!\d,)\d{3}|\d{4})s?\b)")
_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d\d)(?:-(\d\d))?(?![\d-])")
_CENTURY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\s+century\b")
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b")
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
# In `1914-18` and `Q-5` there is no minus, and the comma of `3,5` is a decimal one.
_DIGITS = re.compile(r"(?:(?<![^\s(])[-−])?(?:\d{1,9}(,)\d{1,2}(?![,.]?\d)|\d[\d,]{0,20}(?:\.\d{1,9})?)")
_COUNTRY_NAMES = {country: country for country in COUNTRIES} | {
    people: country for people, country in DEMONYMS.items() if people.startswith(country)
}
"""Names of countries and the demonyms that start with them, so that `Cambodians` and `Australian-born` are found."""
_COUNTRY = re.compile(rf"\b({'|'.join(_COUNTRY_NAMES)})s?\b")


def read_date(text: str) -> Date | None:
    """The first ISO date in `text`, else its first year (of a century, the first one) with its first month and day."""
    lowered = text.lower()
    if iso := _ISO.search(lowered):
        return int(iso[1]), int(iso[2]), int(iso[3] or 0)
    year = _YEAR.search(lowered)
    century = _CENTURY.search(lowered)
    if year is None and century is None:
        return None
    number = int(year["before"] or year["year"]) if year else (int(century.group(1)) - 1) * 100 if century else 0
    if re.search(r"\bbce?\b", lowered):
        number = -number
    month = _MONTH.search(lowered)
    if month is None:
        return number, 0, 0
    day = _DAY.search(lowered[: year.start()] + lowered[year.end() :] if year else lowered)
    return number, MONTHS.index(month.group()) + 1, int(day.group(1)) if day else 0


def date_order(first: Date, second: Date) -> int | None:
    """-1 if `first` is earlier, 1 if it is later, 0 for the same day, None if unknown parts leave it open."""
    for one, other in zip(first, second, strict=True):
        if one != other:
            return None if 0 in {one, other} else -1 if one < other else 1
        if one == 0:
            return None
    return 0


_SECONDS = {
    "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "month": 2_629_800, "year": 31_557_600,
}  # fmt: skip


def read_amount(text: str) -> float | None:
    """The first number in `text`, of a time that something takes in seconds: `90 minutes` is less than `2 hours`."""
    units = (_SECONDS.get(word.lower.removesuffix("s")) for word in words(text))
    number = read_number(text)
    return None if number is None else number * next(filter(None, units), 1)


def read_number(text: str) -> float | None:
    """The first number in `text`, in digits or words, with words such as `million` multiplied out."""
    digits = _DIGITS.search(text)
    if digits is None:
        return _number_in_words(text)
    factor = next((MULTIPLIERS[word.lower] for word in words(text) if word.lower in MULTIPLIERS), 1)
    return float(digits.group().replace(",", "." if digits[1] else "").replace("−", "-")) * factor


def _number_in_words(text: str) -> float | None:
    """The first number in words; in `two million three hundred and five thousand`, `thousand` multiplies 305."""
    number: int | None = None
    for word in (part for whole in words(text) for part in whole.lower.split("-")):
        if word in NUMBER_WORDS:
            number = (number or 0) + NUMBER_WORDS[word]
        elif word in MULTIPLIERS:
            smaller = (number or 0) % MULTIPLIERS[word]
            number = (number or 0) - smaller + (smaller or 1) * MULTIPLIERS[word]
        elif number is not None and word != "and":
            break
    return None if number is None else float(number)


_ABBREVIATED = re.compile(r"\b(?:(?P<us>USA?|U\.S\.(?:A\.)?)|UK|U\.K\.)(?!\w)")


@lru_cache(maxsize=16_384)
def country_of(text: str) -> str | None:
    """The country in lower case that `text` names, directly or by its people or language."""
    lowered = squeeze(text).lower()
    named = {_COUNTRY_NAMES[name] for name in _COUNTRY.findall(lowered)}
    known = next((country for country in COUNTRIES if country in named), None)
    known = known or next((DEMONYMS[word.lower] for word in words(text) if word.lower in DEMONYMS), None)
    abbreviated = None if known else _ABBREVIATED.search(text)
    if abbreviated is None or (text.isupper() and len(words(text)) > 1):  # `TELL US MORE`
        return known
    return "united states" if abbreviated["us"] else "united kingdom"


_JOINED = re.compile(r"\s?[-–/]\s?|,? and ")


def countries_of(text: str) -> frozenset[str]:
    """The countries in lower case that `text` names: two for `Austrian-German`."""
    return frozenset(filter(None, map(country_of, _JOINED.split(text))))


def same_value(first: str, second: str) -> bool:
    """Whether two short answers agree: both name one country, or the content words of one include those of the other."""
    one, other = countries_of(first), countries_of(second)
    return one <= other or other <= one if one and other else _one_includes_other(first, second)


def same_answer(one: str, other: str) -> bool:
    """Whether two answers are equal, or one has a subset of the other's words, or both name one country."""
    return same_words(one, other) or _one_includes_other(one, other) or country_of(one) == country_of(other) is not None


def _one_includes_other(first: str, second: str) -> bool:
    """Whether the content words of one text include those of the other. Articles are no content words."""
    one, other = content_stems(first), content_stems(second)
    return bool(one and other) and (one <= other or other <= one)
