"""Sub-questions made to stand alone: `#n` and phrases that point back become earlier answers.

A phrase points back when it is a demonstrative with a noun (`this author`, `that town`), which takes the latest answer, or
a pronoun in a question that names nothing itself. `Where did Martin die?` points nowhere and is returned as it is.
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
    """`question` with its references replaced; a reference to an unanswered finding stays as it stands."""
    question = referenced(question, findings)
    latest = next((finding.answer for finding in reversed(findings) if finding.answer), None)
    if latest is None or len(question) > _MOST_ANALYSED or REFERENCE.search(question):
        return question
    pointed = _DEMONSTRATIVE.sub(lambda match: _pointed(match, latest), question, count=1)
    if pointed != question:
        return pointed
    return question if find_names(question) else _without_pronouns(question, latest)


def referenced(question: str, findings: Sequence[Finding]) -> str:
    """`question` with `#n` as the answer to the n-th finding, where there is one."""
    answers = [finding.answer for finding in findings]
    return REFERENCE.sub(lambda match: _numbered(match, answers), question)


def clarify(question: str, context: str) -> str:
    """`question` with its context behind it: a search takes the words of both, and nobody but a search reads it."""
    return question if context in question else f"{question} {context}"


def unresolved(question: str) -> bool:
    """Whether a reference such as `#2` is left."""
    return REFERENCE.search(question) is not None


def _numbered(match: re.Match[str], answers: Sequence[str | None]) -> str:
    place = int(match.group(1)) - 1
    answer = answers[place] if 0 <= place < len(answers) else None
    return answer or match.group()


def _pointed(match: re.Match[str], latest: str) -> str:
    """`that was` and `this is` do not point: a noun must follow."""
    return match.group() if match.group(1).lower() in FUNCTION_WORDS | {"question"} else latest


def _without_pronouns(question: str, latest: str) -> str:
    possessive = f"{latest}'s"
    question = _POSSESSIVE.sub(lambda _: possessive, question)
    question = _HER.sub(lambda match: possessive + match.group(1) if match.group(1) else latest, question)
    return _PRONOUN.sub(lambda _: latest, question)
