"""Plan a question's hops: those of a comparison, else of a chain of nested questions, else the question itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.language.questions.comparisons import Comparison, find_comparison
from hoptrail.language.questions.decomposing import chain
from hoptrail.language.questions.indirect_questions import direct


@dataclass(frozen=True, slots=True)
class Plan:
    """The sub-questions of a question, concluded by a comparison or by the last answer."""

    questions: tuple[str, ...]
    comparison: Comparison | None = None

    def conclude(self, answers: Sequence[str | None]) -> str | None:
        """The answer from the answers to `questions`; None if one is missing or they do not conclude."""
        if len(answers) < len(self.questions):
            return None
        return self.comparison.verdict(answers) if self.comparison else answers[-1]


def make_plan(question: str, most_hops: int, longest: int) -> Plan:
    """The hops of `question`: at most `most_hops`; one for a question of more than `longest` characters."""
    if len(question) > longest:
        return Plan((question,))
    question = direct(question)
    comparison = find_comparison(question)
    if comparison is not None:
        asked = comparison.asked()
        if len(asked) <= most_hops:
            return Plan(asked, comparison)
    return Plan(chain(question, most_hops))
