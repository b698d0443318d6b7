"""A question's gold decomposition as a plan: its steps, their dependencies, and the current step of a recipe.

Sub-questions are matched by their words (apart from case, punctuation and spacing). A question without decomposition, or with a
step that has no answer or passage, is a plan of one step: the question itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hoptrail.evaluation.datasets import Question
from hoptrail.language.tasks import Finding

REFERENCE = re.compile(r"#(\d+)")
"""A placeholder for the answer to the step of that number, from 1."""

ARROW = " >> "
"""Separates head and relation of a step that is written as a triple (2WikiMultiHopQA, and part of MuSiQue)."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A question or step with its accepted answers (gold first) and the passages (corpus ids) that are all needed.

    `needs` has the positions of the earlier steps whose answers it refers to.
    """

    question: str
    answers: tuple[str, ...]
    passages: frozenset[str]
    needs: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class GoldPlan:
    """The question as one goal, and its steps in order; without a usable decomposition, the question is the only step."""

    whole: Goal
    steps: tuple[Goal, ...]

    def is_whole(self, text: str) -> bool:
        return _key(text) == _key(self.whole.question)

    def completed(self, position: int, answered: Collection[int]) -> str:
        """The wording of a step with references to the steps in `answered` replaced by their gold answers."""
        step = self.steps[position]
        known = {str(place + 1): self.steps[place].answers[0] for place in step.needs.intersection(answered)}
        return REFERENCE.sub(lambda match: known.get(match[1], match[0]), step.question)

    def asked_as(self, text: str) -> tuple[int, ...]:
        """The positions of the steps with this wording, with every reference resolved."""
        everything = range(len(self.steps))
        return tuple(position for position in everything if _key(text) == _key(self.completed(position, everything)))

    def worded_as(self, text: str) -> tuple[int, ...]:
        """The positions of the steps with this wording, with references resolved or not."""
        as_written = (position for position, step in enumerate(self.steps) if _key(text) == _key(step.question))
        return tuple(dict.fromkeys((*as_written, *self.asked_as(text))))

    def asked(self, findings: Sequence[Finding]) -> frozenset[int]:
        """The positions of the steps that these findings are about, answered or not."""
        return frozenset(step for place, finding in enumerate(findings) for step in self._steps_of(finding, place))

    def answered(self, findings: Sequence[Finding]) -> frozenset[int]:
        """The positions of the steps that these findings have answered."""
        answered = [(place, finding) for place, finding in enumerate(findings) if finding.answer is not None]
        return frozenset(step for place, finding in answered for step in self._steps_of(finding, place))

    def following(self, findings: Sequence[Finding]) -> int | None:
        """The position of the first step that was not asked yet, None if all were."""
        asked = self.asked(findings)
        return next((position for position in range(len(self.steps)) if position not in asked), None)

    def _steps_of(self, finding: Finding, place: int) -> tuple[int, ...]:
        """The steps that a finding is about, by its wording. An answer to the whole question answers every step; a finding with
        another wording is about the step at the same place.
        """
        by_words = self.worded_as(finding.question) or self.worded_as(finding.asked)
        if not by_words and self.is_whole(finding.question):
            return () if finding.answer is None else tuple(range(len(self.steps)))
        return by_words or ((place,) if place < len(self.steps) else ())


def gold_plan(question: Question) -> GoldPlan:
    """The plan of a question.

    Steps written as triples name their head even if it is the answer to an earlier step; such a head becomes a reference, because
    otherwise the plan would reveal that answer.
    """
    whole = Goal(question.question, question.answers, frozenset(question.supporting))
    written = [step.question for step in question.decomposition]
    if not any(REFERENCE.search(text) for text in written):
        written = _with_references(question)
    steps = []
    for position, (text, step) in enumerate(zip(written, question.decomposition, strict=True)):
        if step.answer and step.supporting:
            needs = frozenset(int(number) - 1 for number in REFERENCE.findall(text) if 0 < int(number) <= position)
            steps.append(Goal(text, (step.answer,), frozenset({step.supporting}), needs))
    is_usable = bool(steps) and len(steps) == len(written)
    return GoldPlan(whole, tuple(steps) if is_usable else (whole,))


def _with_references(question: Question) -> list[str]:
    texts: list[str] = []
    earlier: list[str] = []
    for step in question.decomposition:
        head, arrow, relation = step.question.partition(ARROW)
        position = _source_step(head, earlier, question.question) if arrow else None
        texts.append(step.question if position is None else f"#{position + 1}{arrow}{relation}")
        earlier.append(step.answer or "")
    return texts


def _source_step(head: str, earlier: Sequence[str], question: str) -> int | None:
    """The earlier step whose answer is `head`; None if the question names it itself.

    An equal name wins. Because names vary, the answer that shares most words with a head missing in the question is next.
    """
    name = _bare(head)
    if not name:
        return None
    answers = [_bare(answer) for answer in earlier]
    if name in answers:
        return answers.index(name)
    if f" {name} " in f" {_bare(question)} ":
        return None
    shared = [len(set(name.split()) & set(answer.split())) for answer in answers]
    return shared.index(max(shared)) if any(shared) else None


def _bare(name: str) -> str:
    """A name in lower case without its parentheses: "Ann Lee (poet)" is "ann lee"."""
    return _key(re.sub(r"\([^)]*\)", " ", name))


def _key(text: str) -> str:
    return " ".join(re.findall(r"#\d+|\w+", text.casefold()))
