"""What agents' tools take and give, as classes whose JSON schemas agents are shown. `contract` makes the values."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hoptrail.serving.server.wire import Name, Text


class _Shape(BaseModel):
    """What is not named is refused: misspelt arguments, and results that no longer fit their schema."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Nothing(_Shape):
    """No arguments."""


class OfTrail(_Shape):
    trail: Annotated[str, Field(min_length=1, max_length=100, description="The `trail_id` that `ask` gave.")]


class NewTexts(_Shape):
    documents: Annotated[list[Text], Field(min_length=1, max_length=100)]


class OfDocument(_Shape):
    document: Annotated[Name, Field(description="The document's id.")]


class Hit(_Shape):
    unit: str
    kind: str
    score: float
    channel: str
    document: str


class Statement(_Shape):
    """`start` and `end` are where it stands in the document, in code points; `text` is how it reads (a table row as
    `header: value`). `date` is the ISO date that holds for it, empty where there is none; `file` the name of its file.
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


class Evidence(Statement):
    """`text` is what stands at `start` to `end` of the document. `replaced`: the answer is said by a later one."""

    kind: str
    hop: int
    replaced: bool


class Hop(_Shape):
    question: str
    asked: str
    hits: list[Hit]
    answer: str | None
    verdict: Literal["answered", "unsupported", "unanswered", "failed"]


class Usage(_Shape):
    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class Indexing(_Shape):
    """How far an indexing run that has not ended has come: `searchable` of its `documents` are found by the words of their
    `passages`, of which `encoded` have vectors. `goes_on`: it runs now.
    """

    documents: int
    searchable: int
    passages: int
    encoded: int
    goes_on: bool


class Answered(_Shape):
    """An abstention has no answer and is of kind none: the question is not settled, and `closest` is what comes closest."""

    trail_id: str
    question: str
    answer: str | None
    abstained: bool
    kind: Literal["short", "yes-no", "list", "steps", "passage", "none"]
    items: list[str]
    confidence: float | None
    closest: list[Statement]
    recipe: str
    language: str
    evidence: list[Evidence]
    trail: list[Hop]
    usage: Usage
    indexing: Indexing | None = None


class Source(_Shape):
    document: str
    start: int
    end: int


class HitWithText(Hit):
    """`date` is the latest that holds for something in it."""

    title: str
    heading_path: list[str]
    place: str
    date: str
    text: str
    sources: list[Source]


class Found(_Shape):
    question: str
    recipe: str
    hits: list[HitWithText]
    indexing: Indexing | None = None


class Step(_Shape):
    hop: int
    question: str
    asked: str
    answer: str | None
    verdict: str
    evidence: list[Evidence]


class Explained(_Shape):
    """A trail, each hop with its evidence; `text` tells the same to people."""

    trail_id: str
    question: str
    answer: str | None
    recipe: str
    steps: list[Step]
    text: str


class JobItem(_Shape):
    id: str
    name: str
    state: str
    reason: str
    documents: list[str]
    notes: list[str]


class Progress(_Shape):
    what: str
    done: int
    total: int
    share: float | None
    seconds_left: float | None


class JobState(_Shape):
    """`state`: waiting, indexing, done, failed or stopped; items that failed say why."""

    id: str
    kind: str
    state: str
    progress: Progress
    error: dict[str, str] | None
    items: list[JobItem]


class Status(_Shape):
    """`contents` is as `hoptrail show --json` has it, with the number of documents in place of the list."""

    workspace: str
    empty: bool
    may_change: bool
    contents: dict[str, Any] | None
    recipes: list[str]
    languages: list[str]
    jobs: list[JobState]
    indexing: Indexing | None = None
