"""Plan a question's hops: those of a comparison, else of a chain of nested questions, else the question itself.

The question tagger says whether a question is to be taken apart, and marks the innermost description (`the town where Ada was
born`). That becomes a question and leaves its number, `#1`, in the rest, which is tagged again (from the inside, as in
ChainRAG and HiRAG). So every piece of a plan is a piece of the question, but for relatives who are told in two steps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hoptrail.language.questions.comparisons import Comparison, asked_for, find_comparison
from hoptrail.models.prompt_text import whole_text
from hoptrail.models.question_tagger import Extent, tag_question
from hoptrail.text.lexicon import RELATIVE, RELATIVES
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import words


@dataclass(frozen=True, slots=True)
class Plan:
    """The sub-questions of a question; the last of a chain answers it, and the values of both sides what is compared."""

    questions: tuple[str, ...]
    comparison: Comparison | None = None

    @property
    def searched(self) -> tuple[str, ...]:
        """What is searched for: the sub-questions, and of a comparison those about what its sides lead to."""
        return self.comparison.searched if self.comparison else self.questions


def make_plan(question: str, most_hops: int, longest: int) -> Plan:
    """The hops of `question`, at most `most_hops`; one above `longest` characters. Raises: ModelUnavailable: by the tagger."""
    if len(question) > longest:
        return Plan((question,))
    line = whole_text(squeeze(question))
    comparison = find_comparison(line)
    if comparison is not None and len(comparison.questions) <= most_hops:
        return Plan(comparison.questions, comparison)
    steps = _chain(line, most_hops)
    if len(steps) == 1:  # a relative whom a statement names is better asked for at once
        steps = _chain(RELATIVE.sub(_in_two_steps, line), most_hops)
    return Plan(steps if len(steps) > 1 else (line,))


def _in_two_steps(found: re.Match[str]) -> str:
    """`the mother of the spouse of` for `the mother-in-law of`, `'s spouse's mother` for `'s mother-in-law`."""
    first, then = RELATIVES[found["relative"]].split()
    return f"the {then} of the {first} of" if found["of"] else f"'s {first}'s {then}"


def _chain(question: str, most: int) -> tuple[str, ...]:
    """At most `most` sub-questions of `question`, the last being its remainder."""
    steps: list[str] = []
    while len(steps) < most - 1 and (extent := _innermost(question)):
        start, end = extent
        described = question[start:end]
        if described == question.strip(" ?.!") or asked_for(described) == question:
            break
        steps.append(asked_for(described))
        question = f"{question[:start]}#{len(steps)}{question[end:] or '?'}"
    return (*steps, question)


def _innermost(question: str) -> Extent | None:
    """The description to find first: a description within another one comes before it."""
    extent = tag_question(question).inner
    while extent:
        start, end = extent[0], extent[0] + len(question[slice(*extent)].rstrip(" ?.!"))
        if len(words(question[start:end])) < 2:
            return None
        asked = asked_for(question[start:end])
        offset = asked.index(question[start:end]) - start
        inner = tag_question(asked).inner
        within = inner and (inner[0] - offset, inner[1] - offset)
        if not within or not start <= within[0] < within[1] <= end or within == (start, end):
            return start, end
        extent = within
    return None
