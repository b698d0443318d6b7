"""Values that can be compared: dates, numbers, countries and plain names, read from short answers.

A missing month or day counts as unknown: `1926` and `3 May 1926` are neither earlier nor later than each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from hoptrail.text.lexicon import COUNTRIES, DEMONYMS, MONTHS, MULTIPLIERS, NUMBER_WORDS
from hoptrail.text.normal_forms import squeeze, without_article
from hoptrail.text.words import content_stems, words

Date = tuple[int, int, int]
"""Year, month, day; 0 for what is not said. Years before the common era are negative."""

_YEAR = re.compile(r"\b(?:(?P<before>\d{1,4})\s?(?=bce?\b)|(?P<year>\d{3,4})s?\b)")
_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d\d)(?:-(\d\d))?(?![\d-])")
_CENTURY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\s+century\b")
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b")
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_DIGITS = re.compile(r"(?:(?<![^\s(])[-−])?\d[\d,]{0,20}(?:\.\d{1,9})?")  # in `1914-18` and `Q-5` there is no minus
_COUNTRY_NAMES = {country: country for country in COUNTRIES} | {
    people: country for people, country in DEMONYMS.items() if people.startswith(country)
}
"""Countries, and peoples called after them: they are found in `Cambodians` and `Australian-born` too."""
_COUNTRY = re.compile(rf"\b({'|'.join(_COUNTRY_NAMES)})s?\b")


def read_date(text: str) -> Date | None:
    """The first date in `text`."""
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
    if digits is None:
        return _number_in_words(text)
    factor = next((MULTIPLIERS[word.lower] for word in words(text) if word.lower in MULTIPLIERS), 1)
    return float(digits.group().replace(",", "").replace("−", "-")) * factor


def _number_in_words(text: str) -> float | None:
    """A multiplier takes what stands before it and is smaller: `two million three hundred and five thousand`."""
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


@lru_cache(maxsize=4_096)
def country_of(text: str) -> str | None:
    """The country that `text` names or whose people or language it names, in lower case."""
    lowered = squeeze(text).lower()
    named = {_COUNTRY_NAMES[name] for name in _COUNTRY.findall(lowered)}
    known = next((country for country in COUNTRIES if country in named), None)
    return known or next((DEMONYMS[word.lower] for word in words(text) if word.lower in DEMONYMS), None)


_UNIT = re.compile(
    r"\s?(?:%|‰|°\s?[CF]\b|€|£|\$|(?:per\s?cent|percent|EUR|GBP|USD|CHF|SEK|NOK|DKK|JPY|CAD|AUD|euros?|pounds?|dollars?|pence|cents?"
    r"|years?|months?|weeks?|days?|hours?|minutes?|seconds?|ms|min|mm|cm|km|kg|mg|ml|cl|litres?|liters?|metres?|meters?|miles?|feet"
    r"|inches|knots|tonnes?|tons?|grams?|[kMGT]?B|[KMGT]iB|[kMGT]?bit/s|[kM]?Hz|GHz|k?W|k?Wh|m?A|k?V|bar|rpm|°)"
    r"(?![\w/]))"
)
_CURRENCY = re.compile(r"[€£$]\s?$")


def with_unit(text: str, start: int, end: int) -> str:
    """The number at `start` to `end` of a text with the unit or currency that stands beside it: `6 years`, `150 EUR`, `£212`."""
    before = _CURRENCY.search(text, max(0, start - 2), start)
    after = _UNIT.match(text, end)
    return squeeze(text[before.start() if before else start : after.end() if after else end])


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """A number at `start` of a text with its unit in lower case (empty: none is said)."""

    start: int
    number: float
    unit: str


_QUANTITY = re.compile(r"(?<![\w.,/-])(?:[€£$]\s?)?\d[\d,]*(?:\.\d+)?(?![\w/]|[-.,]\d)")
_WHOLE_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_OF_UNIT = re.compile(r"[^\d.,\s]+")


def quantities_in(text: str) -> Iterator[Quantity]:
    """The numbers of a text in order, those that may be years and those within a code left out."""
    for match in _QUANTITY.finditer(text):
        number = None if _WHOLE_YEAR.fullmatch(match.group()) else read_number(match.group())
        if number is not None:
            yield Quantity(match.start(), number, "".join(_OF_UNIT.findall(with_unit(text, *match.span()))).casefold())


def same_value(first: str, second: str) -> bool:
    """Whether two short answers say the same: the same country, one name inside the other, or equal content words."""
    countries = country_of(first), country_of(second)
    if None not in countries:
        return countries[0] == countries[1]
    one, other = (content_stems(without_article(text)) for text in (first, second))
    return bool(one and other) and (one <= other or other <= one)
