"""Detect sub-questions that point back to earlier answers, and validate completions (ChainRAG, "Sub-question Rewriting").

A sub-question points back by a placeholder (`#1`), a demonstrative (`this author`), a pronoun before any name, or, in a question
without names, a definite description of what an earlier sub-question asked for (`the author`, after asking who wrote something).
Only whole words count: `Martin` has no `he`. English only; a filler pronoun (`is it true that`) is not recognised here.
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
    """Whether `question` refers to these findings; False without findings."""
    if not findings:
        return False
    described = [] if _names(question) else _described(words(question))
    return bool(_pointers(question)) or any(_asked_for(noun, findings) for noun in described)


def is_left_open(completed: str) -> bool:
    """Whether a completed sub-question still says `#1`, `this author` or `she`. `It` before a clause is filler."""
    return bool(_pointers(_FILLER.sub("so ", completed)))


def _pointers(question: str) -> list[str]:
    """Placeholders, demonstratives, and pronouns before any name."""
    said = words(question)
    first_name = min((start for start, _ in _names(question)), default=len(question))
    return REFERENCE.findall(question) + [
        word.lower
        for at, word in enumerate(said)
        if _is_demonstrative(said, at) or (word.lower in _PERSONAL and word.start < first_name)
    ]


def word_references(question: str, earlier: Sequence[str]) -> str:
    """The sub-question in words: `Where was this person born?` for `Where was #1 born?` after `Who wrote it?`."""

    def pointing(match: re.Match[str]) -> str:
        place = int(match.group(1)) - 1
        return f"this {_kind_asked(earlier[place])}" if 0 <= place < len(earlier) else match.group()

    return REFERENCE.sub(pointing, question)


def _kind_asked(question: str) -> str:
    """The noun for what a sub-question asks: from `which town` or `the author of`, else from its question word."""
    asked = analyse(question)
    noun = _NOUN_ASKED.search(question)
    if noun and noun.group(1).lower() not in FUNCTION_WORDS:
        return noun.group(1).lower()
    return _NOUNS.get(asked.wanted, "thing") if asked else "thing"


def is_completion(question: str, completed: str, findings: Sequence[Finding]) -> bool:
    """Whether `completed` keeps every name of `question` and adds a word of an earlier answer."""
    before, after = _bag(question), _bag(completed)
    names = _bag(" ".join(name for _, name in _names(question)))
    answered = _bag(" ".join(finding.answer or "" for finding in findings)) - ARTICLES
    return names <= after and not answered.isdisjoint(after - before)


def _names(question: str) -> list[tuple[int, str]]:
    """The start and the text of each name."""
    return [(mention.start, mention.text) for mention in find_names(question)]


def _bag(text: str) -> frozenset[str]:
    return frozenset(word.lower for word in words(text))


def _is_demonstrative(said: Sequence[Word], at: int) -> bool:
    """Whether a word is a demonstrative. `that` is one at the start or after a preposition or auxiliary (`in that town`)."""
    lower = said[at].lower
    return lower in _DEMONSTRATIVES or (
        lower == "that" and (at == 0 or said[at - 1].lower in _BEFORE_DEMONSTRATIVE_THAT)
    )


def _described(said: Sequence[Word]) -> list[str]:
    """Possible nouns after `the`: the words up to a function word, except verb forms after the first word."""
    nouns = []
    for at, word in enumerate(said):
        group = takewhile(lambda following: following.lower not in FUNCTION_WORDS, said[at + 1 :])
        if word.lower == "the":
            nouns += [noun.lower for at, noun in enumerate(group) if at == 0 or not noun.lower.endswith(_VERB_ENDINGS)]
    return nouns


def _asked_for(noun: str, findings: Sequence[Finding]) -> bool:
    """Whether an earlier sub-question has the noun, or asks for the noun's type."""
    wanted = type_of_noun(noun)
    for finding in findings:
        asked = analyse(finding.asked)
        if stem(noun) in content_stems(finding.asked):
            return True
        if wanted is not Wanted.THING and asked is not None and asked.wanted is wanted:
            return True
    return False
