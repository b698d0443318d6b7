"""The two sides that a question offers, and its ordering word: `Which takes longer, the quiz or the workshop?`.

Sides need no capital letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from hoptrail.text.lexicon import FUNCTION_WORDS, ORDERINGS, PREPOSITIONS
from hoptrail.text.mentions import find_names
from hoptrail.text.words import words

_ORDERINGS = ORDERINGS - {"before", "recently", "recent", "after"}
_MARK = re.compile(r"[,:]| between ")
_CLAUSE = re.compile(r"[,:] (?=[a-z])")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a question asks of two sides, the sides as written, and its ordering word (empty: it has none)."""

    ask: str
    sides: tuple[str, str]
    ordering: str


def find_choice(question: str) -> Choice | None:
    """The two sides that a question offers: `..., A or B`, `... between A and B`, or two names with `or` between them."""
    text = " ".join(question.split()).rstrip(" ?.!")
    ordering = next((word.lower for word in words(text) if word.lower in _ORDERINGS), "")
    if not ordering:
        return _names_offered(text)
    lead, between, _ = text.partition(" between ")
    is_between = " or " not in text and between and ordering in lead.lower().split()
    left, joined, other = text.rpartition(" and " if is_between else " or ")
    if not joined or not left.strip() or re.search(rf"\b{ordering} than (?!the other\b)", text.lower()):
        return None
    start, ask = _first_side(left, other, ordering), ""
    if all(word.lower != ordering for word in words(left)):  # `A or B, which is older?`
        if mark := _MARK.search(other):
            start, other, ask = left.rfind(",") + 1, other[: mark.start()], other[mark.end() :].strip()
        elif named := _names_offered(text):
            return replace(named, ordering=ordering)
        elif left.rstrip().endswith(","):
            return None  # a clause about the first side: `Is the Tern, built in 1901, or the Gull older?`
    sides = _trim(left[start:], ordering), _trim(_CLAUSE.split(other)[0], ordering)
    ask = ask or left[:start].rstrip(" ,:").removesuffix(" between")
    return Choice(ask, sides, ordering) if all(sides) else None


def _names_offered(text: str) -> Choice | None:
    """The first two names with only `or` between them."""
    for one, other in pairwise(find_names(text)):
        if text[one.end : other.start].lower().replace("the ", "").strip(' ,".') == "or":
            return Choice(text[: one.start] + text[other.end :].lstrip(), (one.text, other.text), "")
    return None


def _first_side(left: str, other: str, ordering: str) -> int:
    """Where the first side begins: after a mark, at the word that also opens the other side, or after the ordering word."""
    said = words(left)
    ordered = next((word.end for word in reversed(said) if word.lower == ordering), 0)
    if mark := _MARK.search(left, ordered) or _MARK.search(left):
        return mark.end()
    opening = words(other)[0].lower if words(other) else ""
    same = [word.start for word in said if word.lower == opening]
    if same and opening in FUNCTION_WORDS | PREPOSITIONS:
        return same[-1]
    if ordered:
        return ordered
    return len(left.rstrip()) - len(left.rsplit(maxsplit=1)[-1])


def _trim(side: str, ordering: str) -> str:
    """A side without prepositions before it and without the ordering word before or after it."""
    rest = words(side)
    while rest and (rest[0].text in PREPOSITIONS or rest[0].text == ordering):
        rest = rest[1:]
    if not rest:
        return ""
    return side[rest[0].start : rest[-2].end if rest[-1].text == ordering and rest[1:] else None].strip(" ,")
