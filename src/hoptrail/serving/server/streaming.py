"""Streams answers hop by hop, as server-sent events.

    question   {question, recipe, language}            work has begun
    completed  {question, asked}                       a message, and a question of it as it is really asked
    asked      {hop, question, asked}                  a sub-question, and the question actually asked
    writing    {hop, question, text}                   the answer to a question as far as a model has written it, unchecked
    hop        {hop, question, asked, hits, answer, verdict, evidence}
    answer     as `hoptrail ask --json`                the last event: its trail says which hops count
    error      {error: {code, message, what_to_do}}    the last event, in place of an answer

Hops are numbered from 0 in order. A recipe may discard some of them, and add one for its conclusion. What is being written may
begin anew (the reply broke off, or was no use); what counts is in the hop and the answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse

from hoptrail.index import contract
from hoptrail.index.conversation import answer_message
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.recipes.answering import CitedHop, cite
from hoptrail.recipes.catalogue import reported_name
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import Corpus
from hoptrail.serving.server.answer_history import kept
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.question_threads import WorkDeadline, result_of
from hoptrail.serving.server.refusals import as_refusal
from hoptrail.serving.server.services import Place, Services
from hoptrail.serving.server.wire import QuestionRequest, Search, question_of
from hoptrail.serving.server.workspaces import Workspace, computes_here, indexing_of
from hoptrail.types import Answer, Cited, Hop, Span
from hoptrail.types.answer import evidence_json, hop_json
from hoptrail.types.json_object import JsonObject
from hoptrail.types.sources import file_name

EVENTS = "text/event-stream"
SILENCE_SECONDS = 10.0
"""After this silence a comment is sent, so that both sides notice a broken connection."""

SendEvent = Callable[[str, JsonObject], None]

C = TypeVar("C", bound=Cited)


@dataclass(slots=True)
class Narrator:
    """Sends hops as events, in the thread that answers."""

    corpus: Corpus
    send_event: SendEvent
    metrics: Metrics
    hops: int = 0
    written: str = ""

    def asked(self, question: str, asked: str) -> None:
        """Send a sub-question."""
        self.send_event("asked", {"hop": self.hops, "question": question, "asked": asked})

    def wrote(self, question: str, text: str) -> None:
        """Send an answer that is being written, where it has changed."""
        if text != self.written:
            self.written = text
            self.send_event("writing", {"hop": self.hops, "question": question, "text": text})

    def found(self, hop: Hop, support: tuple[Span, ...]) -> None:
        """Send a finished hop with its evidence."""
        cited = cite([CitedHop(hop, support)], self.corpus)
        self.metrics.hops.labels(hop.verdict.value).inc()
        evidence = [evidence_json(replace(item, hop=self.hops)) for item in cited]
        self.send_event("hop", {"hop": self.hops, **hop_json(hop), "evidence": evidence})
        self.hops += 1


def answering(
    workspace: Workspace, asked: QuestionRequest, metrics: Metrics, send_event: SendEvent | None = None
) -> Callable[[WorkDeadline], Answer]:
    """The work that answers a question, to be run in a thread. Without `send_event` nobody reads along.
    Raises: Refusal, HoptrailError: the question cannot be processed; raised before any event is sent.
    """
    question_of(asked)
    language = workspace.language(asked.language)
    plain = workspace.recipe(asked.recipe, language, as_of=asked.as_of or "", documents=asked.documents)

    tell = send_event or (lambda _name, _content: None)

    def work(patience: WorkDeadline) -> Answer:
        narrator = Narrator(plain.corpus, tell, metrics)
        wrote = narrator.wrote if send_event else None
        listened = ObservedLanguage(language, Listener(narrator.asked, narrator.found, patience, wrote))
        recipe: Recipe = replace(plain, language=listened)  # type: ignore[type-var]

        def begun(whole: str) -> None:
            if whole != asked.question:
                tell("completed", {"question": asked.question, "asked": whole})

        answer = answer_message(asked.question, asked.earlier, recipe, listened, begun)
        metrics.answers.labels("abstained" if answer.abstained else "answered").inc()
        return without_folders(answer)

    return work


def without_folders(answer: Answer) -> Answer:
    """The answer with file names in place of paths, which clients must not see."""

    def named(cited: tuple[C, ...]) -> tuple[C, ...]:
        return tuple(replace(item, source=file_name(item.source)) for item in cited)

    guess = answer.guess and replace(answer.guess, evidence=named(answer.guess.evidence))
    parts = tuple(map(without_folders, answer.parts))
    return replace(answer, evidence=named(answer.evidence), closest=named(answer.closest), guess=guess, parts=parts)


def event(name: str, content: JsonObject) -> str:
    """One server-sent event; JSON on one line, so that no text can end it early."""
    return f"event: {name}\ndata: {json.dumps(content, ensure_ascii=True)}\n\n"


def searching(workspace: Workspace, asked: Search) -> Callable[[WorkDeadline], JsonObject]:
    """The work that searches, as `hoptrail search --json` prints it, to be run in a thread. Raises: Refusal: no question."""
    question = question_of(asked)

    def work(_: WorkDeadline) -> JsonObject:
        recipe = workspace.recipe(asked.recipe, workspace.language(None), asked.limit, asked.as_of or "")
        name = reported_name(asked.recipe or workspace.index.settings.recipe, recipe)
        return contract.search_json(question, name, recipe.retrieve(question)) | indexing_of(workspace)

    return work


async def answer_to(request: Request | None, served: Services, place: Place, asked: QuestionRequest) -> Answer:
    """The answer, as long as the client of the request stays connected (see `Desk.wait_for`).
    Raises: Refusal, HoptrailError: the question cannot be processed, or nobody waits for it any more.
    """
    served.desk.check(place.client)
    work = await asyncio.to_thread(answering, place.workspace, asked, served.metrics)
    return await served.desk.wait_for(request, work, computes=computes_here(place.workspace, asked.language))


async def answered(
    request: Request,
    served: Services,
    place: Place,
    asked: QuestionRequest,
    keep: Callable[[Answer], None] | None = None,
) -> JsonObject:
    """The whole answer, as `hoptrail ask --json` prints it; `keep` is told it. Raises: as `answer_to`."""
    return await _told(await answer_to(request, served, place, asked), place, asked, keep)


async def _told(
    answer: Answer, place: Place, asked: QuestionRequest, keep: Callable[[Answer], None] | None
) -> JsonObject:
    if keep:
        keep(answer)
    content = answer.to_dict()
    return content | indexing_of(place.workspace) | await asyncio.to_thread(kept, place, asked, content)


async def stream(
    served: Services,
    place: Place,
    asked: QuestionRequest,
    format_event: Callable[[str, JsonObject], str] = event,
    keep: Callable[[Answer], None] | None = None,
) -> StreamingResponse:
    """The events of one question, formatted by `format_event`; `keep` is told the answer. Starts the work at once; closing the
    response stops it.
    Raises: Refusal, HoptrailError: the question cannot be processed; raised here, while the response can still have an error
    status.
    """
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[str | None] = asyncio.Queue()

    def send_event(name: str, content: JsonObject) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(events.put_nowait, format_event(name, content))

    served.desk.check(place.client)
    work = await asyncio.to_thread(answering, place.workspace, asked, served.metrics, send_event)
    settings = place.workspace.index.settings
    names = {"recipe": asked.recipe or settings.recipe, "language": asked.language or settings.language}
    events.put_nowait(format_event("question", {"question": asked.question, **names}))  # before a thread sends the next
    future, patience = served.desk.hand_in(work, place.client, computes=computes_here(place.workspace, asked.language))
    future.add_done_callback(lambda _: events.put_nowait(None))

    async def sent() -> AsyncIterator[str]:
        try:
            while (one := await _next(events)) is not None:
                yield one
            try:
                ending = format_event("answer", await _told(result_of(future), place, asked, keep))
            except Exception as error:  # noqa: BLE001 - the response has begun, so the error can only be an event
                ending = format_event("error", as_refusal(error).content)
            yield ending
        finally:
            patience.end()

    return StreamingResponse(sent(), media_type=EVENTS)


async def _next(events: asyncio.Queue[str | None]) -> str | None:
    try:
        return await asyncio.wait_for(events.get(), SILENCE_SECONDS)
    except TimeoutError:
        return ": still working\n\n"
