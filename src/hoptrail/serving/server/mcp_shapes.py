"""Arguments and results of the agents' tools, as classes that provide their JSON schemas. `contract` makes the values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hoptrail.serving.server.wire import Name, Strict, Text
from hoptrail.types.json_object import JsonObject


class NoArguments(Strict):
    """No arguments."""


class TrailArguments(Strict):
    trail: Annotated[str, Field(min_length=1, max_length=100, description="The `trail_id` returned by `ask`.")]


class TextsArguments(Strict):
    documents: Annotated[list[Text], Field(min_length=1, max_length=100)]


class DocumentArguments(Strict):
    document: Annotated[Name, Field(description="The document's id.")]


class HitShape(Strict):
    unit: str
    kind: str
    score: float
    channel: str
    document: str


class StatementShape(Strict):
    """`start` and `end` are its span in the document, in code points; `text` is readable (a table row as `header: value`).
    `date` is the ISO date that applies, or empty; `file` is the name of its file.
    """

    document: str
    title: str
    heading_path: list[str]
    file: str
    place: str
    date: str
    start: int
    end: int
    text: str
    unit: str


class EvidenceShape(StatementShape):
    """`text` is the document from `start` to `end`, `said` the same as a person would read it. `replaced`: a later statement,
    which the answer is from, replaces it.
    """

    kind: str
    hop: int
    replaced: bool
    said: str


class HopShape(Strict):
    question: str
    asked: str
    hits: list[HitShape]
    answer: str | None
    verdict: Literal["answered", "unsupported", "unanswered", "failed"]


class UsageShape(Strict):
    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class Indexing(Strict):
    """How far an indexing run that has not ended has come: `searchable` of its `documents` are found by the words of their
    `passages`, of which `encoded` have vectors. `goes_on`: it runs now.
    """

    documents: int
    searchable: int
    passages: int
    encoded: int
    goes_on: bool


class GuessShape(Strict):
    """The likeliest answer where none is sure enough."""

    text: str
    confidence: float
    evidence: list[EvidenceShape]


class AnswerShape(Strict):
    """An abstention has no answer and the kind none: the question is not settled, `closest` has the closest statements, and
    `guess`, if any, is no more than that. `asked` is the question as completed. A reply (kind reply) is none to a
    question.
    """

    question: str
    answer: str | None
    abstained: bool
    kind: Literal["short", "yes-no", "list", "steps", "passage", "none", "reply"]
    items: list[str]
    confidence: float | None
    closest: list[StatementShape]
    guess: GuessShape | None
    asked: str
    recipe: str
    language: str
    evidence: list[EvidenceShape]
    trail: list[HopShape]
    usage: UsageShape
    notes: list[str]


class PartShape(AnswerShape):
    """The answer to one of several questions of a message."""

    parts: list[None]


class Answered(AnswerShape):
    """The answer to a message; `parts` has those to its questions if it asks several, and `notes` what else to know."""

    trail_id: str
    parts: list[PartShape]
    indexing: Indexing | None = None


class SourceShape(Strict):
    document: str
    start: int
    end: int


class HitWithText(HitShape):
    """`date` is the latest date that applies to a part of it."""

    title: str
    heading_path: list[str]
    place: str
    date: str
    text: str
    sources: list[SourceShape]


class Found(Strict):
    question: str
    recipe: str
    hits: list[HitWithText]
    indexing: Indexing | None = None


class StepShape(Strict):
    hop: int
    question: str
    asked: str
    answer: str | None
    verdict: str
    evidence: list[EvidenceShape]


class Explained(Strict):
    """A trail, each hop with its evidence; `text` shows the same for people."""

    trail_id: str
    question: str
    answer: str | None
    recipe: str
    steps: list[StepShape]
    text: str


class JobItem(Strict):
    id: str
    name: str
    state: str
    reason: str
    documents: list[str]
    notes: list[str]


class ProgressShape(Strict):
    what: str
    done: int
    total: int
    share: float | None
    seconds_left: float | None


class JobState(Strict):
    """`state`: waiting, indexing, done, failed or stopped; failed items have a reason."""

    id: str
    kind: str
    state: str
    progress: ProgressShape
    error: dict[str, str] | None
    items: list[JobItem]


class StatusShape(Strict):
    """`contents` is the output of `hoptrail show --json`, with the number of documents in place of their list."""

    workspace: str
    empty: bool
    may_change: bool
    contents: JsonObject | None
    recipes: list[str]
    languages: list[str]
    jobs: list[JobState]
    indexing: Indexing | None = None
