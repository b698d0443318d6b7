"""Plan a question's hops: those of a comparison, else of a chain of nested questions, else the question itself."""

from __future__ import annotations

import re
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


def make_plan(question: str, most_hops: int, longest: int, names: Sequence[str] = ()) -> Plan:
    """The hops of `question`: at most `most_hops`; one for a question of more than `longest` characters.

    `names`, for instance titles of passages found for it, are never cut: `Accident on Hill Road`, `The Man Who Knew Too Much`.
    """
    if len(question) > longest:
        return Plan((question,))
    question = direct(question)
    comparison = find_comparison(question)
    if comparison is not None:
        asked = comparison.asked()
        if len(asked) <= most_hops:
            return Plan(asked, comparison)
    return Plan(_chain_around(question, most_hops, names))


def _chain_around(question: str, most_hops: int, names: Sequence[str]) -> tuple[str, ...]:
    """The chain of a question whose names of several words are replaced by single words meanwhile."""
    stand_ins: dict[str, str] = {}
    for name in sorted(set(names), key=lambda name: (-len(name), name)):
        if not name[:1].isupper() or " " not in name or name not in question:
            continue
        stand_in = f"Xq{'a' * (len(stand_ins) + 1)}z"
        question, times = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", stand_in, question)
        if times:
            stand_ins[stand_in] = name
    steps = chain(question, most_hops)
    for stand_in, name in stand_ins.items():
        steps = tuple(step.replace(stand_in, name) for step in steps)
    return steps
