"""The language `oracle`: a perfect reader with a data set's gold annotations, for evaluation only.

It decomposes as annotated, and answers only if the evidence shows the gold passages. So a question that it leaves unanswered is a
loss of retrieval or of the recipe's control flow, never of the reader. A gold passage counts as read even if a unit shows only
one sentence of it (`packed.shown_documents`). It costs nothing. It follows one question at a time, so an instance is not for
several threads.

Sentence numbers are those of the data set; if the corpus has no sentence borders, they may differ from ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar, cast

from hoptrail.errors import TaskFailed
from hoptrail.evaluation.answer_scores import normalise
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.retrieval_measures import shown_documents
from hoptrail.language import tasks
from hoptrail.language.chat.grounding import shortened
from hoptrail.language.questions.references import clarify
from hoptrail.text.sentences import without_space
from hoptrail.types import Document, Span, Unit, Usage
from hoptrail_papers.gold_plan import REFERENCE, Goal, GoldPlan, gold_plan

T = TypeVar("T")

UNANSWERED = tasks.Reading(None)

_CLOSED_ANSWERS = frozenset({"yes", "no"})
"""Answers that no sentence contains literally."""


class OracleLanguage:
    """Performs the tasks of the question last passed to `follow`."""

    name: ClassVar[str] = "oracle"

    def __init__(self) -> None:
        self._walk: _Walk | None = None

    def follow(
        self,
        question: Question,
        names: Mapping[str, Sequence[str]],
        documents: Callable[[set[str]], Mapping[str, Document]],
    ) -> None:
        """Set the question of the following tasks.

        `names` has the corpus's ids by document id; `documents` returns documents by id.
        """
        self._walk = _Walk(gold_plan(question), GoldEvidence(names, documents, question.supporting_sentences))

    def perform(self, task: tasks.Task[T]) -> tasks.Reply[T]:
        """Perform one task. Raises: TaskFailed: there is no gold for the task (extract), or no question is being followed."""
        name = tasks.TASK_NAMES.get(type(task), type(task).__name__)
        if isinstance(task, tasks.Extract):
            raise TaskFailed(f"{name}: the oracle has no gold for it. Build the index with another language.")
        if isinstance(task, tasks.Summarise):
            # A summary never counts as gold evidence, so its content changes no measure.
            return tasks.Reply(cast("T", shortened(" ".join(unit.text for unit in task.units), task.words)), Usage())
        if self._walk is None:
            raise TaskFailed(f"{name}: the oracle answers only questions of a data set, within `hoptrail evaluate`.")
        return tasks.Reply(cast("T", self._walk.perform(task)), Usage())


class _Walk:
    """The state of one question in its plan. `_position` is the recipe's current step, inferred from its last findings."""

    def __init__(self, plan: GoldPlan, gold: GoldEvidence) -> None:
        self._plan = plan
        self._gold = gold
        self._position: int | None = None
        self._answered: frozenset[int] = frozenset()

    def perform(self, task: object) -> tasks.Decomposition | str | tasks.Reading | float | tasks.Samples | bool:
        """The value of the reply to a task. Raises: TaskFailed: the task is unknown."""
        match task:
            case tasks.Decompose():
                return self._decompose(task)
            case tasks.Complete():
                return self._complete(task)
            case tasks.Clarify():
                return clarify(task.question, task.context)
            case tasks.Read():
                return self._read(task.question, task.evidence)
            case tasks.Assess() | tasks.Verify():
                return self._assess(task)
            case tasks.Integrate():
                return self._integrate(task)
            case tasks.Recall():
                return UNANSWERED
            case tasks.Sample(question, evidence):  # a perfect reader always gives the same answer
                return tasks.Samples((self._read(question, evidence).answer,))
            case tasks.Equate(_, one, other):
                return normalise(one) == normalise(other)
        raise TaskFailed(f"the oracle cannot perform the task {type(task).__name__}.")

    def _decompose(self, task: tasks.Decompose) -> tasks.Decomposition:
        """The gold steps of the whole question; any other question is one step."""
        if not self._plan.is_whole(task.question):
            return tasks.Decomposition(() if task.one_at_a_time and task.findings else (task.question,))
        if not task.one_at_a_time:
            return tasks.Decomposition(tuple(step.question for step in self._plan.steps))
        self._position = self._plan.following(task.findings)
        self._answered = self._plan.answered(task.findings)
        return tasks.Decomposition(() if self._position is None else (self._plan.steps[self._position].question,))

    def _complete(self, task: tasks.Complete) -> str:
        """The gold wording of the step; references to unanswered steps stay."""
        if self._plan.is_whole(task.question):
            return task.question
        worded = self._plan.worded_as(task.question)
        self._position = worded[0] if worded else self._plan.following(task.findings)
        self._answered = self._plan.answered(task.findings)
        return task.question if self._position is None else self._plan.completed(self._position, self._answered)

    def _read(self, question: str, evidence: Sequence[Unit]) -> tasks.Reading:
        goal = self._shown_goal(question, evidence)
        return UNANSWERED if goal is None else self._answer(goal, question, evidence)

    def _assess(self, task: tasks.Assess | tasks.Verify) -> float:
        goal = self._shown_goal(task.question, task.evidence)
        if goal is None:
            return 0.0
        right = {normalise(answer) for answer in goal.answers}
        return float(isinstance(task, tasks.Assess) or normalise(task.answer) in right)

    def _integrate(self, task: tasks.Integrate) -> tasks.Reading:
        """Answer if every hop was answered; without hops, or for a plan of one step, also if the evidence shows all support."""
        if not self._plan.is_whole(task.question):
            return self._read(task.question, task.evidence)
        answered = self._plan.answered(task.findings)
        if len(answered) == len(self._plan.steps):
            return self._answer(self._plan.whole, task.question, task.evidence)
        hops = len(self._plan.steps) > 1 and bool(task.findings)
        return UNANSWERED if hops else self._read(task.question, task.evidence)

    def _shown_goal(self, question: str, evidence: Sequence[Unit]) -> Goal | None:
        """The goal of a question, if the evidence shows its gold passages."""
        goals = (goal for goal in self._goals(question) if self._gold.shows(goal.passages, evidence))
        return next(goals, None)

    def _goals(self, question: str) -> list[Goal]:
        """The goals with these words; else the current step, if all steps that it depends on were answered."""
        if self._plan.is_whole(question):
            return [self._plan.whole]
        matches = self._plan.asked_as(question)
        if not matches and self._position is not None and not REFERENCE.search(question):
            current = self._plan.steps[self._position]
            return [current] if current.needs <= self._answered else []
        return [self._plan.steps[position] for position in matches]

    def _answer(self, goal: Goal, question: str, evidence: Sequence[Unit]) -> tasks.Reading:
        """The goal's answer with its support in the evidence; for the whole question, the support of every step."""
        parts = self._plan.steps if goal is self._plan.whole else (goal,)
        spans = (span for part in parts for span in self._gold.support(part.passages, part.answers, evidence))
        step = tasks.Step(question, goal.answers[0], tuple(dict.fromkeys(spans)))
        return tasks.Reading(step.answer, (step,), 1.0)


@dataclass(frozen=True, slots=True)
class GoldEvidence:
    """The gold of a question, matched with evidence.

    `names` has the corpus's ids by document id, `documents` returns documents by id, and `sentences` are the supporting sentences
    (passage id, sentence index).
    """

    names: Mapping[str, Sequence[str]]
    documents: Callable[[set[str]], Mapping[str, Document]]
    sentences: tuple[tuple[str, int], ...]
    known: dict[str, Document] = field(default_factory=dict)

    def shows(self, passages: Collection[str], evidence: Sequence[Unit]) -> bool:
        """Whether the evidence shows all these passages; False without passages."""
        documents = {document for unit in evidence for document in shown_documents(unit, self._read)}
        shown = {name for document in documents for name in self.names.get(document, ())}
        return bool(passages) and shown.issuperset(passages)

    def support(self, passages: Collection[str], answers: Sequence[str], evidence: Sequence[Unit]) -> tuple[Span, ...]:
        """Spans within the evidence that support an answer, for each document of these passages.

        The sentence with an answer (preferably a supporting one), else the supporting sentences, else all of the document that is
        in the evidence.
        """
        sources: dict[str, list[Span]] = {}
        for span in dict.fromkeys(span for unit in evidence for span in unit.sources):
            if not set(passages).isdisjoint(self.names.get(span.document, ())):
                sources.setdefault(span.document, []).append(span)
        documents = self._read(set(sources))
        return tuple(span for name, spans in sources.items() for span in self._best(documents[name], spans, answers))

    def _read(self, ids: set[str]) -> Mapping[str, Document]:
        """Documents by id, each read once: the tasks of a question share most of their evidence."""
        if missing := ids - self.known.keys():
            self.known.update(self.documents(missing))
        return self.known

    def _best(self, document: Document, sources: Sequence[Span], answers: Sequence[str]) -> Sequence[Span]:
        numbers = {number for passage, number in self.sentences if passage in self.names[document.id]}
        sentences: list[tuple[bool, Span]] = []
        for number, sentence in enumerate(document.sentences()):
            for source in sources:
                start, end = max(sentence.start, source.start), min(sentence.end, source.end)
                start, end = without_space(document.text, start, max(start, end))
                if start < end:
                    sentences.append((number in numbers, Span(document.id, start, end)))
        supporting = [piece for marked, piece in sentences if marked]
        for piece in (*supporting, *(piece for _, piece in sentences)):
            if any(_contains(document.slice(piece), answer) for answer in answers):
                return [piece]
        return supporting or sources


def _contains(text: str, answer: str) -> bool:
    answer = answer.strip()
    if not answer or answer.lower() in _CLOSED_ANSWERS:
        return False
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) is not None
