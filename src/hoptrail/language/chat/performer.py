"""The language `chat`: performs every task by filling a prompt and checking the reply.

Tasks become drafts (`drafting.py`), and replies become outputs (`citing.py`, `grounding.py`). `ladder.py` gets a usable reply,
and `models.billing` accounts for its cost. Tasks without input, or that rules can settle, are not sent.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import astuple, fields, is_dataclass, replace
from itertools import chain
from typing import TypeVar, cast

from pydantic import BaseModel

from hoptrail.errors import TaskFailed
from hoptrail.language import tasks
from hoptrail.language.chat import schemas
from hoptrail.language.chat.citing import parse_answer, reading_from
from hoptrail.language.chat.context import sentences_of, show_findings
from hoptrail.language.chat.drafting import Drafted, Drafting
from hoptrail.language.chat.grounding import extraction_from, shortened
from hoptrail.language.chat.ladder import Climbed, Draft, Draw, Ladder
from hoptrail.language.chat.origins import RecentTexts
from hoptrail.language.chat.prompting import check_prompts
from hoptrail.language.chat.summarising import summarise_all
from hoptrail.language.conversation.references import (
    is_completion,
    names_nothing_new,
    points_back,
    resolve_references,
    unresolved,
)
from hoptrail.language.tasks import Decomposition, Finding, Reading, Reply, Samples, Step, Task
from hoptrail.models.billing import Chat
from hoptrail.models.chat import ChatSettings
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Extraction, Unit, Usage

T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)
Uncited = TypeVar("Uncited", schemas.ConclusionReply, schemas.RecallReply)
Output = Extraction | str | None | Decomposition | Reading | float | Samples | bool

MOST_QUESTIONS = 12
"""Most sub-questions of one decomposition."""
TEMPERATURE = 0.3
"""The temperature of SUNAR's released code, with 10 draws. Its repetition penalties are not sent: few endpoints support them."""

_log = logging.getLogger(__name__)


class ChatLanguage:
    """Performs all tasks through `chat`. Thread-safe. Raises: UsageError: a file in the folder of prompts cannot be used."""

    def __init__(
        self,
        chat: Chat,
        settings: ChatSettings,
        decomposer: tuple[Chat, ChatSettings] | None = None,
        *,
        fully_priced: bool = False,
    ) -> None:
        """`decomposer`: another model with its settings, which decomposes questions and completes sub-questions. Usage that is
        `fully_priced` has the cost of remembered replies, so that it does not depend on what was asked before.
        """
        check_prompts(settings.prompts)
        self._drafting = Drafting(settings.prompts)
        self._chat = chat
        self._ladder = Ladder(chat, settings, fully_priced=fully_priced)
        self._decomposer = Ladder(*decomposer, fully_priced=fully_priced) if decomposer else self._ladder
        self._models = [chat.model, *([decomposer[0].model] if decomposer else [])]
        self._origins = RecentTexts()

    @property
    def name(self) -> str:
        """`chat:MODEL`, because another model gives other results; with another decomposer `chat:MODEL+MODEL`."""
        return f"chat:{'+'.join(dict.fromkeys(self._models))}"

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform one task; its usage covers only what was paid now, no remembered replies.
        Raises: TaskFailed: no usable reply. EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: no task can be
        performed at present.
        """
        started = time.perf_counter()
        ladder = (
            self._decomposer if isinstance(task, tasks.Decompose | tasks.Complete | tasks.FollowUp) else self._ladder
        )
        asked = _TaskRun(ladder, self._drafting, self._origins.of(_task_texts(task)))
        try:
            value = asked.output(task)
        except TaskFailed as failure:
            _log.warning("a language task failed. %s", failure)
            raise
        if not isinstance(task, tasks.Summarise):  # a summary becomes a unit, which has its documents
            self._origins.note(_output_texts(value), asked.documents)
        return Reply(cast("T", value), replace(asked.usage, seconds=time.perf_counter() - started))


class _TaskRun:
    """One task, its cost, and the documents in its prompt; `origins` are those by way of earlier replies."""

    def __init__(self, ladder: Ladder, drafting: Drafting, origins: tuple[str, ...]) -> None:
        self._ladder = ladder
        self._drafting = drafting
        self._origins = origins
        self.usage = Usage()
        self.documents: tuple[str, ...] = ()

    def output(self, task: object) -> Output:
        match task:
            case tasks.Extract():
                return self._extract(task)
            case tasks.Summarise(units, words):
                return self._summarise(units, words)
            case tasks.Decompose():
                return self._decompose(task)
            case tasks.Complete() | tasks.Clarify() | tasks.FollowUp():
                return self._complete(task)
            case tasks.Read(question, evidence, abstain):
                return self._read(question, evidence, abstain)
            case tasks.Assess() | tasks.Verify():
                return self._judge(task)
            case tasks.Integrate():
                return self._integrate(task)
            case tasks.Recall(question, abstain):
                draft = self._drafting.fixed(
                    "recall", question=squeeze(question), abstain=self._drafting.phrase("recall", abstain)
                )
                return self._without_evidence("recall", draft, schemas.RecallReply)
            case tasks.Sample() | tasks.Equate():
                return self._sample(task) if isinstance(task, tasks.Sample) else self._equate(task)
        raise TaskFailed(f"chat cannot perform {type(task).__name__}: it is not a language task")

    def _extract(self, task: tasks.Extract) -> Extraction:
        unit, before, figures = task.unit, task.before, task.figures
        if not unit.text.strip():
            return Extraction((), ())
        wish = self._drafting.phrase("extract", "figures") if figures else ""
        drafted = self._drafting.with_sentences("extract", unit, before, wish)
        reply, draft = self._climb_required("extract", drafted, schemas.ExtractReply)
        # A second, smaller draft shows fewer sentences under the same numbers.
        return extraction_from(unit, reply, sentences_of(draft.units[0]), before, figures=figures)

    def _summarise(self, units: Sequence[Unit], words: int) -> str:
        """Summarise all units; if they do not fit the window, by way of summaries of parts."""
        tokens = self._drafting.tokens_for("summarise", "texts", self._ladder.room, words=str(words))

        def summarised(some: Sequence[Unit], words: int) -> tuple[str, tuple[Unit, ...]]:
            draft = self._drafting.with_units("summarise", "texts", some, {"words": str(words)}, partly=True)
            reply, drafted = self._climb_required("summarise", draft, schemas.summary_in(words))
            return shortened(reply.summary, words), drafted.units

        return summarise_all(units, words, tokens, summarised)

    def _decompose(self, task: tasks.Decompose) -> Decomposition:
        values = {"question": squeeze(task.question), "findings": show_findings(task.findings)}
        one = task.one_at_a_time
        prompt = "decompose_next" if one else "decompose"
        form: type[schemas.DecomposeReply | schemas.NextReply] = schemas.NextReply if one else schemas.DecomposeReply
        reply, _ = self._climb_required("decompose", self._drafting.fixed(prompt, **values), form)
        questions = tuple(dict.fromkeys(squeeze(question) for question in reply.questions if question.strip()))
        return Decomposition(questions[: 1 if one else MOST_QUESTIONS])

    def _complete(self, task: tasks.Complete | tasks.Clarify | tasks.FollowUp) -> str | None:
        """Resolve numbers by rule, unless the model is to rewrite them; ask it only where something answered is pointed at."""
        if isinstance(task, tasks.Clarify):
            values = {"question": squeeze(task.question), "name": squeeze(task.name), "context": squeeze(task.context)}
            reply, _ = self._climb_required("clarify", self._drafting.fixed("clarify", **values), schemas.CompleteReply)
            return squeeze(reply.question)
        if isinstance(task, tasks.FollowUp):
            return self._follow_up(task.message, task.turns)
        question = resolve_references(task.question, task.findings)
        answered = tuple(finding for finding in task.findings if finding.answer is not None)
        asked = question
        if task.by_model:  # numbers would not be those that the prompt gives to answers
            said = [replace(finding, answer=f'the answer to "{finding.asked}"') for finding in task.findings]
            asked = resolve_references(task.question, said)
        if unresolved(question) or not (asked != question or points_back(question, answered)):
            return question
        draft = self._drafting.fixed("complete", question=squeeze(asked), findings=show_findings(answered))
        reply, _ = self._climb_required("complete", draft, schemas.CompleteReply)
        completed = squeeze(reply.question)
        return completed if is_completion(task.question, completed, answered) else question

    def _follow_up(self, message: str, turns: Sequence[tasks.Exchange]) -> str | None:
        """The message as the model completes it, unless that brings in a name that nobody has said."""
        said = [Finding(turn.asked, turn.asked, turn.answer) for turn in turns]
        draft = self._drafting.fixed("follow_up", message=squeeze(message), turns=show_findings(said))
        reply, _ = self._climb_required("follow_up", draft, schemas.CompleteReply)
        completed = squeeze(reply.question)
        return completed if completed and names_nothing_new(completed, message, turns) else None

    def _read(self, question: str, evidence: Sequence[Unit], abstain: tasks.Abstain) -> Reading:
        if not evidence:
            return Reading(None)
        values = {"question": squeeze(question), "abstain": self._drafting.phrase("answer", abstain)}
        draft = self._drafting.with_units("answer", "evidence", evidence, values)
        return _reading(question, self._climb("answer", draft, schemas.ReadingReply))

    def _judge(self, task: tasks.Assess | tasks.Verify) -> float:
        """The probability of the word with which the model says whether evidence is enough or supports an answer.
        Without evidence 0, and no model is asked.
        """
        if not task.evidence:
            return 0.0
        question = squeeze(task.question)
        if isinstance(task, tasks.Assess):
            draft = self._drafting.with_units("assess", "evidence", task.evidence, {"question": question})
            judged, _ = self._climb_required("assess", draft, schemas.AssessReply)
            return judged.enough
        values = {"question": question, "answer": squeeze(task.answer)}
        draft = self._drafting.with_units("verify", "evidence", task.evidence, values)
        checked, _ = self._climb_required("verify", draft, schemas.VerifyReply)
        return checked.supports

    def _integrate(self, task: tasks.Integrate) -> Reading:
        """Conclude from answers, or from answers and evidence; without any answer, read."""
        if all(finding.answer is None for finding in task.findings):
            return self._read(task.question, task.evidence, task.abstain)
        prompt = "integrate_evidence" if task.evidence else "integrate"
        values = {
            "question": squeeze(task.question),
            "findings": show_findings(task.findings),
            "abstain": self._drafting.phrase(prompt, task.abstain),
        }
        if task.evidence:
            draft = self._drafting.with_units(prompt, "evidence", task.evidence, values)
            return _reading(task.question, self._climb("integrate", draft, schemas.ReadingReply))
        reading = self._without_evidence("integrate", self._drafting.fixed(prompt, **values), schemas.ConclusionReply)
        return (
            replace(reading, steps=(Step(task.question, reading.answer, ()),))
            if reading.answer is not None
            else reading
        )

    def _without_evidence(self, task: str, draft: Drafted, form: type[Uncited]) -> Reading:
        """The answer to a draft without evidence."""
        reply = self._climb(task, draft, form).reply
        answer = parse_answer(reply.answer) if reply else None
        return Reading(None) if reply is None or answer is None else Reading(answer, (), reply.confidence)

    def _sample(self, task: tasks.Sample) -> Samples:
        """Answers of the successful draws in the order of their seeds: drawn in one call if the endpoint supports `n`, else in
        several at a time, and remembered with their seeds. Raises: TaskFailed: no draw succeeded; has the first one's reason.
        """
        if not task.evidence:
            return Samples((None,))
        values = {"question": squeeze(task.question), "abstain": self._drafting.phrase("sample", task.abstain)}
        units = self._drafting.with_units("sample", "evidence", task.evidence, values)
        draft, ladder = _traced(units, self._origins), self._ladder
        form = schemas.GuessReply if task.abstain is tasks.Abstain.NEVER else schemas.SampleReply

        def climb(draw: Draw) -> Climbed[schemas.SampleReply] | TaskFailed:
            try:
                return ladder.climb("sample", draft, form, draw)
            except TaskFailed as failure:
                return failure

        draws = [Draw(seed, TEMPERATURE) for seed in range(1, task.samples + 1)]
        fetched = ladder.fetch("sample", draft, form, draws)
        first = climb(draws[0])  # alone, to find the working rung for the others
        if fetched is None:
            fetched = ladder.fetch("sample", draft, form, draws[1:])
        with ThreadPoolExecutor(ladder.workers) as pool:
            contexts = [copy_context() for _ in draws[1:]]
            drawn = [first, *pool.map(lambda context, draw: context.run(climb, draw), contexts, draws[1:])]
        self.usage = sum((one.usage or Usage() for one in drawn), fetched or Usage())
        climbs = [one for one in drawn if isinstance(one, Climbed)]
        if not climbs:
            raise TaskFailed(str(first), self.usage)
        self.documents = tuple(dict.fromkeys(name for climbed in climbs for name in climbed.draft.documents))
        return Samples(tuple(parse_answer(one.reply.answer, one.draft.units) if one.reply else None for one in climbs))

    def _equate(self, task: tasks.Equate) -> bool:
        answers = {"one": squeeze(task.one), "other": squeeze(task.other)}
        draft = self._drafting.fixed("equate", question=squeeze(task.question), **answers)
        return self._climb_required("equate", draft, schemas.EquateReply)[0].same == "yes"

    def _climb_required(self, task: str, draft: Drafted, reply: type[R]) -> tuple[R, Draft]:
        """The reply to a task without abstentions. Raises: TaskFailed: the model declined, or gave nothing usable."""
        climbed = self._climb(task, draft, reply)
        if climbed.reply is None:
            raise TaskFailed(f"{task}: the model declined", self.usage)
        return climbed.reply, climbed.draft

    def _climb(self, task: str, draft: Drafted, reply: type[R]) -> Climbed[R]:
        climbed = self._ladder.climb(task, _traced(draft, self._origins), reply)
        self.usage += climbed.usage
        self.documents = climbed.draft.documents
        return climbed


def _reading(question: str, climbed: Climbed[schemas.ReadingReply]) -> Reading:
    return reading_from(question, climbed.reply, climbed.draft.units) if climbed.reply else Reading(None)


def _traced(draft: Drafted, origins: tuple[str, ...]) -> Drafted:
    return lambda room: replace(draft(room), origins=origins)


def _task_texts(task: object) -> list[str]:
    """The texts of a task that may contain words of earlier replies: its own and those of its findings, not its units."""
    given = [getattr(task, field.name) for field in fields(task)] if is_dataclass(task) else []
    earlier = (*getattr(task, "findings", ()), *getattr(task, "turns", ()))
    findings = (astuple(finding)[:3] for finding in earlier)
    return [text for text in chain(given, *findings) if type(text) is str]


def _output_texts(value: object) -> list[str]:
    """The texts of an output that later tasks may contain as words. (Extractions become units.)"""
    match value:
        case Reading(answer=answer, steps=steps):
            return [answer or "", *(step.answer for step in steps)]
        case Decomposition(questions=questions):
            return list(questions)
        case Samples(answers=answers):
            return [answer or "" for answer in answers]
        case str():
            return [value]
    return []
