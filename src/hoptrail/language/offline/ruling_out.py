"""What rules an answer out before it is weighed: figures that nobody gives, answers of another type, unknown names."""

from __future__ import annotations

import re

from hoptrail.language.offline.comparisons import Comparison, Verdictor
from hoptrail.language.offline.evidence import EvidencePages
from hoptrail.text.lexicon import MONTHS, NUMBER_WORDS, word_set
from hoptrail.text.mentions import find_names
from hoptrail.text.questions import Question, Wanted
from hoptrail.text.words import content_stems, words

_YES_OR_NO = frozenset({Verdictor.SAME, Verdictor.BOTH})
_COMPUTED = content_stems("left remaining remains difference average altogether")
_AND_ASKS = re.compile(r"\w,? and (?:who|whom|what|which|where|when|why|how)\b", re.IGNORECASE)
_HOW_MUCH = re.compile(
    r"\s*(?:how (?:much|many|long|far|big|large)|what (?:is|was) the (?:difference|average))\b", re.IGNORECASE
)
_MONEY = content_stems("cost costs price pay paid earn earns owe salary fee")
_SUM = re.compile(
    r"[€£$¥]|\b(?:EUR|GBP|USD|CHF|SEK|NOK|DKK|JPY|CAD|AUD|euros?|pounds?|dollars?|pence|cents?|francs?|kronor)\b",
    re.IGNORECASE,
)
"""What is asked for in money is said with its currency."""
_FIGURE = re.compile(r"^\W*(?:[^\W\d]+\s){0,2}\W*\d")
"""A figure comes first, or after `about` and its like: `Re: 6 boats` is none."""
_DIGIT = re.compile(r"\d")
_TIMES = frozenset(MONTHS) | word_set(
    "monday tuesday wednesday thursday friday saturday sunday century noon midnight daily weekly monthly yearly annually today "
    "spring summer autumn winter easter christmas half"
)
"""Words that say when, without a figure."""


def is_computed(question: str, evidence: EvidencePages) -> bool:
    """Whether a figure is asked for that no sentence tells and somebody has to work out: `How much of it is left?`."""
    asked = content_stems(question)
    words_for = _COMPUTED & asked
    if not words_for or not _HOW_MUCH.match(question):
        return False
    rest = asked - words_for
    return not any(words_for & said and rest & said for said in evidence.stems)


def asks_twice(question: str) -> bool:
    """Whether two things are asked for, which no one answer can be: `With whom will Ida sit and where is the desk?`."""
    return _AND_ASKS.search(question) is not None


def may_answer(answer: str, asked: Question | None, comparison: Comparison | None) -> bool:
    """Whether an answer can be what is asked for: one of the sides of a comparison, a figure or a sum where one is asked for, a
    person's name without figures.
    """
    if comparison is not None and not comparison.claimed and comparison.by not in _YES_OR_NO:
        said = content_stems(answer)
        return any(said <= side or side <= said for side in map(content_stems, comparison.sides))
    if asked is not None and asked.wanted in {Wanted.NUMBER, Wanted.DATE, Wanted.YEAR}:
        if asked.wanted is Wanted.NUMBER and _MONEY & asked.relations and not _SUM.search(answer):
            return False
        figures = _FIGURE.search(answer) if asked.wanted is Wanted.NUMBER else _DIGIT.search(answer)
        return figures is not None or any(
            word.lower in NUMBER_WORDS or word.lower in _TIMES for word in words(answer.replace("-", " "))
        )
    return asked is None or asked.wanted is not Wanted.PERSON or _DIGIT.search(answer) is None


def share_of_strangers(question: str, evidence: EvidencePages) -> float:
    """How much of a question's names stands together in no sentence with its title: 1 when no word of them stands anywhere."""
    names = [content_stems(one.text) for one in find_names(question)]
    missing = [min((len(name - said) / len(name) for said in evidence.stems), default=1.0) for name in names if name]
    return sum(missing) / len(missing) if missing else 0.0
