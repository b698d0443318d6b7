"""The language tasks as typed calls. A recipe speaks to a language only through these.

A task is a frozen record of its input; its type parameter is its output. A `Language` performs any task and says what that
cost. The performers: `offline`, `chat`, `scripted` and (in evaluation) the oracle.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from hoptrail.types import AnswerKind, Span, Unit, Usage

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Task(Generic[T_co]):
    """The input of one language task whose output is a `T_co`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """An earlier hop as later tasks see it: the sub-question, what was really asked, its answer (None: unanswered)."""

    question: str
    asked: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class Triple:
    """Who, does what, to whom: `Orla Finch`, `designed`, `the Tallow Bridge`. No slot is empty."""

    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A proposition with the entities it is about, and where it stands; `triple` where whoever found it said it as one."""

    text: str
    entities: tuple[str, ...]
    source: Span
    triple: Triple | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """Entities (verbatim, without repeats, in order of appearance) and facts of one unit. Those that it only points back to stand
    last, as the passage before it writes them.
    """

    entities: tuple[str, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Extract(Task[Extraction]):
    """Find the entities and facts of `unit`; `before` is the passage that it follows in its document, and may say what it points
    back to.
    """

    unit: Unit
    before: Unit | None = None


@dataclass(frozen=True, slots=True)
class Summarise(Task[str]):
    """Say what `units` have in common, in their own language, in at most `words` words."""

    units: tuple[Unit, ...]
    words: int


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Sub-questions in the order to ask them; `#1` in one stands for the answer to the first. Empty: nothing left to ask."""

    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decompose(Task[Decomposition]):
    """Split `question` into sub-questions.

    With `one_at_a_time`, give only the next sub-question in the light of `findings`, or none when they settle the question.
    """

    question: str
    findings: tuple[Finding, ...] = ()
    one_at_a_time: bool = False


@dataclass(frozen=True, slots=True)
class Complete(Task[str]):
    """Rewrite `question` so that it stands alone: references to earlier answers become those answers."""

    question: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Clarify(Task[str]):
    """Reword `question`, so that it tells from `context` which of several things called `name` it is about."""

    question: str
    name: str
    context: str


@dataclass(frozen=True, slots=True)
class Step:
    """A sub-question that reading answered on the way, and the spans (inside the evidence) that say so.

    `supported` is False where they do not, as far as whoever read can tell.
    """

    question: str
    answer: str
    support: tuple[Span, ...]
    supported: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading the evidence gave: the answer (None: abstained), its steps in order, a confidence between 0 and 1.

    The last step is the one that yields `answer`. `support` of every step lies inside a source of the evidence. `items` are
    what an answer of kind list or steps consists of, in order.
    """

    answer: str | None
    steps: tuple[Step, ...] = ()
    confidence: float = 0.0
    kind: AnswerKind = AnswerKind.SHORT
    items: tuple[str, ...] = ()

    @property
    def supported(self) -> bool:
        """Whether every step is."""
        return all(step.supported for step in self.steps)


class Abstain(StrEnum):
    """When a question may be left without an answer: `always` when nothing settles it; where it is only `allowed`, when nothing
    helps with it; `never`, for sets of questions that all have an answer.
    """

    ALWAYS = "always"
    ALLOWED = "allowed"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Read(Task[Reading]):
    """Answer `question` from `evidence` (best first), or abstain. The task that design and docs call `answer`.

    `abstain` says how readily.
    """

    question: str
    evidence: tuple[Unit, ...]
    abstain: Abstain = Abstain.ALWAYS


@dataclass(frozen=True, slots=True)
class Assess(Task[float]):
    """Is `evidence` enough to settle `question`? A probability."""

    question: str
    evidence: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Verify(Task[float]):
    """Does `evidence` support `answer` to `question`? A probability."""

    question: str
    evidence: tuple[Unit, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Integrate(Task[Reading]):
    """Conclude on `question` from what the hops found, or from that and the evidence. Without findings it is `Read`."""

    question: str
    findings: tuple[Finding, ...]
    evidence: tuple[Unit, ...] = ()
    abstain: Abstain = Abstain.ALWAYS


@dataclass(frozen=True, slots=True)
class Recall(Task[Reading]):
    """Answer `question` from the model's own memory, without evidence. Off unless a recipe's settings ask for it."""

    question: str


@dataclass(frozen=True, slots=True)
class Samples:
    """Answers given independently of one another, None for an abstention. There is at least one."""

    answers: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Sample(Task[Samples]):
    """Answer `question` from `evidence` over and over, `samples` times at most: what the answers differ by is uncertainty."""

    question: str
    evidence: tuple[Unit, ...]
    samples: int


class Relation(StrEnum):
    """What one answer says about another: it follows, it may or may not hold, it cannot hold."""

    ENTAILMENT = "entailment"
    NEUTRAL = "neutral"
    CONTRADICTION = "contradiction"


@dataclass(frozen=True, slots=True)
class Entail(Task[Relation]):
    """If `premise` is a true answer to `question`, is `hypothesis` one too? One direction only."""

    question: str
    premise: str
    hypothesis: str


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
    Clarify: "clarify",
    Read: "answer",
    Assess: "assess",
    Verify: "verify",
    Integrate: "integrate",
    Recall: "recall",
    Sample: "sample",
    Entail: "entail",
    Equate: "equate",
}
"""The names that design, prompts, logs and schemas use."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[T_co]):
    """A task's output and what it cost."""

    value: T_co
    usage: Usage


class Language(Protocol):
    """Whoever performs the tasks."""

    @property
    def name(self) -> str: ...

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform one task.

        Raises:
            TaskFailed: no usable reply; the message names the task and the reason.
        """
        ...
