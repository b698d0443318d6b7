"""What `ask` returns: an answer with its evidence, its trail and its cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from hoptrail.types.unit import Kind, Ranking

SURE, LIKELY = 0.8, 0.5
"""The lowest confidences that are called sure and likely."""


class AnswerKind(StrEnum):
    """The kind of an answer; `NONE` is an abstention."""

    SHORT = "short"
    YES_NO = "yes-no"
    LIST = "list"
    STEPS = "steps"
    PASSAGE = "passage"
    NONE = "none"


class Verdict(StrEnum):
    """How a hop ended. `unsupported`: there is an answer, but the cited text does not support it."""

    ANSWERED = "answered"
    UNSUPPORTED = "unsupported"
    UNANSWERED = "unanswered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent: model calls, their tokens, and seconds of wall clock."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Cited:
    """A piece of a document: `text` is exactly the characters `start` to `end`; `unit` is the unit it was found through.

    `path` is its heading path, `place` where it begins in the file (`page 3`), `date` its ISO date, `source` the document's.
    `said` is its wording as a person would read it: a table row as `header: value`, as in `Unit.readable`.
    """

    document: str
    title: str
    start: int
    end: int
    text: str
    unit: str
    path: tuple[str, ...] = ()
    place: str = ""
    date: str = ""
    source: str = ""
    said: str = field(kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Cited):
    """What the hop of index `hop` rests on; `kind` is the unit's. `replaced`: a later statement replaces it."""

    kind: Kind
    hop: int
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Guess:
    """The best answer to a question that is not settled, with the probability that it is right and what it rests on."""

    text: str
    confidence: float
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Cited):
    """A sentence, list item or table row that comes close."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step: the sub-question, what was really asked (after completion), the hits, the answer and the verdict."""

    question: str
    asked: str
    hits: Ranking
    answer: str | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Trail:
    """The hops of one answer, in order."""

    hops: tuple[Hop, ...] = ()

    def __iter__(self) -> Iterator[Hop]:
        return iter(self.hops)

    def __len__(self) -> int:
        return len(self.hops)


@dataclass(frozen=True, slots=True)
class Answer:
    """What `ask` returns: a text, or an abstention (`text` is None); evidence, trail and usage either way.

    `ranking` is what the recipe retrieved over all hops, best first; a recipe may order it by what was read. `confidence` is the
    probability, 0 to 1, that the answer is right (for an abstention: the answer that was held back); None where the recipe does
    not estimate it. `items` are those of a list, or the steps of a procedure. `closest` are the best statements for the question,
    best first. An abstention may have a `guess`. `asked` is the question as completed from a conversation.
    """

    question: str
    text: str | None
    recipe: str
    language: str
    evidence: tuple[Evidence, ...] = ()
    trail: Trail = field(default_factory=Trail)
    usage: Usage = field(default_factory=Usage)
    ranking: Ranking = ()
    confidence: float | None = None
    kind: AnswerKind = AnswerKind.SHORT
    items: tuple[str, ...] = ()
    closest: tuple[Statement, ...] = ()
    guess: Guess | None = None
    asked: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "asked", self.asked or self.question)
        if self.text is None and self.kind is not AnswerKind.NONE:
            object.__setattr__(self, "kind", AnswerKind.NONE)

    @property
    def abstained(self) -> bool:
        return self.text is None

    @property
    def certainty(self) -> str:
        """The confidence in words: sure, likely or unsure; empty where there is none."""
        return "" if self.confidence is None else certainty(self.confidence)

    def __repr__(self) -> str:
        text = "not settled" if self.text is None else repr(self.text)
        sure = "" if self.confidence is None else f", {self.certainty} ({self.confidence:.2f})"
        return f"<Answer {text}{sure}, {len(self.trail)} hops, {len(self.evidence)} citations>"

    _repr_html_: ClassVar[Callable[[Answer], str]]
    """The answer as a notebook shows it: `hoptrail.notebook` sets it, so that records know nothing of HTML."""

    @property
    def failed(self) -> bool:
        """Whether it abstains and a language task failed: then the abstention says nothing about the documents."""
        return self.abstained and any(hop.verdict is Verdict.FAILED for hop in self.trail)


def certainty(confidence: float) -> str:
    """A confidence in words."""
    return "sure" if confidence >= SURE else "likely" if confidence >= LIKELY else "unsure"
