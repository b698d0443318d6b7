"""The language `scripted`: replies from a queue, for tests and documentation.

A reply is an output, an output bound to a task, or a failure. In a `Reading` or an `Extraction` a span may be a `Quote`, which is
searched for in the task's text. A line of a JSONL file is `{"task": "answer", "reply": {...}}` or
`{"task": "answer", "fail": "reason"}`, with optional `prompt_tokens` and `completion_tokens`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, get_args

from hoptrail.errors import TaskFailed, UsageError
from hoptrail.language import tasks
from hoptrail.language.tasks import TASK_NAMES, Decomposition, Reading, Reply, Samples, Task
from hoptrail.types import Extraction, Fact, Kind, Span, Unit, Usage
from hoptrail.types.json_object import reader_of

if TYPE_CHECKING:
    from pydantic import ConfigDict

T = TypeVar("T")


class _Strict:
    """What a script may contain, and no other fields. Its readings and extractions may quote a span."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Quote(_Strict):
    """A span given by its words: their first occurrence in the evidence."""

    quote: str


@dataclass(frozen=True, slots=True)
class QuotedStep(_Strict):
    question: str
    answer: str
    support: tuple[Quote | Span, ...] = ()


@dataclass(frozen=True, slots=True)
class QuotedReading(_Strict):
    answer: str | None
    steps: tuple[QuotedStep, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class QuotedFact(_Strict):
    text: str
    entities: tuple[str, ...]
    source: Quote | Span


@dataclass(frozen=True, slots=True)
class QuotedExtraction(_Strict):
    entities: tuple[str, ...]
    facts: tuple[QuotedFact, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """An instruction to fail the task with `reason`."""

    reason: str


Output = (
    Extraction | QuotedExtraction | str | Decomposition | Reading | QuotedReading | float | Samples | bool | Failure
)


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """An output, its task (None: any task with such an output), and the tokens to report."""

    output: Output
    task: type[Task[Any]] | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


_QUOTING: dict[type, type] = {Reading: QuotedReading, Extraction: QuotedExtraction}
"""Types of outputs, and those that stand for them in a script."""


def _output_of(task: type[Task[Any]]) -> type:
    (base,) = task.__orig_bases__  # type: ignore[attr-defined]
    (output,) = get_args(base)
    return cast("type", output)


def _is_reply_to(task: Task[Any], reply: ScriptedReply) -> bool:
    if type(task) not in TASK_NAMES or reply.task not in {None, type(task)}:
        return False
    output = _output_of(type(task))
    kinds = (output, _QUOTING.get(output, output), Failure, *((int,) if output is float else ()))
    return isinstance(reply.output, kinds)


class ScriptedLanguage:
    """Gives its replies in order, one for each task; each counts as one call."""

    name = "scripted"

    def __init__(self, replies: Iterable[ScriptedReply | tuple[type[Task[Any]], Output] | Output]) -> None:
        self._replies = deque(_as_reply(reply) for reply in replies)

    @classmethod
    def from_file(cls, path: Path) -> ScriptedLanguage:
        """Replies from a JSONL file. Raises: UsageError: it cannot be read, or a line is invalid; the message names the line."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the script {path} cannot be read: {error}") from error
        return cls(_parse(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip())

    @property
    def remaining(self) -> int:
        return len(self._replies)

    def perform(self, task: Task[T]) -> Reply[T]:
        """The next reply. A scripted failure is removed from the queue, a reply that does not fit the task is not.
        Raises: TaskFailed: the queue is empty, the next reply is for another task or says to fail, or its quote is not found.
        """
        asked = TASK_NAMES.get(type(task), type(task).__name__)
        if not self._replies:
            raise TaskFailed(f"the script has no reply left, but {asked} was asked for: {task}")
        reply = self._replies[0]
        if not _is_reply_to(task, reply):
            kind = type(reply.output).__name__ + (f" for {TASK_NAMES[reply.task]}" if reply.task else "")
            raise TaskFailed(f"the script's next reply is {kind}, but {asked} was asked for: {task}")
        self._replies.popleft()
        if isinstance(reply.output, Failure):
            raise TaskFailed(f"{asked} failed as the script says: {reply.output.reason}")
        value = _resolve_quotes(reply.output, task)
        return Reply(cast("T", value), Usage(1, reply.prompt_tokens, reply.completion_tokens))


def _as_reply(reply: ScriptedReply | tuple[type[Task[Any]], Output] | Output) -> ScriptedReply:
    if isinstance(reply, ScriptedReply):
        return reply
    return ScriptedReply(reply[1], reply[0]) if isinstance(reply, tuple) else ScriptedReply(reply)


def _resolve_quotes(output: Output, task: Task[Any]) -> object:
    """`output` with spans of the task's text in place of quotes."""
    units: Sequence[Unit] = ()
    if isinstance(task, tasks.Read | tasks.Integrate):
        units = task.evidence
    elif isinstance(task, tasks.Extract):
        units = (task.unit,)
    if isinstance(output, QuotedReading):
        supports = [tuple(_span(span, units) for span in step.support) for step in output.steps]
        steps = (tasks.Step(one.question, one.answer, said) for one, said in zip(output.steps, supports, strict=True))
        return Reading(output.answer, tuple(steps), output.confidence)
    if isinstance(output, QuotedExtraction):
        facts = (Fact(fact.text, fact.entities, _span(fact.source, units)) for fact in output.facts)
        return Extraction(output.entities, tuple(facts))
    return float(output) if isinstance(task, tasks.Assess | tasks.Verify) and isinstance(output, int) else output


def _span(given: Quote | Span, units: Sequence[Unit]) -> Span:
    if isinstance(given, Span):
        return given
    for unit in units:
        start = unit.text.find(given.quote)
        if start >= 0 and given.quote:
            first = unit.sources[0]
            if unit.kind not in {Kind.PASSAGE, Kind.SENTENCE}:
                return first
            return Span(first.document, first.start + start, first.start + start + len(given.quote))
    raise TaskFailed(f"the script quotes {given.quote!r}, which does not stand in the {len(units)} units handed over")


def _parse(line: str, place: str) -> ScriptedReply:
    from pydantic import ValidationError

    try:
        row = reader_of(_Row).validate_json(line, strict=True)
        task = next((task for task, name in TASK_NAMES.items() if name == row.task), None)
        if task is None:
            raise UsageError(f"{place}: no task is called {row.task!r}; the tasks are {', '.join(TASK_NAMES.values())}")
        if (row.fail is None) == (row.reply is None):
            raise UsageError(f"{place}: a line gives either a reply or a reason to fail")
        if row.fail is not None:
            output: Output = Failure(row.fail)
        else:
            given = _output_of(task)
            output = reader_of(_QUOTING.get(given, given)).validate_json(json.dumps(row.reply), strict=True)
    except ValidationError as error:
        raise UsageError(f"{place}: {error}") from error
    return ScriptedReply(output, task, row.prompt_tokens, row.completion_tokens)


@dataclass(frozen=True, slots=True)
class _Row(_Strict):
    task: str
    reply: Any = None
    fail: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
