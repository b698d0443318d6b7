"""The answers that are kept for each client, and their routes. What is kept has places in place of quotations: the texts are read
from the documents when an answer is opened, so an answer is shown only to a key that sees all of its documents.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from hoptrail.corpus.journal import History, KeptAnswer
from hoptrail.errors import HoptrailError
from hoptrail.serving.server.refusals import not_found
from hoptrail.serving.server.services import Here, Place
from hoptrail.serving.server.wire import QuestionRequest, Strict
from hoptrail.text.statements import wording_of
from hoptrail.types import Document, Span
from hoptrail.types.json_object import JsonObject

log = logging.getLogger("hoptrail.server")

router = APIRouter(prefix="/api/history", tags=["history"])


class Renamed(Strict):
    """The new name of a thread."""

    name: Annotated[str, Field(min_length=1, max_length=300)]


def kept(place: Place, asked: QuestionRequest, answer: JsonObject) -> JsonObject:
    """What an answer is kept under: `id`, `thread`, `at`; nothing if it is not kept. A failure is logged and costs no answer."""
    if not asked.keep or place.workspace.index.is_read_only:
        return {}
    history, name = History(place.workspace.index.folder), f"a{secrets.token_hex(10)}"
    try:
        thread = asked.thread if asked.thread and history.owns(_client(place), asked.thread) else name
        about = {"id": name, "thread": thread, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        kept_answer = KeptAnswer(name, _client(place), thread, about["at"], asked.question, _without_quotations(answer))
        documents = _documents_of(answer)
        history.keep(kept_answer, documents)
        history.forget(documents - place.workspace.existing_ids(documents))  # removed in the meantime
    except HoptrailError as error:
        log.error("an answer could not be kept: %s", type(error).__name__)
        return {}
    return about


@router.get("")
def threads(
    here: Here,
    words: Annotated[str, Query(max_length=300, description="Only threads in which these words occur.")] = "",
    start: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> JsonObject:
    """The threads of this client, newest first."""
    found = _history(here).threads(_client(here), words)
    return {"total": len(found), "threads": [_summary(one) for one in found[start : start + limit]]}


@router.get("/{name}")
def thread(here: Here, name: str) -> JsonObject:
    """A kept answer, after the earlier ones of its thread."""
    turns = _history(here).turns(name)
    documents = set[str]().union(*(cited for _, cited in turns))
    if not turns or here.workspace.existing_ids(documents) != documents:
        raise not_found("answer")
    found = here.documents(list(documents)) if documents else {}
    about = [{"id": one.id, "thread": one.thread, "at": one.at} for one, _ in turns]
    return {
        "id": about[0]["id"],
        "name": turns[0][0].name,
        "own": turns[0][0].client == _client(here),
        "answers": [_with_quotations(one.content, found) | it for (one, _), it in zip(turns, about, strict=True)],
    }


@router.post("/{name}")
def rename(here: Here, name: str, renamed: Renamed) -> JsonObject:
    """Give a thread of this client another name."""
    if not _history(here).rename(_client(here), name, renamed.name):
        raise not_found("answer")
    return {"id": name, "name": renamed.name}


@router.delete("/{name}")
def delete(here: Here, name: str) -> JsonObject:
    """Erase a thread of this client."""
    if not _history(here).delete(_client(here), [name]):
        raise not_found("answer")
    return {"id": name}


@router.delete("")
def delete_all(here: Here) -> JsonObject:
    """Erase all threads of this client."""
    return {"erased": _history(here).delete(_client(here))}


def _client(here: Place) -> str:
    """The owner of what is kept: a key, with the labels that limit it."""
    labels = here.workspace.labels
    return here.client if labels is None else f"{here.client} {','.join(sorted(labels))}"


def _history(here: Place) -> History:
    return History(here.workspace.index.folder)


def _summary(one: KeptAnswer) -> JsonObject:
    answer = json.loads(one.content)
    shown = answer["answer"] or (answer["guess"] or {}).get("text")
    about = {name: answer[name] for name in ("abstained", "question", "recipe")}
    return {"id": one.id, "name": one.name, "at": one.at, "answer": shown and shown[:300], **about}


def _cited(answer: JsonObject) -> Iterator[JsonObject]:
    yield from answer["evidence"]
    yield from answer["closest"]
    yield from (answer["guess"] or {}).get("evidence", ())
    for part in answer["parts"]:
        yield from _cited(part)


def _documents_of(answer: JsonObject) -> set[str]:
    """The documents that an answer came from: those that it cites, and those that a hop without citation has found."""
    cited = {item["hop"] for item in answer["evidence"]}
    found = [hop for number, hop in enumerate(answer["trail"]) if hop["answer"] is not None and number not in cited]
    return {item["document"] for item in _cited(answer)} | {hit["document"] for hop in found for hit in hop["hits"]}


def _without_quotations(answer: JsonObject) -> str:
    copy: JsonObject = json.loads(json.dumps(answer))
    for item in _cited(copy):
        item.pop("text", None)
        item.pop("said", None)
    return json.dumps(copy, ensure_ascii=False)


def _with_quotations(content: str, documents: dict[str, Document]) -> JsonObject:
    answer: JsonObject = json.loads(content)
    for item in _cited(answer):
        document = documents[item["document"]]
        said = wording_of(document, Span(document.id, item["start"], item["end"]))
        item |= {"text": document.text[item["start"] : item["end"]], "said": said}
    return answer
