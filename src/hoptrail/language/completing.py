"""Complete sub-questions by rules: `#n` and phrases that point back become earlier answers.

Two kinds of phrases point back, and become the latest answer: a demonstrative with a noun (`this author`, `that town`), and a
pronoun in a question without a name. `Where did Martin die?` stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hoptrail.language.tasks import Finding
from hoptrail.text.lexicon import FUNCTION_WORDS
from hoptrail.text.mentions import find_names

REFERENCE = re.compile(r"#(\d{1,3})\b")
_DEMONSTRATIVE = re.compile(r"\b(?:this|that|these|those)\s+([a-z]{3,30})\b(?!')", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\b(?:his|its|their)\b(?=\s+[a-z])", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:he|she|it|they|him|them)\b", re.IGNORECASE)
_HER = re.compile(r"\bher\b(\s+[a-z]+)?", re.IGNORECASE)
_MOST_ANALYSED = 2_000


def complete(question: str, findings: Sequence[Finding]) -> str:
    """`question` with its references replaced; a reference to an unanswered finding stays."""
    question = resolve_references(question, findings)
    latest = next((finding.answer for finding in reversed(findings) if finding.answer), None)
    if latest is None or len(question) > _MOST_ANALYSED or REFERENCE.search(question):
        return question
    # Only a demonstrative with a noun: not `that was` or `this is`.
    kept = FUNCTION_WORDS | {"question"}
    pointed = _DEMONSTRATIVE.sub(lambda said: said[0] if said[1].lower() in kept else latest, question, count=1)
    if pointed != question:
        return pointed
    return question if find_names(question) else _without_pronouns(question, latest)


def resolve_references(question: str, findings: Sequence[Finding]) -> str:
    """`question` with the answer to the n-th finding, if any, in place of `#n`."""
    answers = [finding.answer for finding in findings]
    return REFERENCE.sub(lambda match: _replace_reference(match, answers), question)


def clarify(question: str, context: str) -> str:
    """`question` followed by its context: it is only used as a search query, so the words suffice."""
    return question if context in question else f"{question} {context}"


def unresolved(question: str) -> bool:
    """Whether a reference such as `#2` remains."""
    return REFERENCE.search(question) is not None


def _replace_reference(match: re.Match[str], answers: Sequence[str | None]) -> str:
    place = int(match.group(1)) - 1
    answer = answers[place] if 0 <= place < len(answers) else None
    return answer or match.group()


def _without_pronouns(question: str, latest: str) -> str:
    possessive = f"{latest}'s"
    question = _POSSESSIVE.sub(lambda _: possessive, question)
    question = _HER.sub(lambda match: possessive + match.group(1) if match.group(1) else latest, question)
    return _PRONOUN.sub(lambda _: latest, question)
