"""The performer `oracle`: a perfect reader that knows a data set's gold annotations, for evaluation only.

It decomposes as the annotations do, and answers only what the evidence handed over can show, judged by gold passages and
not by words. So what it leaves unanswered is retrieval's or the recipe's control flow's loss, never the reader's. A gold
passage counts as read whole, even where a unit shows one sentence of it. It spends nothing, and follows one question at a
time: not for several threads that work on different questions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeVar, cast

from hoptrail.errors import TaskFailed
from hoptrail.evaluation.answer_scores import normalise
from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.gold_evidence import GoldEvidence
from hoptrail.evaluation.gold_plan import REFERENCE, Goal, GoldPlan, gold_plan
from hoptrail.language.chat.grounding import shortened
from hoptrail.language.completing import clarify
from hoptrail.language.tasks import (
    TASK_NAMES,
    Assess,
    Clarify,
    Complete,
    Decompose,
    Decomposition,
    Entail,
    Equate,
    Extract,
    Integrate,
    Read,
    Reading,
    Recall,
    Relation,
    Reply,
    Sample,
    Samples,
    Step,
    Summarise,
    Task,
    Verify,
)
from hoptrail.types import Document, Unit, Usage

T = TypeVar("T")

UNANSWERED = Reading(None)


class OracleLanguage:
    """Performs the tasks of the question that it was last told to follow."""

    name: ClassVar[str] = "oracle"

    def __init__(self) -> None:
        self._walk: _Walk | None = None

    def follow(
        self,
        question: Question,
        names: Mapping[str, Sequence[str]],
        documents: Callable[[set[str]], Mapping[str, Document]],
    ) -> None:
        """From now on, tasks are about `question`.

        `names` are the corpus's ids of a document, by document id; `documents` gives documents by id.
        """
        self._walk = _Walk(gold_plan(question), GoldEvidence(names, documents, question.supporting_sentences))

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform one task.

        Raises:
            TaskFailed: the task has no gold (extract), or no question is being followed.
        """
        name = TASK_NAMES.get(type(task), type(task).__name__)
        if isinstance(task, Extract):
            raise TaskFailed(f"{name}: the oracle has no gold for it. Build the index with another language.")
        if isinstance(task, Summarise):
            # Nothing in a summary counts as gold evidence, so what it says changes no measure.
            return Reply(cast("T", shortened(" ".join(unit.text for unit in task.units), task.words)), Usage())
        if self._walk is None:
            raise TaskFailed(
                f"{name}: the oracle knows the questions of a data set only; it serves `hoptrail evaluate`."
            )
        return Reply(cast("T", self._walk.perform(task)), Usage())


class _Walk:
    """One question's way through its plan: `position` is the step that the recipe is at, as its last findings tell."""

    def __init__(self, plan: GoldPlan, gold: GoldEvidence) -> None:
        self._plan = plan
        self._gold = gold
        self._position: int | None = None
        self._answered: frozenset[int] = frozenset()

    def perform(self, task: object) -> Decomposition | str | Reading | float | Samples | Relation | bool:
        match task:
            case Decompose():
                return self._decompose(task)
            case Complete() | Clarify():
                return self._complete(task) if isinstance(task, Complete) else clarify(task.question, task.context)
            case Read():
                return self._read(task.question, task.evidence)
            case Assess() | Verify():
                return self._assess(task)
            case Integrate():
                return self._integrate(task)
            case Recall():
                return UNANSWERED
            case Sample(question, evidence):
                return Samples((self._read(question, evidence).answer,))  # a perfect reader is of one mind
            case Entail(_, premise, hypothesis):
                same = normalise(premise) == normalise(hypothesis)
                return Relation.ENTAILMENT if same else Relation.CONTRADICTION
            case Equate(_, one, other):
                return normalise(one) == normalise(other)
        raise TaskFailed(f"{type(task).__name__} is not a task that the oracle knows.")

    def _decompose(self, task: Decompose) -> Decomposition:
        """A sub-question is one step already, and so is what the plan does not know."""
        if not self._plan.is_whole(task.question):
            return Decomposition(() if task.one_at_a_time and task.findings else (task.question,))
        if not task.one_at_a_time:
            return Decomposition(tuple(step.question for step in self._plan.steps))
        self._position = self._plan.following(task.findings)
        self._answered = self._plan.answered(task.findings)
        return Decomposition(() if self._position is None else (self._plan.steps[self._position].question,))

    def _complete(self, task: Complete) -> str:
        """The gold words of the step; a reference to a step that was not answered stays."""
        if self._plan.is_whole(task.question):
            return task.question
        worded = self._plan.worded_as(task.question)
        self._position = worded[0] if worded else self._plan.following(task.findings)
        self._answered = self._plan.answered(task.findings)
        return task.question if self._position is None else self._plan.completed(self._position, self._answered)

    def _read(self, question: str, evidence: Sequence[Unit]) -> Reading:
        goal = self._shown(question, evidence)
        return UNANSWERED if goal is None else self._told(goal, question, evidence)

    def _assess(self, task: Assess | Verify) -> float:
        goal = self._shown(task.question, task.evidence)
        if goal is None:
            return 0.0
        return float(
            isinstance(task, Assess) or normalise(task.answer) in {normalise(answer) for answer in goal.answers}
        )

    def _integrate(self, task: Integrate) -> Reading:
        """Every hop was answered; without hops, or for a plan of one step, it is also enough to see all the support."""
        if not self._plan.is_whole(task.question):
            return self._read(task.question, task.evidence)
        answered = self._plan.answered(task.findings)
        if len(answered) == len(self._plan.steps):
            return self._told(self._plan.whole, task.question, task.evidence)
        hops = len(self._plan.steps) > 1 and bool(task.findings)
        return UNANSWERED if hops else self._read(task.question, task.evidence)

    def _shown(self, question: str, evidence: Sequence[Unit]) -> Goal | None:
        """The goal that these words ask, if the evidence shows its gold."""
        goals = (goal for goal in self._goals(question) if self._gold.shows(goal.passages, evidence))
        return next(goals, None)

    def _goals(self, question: str) -> list[Goal]:
        """By words; else the step that the recipe is at, provided that all it rests on was answered."""
        if self._plan.is_whole(question):
            return [self._plan.whole]
        asked = self._plan.asked_as(question)
        if not asked and self._position is not None and not REFERENCE.search(question):
            here = self._plan.steps[self._position]
            return [here] if here.needs <= self._answered else []
        return [self._plan.steps[position] for position in asked]

    def _told(self, goal: Goal, question: str, evidence: Sequence[Unit]) -> Reading:
        """The goal's answer, with what the evidence has in support of it: for the whole question, of its every step."""
        parts = self._plan.steps if goal is self._plan.whole else (goal,)
        spans = (span for part in parts for span in self._gold.support(part.passages, part.answers, evidence))
        return Reading(goal.answers[0], (Step(question, goal.answers[0], tuple(dict.fromkeys(spans))),), 1.0)
