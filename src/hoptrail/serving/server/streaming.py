"""Answers questions for clients: as a whole, or hop by hop as server-sent events.

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
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from fastapi.responses import StreamingResponse

from hoptrail.index import contract
from hoptrail.index.contents import reached
from hoptrail.index.conversation import answer_message
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.recipes.answering import CitedHop, cite
from hoptrail.recipes.catalogue import reported_name
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import Corpus, check_question
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.question_threads import Stopped
from hoptrail.serving.server.refusals import as_refusal
from hoptrail.serving.server.routes_history import kept
from hoptrail.serving.server.services import Place
from hoptrail.serving.server.wire import QuestionRequest, Search, indexing_json
from hoptrail.serving.server.workspaces import computes_here
from hoptrail.types import Answer, Hop, Span
from hoptrail.types.answer import evidence_json, hop_json
from hoptrail.types.json_object import JsonObject

EVENTS = "text/event-stream"
SILENCE_SECONDS = 10.0
"""After this silence a comment is sent, so that both sides notice a broken connection."""

SendEvent = Callable[[str, JsonObject], None]


@dataclass(frozen=True, slots=True)
class ClientQuestion:
    """A question of a client. It may follow up the answers `earlier`, oldest first; `keep` is told its answer."""

    place: Place
    asked: QuestionRequest
    earlier: Sequence[Answer] = ()
    keep: Callable[[Answer], None] | None = None


@dataclass(slots=True)
class Narrator:
    """Tells the hops of an answer as events, in the thread that answers."""

    corpus: Corpus
    metrics: Metrics
    send: SendEvent
    hop: int = 0
    written: str = ""

    def asked(self, question: str, asked: str) -> None:
        self.send("asked", {"hop": self.hop, "question": question, "asked": asked})

    def wrote(self, question: str, text: str) -> None:
        if text != self.written:
            self.written = text
            self.send("writing", {"hop": self.hop, "question": question, "text": text})

    def found(self, hop: Hop, support: tuple[Span, ...]) -> None:
        self.metrics.hops.labels(hop.verdict.value).inc()
        cited = cite([CitedHop(hop, support)], self.corpus)
        evidence = [evidence_json(replace(item, hop=self.hop)) for item in cited]
        self.send("hop", {"hop": self.hop, **hop_json(hop), "evidence": evidence})
        self.hop += 1


def answering(asking: ClientQuestion, stopped: Stopped, send: SendEvent | None = None) -> JsonObject:
    """Answer a question, in a thread, as `hoptrail ask --json` does. Without `send` nobody reads along.
    Raises: Refusal, HoptrailError: the question cannot be processed; before any event is sent, where that is known before.
    """
    asked, workspace, metrics = asking.asked, asking.place.workspace, asking.place.served.metrics
    language = workspace.language(asked.language)
    plain = workspace.recipe(asked.recipe, language, as_of=asked.as_of or "", documents=asked.documents)
    tell = send or (lambda _name, _content: None)
    settings = workspace.index.settings
    names = {"recipe": asked.recipe or settings.recipe, "language": asked.language or settings.language}
    tell("question", {"question": asked.question, **names})
    narrator = Narrator(plain.corpus, metrics, tell)

    def begun(whole: str) -> None:
        if whole != asked.question:
            tell("completed", {"question": asked.question, "asked": whole})

    listener = Listener(narrator.asked, narrator.found, stopped, narrator.wrote if send else None)
    listened = ObservedLanguage(language, listener)
    recipe: Recipe = replace(plain, language=listened)  # type: ignore[type-var]
    earlier = [*asking.earlier, *(one.as_answer() for one in asked.before)]
    answer = answer_message(asked.question, earlier, recipe, listened, begun)
    metrics.answers.labels("abstained" if answer.abstained else "answered").inc()
    if asking.keep:
        asking.keep(answer)
    content = answer.to_dict()
    return content | indexing_json(workspace.read(reached, None)) | kept(asking.place, asked, content)


def event(name: str, content: JsonObject) -> str:
    """One server-sent event; JSON on one line, so that no text can end it early."""
    return f"event: {name}\n{data(content)}"


def data(content: JsonObject) -> str:
    """The same without a name."""
    return f"data: {json.dumps(content, ensure_ascii=True)}\n\n"


async def searched(place: Place, asked: Search) -> JsonObject:
    """The hits, as `hoptrail search --json` prints them, as long as the client of the request stays connected.
    Raises: Refusal, HoptrailError: as `answered`.
    """
    question, workspace = check_question(asked.question), place.workspace

    def work(_: Stopped) -> JsonObject:
        recipe = workspace.recipe(asked.recipe, workspace.language(None), asked.limit, asked.as_of or "")
        name = reported_name(asked.recipe or workspace.index.settings.recipe, recipe)
        found = contract.search_json(question, name, recipe.retrieve(question))
        return found | indexing_json(workspace.read(reached, None))

    return await place.served.desk.wait_for(place.request, work, computes=computes_here(workspace, None))


async def answered(asking: ClientQuestion) -> JsonObject:
    """The whole answer, as long as the client stays connected (see `Desk.wait_for`).
    Raises: Refusal, HoptrailError: the question cannot be processed, or nobody waits for it any more.
    """
    place, computes = asking.place, computes_here(asking.place.workspace, asking.asked.language)
    return await place.served.desk.wait_for(place.request, partial(answering, asking), computes=computes)


async def stream(asking: ClientQuestion, format_event: Callable[[str, JsonObject], str] = event) -> StreamingResponse:
    """The events of one question, formatted by `format_event`. Closing the response stops the work.
    Raises: Refusal, HoptrailError: the question cannot be processed; raised here, while the response can still have an error
    status.
    """
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[str | None] = asyncio.Queue()

    def send(name: str, content: JsonObject) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(events.put_nowait, format_event(name, content))

    place, computes = asking.place, computes_here(asking.place.workspace, asking.asked.language)
    work = partial(answering, asking, send=send)
    future, stop = place.served.desk.hand_in(work, place.client, computes=computes)
    future.add_done_callback(lambda _: events.put_nowait(None))
    first = await events.get()
    if first is None:
        future.result()

    async def sent() -> AsyncIterator[str]:
        one = first
        try:
            while one is not None:
                yield one
                try:
                    one = await asyncio.wait_for(events.get(), SILENCE_SECONDS)
                except TimeoutError:
                    one = ": still working\n\n"
            try:
                ending = format_event("answer", future.result())
            except Exception as error:  # noqa: BLE001 - the response has begun, so the error can only be an event
                ending = format_event("error", as_refusal(error).content)
            yield ending
        finally:
            stop.set()

    return StreamingResponse(sent(), media_type=EVENTS)
