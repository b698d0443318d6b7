"""Whether somebody or something is in a list: `Is Lucy a first aider?`, `Was Callum at the budget meeting?`

The answer is yes if the name is among the items, rows or values of the kind asked for, and no if it is among the apologies.
A name that is missing from a list gives no answer, because the list may be incomplete.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hoptrail.language.closeness import Similarity
from hoptrail.language.offline.listing import listing
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.lexicon import word_set
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.words import content_stems
from hoptrail.types import AnswerKind, Unit

_IS_A = re.compile(
    r"(?:is|are|was|were) (?P<name>[^?]+?) (?:an?|one of (?:the|our)) (?P<kind>[\w -]+?)s?\s*[?.]*", re.IGNORECASE
)
_ATTENDED = re.compile(
    r"(?:was|were|is|did|has) (?P<name>[^?]+?) (?:(?:present )?at|attend(?:ed)?|join(?:ed)?|come to|tak(?:e|en) part in) "
    r"(?P<event>[^?]+?)\s*[?.]*",
    re.IGNORECASE,
)
_ATTENDANCE = re.compile(r"\s*(?P<key>[A-Za-z ]{4,30}):\s*(?P<names>\S.*)", re.DOTALL)
_PRESENT = word_set("present attending attendees attended participants")
_ABSENT = word_set("apologies absent excused regrets")
_LIGHT = content_stems("meeting meet session call")
_CONFIDENCE = 0.7


def claim_by_list(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """Yes or no, citing the list; an abstention if no list of the kind has the name."""
    line = " ".join(question.split())
    if match := _IS_A.fullmatch(line):
        found = listing(f"List all {match['kind']}s", units, similarity)
        name = content_stems(match["name"])
        if name and any(name <= content_stems(item) for item in found.items):
            return Reading("yes", (Step(question, "yes", found.steps[0].support),), _CONFIDENCE, AnswerKind.YES_NO)
    if match := _ATTENDED.fullmatch(line):
        name, event = content_stems(match["name"]), content_stems(match["event"]) - _LIGHT
        for said in (said for unit in units for said in statements_of(unit)):
            if answer := _attended(said, name, event):
                return Reading(answer, (Step(question, answer, said.support),), _CONFIDENCE, AnswerKind.YES_NO)
    return Reading(None, kind=AnswerKind.YES_NO)


def _attended(said: UnitStatement, name: frozenset[str], event: frozenset[str]) -> str:
    """`yes` or `no` if the statement is a line of the event's minutes that says who was present or absent, else empty."""
    line = _ATTENDANCE.fullmatch(said.text.strip())
    above = content_stems(" ".join((said.unit.title, *said.path)))
    if line is None or not name or not name <= content_stems(line["names"]) or not event or not event <= above:
        return ""
    key = line["key"].strip().lower()
    return "yes" if key in _PRESENT else "no" if key in _ABSENT else ""
