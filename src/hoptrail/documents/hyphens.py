"""Joins words that were divided at the end of a line."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hoptrail.text.lexicon import word_set

HYPHENS = ("-", "\xad", "\u2010")
_DIVIDED = re.compile(r"(?<!\S)(?P<head>\S*[^\W\d_]{2})[-\u2010]\n(?P<indent>[ \t]*)(?P<tail>[^\W\d_]\S*)[ \t]?")
_COMPOUND = word_set("cross full half high long low quasi self short well")
"""Words that begin compounds with a hyphen."""
_ENDING = word_set("age bow er est evity fil fish hand ing ish itude ity land light ly most ness roads time way")
"""What follows on such a word without a hyphen: `highway`, `shortage`."""
_AROUND = ".,;:!?()[]“”\"'"


def vocabulary(lines: Iterable[str]) -> frozenset[str]:
    """The words of lines, including those with a hyphen. The last word of a line is left out, as it may be incomplete."""
    return frozenset(word.casefold().strip(_AROUND) for line in lines for word in line.split()[:-1])


def joined_word(head: str, tail: str, known: frozenset[str]) -> str:
    """The word of which a line ends with `head` and a hyphen, and the next begins with `tail`. The hyphen stays if `known` has
    the word with it, before a capital, and after what usually begins a compound.
    """
    whole, hyphenated = (f"{head}{mark}{tail}".casefold().strip(_AROUND) for mark in ("", "-"))
    begins = head.casefold().strip(_AROUND) in _COMPOUND and tail.casefold().strip(_AROUND) not in _ENDING
    keep = not tail[:1].islower() or (whole not in known and (hyphenated in known or "-" in head or begins))
    return f"{head}{'-' if keep else ''}{tail}"


def undivided(text: str) -> str:
    """A text with each divided word on the line where it begins, so that all lines keep their numbers."""
    if not any(f"{mark}\n" in text for mark in HYPHENS):
        return text
    known = vocabulary(text.splitlines())
    return _DIVIDED.sub(lambda part: f"{joined_word(part['head'], part['tail'], known)}\n{part['indent']}", text)
