"""The performer `chat`: every language task by a chat model, as a prompt filled and a reply checked.

Here tasks become drafts (`drafting.py`) and replies become outputs (`citing.py`, `noting.py`); how a usable
reply is got is `ladder.py`'s business, what it costs is `models.billing`'s. Tasks with nothing to work on are not asked, nor
what rules settle.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar, cast

from pydantic import BaseModel

from hoptrail.errors import TaskFailed
from hoptrail.language.anaphora import is_completion, points_back
from hoptrail.language.chat import schemas
from hoptrail.language.chat.citing import reading_of, settled
from hoptrail.language.chat.context import one_line, sentences_of, show_findings
from hoptrail.language.chat.drafting import Drafted, Drafting
from hoptrail.language.chat.grounding import extraction_of, shortened
from hoptrail.language.chat.ladder import Climbed, Draft, Ladder
from hoptrail.language.chat.origins import Origins
from hoptrail.language.chat.prompting import check_prompts
from hoptrail.language.chat.sampling import climb_often
from hoptrail.language.chat.summarising import summarise_all
from hoptrail.language.completing import referenced, unresolved
from hoptrail.language.tasks import (
    Abstain,
    Assess,
    Clarify,
    Complete,
    Decompose,
    Decomposition,
    Entail,
    Equate,
    Extract,
    Extraction,
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
from hoptrail.models.billing import Chat
from hoptrail.models.chat import ChatSettings
from hoptrail.types import Unit, Usage

T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)
Output = Extraction | str | Decomposition | Reading | float | Samples | Relation | bool

MOST_QUESTIONS = 12
"""Sub-questions of one decomposition that are kept."""

_log = logging.getLogger(__name__)


class ChatLanguage:
    """Performs all tasks through `chat`. For any number of threads.

    Raises:
        UsageError: a file in the settings' folder of prompts cannot be used.
    """

    def __init__(self, chat: Chat, settings: ChatSettings) -> None:
        check_prompts(settings.prompts)
        self._drafting = Drafting(settings.prompts)
        self._chat = chat
        self._ladder = Ladder(chat, settings)
        self._origins = Origins()

    @property
    def name(self) -> str:
        """The model is part of the name: results of another model are other results."""
        return f"chat:{self._chat.model}"

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform one task; what it cost is what was paid now, not what was remembered.

        Raises:
            TaskFailed: no usable reply.
            EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: no task can be performed, for now.
        """
        started = time.perf_counter()
        asked = _Asked(self._ladder, self._drafting, self._origins.of(_said(task)))
        try:
            value = asked.output(task)
        except TaskFailed as failure:
            _log.warning("a language task failed. %s", failure)
            raise
        if not isinstance(task, Summarise):  # a summary becomes a unit, which names its documents itself
            self._origins.note(_given(value), asked.documents)
        return Reply(cast("T", value), replace(asked.usage, seconds=time.perf_counter() - started))


class _Asked:
    """One task, what it costs, and the documents that its prompt rests on; `origins` are those by way of earlier replies."""

    def __init__(self, ladder: Ladder, drafting: Drafting, origins: tuple[str, ...]) -> None:
        self._ladder = ladder
        self._drafting = drafting
        self._origins = origins
        self.usage = Usage()
        self.documents: tuple[str, ...] = ()

    def output(self, task: object) -> Output:
        match task:
            case Extract(unit, before):
                return self._extract(unit, before)
            case Summarise(units, words):
                return self._summarise(units, words)
            case Decompose():
                return self._decompose(task)
            case Complete() | Clarify():
                return self._complete(task) if isinstance(task, Complete) else self._clarify(task)
            case Read(question, evidence, abstain):
                return self._read(question, evidence, abstain)
            case Assess() | Verify():
                return self._judge(task) if task.evidence else 0.0
            case Integrate():
                return self._integrate(task)
            case Recall(question):
                return self._recall(question)
            case Sample() | Entail() | Equate():
                return self._sample(task) if isinstance(task, Sample) else self._compare(task)
        raise TaskFailed(f"chat cannot perform {type(task).__name__}: it is no language task")

    def _extract(self, unit: Unit, before: Unit | None) -> Extraction:
        if not unit.text.strip():
            return Extraction((), ())
        drafted = self._drafting.with_sentences("extract", unit, before)
        reply, draft = self._needed("extract", drafted, schemas.ExtractReply)
        # The sentences of the draft that was answered: a second, smaller one shows fewer, under the same numbers.
        return extraction_of(unit, reply, sentences_of(draft.units[0], len(unit.text)), before)

    def _summarise(self, units: Sequence[Unit], words: int) -> str:
        """Of all units: where the window does not hold them, of summaries of parts."""
        tokens = self._drafting.tokens_for("summarise", "texts", self._ladder.room, words=str(words))

        def summarised(some: Sequence[Unit], words: int) -> tuple[str, tuple[Unit, ...]]:
            draft = self._drafting.with_some("summarise", "texts", some, words=str(words))
            reply, drafted = self._needed("summarise", draft, schemas.SummariseReply)
            return shortened(reply.summary, words), drafted.units

        return summarise_all(units, words, tokens, summarised)

    def _decompose(self, task: Decompose) -> Decomposition:
        values = {"question": one_line(task.question), "findings": show_findings(task.findings)}
        reply: schemas.DecomposeReply | schemas.NextReply
        if task.one_at_a_time:
            draft = self._drafting.fixed("decompose_next", **values)
            reply, _ = self._needed("decompose", draft, schemas.NextReply)
        else:
            reply, _ = self._needed("decompose", self._drafting.fixed("decompose", **values), schemas.DecomposeReply)
        questions = tuple(dict.fromkeys(one_line(question) for question in reply.questions if question.strip()))
        return Decomposition(questions[: 1 if task.one_at_a_time else MOST_QUESTIONS])

    def _complete(self, task: Complete) -> str:
        """Numbers by rule; the model is asked only where words point back to an answer that there is."""
        question = referenced(task.question, task.findings)
        answered = tuple(finding for finding in task.findings if finding.answer is not None)
        if unresolved(question) or not points_back(question, answered):
            return question
        draft = self._drafting.fixed("complete", question=one_line(question), findings=show_findings(answered))
        reply, _ = self._needed("complete", draft, schemas.CompleteReply)
        completed = one_line(reply.question)
        return completed if is_completion(question, completed, answered) else question

    def _clarify(self, task: Clarify) -> str:
        values = {"question": one_line(task.question), "name": one_line(task.name), "context": one_line(task.context)}
        reply, _ = self._needed("clarify", self._drafting.fixed("clarify", **values), schemas.CompleteReply)
        return one_line(reply.question)

    def _read(self, question: str, evidence: Sequence[Unit], abstain: Abstain) -> Reading:
        if not evidence:
            return Reading(None)
        values = {"question": one_line(question), "abstain": self._drafting.phrase("answer", abstain)}
        draft = self._drafting.with_units("answer", "evidence", evidence, **values)
        climbed = self._climb("answer", draft, schemas.ReadingReply)
        return reading_of(question, climbed.reply, climbed.draft.units) if climbed.reply else Reading(None)

    def _judge(self, task: Assess | Verify) -> float:
        """Is it enough, or does it support an answer? A model says so in a word, which stands for a probability."""
        question = one_line(task.question)
        if isinstance(task, Assess):
            draft = self._drafting.with_units("assess", "evidence", task.evidence, question=question)
            judged, _ = self._needed("assess", draft, schemas.AssessReply)
            return judged.enough
        values = {"question": question, "answer": one_line(task.answer)}
        draft = self._drafting.with_units("verify", "evidence", task.evidence, **values)
        checked, _ = self._needed("verify", draft, schemas.VerifyReply)
        return checked.supports

    def _integrate(self, task: Integrate) -> Reading:
        """From answers, or from answers and evidence; without any answer it is reading."""
        if all(finding.answer is None for finding in task.findings):
            return self._read(task.question, task.evidence, task.abstain)
        prompt = "integrate_evidence" if task.evidence else "integrate"
        values = {
            "question": one_line(task.question),
            "findings": show_findings(task.findings),
            "abstain": self._drafting.phrase(prompt, task.abstain),
        }
        if task.evidence:
            draft = self._drafting.with_units(prompt, "evidence", task.evidence, **values)
            read = self._climb("integrate", draft, schemas.ReadingReply)
            return reading_of(task.question, read.reply, read.draft.units) if read.reply else Reading(None)
        climbed = self._climb("integrate", self._drafting.fixed(prompt, **values), schemas.ConclusionReply)
        answer = settled(climbed.reply.answer) if climbed.reply else None
        if climbed.reply is None or answer is None:
            return Reading(None)
        return Reading(answer, (Step(task.question, answer, ()),), climbed.reply.confidence)

    def _recall(self, question: str) -> Reading:
        climbed = self._climb(
            "recall", self._drafting.fixed("recall", question=one_line(question)), schemas.RecallReply
        )
        answer = settled(climbed.reply.answer) if climbed.reply else None
        return (
            Reading(None) if climbed.reply is None or answer is None else Reading(answer, (), climbed.reply.confidence)
        )

    def _sample(self, task: Sample) -> Samples:
        if not task.evidence:
            return Samples((None,))
        draft = self._with_origins(
            self._drafting.with_units("sample", "evidence", task.evidence, question=one_line(task.question))
        )
        climbs, usage = climb_often(
            self._ladder, "sample", draft, schemas.SampleReply, task.samples, self._ladder.workers
        )
        self.usage += usage
        self.documents = tuple(dict.fromkeys(name for climbed in climbs for name in climbed.draft.documents))
        return Samples(tuple(settled(one.reply.answer, one.draft.units) if one.reply else None for one in climbs))

    def _compare(self, task: Entail | Equate) -> Relation | bool:
        """What one answer says about another: in one direction, or whether both mean the same."""
        question = one_line(task.question)
        if isinstance(task, Entail):
            answers = {"premise": one_line(task.premise), "hypothesis": one_line(task.hypothesis)}
            draft = self._drafting.fixed("entail", question=question, **answers)
            return self._needed("entail", draft, schemas.EntailReply)[0].relation
        answers = {"one": one_line(task.one), "other": one_line(task.other)}
        draft = self._drafting.fixed("equate", question=question, **answers)
        return self._needed("equate", draft, schemas.EquateReply)[0].same == "yes"

    def _needed(self, task: str, draft: Drafted, reply: type[R]) -> tuple[R, Draft]:
        """For tasks that know no abstention.

        Raises:
            TaskFailed: the model declined, or gave nothing usable.
        """
        climbed = self._climb(task, draft, reply)
        if climbed.reply is None:
            raise TaskFailed(f"{task}: the model declined", self.usage)
        return climbed.reply, climbed.draft

    def _climb(self, task: str, draft: Drafted, reply: type[R]) -> Climbed[R]:
        climbed = self._ladder.climb(task, self._with_origins(draft), reply)
        self.usage += climbed.usage
        self.documents = climbed.draft.documents
        return climbed

    def _with_origins(self, draft: Drafted) -> Drafted:
        return lambda room: replace(draft(room), origins=self._origins)


def _said(task: object) -> list[str]:
    """What of a task may be words of earlier replies."""
    match task:
        case Read(question=question) | Recall(question=question) | Sample(question=question):
            return [question]
        case Assess(question=question):
            return [question]
        case Verify(question=question, answer=answer):
            return [question, answer]
        case Entail(question=question, premise=premise, hypothesis=hypothesis):
            return [question, premise, hypothesis]
        case Equate(question=question, one=one, other=other):
            return [question, one, other]
        case Clarify(question=question, context=context):
            return [question, context]
        case (
            Decompose(question=question, findings=findings)
            | Complete(question=question, findings=findings)
            | Integrate(question=question, findings=findings)
        ):
            return [
                question,
                *(text for found in findings for text in (found.question, found.asked, found.answer or "")),
            ]
    return []


def _given(value: object) -> list[str]:
    """What of an output later tasks may hold as mere words. (Extractions become units as well.)"""
    match value:
        case Reading(answer=answer, steps=steps):
            return [answer or "", *(step.answer for step in steps)]
        case Decomposition(questions=questions):
            return list(questions)
        case Samples(answers=answers):
            return [answer or "" for answer in answers]
        case Relation():
            return []
        case str():
            return [value]
    return []
