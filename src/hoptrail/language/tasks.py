"""The language tasks as typed calls: the only interface between recipes and languages.

A task is a frozen record of its input; its type parameter is its output. A `Language` performs tasks and reports their cost. The
languages are `offline`, `chat`, `scripted` and (in evaluation) the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

from hoptrail.types import AnswerKind, Extraction, Span, Unit, Usage

if TYPE_CHECKING:
    from hoptrail.language.closeness import Close

OFFLINE, CHAT = "offline", "chat"  # the names of the two shipped languages

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Task(Generic[T_co]):
    """The input of one language task whose output is a `T_co`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """An earlier hop as input of later tasks: the sub-question, its completed form, and its answer (None: unanswered)."""

    question: str
    asked: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class Extract(Task[Extraction]):
    """Find entities (with `figures` dates and quantities, too) and facts of `unit`; `before` precedes it and may name them."""

    unit: Unit
    before: Unit | None = None
    figures: bool = False


@dataclass(frozen=True, slots=True)
class Summarise(Task[str]):
    """Say what `units` have in common, in their own language, in at most `words` words."""

    units: tuple[Unit, ...]
    words: int


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Sub-questions in order; `#1` stands for the answer to the first. Empty: nothing is left to ask."""

    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decompose(Task[Decomposition]):
    """Split `question` into sub-questions, or give only the next one after `findings` (none if they settle it)."""

    question: str
    findings: tuple[Finding, ...] = ()
    one_at_a_time: bool = False


@dataclass(frozen=True, slots=True)
class Complete(Task[str]):
    """Rewrite `question` so that it stands alone, with earlier answers filled in, `by_model` also where rules could."""

    question: str
    findings: tuple[Finding, ...]
    by_model: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a conversation, as completed, with its answer (None: none was given) and the hops that led to it."""

    asked: str
    answer: str | None
    hops: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class FollowUp(Task[str | None]):
    """Rewrite `message` so that it stands alone, from the turns before it, the latest last. None: it cannot be done well."""

    message: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Clarify(Task[str]):
    """Reword `question` with `context`, so that it says which of several things called `name` it is about."""

    question: str
    name: str
    context: str


@dataclass(frozen=True, slots=True)
class Step:
    """A sub-question answered while reading, its spans inside the evidence, and whether these support the answer."""

    question: str
    answer: str
    support: tuple[Span, ...]
    supported: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading evidence: the answer (None: an abstention), its steps in order, and a confidence from 0 to 1.

    The last step yields `answer`. The `support` of every step lies inside a source of the evidence. `items` are the parts of an
    answer of the kind list or steps, in order. `promising` are the spans that may settle the question, most probable first, to be
    shown if no answer is given. `withheld` is the step of an answer with a confidence too low to give it. `notes` say what else a
    reader must know.
    """

    answer: str | None
    steps: tuple[Step, ...] = ()
    confidence: float = 0.0
    kind: AnswerKind = AnswerKind.SHORT
    items: tuple[str, ...] = ()
    promising: tuple[Span, ...] = ()
    withheld: Step | None = None
    notes: tuple[str, ...] = ()

    @property
    def supported(self) -> bool:
        return all(step.supported for step in self.steps)


class Abstain(StrEnum):
    """`always` when nothing settles the question; `allowed` only when nothing helps; `never` where all questions have answers."""

    ALWAYS = "always"
    ALLOWED = "allowed"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Read(Task[Reading]):
    """Answer `question` from `evidence` (best first), or abstain. Docs call this task `answer`."""

    question: str
    evidence: tuple[Unit, ...]
    abstain: Abstain = Abstain.ALWAYS


@dataclass(frozen=True, slots=True)
class Assess(Task[float]):
    """The probability that `evidence` suffices to settle `question`."""

    question: str
    evidence: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Verify(Task[float]):
    """The probability that `evidence` supports `answer` to `question`."""

    question: str
    evidence: tuple[Unit, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Integrate(Task[Reading]):
    """Answer `question` from the findings of hops, or from findings and evidence. Without findings this is `Read`."""

    question: str
    findings: tuple[Finding, ...]
    evidence: tuple[Unit, ...] = ()
    abstain: Abstain = Abstain.ALWAYS


@dataclass(frozen=True, slots=True)
class Recall(Task[Reading]):
    """Answer `question` from memory, without evidence, if a recipe's settings ask for it. `abstain`: as for `Read`."""

    question: str
    abstain: Abstain = Abstain.ALWAYS


@dataclass(frozen=True, slots=True)
class Samples:
    """Independent answers, at least one; None for an abstention."""

    answers: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Sample(Task[Samples]):
    """Answer `question` from `evidence` at most `samples` times; the differences between the answers show the uncertainty."""

    question: str
    evidence: tuple[Unit, ...]
    samples: int
    abstain: Abstain = Abstain.ALWAYS


@dataclass(frozen=True, slots=True)
class Equate(Task[bool]):
    """Do two answers to `question` mean the same, whatever their wording?"""

    question: str
    one: str
    other: str


TASK_NAMES: dict[type[Task[object]], str] = {
    Extract: "extract",
    Summarise: "summarise",
    Decompose: "decompose",
    Complete: "complete",
    FollowUp: "follow_up",
    Clarify: "clarify",
    Read: "answer",
    Assess: "assess",
    Verify: "verify",
    Integrate: "integrate",
    Recall: "recall",
    Sample: "sample",
    Equate: "equate",
}
"""The names of tasks in prompts, logs and schemas."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[T_co]):
    """A task's output and its cost."""

    value: T_co
    usage: Usage


class Language(Protocol):
    """Performs the tasks. May also be a `StatementJudge`."""

    @property
    def name(self) -> str:
        """Names the language in answers and in the index, where what another language made is built anew."""

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform one task. Raises: TaskFailed: there is no usable reply; the message names the task and the reason."""
        ...


@runtime_checkable
class StatementJudge(Protocol):
    """A language that judges, at no cost, which statements settle a question."""

    def judged(self, question: str, units: tuple[Unit, ...]) -> tuple[Close, ...]:
        """The statements, closest first; one that seems to settle the question counts as closer. None: not judged."""
        ...


def judged(language: Language, question: str, units: tuple[Unit, ...]) -> tuple[Close, ...]:
    """The statements as `language` judges them; none if it is no `StatementJudge`."""
    return language.judged(question, units) if isinstance(language, StatementJudge) else ()


@dataclass(frozen=True, slots=True)
class Effort:
    """The fewest and the most tasks that a question takes with a recipe's settings, for estimates: `readings` have
    evidence, `plans` decompose or complete, `others` neither. Samples count.
    """

    readings: tuple[int, int] = (1, 1)
    plans: tuple[int, int] = (0, 0)
    others: tuple[int, int] = (0, 0)

    @classmethod
    def of_hops(cls, most: int, readings: int = 1) -> Effort:
        """The effort of `most` sub-questions, each read `readings` times, and of one more plan and a conclusion."""
        return cls((2, most * readings + 1), (2, 2 * most))


FROM_MEMORY = Effort((0, 0), others=(1, 1))  # one question to the model's memory
