"""Words of a question that point back to earlier answers: find them, and put the answers in their place.

A sub-question (ChainRAG, "Sub-question Rewriting") points back by a placeholder (`#1`), a demonstrative (`this author`), a
pronoun before any name, or, in a question without names, a definite description (`the author`). Only whole words count: `Martin`
has no `he`. English only; a filler pronoun (`is it true that`) is not recognised here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hoptrail.language.tasks import Finding
from hoptrail.text.lexicon import ARTICLES, AUXILIARIES, COPULAS, FUNCTION_WORDS, PREPOSITIONS, PRONOUNS, word_set
from hoptrail.text.mentions import find_names
from hoptrail.text.words import Word, lower_words, words

REFERENCE = re.compile(r"#\d{1,3}\b")  # the answer to an earlier sub-question, by its number
_DEMONSTRATIVES = word_set("this these those")
_BEFORE_DEMONSTRATIVE_THAT = AUXILIARIES | COPULAS | PREPOSITIONS
_PERSONAL = PRONOUNS - _DEMONSTRATIVES - {"that"}
_FILLER = re.compile(r"\bit (?=(?:[a-z]+ )?(?:that|to|for|whether|if)\b)", re.IGNORECASE)
_DEMONSTRATIVE = re.compile(r"\b(?:this|that|these|those)\s+([a-z]{3,30})\b(?!')", re.IGNORECASE)
_NOUN_ASKED = re.compile(
    r"\b(?:(?:which|what) (?!is\b|was\b|are\b|were\b|did\b|do\b|does\b)|(?:is|was|are|were) the )([a-z]+)\b",
    re.IGNORECASE,
)
_KINDS = {"who": "person", "whose": "person", "where": "place", "when": "date", "how": "number"}
_OWNERS = word_set("his her its their")


def points_back(question: str, findings: Sequence[Finding]) -> bool:
    """Whether `question` refers to these findings; False without findings."""
    if not findings:
        return False
    described = not find_names(question) and any(word.lower == "the" for word in words(question))
    return described or bool(pointers(question))


def is_left_open(completed: str) -> bool:
    """Whether a completed sub-question still says `#1`, `this author` or `she`. `It` before a clause is filler."""
    return bool(pointers(_FILLER.sub("so ", completed)))


def pointers(question: str) -> list[str]:
    """Placeholders, demonstratives, and pronouns before any name."""
    said = words(question)
    first_name = min((name.start for name in find_names(question)), default=len(question))
    pointing = (
        word.lower
        for at, word in enumerate(said)
        if _is_demonstrative(said, at) or (word.lower in _PERSONAL and word.start < first_name)
    )
    return [*REFERENCE.findall(question), *pointing]


def complete(question: str, findings: Sequence[Finding]) -> str:
    """`question` with its references replaced; a reference to an unanswered finding stays. A demonstrative with a noun (`this
    author`), and a pronoun in a question without a name, become the latest answer.
    """
    question = resolve_references(question, findings)
    latest = next((finding.answer for finding in reversed(findings) if finding.answer), None)
    if latest is None or REFERENCE.search(question):
        return question
    # Only a demonstrative with a noun: not `that was` or `this is`.
    kept = FUNCTION_WORDS | {"question"}
    pointed = _DEMONSTRATIVE.sub(lambda said: said[0] if said[1].lower() in kept else latest, question, count=1)
    if pointed != question:
        return pointed
    return question if find_names(question) else _replace_pronouns(question, latest)


def _replace_pronouns(question: str, name: str) -> str:
    """`question` with a name in place of each personal pronoun, as an owner (`Ada's`) where it is one."""
    said, end, parts = words(question), 0, []
    for at, word in enumerate(said):
        if word.lower not in _PERSONAL:
            continue
        following = said[at + 1] if at + 1 < len(said) and said[at + 1].start == word.end + 1 else None
        owns = word.lower in _OWNERS and following is not None and following.lower not in FUNCTION_WORDS
        parts += [question[end : word.start], f"{name}'s" if owns else name]
        end = word.end
    return "".join([*parts, question[end:]])


def resolve_references(question: str, findings: Sequence[Finding]) -> str:
    """`question` with the answer to the n-th finding, if any, in place of `#n`."""
    answers = dict(enumerate((finding.answer for finding in findings), start=1))
    return REFERENCE.sub(lambda match: answers.get(int(match.group()[1:])) or match.group(), question)


def clarify(question: str, context: str) -> str:
    """`question` followed by its context: it is only used as a search query, so the words suffice."""
    return question if context in question else f"{question} {context}"


def word_references(question: str, earlier: Sequence[str]) -> str:
    """The sub-question in words: `Where was this person born?` for `Where was #1 born?` after `Who wrote it?`."""

    def pointing(match: re.Match[str]) -> str:
        place = int(match.group()[1:]) - 1
        return f"this {_kind_asked(earlier[place])}" if 0 <= place < len(earlier) else match.group()

    return REFERENCE.sub(pointing, question)


def _kind_asked(question: str) -> str:
    """The noun for what a sub-question asks: from `which town` or `the author of`, else from its question word."""
    noun = _NOUN_ASKED.search(question)
    if noun and noun.group(1).lower() not in FUNCTION_WORDS:
        return noun.group(1).lower()
    return next((_KINDS[word.lower] for word in words(question) if word.lower in _KINDS), "thing")


def is_completion(question: str, completed: str, findings: Sequence[Finding]) -> bool:
    """Whether `completed` keeps every name of `question` and adds a word of an earlier answer."""
    before, after = lower_words(question), lower_words(completed)
    names = lower_words(" ".join(name.text for name in find_names(question)))
    answered = lower_words(" ".join(finding.answer or "" for finding in findings)) - ARTICLES
    return names <= after and not answered.isdisjoint(after - before)


def _is_demonstrative(said: Sequence[Word], at: int) -> bool:
    """Whether a word is a demonstrative. `that` is one at the start or after a preposition or auxiliary (`in that town`)."""
    stands_free = at == 0 or said[at - 1].lower in _BEFORE_DEMONSTRATIVE_THAT
    return said[at].lower in _DEMONSTRATIVES or (said[at].lower == "that" and stands_free)
