"""Follow-up questions: `and when was she born?` becomes a question that stands alone, by the trail of the previous answer."""

from __future__ import annotations

import re

from hoptrail.language.tasks import Complete, Finding, Language
from hoptrail.text.mentions import Shape, find_mentions, find_names
from hoptrail.types import Answer

_OPENING = re.compile(r"^\s*(?:and|but|so|then|also|now)\b[\s,:-]*(?=\w)", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.IGNORECASE)
_WHO = re.compile(r"\s*(?:who|whom|whose)\b", re.IGNORECASE)
_NAMES = frozenset({Shape.NAME, Shape.QUOTED})


def resolve_follow_up(question: str, before: Answer | None, language: Language) -> str:
    """`question` completed from the previous answer; unchanged if there is none or nothing points back.

    `He` and `she` refer to the answer of an earlier hop that asked who, else to the subject of the previous question. Other words
    refer to the latest name of the trail: dates, numbers and yes are never meant.
    Raises: TaskFailed, EndpointRefused, BudgetExhausted: the language could not complete the question.
    """
    if before is None:
        return question
    opened = _OPENING.sub("", question)
    opened = opened[:1].upper() + opened[1:]
    findings = tuple(_findings(before))
    if _PERSON.search(opened):
        findings = tuple(finding for finding in findings if _WHO.match(finding.asked)) or findings
    return language.perform(Complete(opened, findings)).value if findings else question


def _findings(before: Answer) -> list[Finding]:
    """The names of the previous answer, the latest last: the last name of its question, the answers of its hops, the answer."""
    names = [(f"What is {mention.text}?", mention.text) for mention in find_names(before.question)[-1:]]
    hops = [(hop.asked, hop.answer) for hop in before.trail] + [(before.question, before.text)]
    for asked, answer in hops:
        if answer and any(mention.shape in _NAMES for mention in find_mentions(answer)):
            names.append((asked, answer))
    return [Finding(asked, asked, answer) for asked, answer in names]
