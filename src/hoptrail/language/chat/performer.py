"""The performer `chat`: every language task by a chat model, as a prompt filled and a reply checked.

Here tasks become drafts (`prompting.py`, `context.py`) and replies become outputs (`citing.py`, `noting.py`); how a usable
reply is got is `ladder.py`'s business, what it costs is `models.paying`'s. Tasks with nothing to work on are not asked.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from pydantic import BaseModel

from hoptrail.errors import TaskFailed
from hoptrail.language.chat import schemas
from hoptrail.language.chat.citing import reading_of, settled
from hoptrail.language.chat.context import (
    Room,
    fit,
    one_line,
    sentences_of,
    show_findings,
    show_sentences,
    show_units,
)
from hoptrail.language.chat.ladder import Climbed, Draft, Ladder
from hoptrail.language.chat.noting import extraction_of, shortened
from hoptrail.language.chat.origins import Origins
from hoptrail.language.chat.prompting import load_prompt
from hoptrail.language.chat.sampling import climb_often
from hoptrail.language.tasks import (
    Assess,
    Complete,
    Decompose,
    Decomposition,
    Entail,
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
    Summarise,
    Task,
)
from hoptrail.models.chat import ChatSettings
from hoptrail.models.paying import Chat
from hoptrail.types import Unit, Usage

T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)
Output = Extraction | str | Decomposition | Reading | float | Samples | Relation

MOST_QUESTIONS = 12
"""Sub-questions of one decomposition that are kept."""

_log = logging.getLogger(__name__)


class ChatLanguage:
    """Performs all ten tasks through `chat`. For any number of threads."""

    def __init__(self, chat: Chat, settings: ChatSettings) -> None:
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
        asked = _Asked(self._ladder, self._origins.of(_said(task)))
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

    def __init__(self, ladder: Ladder, origins: tuple[str, ...]) -> None:
        self._ladder = ladder
        self._origins = origins
        self.usage = Usage()
        self.documents: tuple[str, ...] = ()

    def output(self, task: object) -> Output:
        match task:
            case Extract(unit):
                return self._extract(unit)
            case Summarise(units, words):
                return self._summarise(units, words)
            case Decompose():
                return self._decompose(task)
            case Complete(question, findings):
                return self._complete(question, task) if findings else question
            case Read(question, evidence):
                return self._read(question, evidence)
            case Assess():
                return self._assess(task) if task.evidence else 0.0
            case Integrate():
                return self._integrate(task)
            case Recall(question):
                return self._recall(question)
            case Sample() | Entail():
                return self._sample(task) if isinstance(task, Sample) else self._entail(task)
        raise TaskFailed(f"chat cannot perform {type(task).__name__}: it is not one of the ten language tasks")

    def _extract(self, unit: Unit) -> Extraction:
        if not unit.text.strip():
            return Extraction((), ())
        reply, draft = self._needed("extract", lambda room: _draft_sentences(unit, room), schemas.ExtractReply)
        # The sentences of the draft that was answered: a second, smaller one shows fewer, under the same numbers.
        return extraction_of(unit, reply, sentences_of(draft.units[0], len(unit.text)))

    def _summarise(self, units: Sequence[Unit], words: int) -> str:
        reply, _ = self._needed(
            "summarise", _drafting("summarise", "texts", units, words=str(words)), schemas.SummariseReply
        )
        return shortened(reply.summary, words)

    def _decompose(self, task: Decompose) -> Decomposition:
        prompt = "decompose_next" if task.one_at_a_time else "decompose"
        draft = _fixed(prompt, question=one_line(task.question), findings=show_findings(task.findings))
        reply, _ = self._needed("decompose", draft, schemas.DecomposeReply)
        questions = tuple(dict.fromkeys(one_line(question) for question in reply.questions if question.strip()))
        return Decomposition(questions[: 1 if task.one_at_a_time else MOST_QUESTIONS])

    def _complete(self, question: str, task: Complete) -> str:
        draft = _fixed("complete", question=one_line(question), findings=show_findings(task.findings))
        reply, _ = self._needed("complete", draft, schemas.CompleteReply)
        completed = one_line(reply.question)
        if not completed:
            raise TaskFailed("complete: the model gave an empty question", self.usage)
        return completed

    def _read(self, question: str, evidence: Sequence[Unit]) -> Reading:
        if not evidence:
            return Reading(None)
        draft = _drafting("answer", "evidence", evidence, question=one_line(question))
        climbed = self._climb("answer", draft, schemas.ReadingReply)
        return reading_of(question, climbed.reply, climbed.draft.units) if climbed.reply else Reading(None)

    def _assess(self, task: Assess) -> float:
        answer = "(none)" if task.answer is None else one_line(task.answer)
        draft = _drafting("assess", "evidence", task.evidence, question=one_line(task.question), answer=answer)
        reply, _ = self._needed("assess", draft, schemas.AssessReply)
        return reply.probability

    def _integrate(self, task: Integrate) -> Reading:
        if not task.evidence and all(finding.answer is None for finding in task.findings):
            return Reading(None)
        values = {"question": one_line(task.question), "findings": show_findings(task.findings)}
        draft = _drafting("integrate", "evidence", task.evidence, **values)
        climbed = self._climb("integrate", draft, schemas.ReadingReply)
        return reading_of(task.question, climbed.reply, climbed.draft.units) if climbed.reply else Reading(None)

    def _recall(self, question: str) -> Reading:
        climbed = self._climb("recall", _fixed("recall", question=one_line(question)), schemas.RecallReply)
        answer = settled(climbed.reply.answer) if climbed.reply else None
        return (
            Reading(None) if climbed.reply is None or answer is None else Reading(answer, (), climbed.reply.confidence)
        )

    def _sample(self, task: Sample) -> Samples:
        if not task.evidence:
            return Samples((None,))
        draft = self._with_origins(_drafting("sample", "evidence", task.evidence, question=one_line(task.question)))
        climbs, usage = climb_often(
            self._ladder, "sample", draft, schemas.SampleReply, task.samples, self._ladder.workers
        )
        self.usage += usage
        self.documents = tuple(dict.fromkeys(name for climbed in climbs for name in climbed.draft.documents))
        return Samples(tuple(settled(one.reply.answer, one.draft.units) if one.reply else None for one in climbs))

    def _entail(self, task: Entail) -> Relation:
        values = {"question": task.question, "premise": task.premise, "hypothesis": task.hypothesis}
        draft = _fixed("entail", **{name: one_line(value) for name, value in values.items()})
        reply, _ = self._needed("entail", draft, schemas.EntailReply)
        return reply.relation

    def _needed(self, task: str, draft: Callable[[Room], Draft], reply: type[R]) -> tuple[R, Draft]:
        """For tasks that know no abstention.

        Raises:
            TaskFailed: the model declined, or gave nothing usable.
        """
        climbed = self._climb(task, draft, reply)
        if climbed.reply is None:
            raise TaskFailed(f"{task}: the model declined", self.usage)
        return climbed.reply, climbed.draft

    def _climb(self, task: str, draft: Callable[[Room], Draft], reply: type[R]) -> Climbed[R]:
        climbed = self._ladder.climb(task, self._with_origins(draft), reply)
        self.usage += climbed.usage
        self.documents = climbed.draft.documents
        return climbed

    def _with_origins(self, draft: Callable[[Room], Draft]) -> Callable[[Room], Draft]:
        return lambda room: replace(draft(room), origins=self._origins)


def _said(task: object) -> list[str]:
    """What of a task may be words of earlier replies."""
    match task:
        case Read(question=question) | Recall(question=question) | Sample(question=question):
            return [question]
        case Assess(question=question, answer=answer):
            return [question, answer or ""]
        case Entail(question=question, premise=premise, hypothesis=hypothesis):
            return [question, premise, hypothesis]
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


def _fixed(prompt: str, **values: str) -> Callable[[Room], Draft]:
    """A draft without evidence: the same in any room.

    Raises:
        TaskFailed: it does not fit (when drafted).
    """

    def draft(room: Room) -> Draft:
        messages = load_prompt(prompt).fill(values)
        if room.left_beside(messages) < 0:
            raise TaskFailed(f"{prompt}: the question and what was found are too long for context_window under [chat]")
        return Draft(messages)

    return draft


def _drafting(prompt: str, slot: str, units: Sequence[Unit], **values: str) -> Callable[[Room], Draft]:
    """A draft whose `slot` holds as many of `units` as fit."""

    def draft(room: Room) -> Draft:
        left = room.left_beside(load_prompt(prompt).fill({**values, slot: ""}))
        if left < 0:
            raise TaskFailed(f"{prompt}: the question and what was found are too long for context_window under [chat]")
        shown = fit(units, left)
        return Draft(load_prompt(prompt).fill({**values, slot: show_units(shown, left)}), shown)

    return draft


def _draft_sentences(unit: Unit, room: Room) -> Draft:
    title = one_line(unit.title) or "(none)"
    left = room.left_beside(load_prompt("extract").fill({"title": title, "sentences": ""}))
    sentences = sentences_of(unit, left)
    shown = show_sentences(sentences, max(left, 1))
    return Draft(load_prompt("extract").fill({"title": title, "sentences": shown}), (unit,))
