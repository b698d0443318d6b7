"""Requests, and responses beyond `contract`: documents without the server's paths, progress, jobs' names."""

from __future__ import annotations

import json
from dataclasses import asdict
from io import BytesIO
from typing import Annotated, BinaryIO

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from hoptrail.index.contents import DocumentSummary, Reached
from hoptrail.retrieval.corpus import QUESTION_LIMIT
from hoptrail.serving.answer_text import one_line
from hoptrail.structures.progress_tracker import Progress
from hoptrail.types import Answer, Document, Hop, Trail, Verdict
from hoptrail.types.json_object import JsonObject
from hoptrail.types.sources import UPLOADED, file_name

Name = Annotated[str, Field(min_length=1, max_length=200)]


class Strict(BaseModel):
    """Refuses unknown fields: misspelt arguments, which would otherwise be ignored, and results that no longer fit."""

    model_config = ConfigDict(extra="forbid", strict=True)


_PAST = "Ask the past: ignore what is dated later than this day, month or year (2024-03-05, 2024-03, 2024)."
AsOf = Annotated[str, Field(max_length=10, description=_PAST)]


def _not_empty(question: str) -> str:
    if not one_line(question):
        raise PydanticCustomError("empty", "it is empty, ask something")
    return question


Asked = Annotated[str, Field(min_length=1, max_length=QUESTION_LIMIT), AfterValidator(_not_empty)]


class EarlierHop(Strict):
    """A hop of an earlier answer: what was asked, and its answer."""

    asked: Asked
    answer: Annotated[str, Field(max_length=QUESTION_LIMIT)] | None


class Before(Strict):
    """The answer that a question follows up, as the client received it."""

    question: Asked
    answer: Annotated[str, Field(max_length=QUESTION_LIMIT)] | None
    trail: Annotated[list[EarlierHop], Field(max_length=100)] = []

    def as_answer(self) -> Answer:
        hops = tuple(
            Hop(one.asked, one.asked, (), one.answer, Verdict.UNANSWERED if one.answer is None else Verdict.ANSWERED)
            for one in self.trail
        )
        return Answer(self.question, self.answer, recipe="", language="", trail=Trail(hops))


def _several(given: object) -> object:
    return given if isinstance(given, list) else [] if given is None else [given]


Earlier = Annotated[list[Before], Field(max_length=100), BeforeValidator(_several)]
"""The answers that a question may follow up, oldest first; one may come alone."""


class QuestionRequest(Strict):
    """`recipe` and `language` default to the settings. `documents` (ids) limits the question to these. With `before`, one earlier
    answer or several, oldest first, a follow-up such as `and when was she born?` is completed from them. `keep` keeps the answer
    in the client's history, in a `thread` or as the first of one.
    """

    question: Asked
    recipe: Name | None = None
    language: Name | None = None
    as_of: AsOf | None = None
    documents: Annotated[list[Name], Field(max_length=1000)] = []
    before: Earlier = []
    keep: bool = False
    thread: Name | None = None


class Search(Strict):
    """At most `limit` hits; by default as many as the recipe returns."""

    question: Asked
    recipe: Name | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] | None = None
    as_of: AsOf | None = None


class Text(Strict):
    """A document as text."""

    title: Annotated[str, Field(min_length=1, max_length=300)]
    text: str


def as_file(text: Text) -> tuple[str, BinaryIO]:
    """A document as a JSONL file of one line: its name and content. Only lone surrogates, which are not UTF-8, are escaped:
    escaping all non-ASCII characters would make texts in most scripts several times longer.
    """
    line = json.dumps({"id": text.title, "title": text.title, "text": text.text}, ensure_ascii=False)
    return f"{text.title}.jsonl", BytesIO(line.encode("utf-8", "backslashreplace"))


def progress_json(progress: Progress) -> JsonObject:
    """`done` of `total` (0: unknown) of the step `what`; `share` of the whole run (0 to 1) and `seconds_left` are null while
    unknown.
    """
    content = asdict(progress)
    content["seconds_left"] = content.pop("left")
    return content


def indexing_json(reached: Reached | None) -> JsonObject:
    """The extra field of answers and `show` while an indexing run is unfinished: its progress, and whether it is running."""
    if reached is None:
        return {}
    counts = ("documents", "searchable", "passages", "encoded")
    return {"indexing": {name: getattr(reached, name) for name in counts} | {"goes_on": bool(reached.writer)}}


def document_json(document: Document | DocumentSummary) -> JsonObject:
    """What a document and its summary share. `uploaded` marks a document that an upload of the same name replaces."""
    return {
        "id": document.id,
        "title": document.title,
        "sources": [file_name(source) for source in document.sources],
        "uploaded": any(map(UPLOADED.fullmatch, document.sources)),
    }
