"""The routes for questions: `ask` (whole or as a stream), `search`, `recipes`, `suggestions`, `offer`.

Suggestions are example questions, made of titles and headings, tried, and kept if they are answered. No model is called for
them, whatever the language of the settings: they cost nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from hoptrail.corpus.journal import Item
from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.language.lazy import OFFLINE
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.recipes.recipe import Recipe
from hoptrail.recipes.registry import recipe_class, recipe_names
from hoptrail.serving.server.job_thread import Job
from hoptrail.serving.server.question_threads import Stopped
from hoptrail.serving.server.refusals import not_found
from hoptrail.serving.server.services import Here, Place
from hoptrail.serving.server.streaming import EVENTS, ClientQuestion, answered, searched, stream
from hoptrail.serving.server.wire import QuestionRequest, Search
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.serving.setup import offer
from hoptrail.text.normal_forms import base_title
from hoptrail.types import LIKELY, BlockKind, Document
from hoptrail.types.json_object import JsonObject

router = APIRouter(prefix="/api", tags=["answering"])

SUGGESTIONS = 4
MOST_TRIED = 16
SECONDS = 15.0
"""Computing time after which the search ends. Not clock time, which would leave no suggestions on a busy machine."""
SAMPLED_DOCUMENTS = 60
"""Number of documents examined, spread evenly over all."""
_HOW = re.compile(r"how to (\w.*?)[?:.]?", re.IGNORECASE)


@router.post("/ask", response_class=JSONResponse)
async def ask(request: Request, here: Here, asked: QuestionRequest) -> Response:
    """Answer a question, as `hoptrail ask --json` does; with `Accept: text/event-stream`, hop by hop."""
    if EVENTS in request.headers.get("accept", ""):
        return await stream(ClientQuestion(here, asked))
    return JSONResponse(await answered(ClientQuestion(here, asked)))


@router.post("/search", response_class=JSONResponse)
async def search(here: Here, asked: Search) -> Response:
    """The hits of a recipe for a question, as `hoptrail search --json` prints them."""
    return JSONResponse(await searched(here, asked))


@router.get("/recipes")
def recipes(here: Here) -> JsonObject:
    """The recipes, which of them are usable here, which are of other packages (`published` systems); the languages, and the chat
    model of the settings.
    """
    usable, settings = here.workspace.recipe_names(), here.workspace.index.settings
    classes = {name: recipe_class(name) for name in usable}
    return {
        "default": settings.recipe,
        "recipes": [
            {
                "name": name,
                "description": (recipe.__doc__ or "").splitlines()[0],
                "usable": usable[name],
                "published": not recipe.__module__.startswith("hoptrail."),
            }
            for name, recipe in classes.items()
        ],
        "languages": here.workspace.language_names,
        "model": settings.chat.model,
    }


@router.get("/recipes/{name}/cost")
def cost(here: Here, name: str) -> JsonObject:
    """The estimated cost of building for a recipe with a chat model, and the seconds spent on building so far."""
    _check(here, name)
    report = here.workspace.index.estimate([], [name])
    counts = {name: getattr(report.usage, name) for name in ("calls", "prompt_tokens", "completion_tokens")}
    return {**counts, "seconds_so_far": here.workspace.read(lambda snapshot: snapshot.head.spent.seconds, 0.0)}


@router.post("/recipes/{name}", status_code=202)
def build(here: Here, name: str) -> JsonObject:
    """Build what a recipe searches. Returns the job."""
    _check(here, name)
    return here.jobs.submit(Job("build", [Item(name, name)], here.client)).as_json()


@router.get("/suggestions")
async def suggestions(here: Here) -> JsonObject:
    """Example questions that the documents answer, made of their titles and headings."""
    if here.workspace.index.is_empty:
        return {"questions": []}
    return {"questions": list(await here.served.desk.wait_for(here.request, partial(suggested, here.workspace)))}


@router.get("/offer")
def offered(here: Here) -> JsonObject:
    """What names a chat model on this machine where none is set, as `hoptrail ask` does; empty where none answers."""
    return {"offer": offer() if here.workspace.index.settings.language == OFFLINE else ""}


def _check(here: Place, name: str) -> None:
    """Raises: Refusal: there is no such recipe, there are no documents, or nothing can be built here."""
    here.workspace.check_changeable()
    if name not in recipe_names():
        raise not_found("recipe")
    here.workspace.corpus()


@cached_per_snapshot
def _suggestions_of(_: Snapshot) -> list[tuple[str, ...]]:
    """The suggestions, once somebody has begun to search for them."""
    return []


def suggested(workspace: Workspace, stopped: Stopped) -> tuple[str, ...]:
    """The suggestions for the current state, searched for once per state; none while another thread searches.
    Raises: Interrupted: nobody is waiting for them any more.
    """
    corpus = workspace.corpus()
    found = _suggestions_of(corpus.snapshot)
    if not found:
        found.append(())
        try:
            step = max(1, len(workspace.by_title()) // SAMPLED_DOCUMENTS)
            sample = {one.id for one in workspace.by_title()[::step][:SAMPLED_DOCUMENTS]}
            documents = sorted(corpus.documents(sample).values(), key=lambda one: (one.title, one.id))
            language = ObservedLanguage(workspace.language(OFFLINE), Listener(stopped=stopped))
            found[:] = [tuple(_answered(candidates(documents), workspace.recipe(None, language)))]
        except BaseException:
            found.clear()
            raise
    return found[0]


def _answered(questions: Iterable[str], recipe: Recipe) -> Iterator[str]:
    """The first of the questions whose answer is likely and has evidence."""
    end, count = time.thread_time() + SECONDS, 0
    for place, question in enumerate(questions):
        if count == SUGGESTIONS or place == MOST_TRIED or time.thread_time() > end:
            return
        answer = recipe.answer(question)
        if answer.text is not None and answer.evidence and (answer.confidence is None or answer.confidence >= LIKELY):
            count += 1
            yield question


def candidates(documents: Sequence[Document]) -> Iterator[str]:
    """One of each document: `How do I X?` from its first heading `How to X`, else `What is X?` if it says what its title is."""
    for document in documents:
        headings = (document.text[one.start : one.end] for one in document.blocks if one.kind is BlockKind.HEADING)
        found = next(filter(None, (_HOW.fullmatch(heading.strip()) for heading in headings)), None)
        if found:
            yield f"How do I {found[1]}?"
        elif f"{(name := base_title(document.title))} is " in document.text:
            yield f"What is {name}?"
