"""Answers told hop by hop, as server-sent events while they are found.

    question   {question, recipe, language}            it is being worked on
    completed  {question, asked}                       it follows on from an answer: the whole of what is asked
    asked      {hop, question, asked}                  a sub-question, and what is really asked for it
    hop        {hop, question, asked, hits, answer, verdict, evidence}
    answer     as `hoptrail ask --json`                the last: its trail says which hops count
    error      {error: {code, message, what_to_do}}    the last, in place of an answer

Hops are numbered from 0 as they are made. A recipe may give up some of them, and add one for its conclusion.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from hoptrail.language.following import stand_alone
from hoptrail.language.listener import ListenedLanguage, Listener
from hoptrail.recipes.answering import CitedHop, cite
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import Corpus
from hoptrail.serving import contract
from hoptrail.serving.contract import Json
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.question_threads import Desk, Patience, result_of
from hoptrail.serving.server.refusals import as_refusal
from hoptrail.serving.server.services import Place
from hoptrail.serving.server.wire import Question, hop_json, question_of
from hoptrail.serving.server.workspaces import Workspace, indexing_of
from hoptrail.types import Answer, Hop, Span

SILENCE_SECONDS = 10.0
"""After that a comment is sent, which tells both sides that the other is still there."""

SendEvent = Callable[[str, Json], None]


@dataclass(slots=True)
class Narrator:
    """Tells hops as events. Lives in the thread that answers."""

    corpus: Corpus
    send_event: SendEvent
    metrics: Metrics
    made: int = 0

    def asked(self, question: str, asked: str) -> None:
        self.send_event("asked", {"hop": self.made, "question": question, "asked": asked})

    def found(self, hop: Hop, support: tuple[Span, ...]) -> None:
        evidence = cite([CitedHop(hop, support)], self.corpus)
        self.metrics.hops.labels(hop.verdict.value).inc()
        self.send_event("hop", hop_json(self.made, hop, [replace(item, hop=self.made) for item in evidence]))
        self.made += 1


def answering(
    workspace: Workspace, asked: Question, metrics: Metrics, send_event: SendEvent
) -> Callable[[Patience], Answer]:
    """The work on a question, for a thread.

    Raises:
        Refusal, HoptrailError: it cannot be worked on; found out before anything is told.
    """
    question = question_of(asked)
    language = workspace.language(asked.language)
    plain = workspace.recipe(asked.recipe, language, as_of=asked.as_of or "", documents=asked.documents)

    def work(patience: Patience) -> Answer:
        narrator = Narrator(plain.corpus, send_event, metrics)
        heard = ListenedLanguage(language, Listener(narrator.asked, narrator.found, patience))
        whole = stand_alone(question, asked.before.as_answer(), heard) if asked.before else question
        if whole != question:
            send_event("completed", {"question": question, "asked": whole})
        answer = _heard(plain, heard).answer(whole)
        metrics.answers.labels("abstained" if answer.abstained else "answered").inc()
        return without_folders(answer)

    return work


def without_folders(answer: Answer) -> Answer:
    """The same with names of files in place of paths, which are nothing for clients."""
    evidence = (replace(item, source=contract.file_name(item.source)) for item in answer.evidence)
    closest = (replace(item, source=contract.file_name(item.source)) for item in answer.closest)
    return replace(answer, evidence=tuple(evidence), closest=tuple(closest))


def _heard(recipe: Recipe, language: ListenedLanguage) -> Recipe:
    """The same recipe over the same state, listened to."""
    listened: Recipe = replace(recipe, language=language)  # type: ignore[type-var]
    return listened


def event(name: str, content: Json) -> str:
    """One server-sent event; JSON on one line, so that no text can end it early."""
    return f"event: {name}\ndata: {json.dumps(content, ensure_ascii=True)}\n\n"


async def stream(
    desk: Desk,
    place: Place,
    asked: Question,
    metrics: Metrics,
    written: Callable[[str, Json], str] = event,
) -> AsyncIterator[str]:
    """The events of one question, as `written`. Begins the work at once; the iterator's end, whatever the reason, ends it.

    Raises:
        Refusal, HoptrailError: it cannot be worked on; raised here, so that the response can still say so.
    """
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[str | None] = asyncio.Queue()

    def send_event(name: str, content: Json) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(events.put_nowait, written(name, content))

    workspace = place.workspace
    desk.check(place.client)
    work = await asyncio.to_thread(answering, workspace, asked, metrics, send_event)
    names = {
        "recipe": asked.recipe or workspace.index.settings.recipe,
        "language": asked.language or workspace.index.settings.language,
    }
    first = written("question", {"question": asked.question, **names})  # before anything else is, which a thread does
    future, patience = desk.hand_in(work, place.client, computes=workspace.computes(asked.language))
    future.add_done_callback(lambda _: events.put_nowait(None))
    return _told(first, events, future, patience, written, workspace)


async def _told(
    first: str,
    events: asyncio.Queue[str | None],
    future: asyncio.Future[Answer],
    patience: Patience,
    written: Callable[[str, Json], str],
    workspace: Workspace,
) -> AsyncIterator[str]:
    try:
        yield first
        while True:
            try:
                event = await asyncio.wait_for(events.get(), SILENCE_SECONDS)
            except TimeoutError:
                yield ": still at work\n\n"
                continue
            if event is None:
                break
            yield event
        yield _ending(future, written, workspace)
    finally:
        patience.end()
        future.cancel()


def _ending(future: asyncio.Future[Answer], written: Callable[[str, Json], str], workspace: Workspace) -> str:
    try:
        return written("answer", contract.answer_json(result_of(future)) | indexing_of(workspace))
    except Exception as error:  # noqa: BLE001 - the response has begun: all that is left is to say so in it
        return written("error", as_refusal(error).content)
