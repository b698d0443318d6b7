"""Mentions in text: names, quoted titles, dates and numbers, found by their shape.

There is no list of names: a capital letter makes one, except on a function word at the start of a sentence. Known titles, such
as those of the evidence, win over shape. Scripts without capitals yield dates and numbers only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from hoptrail.text.lexicon import CAPITALISED_FUNCTION_WORDS, MONTHS, MULTIPLIERS, NAME_CONNECTORS, NUMBER_WORDS
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import Word, words

_MONTH = "(?:" + "|".join(month.capitalize() for month in MONTHS) + ")"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_ISO = r"(?:1\d|20)\d{2}-(?:[01]\d-[0-3]\d|0[1-9])(?!-?\d)"
_DATE = re.compile(
    rf"\b(?:{_DAY}(?: of)? {_MONTH},? \d{{3,4}}|{_MONTH} {_DAY},? \d{{3,4}}|{_MONTH},? \d{{3,4}}|{_DAY} {_MONTH}|{_MONTH} {_DAY}"
    rf"|{_ISO}|(?:1\d|20)\d{{2}}s?\b(?![,.]\d|-\d\d-)|\d{{1,2}}(?:st|nd|rd|th) century|\d{{3,4}} (?:BC|AD|BCE|CE))\b".replace(
        " ", r"\s{1,3}"
    )
)
_NUMBER_WORD = "|".join((*NUMBER_WORDS, *MULTIPLIERS))
_NUMBER = re.compile(
    rf"(?<![\w.,])(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,15}})(?:\.\d{{1,9}})?(?:%|\s(?:percent|{'|'.join(MULTIPLIERS)})\b)?(?!\w)"
    rf"|\b(?:{_NUMBER_WORD})(?:-(?:{_NUMBER_WORD}))?\b"
)
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]|(?<!\w)\*([^*\n]{2,80})\*(?!\w)")
_ORDINAL = re.compile(r"\d{1,3}(?:st|nd|rd|th)\b", re.IGNORECASE)
_PARENTHESIS = re.compile(r"[ ]?\([^()]{1,40}\)")


class Shape(StrEnum):
    NAME = "name"
    QUOTED = "quoted"
    DATE = "date"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Mention:
    """A possible topic or answer of a question, with its offsets in the text."""

    text: str
    start: int
    end: int
    shape: Shape


@lru_cache(maxsize=2048)
def find_mentions(text: str, titles: tuple[str, ...] = (), *, question: bool = False) -> tuple[Mention, ...]:
    """Mentions in order of appearance, none overlapping. Dates win over known titles, and titles over quoted text, names and
    numbers. In a `question`, a parenthesis right after a name belongs to it, and the longer of a known title and a name wins.
    """
    taken: list[Mention] = []
    names = list(_names(text, question=question))
    disambiguated = [name for name in names if name.text.endswith(")")]
    known = [*_titles(text, titles), *(names if question else ())]
    known.sort(key=lambda name: (name.start - name.end, name.start))
    dates = (_mention(text, *match.span(), Shape.DATE) for match in _DATE.finditer(text))
    for group in (disambiguated, dates, known, _quoted(text), names, _numbers(text)):
        taken.extend(
            one for one in group if not any(one.start < other.end and other.start < one.end for other in taken)
        )
    taken.sort(key=lambda mention: mention.start)
    return tuple(_join_names(text, taken) if question else taken)


@lru_cache(maxsize=2048)
def find_names(question: str, titles: tuple[str, ...] = ()) -> tuple[Mention, ...]:
    """The names and quoted titles of a question in order of appearance, given known titles."""
    mentions = find_mentions(question, titles, question=True)
    return tuple(mention for mention in mentions if mention.shape in {Shape.NAME, Shape.QUOTED})


def figure_shape(text: str) -> Shape | None:
    """`DATE` or `NUMBER` if `find_mentions` reads the whole text as one, else None."""
    if not (_DATE.fullmatch(text) or _NUMBER.fullmatch(text)):
        return None
    shapes = (mention.shape for mention in find_mentions(text) if mention.text == text)
    return next((shape for shape in shapes if shape in {Shape.DATE, Shape.NUMBER}), None)


def _join_names(text: str, mentions: list[Mention]) -> list[Mention]:
    joined: list[Mention] = []
    for mention in mentions:
        last = joined[-1] if joined else None
        if last and mention.shape is last.shape is Shape.NAME and _one_title(text, last, mention):
            joined[-1] = _mention(text, last.start, mention.end, Shape.NAME)
        else:
            joined.append(mention)
    return joined


def _one_title(text: str, first: Mention, second: Mention) -> bool:
    between = text[first.end : second.start]
    if between == ", ":  # `Hugh Gray, 2nd Earl of Linn`, and an owner: `Maud, Countess of Linn's father`
        owner = text[second.end : second.end + 2] in {"'s", "’s"}
        return owner or _ORDINAL.match(second.text) is not None
    return between in {"'s ", "’s "}


def _mention(text: str, start: int, end: int, shape: Shape) -> Mention:
    return Mention(squeeze(text[start:end]), start, end, shape)


_PRONOUN_ONE = re.compile(
    r"one(?= (?:of|is|was|has|had|can|could|will|would|may|must|should|who|that|which|in|on|at|to|with|and|or)\b|[^\w\s-])",
    re.IGNORECASE,
)


def _numbers(text: str) -> Iterator[Mention]:
    for match in _NUMBER.finditer(text):
        if match.group().lower() != "one" or not _PRONOUN_ONE.match(text, match.start()):
            yield _mention(text, *match.span(), Shape.NUMBER)


def _quoted(text: str) -> Iterator[Mention]:
    for match in _QUOTED.finditer(text):
        group = 1 if match.group(1) else 2
        if match.group(group)[0].isupper():
            yield _mention(text, match.start(group), match.end(group), Shape.QUOTED)


def _titles(text: str, titles: Iterable[str]) -> Iterator[Mention]:
    lowered = text.lower()
    if len(lowered) != len(text):
        return
    for title in sorted(titles, key=lambda title: (-len(title), title)):
        start = lowered.find(title.lower()) if len(title) > 1 else -1
        end = start + len(title)
        if start >= 0 and not lowered[max(0, start - 1) : start].isalnum() and not lowered[end : end + 1].isalnum():
            yield _mention(text, start, end, Shape.NAME)


def _names(text: str, *, question: bool) -> Iterator[Mention]:
    run: list[Word] = []
    for word in (*words(text), None):
        # An article after `of` inside a title: `The Worries of the City`.
        article = (
            question and word and run and word.text == "the" and run[-1].text == "of" and _before_capital(text, word)
        )
        if word and run and (article or _continues(text, run[-1], word)):
            run.append(word)
            continue
        if run:
            yield from _finish_name(text, run, question=question)
        run = [word] if word is not None and not word.text[0].islower() and _opens_name(text, word) else []


def _continues(text: str, before: Word, word: Word) -> bool:
    gap = text[before.end : word.start]
    between = gap.strip()
    joined = between in ({"", "&"} if before.lower not in {"jr", "st", "dr", "mr", "mrs"} else {"", "."})
    initial = between == "." and len(before.text) == 1
    number = word.text[0].isdigit() and before.capitalised and len(gap) == 1
    fits = word.capitalised or word.lower in NAME_CONNECTORS or number
    apart = len(gap) > 3 or "\t" in gap  # cells of a table
    return not apart and (joined or initial) and fits


def _before_capital(text: str, word: Word) -> bool:
    return text[word.end : word.end + 2].strip()[:1].isupper()


def _opens_name(text: str, word: Word) -> bool:
    if _ORDINAL.match(word.text) and text[max(0, word.start - 2) : word.start] == ", ":
        return _before_capital(text, word)
    if not word.capitalised:
        return False
    if len(word.text) == 1 and text[word.end : word.end + 1] == ".":
        return True
    if word.lower not in CAPITALISED_FUNCTION_WORDS:
        return True
    # A function word opens a title mid-sentence before another capital: `the author of The Saltwife`.
    before = text[max(0, word.start - 3) : word.start].rstrip()
    return before[-1:].isalnum() and _before_capital(text, word)


def _finish_name(text: str, run: list[Word], *, question: bool) -> Iterator[Mention]:
    """Yield the name that `run` makes, if any, without trailing connectors."""
    while run and run[-1].lower in NAME_CONNECTORS and not run[-1].capitalised:
        run.pop()
    if not run:
        return
    end = run[-1].end
    if question:
        parenthesis = _PARENTHESIS.match(text, end)
        end = parenthesis.end() if parenthesis else end
    if text[end : end + 2] in {"'s", "’s"} and text[end + 2 : end + 3] in {",", ")"}:
        end += 2  # the `'s` is part of the name: `St. John's, Newfoundland`
    yield _mention(text, run[0].start, end, Shape.NAME)
