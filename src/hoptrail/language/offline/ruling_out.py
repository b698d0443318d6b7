"""Rules that exclude answers: figures that must be computed, answers of the wrong type, unknown names."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from hoptrail.language.offline.evidence import OpenedEvidence
from hoptrail.language.questions.comparisons import YES_OR_NO, Comparison
from hoptrail.models.minilm import common_words
from hoptrail.text.lexicon import ARTICLES, MONTHS, NUMBER_WORDS, STOP_WORDS, word_set
from hoptrail.text.mentions import find_names
from hoptrail.text.normal_forms import base_title
from hoptrail.text.questions import Question, Wanted
from hoptrail.text.words import content_stems, stem, words

_COMPUTED = content_stems("left remaining remains difference average altogether")
_AND_ASKS = re.compile(r"\w,? and (?:who|whom|what|which|where|when|why|how)\b", re.IGNORECASE)
_HOW_MUCH = re.compile(
    r"\s*(?:how (?:much|many|long|far|big|large)|what (?:is|was) the (?:difference|average))\b", re.IGNORECASE
)
_MONEY = content_stems("cost costs price pay paid earn earns owe salary fee levy rent deposit budget grant spend spent")
_SUM = re.compile(
    r"[€£$¥]|\b(?:EUR|GBP|USD|CHF|SEK|NOK|DKK|JPY|CAD|AUD|euros?|pounds?|dollars?|pence|cents?|francs?|kronor)\b",
    re.IGNORECASE,
)
"""A currency, which a sum of money must have."""
_FIGURE = re.compile(r"^\W*(?:[^\W\d]+\s){0,2}\W*\d")
"""A figure at the beginning, or after `about` and the like; not in `Re: 6 boats`."""
_DIGIT = re.compile(r"\d")
_HOW_LONG = re.compile(r"\W*how long (?!is\b|are\b|was\b|were\b)", re.IGNORECASE)
"""Asks for a time; `how long is` may ask for a length."""
_LASTING = re.compile(
    r"(?<![^\W\d])(?:ms|s|secs?|seconds?|min|minutes?|h|hrs?|hours?|days?|nights?|weeks?|weekends?|months?|years?|decades?|until|till"
    r"|since|from)\b",
    re.IGNORECASE,
)
"""A unit of time, which the answer to `how long` must have."""
_HOW_OFTEN = re.compile(r"\bhow often\b", re.IGNORECASE)
_REPEATED = re.compile(
    r"\b(?:every|each|per|once|twice|thrice|times|hourly|daily|nightly|weekly|fortnightly|monthly|quarterly|yearly|annual(?:ly)?"
    r"|an? (?:hour|day|night|week|fortnight|month|quarter|season|year)|\w+days)\b|\dx\b",
    re.IGNORECASE,
)
"""A frequency, which the answer to `how often` must have unless it is a number."""
_OPTION = re.compile(r"(?<![^\W_])(?<!-)(?:--[A-Za-z][A-Za-z\d]*(?:-[A-Za-z\d]+)*|-[A-Za-z\d](?![^\W_]|-))")
"""An option of one letter, or one after two dashes; not several letters at once, as `-xvf`."""
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2013\u2212", "-"))
_TIMES = frozenset(MONTHS) | word_set(
    "monday tuesday wednesday thursday friday saturday sunday century noon midnight daily weekly monthly yearly annually today "
    "spring summer autumn winter easter christmas half"
)
"""Words for times, without a figure."""
_NO_NOUN = re.compile(r"\w{4}(?:ed|ing|ly)$")
"""Verbs and adverbs (`calibrated`) may be reworded in a document."""


def is_computed(question: str, evidence: OpenedEvidence) -> bool:
    """Whether a question asks for a figure that no sentence states and that must be computed: `How much of it is left?`."""
    asked = content_stems(question)
    words_for = _COMPUTED & asked
    if not words_for or not _HOW_MUCH.match(question):
        return False
    rest = asked - words_for
    return not any(words_for & said and rest & said for said in evidence.stems)


def asks_twice(question: str) -> bool:
    """Whether a question asks two things at once: `With whom will Ida sit and where is the desk?`."""
    return _AND_ASKS.search(question) is not None


def may_answer(answer: str, asked: Question | None, comparison: Comparison | None) -> bool:
    """Whether an answer is of the right type: a side of the comparison, a figure or a sum of money, a person without digits."""
    if comparison is not None and comparison.by not in YES_OR_NO:
        said = content_stems(answer)
        return any(said <= side or side <= said for side in map(content_stems, comparison.sides))
    if asked is None:
        return True
    if _HOW_OFTEN.search(asked.text):
        return _REPEATED.search(answer) is not None or answer.isdecimal() or answer.lower() in NUMBER_WORDS
    if _HOW_LONG.match(asked.text):
        named = [word.lower for word in words(answer)]
        has_number = _DIGIT.search(answer) is not None or any(word in NUMBER_WORDS for word in named)
        if has_number and not _LASTING.search(answer) and not any(word in _TIMES for word in named):
            return False
    return _has_asked_type(answer, asked)


def _has_asked_type(answer: str, asked: Question) -> bool:
    if asked.wanted is Wanted.PERSON:
        return _DIGIT.search(answer) is None
    if asked.wanted not in {Wanted.NUMBER, Wanted.DATE, Wanted.YEAR}:
        return True
    if asked.wanted is Wanted.NUMBER and _MONEY & asked.relations and not _SUM.search(answer):
        return False
    figures = _FIGURE.search(answer) if asked.wanted is Wanted.NUMBER else _DIGIT.search(answer)
    named = (word.lower for word in words(answer.replace("-", " ")))
    return figures is not None or any(word in NUMBER_WORDS or word in _TIMES for word in named)


def options_in(text: str) -> frozenset[str]:
    """The options of commands in a text: `-t`, `--force`. A text without them explains nothing about them."""
    return frozenset(_OPTION.findall(text.translate(_DASHES).replace("[no-]", "")))


def share_of_strangers(question: str, evidence: OpenedEvidence) -> float:
    """The mean share of each name in a question that no single sentence with its title has: 1 if no word of the names occurs."""
    names = [content_stems(mention.text) for mention in find_names(question)]
    missing = [min((len(name - said) / len(name) for said in evidence.stems), default=1.0) for name in names if name]
    return sum(missing) / len(missing) if missing else 0.0


def names_in_small_letters(
    question: str, titles: Collection[str], documents: Collection[frozenset[str]]
) -> frozenset[str]:
    """Stems of words in small letters that are names: `grep` in `under which licence is grep distributed`.

    These are whole titles of documents, or, in a question without capitals, uncommon words. A name must occur in at least one and
    at most half of the `documents` (the stems of each); a document without it is about something else.
    """
    titled = {base_title(title).lower() for title in titles}
    common = frozenset[str]() if find_names(question) else _common_stems()
    names, before = set(), ""
    for word in words(question):
        is_title = word.text in titled and before not in ARTICLES
        is_rare = bool(common) and word.stem not in common and word.text.isalnum() and not _NO_NOUN.search(word.text)
        if word.text.islower() and word.text not in STOP_WORDS and (is_title or is_rare):
            names.add(word.stem)
        before = word.lower
    return frozenset(name for name in names if 0 < 2 * sum(name in stems for stems in documents) <= len(documents))


@cache
def _common_stems() -> frozenset[str]:
    return frozenset(map(stem, common_words()))
