"""Does a sub-question point back to an earlier answer, and was it completed well? (ChainRAG, "Sub-question Rewriting".)

A sub-question points back by a placeholder (`#1`), a demonstrative (`this author`), a pronoun that no name stands before, or,
where it names nothing itself, a definite description of what an earlier sub-question was after (`the author`, once it was
asked who wrote something). Whole words count: `Where did Martin die?` holds neither `he` nor `her`, and `When was the city
founded?` points back only where a city, or a place, was asked for before. English only, by words; that a pronoun is filler
(`is it true that`) is not seen. Knows no language model: who rewrites the question is the caller's affair.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from hoptrail.language.completing import REFERENCE
from hoptrail.language.tasks import Finding
from hoptrail.text.lexicon import ARTICLES, AUXILIARIES, COPULAS, FUNCTION_WORDS, PREPOSITIONS, PRONOUNS, word_set
from hoptrail.text.mentions import find_names
from hoptrail.text.questions import Wanted, analyse, type_of_noun
from hoptrail.text.words import Word, content_stems, stem, words

_DEMONSTRATIVES = word_set("this these those")
_BEFORE_DEMONSTRATIVE_THAT = AUXILIARIES | COPULAS | PREPOSITIONS
_PERSONAL = PRONOUNS - _DEMONSTRATIVES - {"that"}
_FILLER = re.compile(r"\bit (?=(?:[a-z]+ )?(?:that|to|for|whether|if)\b)", re.IGNORECASE)
_VERB_ENDINGS = ("ed", "ing")
_NOUN_ASKED = re.compile(
    r"\b(?:(?:which|what) (?!is\b|was\b|are\b|were\b|did\b|do\b|does\b)|(?:is|was|are|were) the )([a-z]+)\b",
    re.IGNORECASE,
)
_NOUNS = {Wanted.PERSON: "person", Wanted.PLACE: "place", Wanted.DATE: "date", Wanted.NUMBER: "number"}


def points_back(question: str, findings: Sequence[Finding]) -> bool:
    """Whether `question` cannot stand alone after these findings; never without any."""
    if not findings:
        return False
    described = [] if _names(question) else _described(words(question))
    return bool(_pointers(question)) or any(_asked_for(noun, findings) for noun in described)


def is_left_open(completed: str) -> bool:
    """Whether a sub-question that was to be completed still says `#1`, `this author` or `she`: what it is about is not known.

    `it` before a clause (`is it true that`, `what is it that`) is filler. A description (`the author`) may be all that there is
    to say.
    """
    return bool(_pointers(_FILLER.sub("so ", completed)))


def _pointers(question: str) -> list[str]:
    """Numbers, demonstratives, and pronouns that no name stands before."""
    said = words(question)
    first_name = min((start for start, _ in _names(question)), default=len(question))
    return REFERENCE.findall(question) + [
        word.lower
        for at, word in enumerate(said)
        if _is_demonstrative(said, at) or (word.lower in _PERSONAL and word.start < first_name)
    ]


def worded(question: str, earlier: Sequence[str]) -> str:
    """A sub-question that refers by number, as people word it: `Where was #1 born?` after `Who wrote it?` is `Where was this
    person born?`. `earlier` are the sub-questions that the numbers count; a number beyond them stays.
    """

    def pointing(match: re.Match[str]) -> str:
        place = int(match.group(1)) - 1
        return f"this {_kind_asked(earlier[place])}" if 0 <= place < len(earlier) else match.group()

    return REFERENCE.sub(pointing, question)


def _kind_asked(question: str) -> str:
    """The noun for what a sub-question asks: that of `which town` or `the author of`, else of its question word."""
    asked = analyse(question)
    noun = _NOUN_ASKED.search(question)
    if noun and noun.group(1).lower() not in FUNCTION_WORDS:
        return noun.group(1).lower()
    return _NOUNS.get(asked.wanted, "thing") if asked else "thing"


def is_completion(question: str, completed: str, findings: Sequence[Finding]) -> bool:
    """Whether `completed` keeps every name of `question` and adds something of an earlier answer."""
    before, after = _bag(question), _bag(completed)
    names = _bag(" ".join(name for _, name in _names(question)))
    answered = _bag(" ".join(finding.answer or "" for finding in findings)) - ARTICLES
    return names <= after and not answered.isdisjoint(after - before)


def _names(question: str) -> list[tuple[int, str]]:
    """Where names start, and what they are."""
    return [(mention.start, mention.text) for mention in find_names(question)]


def _bag(text: str) -> frozenset[str]:
    return frozenset(word.lower for word in words(text))


def _is_demonstrative(said: Sequence[Word], at: int) -> bool:
    """`that` is one at the start or after a preposition or auxiliary (`in that town`); elsewhere it opens a clause."""
    lower = said[at].lower
    return lower in _DEMONSTRATIVES or (
        lower == "that" and (at == 0 or said[at - 1].lower in _BEFORE_DEMONSTRATIVE_THAT)
    )


def _described(said: Sequence[Word]) -> list[str]:
    """The words that may be the noun of a group that `the` opens: those up to a function word, but no verb after the first."""
    nouns = []
    for at, word in enumerate(said):
        group = takewhile(lambda following: following.lower not in FUNCTION_WORDS, said[at + 1 :])
        if word.lower == "the":
            nouns += [
                one.lower for place, one in enumerate(group) if not place or not one.lower.endswith(_VERB_ENDINGS)
            ]
    return nouns


def _asked_for(noun: str, findings: Sequence[Finding]) -> bool:
    """Whether an earlier sub-question used the noun, or its answer is of the type that the noun stands for."""
    wanted = type_of_noun(noun)
    for finding in findings:
        asked = analyse(finding.asked)
        if stem(noun) in content_stems(finding.asked):
            return True
        if wanted is not Wanted.THING and asked is not None and asked.wanted is wanted:
            return True
    return False
