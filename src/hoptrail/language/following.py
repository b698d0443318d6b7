"""Follow-up questions: `and when was she born?` becomes a question that stands alone, by the trail of the answer before it."""

from __future__ import annotations

import re

from hoptrail.language.tasks import Complete, Finding, Language
from hoptrail.text.mentions import Shape, find_mentions, find_names
from hoptrail.types import Answer

_OPENING = re.compile(r"^\s*(?:and|but|so|then|also|now)\b[\s,:-]*(?=\w)", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:he|she|him|her|his|hers)\b", re.IGNORECASE)
_WHO = re.compile(r"\s*(?:who|whom|whose)\b", re.IGNORECASE)
_NAMES = frozenset({Shape.NAME, Shape.QUOTED})


def stand_alone(question: str, before: Answer | None, language: Language) -> str:
    """`question` with what it leaves to the answer before it put in; as it is where there is none or nothing points back.

    He and she are whoever an earlier hop found by asking who, else what the former question was about. Everything else points to
    the latest name of the trail: a date, a number or a yes is nobody's `it`.

    Raises:
        TaskFailed, EndpointRefused, BudgetExhausted: the language could not complete it.
    """
    if before is None:
        return question
    opened = _OPENING.sub("", question)
    opened = opened[:1].upper() + opened[1:]
    findings = tuple(_findings(before))
    if _PERSON.search(opened):
        findings = tuple(one for one in findings if _WHO.match(one.asked)) or findings
    return language.perform(Complete(opened, findings)).value if findings else question


def _findings(before: Answer) -> list[Finding]:
    """What the answer before settled, the latest last: what its question names, what each hop found, the answer."""
    named = [mention.text for mention in find_names(before.question)]
    hops = [(hop.asked, hop.answer) for hop in before.trail if hop.answer] + [(before.question, before.text)]
    found = [("", name) for name in named[-1:]] + [
        (asked, answer) for asked, answer in hops if answer and _is_name(answer)
    ]
    return [Finding(asked or f"What is {answer}?", asked or f"What is {answer}?", answer) for asked, answer in found]


def _is_name(answer: str) -> bool:
    return any(mention.shape in _NAMES for mention in find_mentions(answer))
