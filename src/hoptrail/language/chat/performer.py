"""The language `chat`: performs every task by filling a prompt and checking the reply.

Tasks become drafts (`prompting.py`), and replies become outputs (`grounding.py`). `ladder.py` gets a usable reply,
and `models.billing` accounts for its cost. Tasks without input, or that rules can settle, are not sent.

The words of prompts are traced to the documents of earlier replies, so that removing a document also forgets such replies: an
answer read from a page is just words in the next prompt. The words of recent replies are remembered with the documents shown for
them, and looked up in the text of each task, over any number of hops. Not traced are words that the model or the recipe reworded
("the capital" for the town's name), a bare yes or no, and replies before the last `RECENT` or in another process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import astuple, dataclass, field, fields, is_dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar, cast

from hoptrail.errors import TaskFailed
from hoptrail.language import tasks
from hoptrail.language.chat import context, schemas
from hoptrail.language.chat.grounding import extraction_from, parse_answer, reading_from, shortened
from hoptrail.language.chat.ladder import Climb, Ladder
from hoptrail.language.chat.prompting import Drafter, drafter_of, load_prompt
from hoptrail.language.questions import references
from hoptrail.language.questions.follow_ups import names_nothing_new
from hoptrail.language.tasks import TASK_NAMES, Decomposition, Reading, Reply, Samples, Step, Task
from hoptrail.models.billing import Chat
from hoptrail.models.chat import ChatSettings
from hoptrail.text.normal_forms import squeeze, stands_in
from hoptrail.types import Extraction, Kind, Unit, Usage, content_id

T = TypeVar("T")
R = TypeVar("R", bound=schemas.ReplyForm)

MOST_QUESTIONS = 12  # most sub-questions of one decomposition
WORD_TOKENS = 3  # generous number of tokens per word of a summary
RECENT = 4096  # remembered texts: those of some fifty questions at once. They are only needed within their question.

_log = logging.getLogger(__name__)


class ChatLanguage:
    """Performs all tasks through `chat`. Thread-safe."""

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
        decomposes = isinstance(task, tasks.Decompose | tasks.Complete | tasks.FollowUp)
        run = _TaskRun(self._decomposer if decomposes else self._ladder, self._origins.of(_task_texts(task)))
        try:
            if type(task) not in TASK_NAMES:
                raise TaskFailed(f"chat cannot perform {type(task).__name__}: it is not a language task")
            value = getattr(run, TASK_NAMES[type(task)])(task)
        except TaskFailed as failure:
            _log.warning("a language task failed. %s", failure)
            raise
        if not isinstance(task, tasks.Summarise):  # a summary becomes a unit, which has its documents
            self._origins.note(_output_texts(value), run.documents)
        return Reply(cast("T", value), replace(run.usage, seconds=time.perf_counter() - started))


@dataclass
class _TaskRun:
    """One task, its cost, the documents in its prompt, and the units that this shows. The method of a task's name performs it."""

    ladder: Ladder
    origins: tuple[str, ...]
    usage: Usage = field(default_factory=Usage)
    documents: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()

    def extract(self, task: tasks.Extract) -> Extraction:
        unit, prompt = task.unit, load_prompt("extract")
        if not unit.text.strip():
            return Extraction((), ())
        shown = partial(context.shown_sentences, unit, task.before, prompt.phrases["figures"] if task.figures else "")
        drafter = Drafter(prompt, {"title": context.heading_of(unit) or "(none)"}, shown, self.origins)
        return extraction_from(task, self.required(task, schemas.ExtractReply, drafter))

    def summarise(self, task: tasks.Summarise) -> str:
        """Summarise all units; if they do not fit, first parts of them, then the summaries, so that every source is read.
        Raises: TaskFailed: also because summaries of parts are no shorter than the parts.
        """
        room = drafter_of(task, self.origins).tokens_left(self.ladder.room)
        pieces = [piece for unit in task.units for piece in context.in_pieces(unit, room)]
        while True:
            at_once = sum(map(context.cost_of, pieces)) <= room
            words = task.words if at_once else min(task.words, max(1, room // (2 * WORD_TOKENS)))
            parts: list[Unit] = []
            remaining = pieces
            while remaining:
                shown = partial(context.shown_units, "summarise", "texts", remaining, partly=True)
                draft = replace(drafter_of(replace(task, words=words), self.origins), shown=shown)
                text = shortened(self.required(task, schemas.summary_in(words), draft).summary, words)
                if len(self.units) == len(pieces):
                    return text
                sources = tuple(dict.fromkeys(span for unit in self.units for span in unit.sources))
                covered = [unit.id for unit in self.units]
                parts.append(Unit(content_id("s", text, *covered), Kind.SUMMARY, "", text, sources))
                remaining = [unit for unit in remaining if unit.id not in covered]
            if sum(map(context.cost_of, parts)) >= sum(map(context.cost_of, pieces)):
                short = "context_window under [chat] is too small: summaries of parts are as long as the parts"
                raise TaskFailed(f"summarise: {short}")
            pieces = parts

    def complete(self, task: tasks.Complete) -> str:
        """Resolve numbers by rule, unless the model is to rewrite them; ask it only where something answered is pointed at."""
        question = references.resolve_references(task.question, task.findings)
        answered = tuple(finding for finding in task.findings if finding.answer is not None)
        asked = question
        if task.by_model:  # numbers would not be those that the prompt gives to answers
            said = [replace(finding, answer=f'the answer to "{finding.asked}"') for finding in task.findings]
            asked = references.resolve_references(task.question, said)
        numbered = references.REFERENCE.search(question)
        if numbered or not (asked != question or references.points_back(question, answered)):
            return question
        completed = self.clarify(replace(task, question=asked, findings=answered))
        return completed if references.is_completion(task.question, completed, answered) else question

    def decompose(self, task: tasks.Decompose) -> Decomposition:
        form: type[schemas.DecomposeReply | schemas.NextReply] = schemas.DecomposeReply
        draft, most = drafter_of(task, self.origins), MOST_QUESTIONS
        if task.one_at_a_time:
            draft, form, most = drafter_of(task, self.origins, "decompose_next"), schemas.NextReply, 1
        said = [squeeze(question) for question in self.required(task, form, draft).questions if question.strip()]
        return Decomposition(tuple(dict.fromkeys(said))[:most])

    def follow_up(self, task: tasks.FollowUp) -> str | None:
        whole = self.clarify(task)
        return whole if whole and names_nothing_new(whole, task.message, task.turns) else None

    def recall(self, task: tasks.Recall) -> Reading:
        return _conclusion(self.ask(task, schemas.RecallReply))

    def assess(self, task: tasks.Assess) -> float:
        return self.required(task, schemas.AssessReply).enough if task.evidence else 0.0

    def verify(self, task: tasks.Verify) -> float:
        return self.required(task, schemas.VerifyReply).supports if task.evidence else 0.0

    def equate(self, task: tasks.Equate) -> bool:
        return self.required(task, schemas.EquateReply).same == "yes"

    def clarify(self, task: tasks.Complete | tasks.Clarify | tasks.FollowUp) -> str:
        """The question in the reply to a task that completes one."""
        return squeeze(self.required(task, schemas.CompleteReply).question)

    def answer(self, task: tasks.Read | tasks.Integrate, prompt: str = "") -> Reading:
        if not task.evidence:
            return Reading(None)
        found = self.ask(task, schemas.ReadingReply, drafter_of(task, self.origins, prompt))
        return reading_from(task.question, found, self.units) if found else Reading(None)

    def integrate(self, task: tasks.Integrate) -> Reading:
        """Conclude from answers, or from answers and evidence; without any answer, read."""
        if all(finding.answer is None for finding in task.findings):
            return self.answer(tasks.Read(task.question, task.evidence, task.abstain))
        if task.evidence:
            return self.answer(task, "integrate_evidence")
        reading = _conclusion(self.ask(task, schemas.ConclusionReply))
        return replace(reading, steps=(Step(task.question, reading.answer, ()),)) if reading.answer else reading

    def sample(self, task: tasks.Sample) -> Samples:
        """Answers of the successful draws in the order of their seeds: drawn in one call if the endpoint supports `n`, else in
        several at a time, and remembered with their seeds. Raises: TaskFailed: no draw succeeded; has the first one's reason.
        """
        if not task.evidence:
            return Samples((None,))
        draft, ladder, form = drafter_of(task, self.origins), self.ladder, schemas.SampleReply

        def climb(seed: int) -> Climb[schemas.SampleReply] | TaskFailed:
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
            drawn += pool.map(lambda around, seed: around.run(climb, seed), contexts, rest)
        self.usage = sum((one.usage or Usage() for one in drawn), fetched)
        climbs = [one for one in drawn if isinstance(one, Climb)]
        if not climbs:
            raise TaskFailed(str(drawn[0]), self.usage)
        self.documents = tuple(dict.fromkeys(name for climbed in climbs for name in climbed.draft.documents))
        return Samples(tuple(parse_answer(one.found.answer, one.draft.units) if one.found else None for one in climbs))

    def required(self, task: Task[Any], form: type[R], draft: Drafter | None = None) -> R:
        """The reply to a task without abstentions. Raises: TaskFailed: the model declined, or gave nothing usable."""
        found = self.ask(task, form, draft)
        if found is None:
            raise TaskFailed(f"{TASK_NAMES[type(task)]}: the model declined", self.usage)
        return found

    def ask(self, task: Task[Any], form: type[R], draft: Drafter | None = None) -> R | None:
        """The reply; None if the model declined. Raises: TaskFailed: it gave nothing usable."""
        climb = self.ladder.climb(TASK_NAMES[type(task)], draft or drafter_of(task, self.origins), form)
        self.usage += climb.usage
        self.documents, self.units = climb.draft.documents, climb.draft.units
        return climb.found


def _conclusion(said: schemas.ConclusionReply | schemas.RecallReply | None) -> Reading:
    """An answer without evidence."""
    answer = parse_answer(said.answer) if said else None
    return Reading(answer, (), said.confidence) if said and answer else Reading(None)


class RecentTexts:
    """The recent texts with their documents. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: deque[tuple[str, tuple[str, ...]]] = deque(maxlen=RECENT)

    def note(self, texts: Iterable[str], documents: tuple[str, ...]) -> None:
        words = [text for text in map(context.folded, texts) if text and text not in context.YES_NO]
        if documents:
            with self._lock:
                self._recent.extend((text, documents) for text in words)

    def of(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The documents of all remembered words that occur in `texts`."""
        asked = "\n".join(map(context.folded, texts))
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
