"""The language `chat`: performs every task by filling a prompt and checking the reply.

Tasks become drafts (`prompting.py`), and replies become outputs (`grounding.py`). `ladder.py` gets a usable reply,
and `models.billing` accounts for its cost. Tasks without input, or that rules can settle, are not sent.

The words of prompts are traced to the documents of earlier replies, so that removing a document also forgets such replies. An
answer read from a page is just words in the next prompt: among the findings, or inside a sub-question. The words of recent
replies are remembered with the documents shown for them, and looked up in the text of each task, over any number of hops. Not
traced are words that the model or the recipe reworded ("the capital" for the town's name), a bare yes or no, and replies before
the last `RECENT` or in another process. A coincidental match only costs asking again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import astuple, fields, is_dataclass, replace
from itertools import chain
from typing import TypeVar, cast

from pydantic import BaseModel

from hoptrail.errors import TaskFailed
from hoptrail.language import tasks
from hoptrail.language.chat import schemas
from hoptrail.language.chat.context import YES_NO, folded, sentences_of, show_findings, summarise_all
from hoptrail.language.chat.grounding import extraction_from, parse_answer, reading_from, shortened
from hoptrail.language.chat.ladder import Climbed, Ladder
from hoptrail.language.chat.prompting import Draft, Drafted, Drafting, check_prompts
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
from hoptrail.text.normal_forms import squeeze, stands_in
from hoptrail.types import Extraction, Unit, Usage

T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)
Uncited = TypeVar("Uncited", schemas.ConclusionReply, schemas.RecallReply)
Output = Extraction | str | None | Decomposition | Reading | float | Samples | bool

MOST_QUESTIONS = 12
"""Most sub-questions of one decomposition."""
RECENT = 4096
"""Remembered texts: those of some fifty questions at once. They are only needed within their question."""

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
        self._prompts = settings.prompts
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
        asked = _TaskRun(ladder, Drafting(self._prompts, self._origins.of(_task_texts(task))))
        try:
            value = asked.output(task)
        except TaskFailed as failure:
            _log.warning("a language task failed. %s", failure)
            raise
        if not isinstance(task, tasks.Summarise):  # a summary becomes a unit, which has its documents
            self._origins.note(_output_texts(value), asked.documents)
        return Reply(cast("T", value), replace(asked.usage, seconds=time.perf_counter() - started))


class _TaskRun:
    """One task, its cost, and the documents in its prompt."""

    def __init__(self, ladder: Ladder, drafting: Drafting) -> None:
        self._ladder = ladder
        self._drafting = drafting
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
        draft = self._drafting.fixed("decompose_next" if one else "decompose", **values)
        form: type[schemas.DecomposeReply | schemas.NextReply] = schemas.NextReply if one else schemas.DecomposeReply
        reply, _ = self._climb_required("decompose", draft, form)
        questions = tuple(dict.fromkeys(squeeze(question) for question in reply.questions if question.strip()))
        return Decomposition(questions[: 1 if one else MOST_QUESTIONS])

    def _complete(self, task: tasks.Complete | tasks.Clarify | tasks.FollowUp) -> str | None:
        """Resolve numbers by rule, unless the model is to rewrite them; ask it only where something answered is pointed at. What
        completes a message and brings in a name that nobody has said is none.
        """
        if isinstance(task, tasks.Clarify):
            about = {"question": task.question, "name": task.name, "context": task.context}
            return self._completed("clarify", **{name: squeeze(text) for name, text in about.items()})
        if isinstance(task, tasks.FollowUp):
            turns = [Finding(turn.asked, turn.asked, turn.answer) for turn in task.turns]
            whole = self._completed("follow_up", message=squeeze(task.message), turns=show_findings(turns))
            return whole if whole and names_nothing_new(whole, task.message, task.turns) else None
        question = resolve_references(task.question, task.findings)
        answered = tuple(finding for finding in task.findings if finding.answer is not None)
        asked = question
        if task.by_model:  # numbers would not be those that the prompt gives to answers
            said = [replace(finding, answer=f'the answer to "{finding.asked}"') for finding in task.findings]
            asked = resolve_references(task.question, said)
        if unresolved(question) or not (asked != question or points_back(question, answered)):
            return question
        completed = self._completed("complete", question=squeeze(asked), findings=show_findings(answered))
        return completed if is_completion(task.question, completed, answered) else question

    def _completed(self, task: str, **values: str) -> str:
        """The question in the reply to a task that completes one."""
        reply, _ = self._climb_required(task, self._drafting.fixed(task, **values), schemas.CompleteReply)
        return squeeze(reply.question)

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
        steps = () if reading.answer is None else (Step(task.question, reading.answer, ()),)
        return replace(reading, steps=steps)

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
        draft, ladder = self._drafting.with_units("sample", "evidence", task.evidence, values), self._ladder
        form = schemas.GuessReply if task.abstain is tasks.Abstain.NEVER else schemas.SampleReply

        def climb(seed: int) -> Climbed[schemas.SampleReply] | TaskFailed:
            try:
                return ladder.climb("sample", draft, form, seed)
            except TaskFailed as failure:
                return failure

        seeds = range(1, task.samples + 1)
        drawn = [] if ladder.working else [climb(1)]  # alone, to find the working rung for the others
        rest = seeds[len(drawn) :]
        fetched = ladder.fetch("sample", draft, form, rest)
        with ThreadPoolExecutor(ladder.settings.concurrency) as pool:
            contexts = [copy_context() for _ in rest]
            drawn += pool.map(lambda context, seed: context.run(climb, seed), contexts, rest)
        self.usage = sum((one.usage or Usage() for one in drawn), fetched)
        climbs = [one for one in drawn if isinstance(one, Climbed)]
        if not climbs:
            raise TaskFailed(str(drawn[0]), self.usage)
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
        climbed = self._ladder.climb(task, draft, reply)
        self.usage += climbed.usage
        self.documents = climbed.draft.documents
        return climbed


def _reading(question: str, climbed: Climbed[schemas.ReadingReply]) -> Reading:
    return reading_from(question, climbed.reply, climbed.draft.units) if climbed.reply else Reading(None)


class RecentTexts:
    """The recent texts with their documents. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: deque[tuple[str, tuple[str, ...]]] = deque(maxlen=RECENT)

    def note(self, texts: Iterable[str], documents: tuple[str, ...]) -> None:
        """Remember that `texts` were made from text of `documents`."""
        words = [text for text in map(folded, texts) if text and text not in YES_NO]
        if documents:
            with self._lock:
                self._recent.extend((text, documents) for text in words)

    def of(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The documents of all remembered words that occur in `texts`."""
        asked = "\n".join(map(folded, texts))
        with self._lock:
            recent = tuple(self._recent)
        found = (documents for words, documents in recent if words in asked and stands_in(words, asked))
        return tuple(dict.fromkeys(document for documents in found for document in documents))


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
