"""What travels in requests and responses beside `contract`: the fields of requests, and documents without the server's paths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from hoptrail.contents import Contents, DocumentSummary, Reached
from hoptrail.corpus.places import UPLOADS
from hoptrail.errors import UsageError
from hoptrail.retrieval.corpus import QUESTION_LIMIT, checked_question
from hoptrail.serving import contract
from hoptrail.serving.contract import Json
from hoptrail.serving.server.refusals import not_valid
from hoptrail.structures.course import Progress
from hoptrail.types import Block, Document, Evidence, Hop

_UPLOADED = re.compile(rf"(.*/)?{UPLOADS}/n[0-9a-f]{{20}}\.jsonl#(?P<name>.*)", re.DOTALL)
_LINE = re.compile(r"(?P<path>.*?\.jsonl(\.gz)?)#(?P<line>.*)", re.DOTALL | re.IGNORECASE)
"""Files of lines alone have lines in their sources: any other # belongs to the name of a file or of a folder."""

Name = Annotated[str, Field(min_length=1, max_length=200)]


class _Request(BaseModel):
    """Unknown fields are refused: a misspelt one would be ignored otherwise."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Question(_Request):
    """`recipe` and `language` are those of the settings where they are not given."""

    question: Annotated[str, Field(min_length=1, max_length=QUESTION_LIMIT)]
    recipe: Name | None = None
    language: Name | None = None


class Search(_Request):
    """At most `limit` hits; as many as the recipe gives where it is not set."""

    question: Annotated[str, Field(min_length=1, max_length=QUESTION_LIMIT)]
    recipe: Name | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] | None = None


class Text(_Request):
    """A document as text."""

    title: Annotated[str, Field(min_length=1, max_length=300)]
    text: str


def question_of(asked: Question | Search) -> str:
    """Raises: Refusal: nothing is asked."""
    try:
        return checked_question(asked.question)
    except UsageError:  # the length is checked with the fields
        raise not_valid("question: it is empty.", "Ask something.") from None


def as_line(text: Text) -> bytes:
    """A document as a line of a JSONL file. With escapes only for lone surrogates, which are no UTF-8: for all that is not ASCII
    they would make a text of most scripts several times as long.
    """
    line = json.dumps({"id": text.title, "title": text.title, "text": text.text}, ensure_ascii=False)
    return line.encode("utf-8", "backslashreplace")


def contents_json(contents: Contents) -> Json:
    """As `hoptrail show --json` without the documents, which are a list of their own here; `documents` is their number."""
    whole = contract.contents_json(contents)
    return {**whole, "documents": len(contents.documents)}


def progress_json(progress: Progress) -> Json:
    """`done` of `total` (0: not known) of `what` is being done; `share` of the whole run (0 to 1) and `seconds_left` are null
    while they cannot be told.
    """
    return {
        "what": progress.what,
        "done": progress.done,
        "total": progress.total,
        "share": None if progress.share is None else round(progress.share, 4),
        "seconds_left": None if progress.left is None else round(progress.left, 1),
    }


def indexing_json(reached: Reached | None) -> Json:
    """What answers and `show` carry besides while an indexing run has not ended: how far it is, and whether it goes on."""
    if reached is None:
        return {}
    counts = ("documents", "searchable", "passages", "encoded")
    return {"indexing": {name: getattr(reached, name) for name in counts} | {"goes_on": bool(reached.writer)}}


def _origin_json(sources: Sequence[str]) -> Json:
    """`uploaded` tells a document that an upload of the same name replaces from one that was indexed from elsewhere."""
    return {
        "sources": [source_name(source) for source in sources],
        "uploaded": any(_UPLOADED.fullmatch(source) for source in sources),
    }


def summary_json(document: DocumentSummary) -> Json:
    return {
        "id": document.id,
        "title": document.title,
        **_origin_json(document.sources),
        "passages": document.passages,
    }


def document_json(document: Document) -> Json:
    """`sentences` are the end offsets of sentences, in code points like all offsets; `blocks` the structure, as it tiles the
    text: rows have cells, and what is known of where it stands in the file is its place.
    """
    return {
        "id": document.id,
        "title": document.title,
        "text": document.text,
        "sentences": list(document.sentence_ends),
        "blocks": [_block_json(block) for block in document.blocks],
        **_origin_json(document.sources),
        "notes": list(document.notes),
    }


def _block_json(block: Block) -> Json:
    return {
        "kind": block.kind.value,
        "start": block.start,
        "end": block.end,
        "level": block.level,
        "ordered": block.ordered,
        "place": block.place,
        "cells": [{"start": cell.start, "end": cell.end} for cell in block.cells],
    }


def hop_json(number: int, hop: Hop, evidence: Iterable[Evidence]) -> Json:
    """A hop of a stream: what `answer_json` has for it, its number, and its evidence."""
    return {"hop": number, **contract.hop_json(hop), "evidence": [contract.evidence_json(item) for item in evidence]}


def source_name(source: str) -> str:
    """Where a document came from, as clients may see it: the name it was uploaded under, or its file's name."""
    if uploaded := _UPLOADED.fullmatch(source):
        return uploaded["name"]
    if found := _LINE.fullmatch(source):
        return f"{PurePath(found['path']).name}#{found['line']}"
    return PurePath(source).name


def shown(name: str, longest: int = 200) -> str:
    """A name that a client gave, fit to be shown and stored: one line, no control characters, not too long."""
    printable = "".join(character if character.isprintable() else " " for character in name)
    return " ".join(printable.split())[:longest]
