"""Enumerations within a sentence, such as `Linux, macOS and FreeBSD`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hoptrail.text.lexicon import FUNCTION_WORDS
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import words

_SERIES = re.compile(r"(?:[^,;:.()]{1,80}, )+[^,;:.()]{1,60}?,? (?:and|or) [^,;:.()]{1,60}|[^,;:.() ]+ and [^,;:.() ]+")
_PARTS = re.compile(r",\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+|;\s*")


def enumerated_in(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the parts of each enumeration in `text`."""
    for series in _SERIES.finditer(squeeze(text)):
        yield parts_of(_without_lead(series.group()))


def parts_of(values: str) -> tuple[str, ...]:
    """The parts of `A, B and C`."""
    return tuple(part for value in _PARTS.split(values) if (part := value.strip(" .")))


def _without_lead(series: str) -> str:
    """Drop the words before the first item: `only possible on Linux, macOS` begins with `Linux`."""
    first, separator, rest = series.partition(", ") if ", " in series else series.partition(" and ")
    opening = words(first)
    last = max((at for at, word in enumerate(opening) if word.lower in FUNCTION_WORDS), default=-1)
    if last >= 0 and last + 1 < len(opening):
        first = first[opening[last + 1].start :]
    return f"{first}{separator}{rest}"
