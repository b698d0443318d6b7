"""The routes that ask: `ask` (at once or as a stream), `search`, `recipes`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from hoptrail.recipes.catalogue import told_name
from hoptrail.recipes.registry import RECIPES, recipe_class
from hoptrail.serving import contract
from hoptrail.serving.server.question_threads import Patience
from hoptrail.serving.server.refusals import not_found
from hoptrail.serving.server.services import Here, Place, Served
from hoptrail.serving.server.streaming import answering, stream
from hoptrail.serving.server.suggesting import suggested
from hoptrail.serving.server.wire import Question, Search, question_of
from hoptrail.serving.server.workspaces import indexing_of
from hoptrail.types import Ranking

router = APIRouter(prefix="/api", tags=["answering"])

EVENTS = "text/event-stream"


@router.post("/ask", response_class=JSONResponse)
async def ask(request: Request, here: Here, served: Served, asked: Question) -> Response:
    """Answer a question, as `hoptrail ask --json` does; with `Accept: text/event-stream`, hop by hop as it is found."""
    if EVENTS in request.headers.get("accept", ""):
        events = await stream(served.desk, here, asked, served.metrics)
        return StreamingResponse(events, media_type=EVENTS)
    served.desk.check(here.client)
    work = await asyncio.to_thread(answering, here.workspace, asked, served.metrics, lambda _name, _content: None)
    answer = await served.desk.wait_for(request, work, computes=here.workspace.computes(asked.language))
    return JSONResponse(contract.answer_json(answer) | indexing_of(here.workspace))


@router.post("/search", response_class=JSONResponse)
async def search(request: Request, here: Here, served: Served, asked: Search) -> Response:
    """What a recipe finds for a question, as `hoptrail search --json` gives it."""
    question = question_of(asked)
    workspace = here.workspace

    def work(_: Patience) -> tuple[str, Ranking]:
        recipe = workspace.recipe(asked.recipe, workspace.language(None), asked.limit, asked.as_of or "")
        wanted = asked.recipe or workspace.index.settings.recipe
        return told_name(wanted, recipe), recipe.retrieve(question)

    name, ranking = await served.desk.wait_for(request, work, computes=workspace.computes(None))
    return JSONResponse(contract.search_json(question, name, ranking) | indexing_of(workspace))


@router.get("/recipes")
def recipes(here: Here) -> dict[str, Any]:
    """The recipes, which of them can be used here, and the languages that may be asked for."""
    usable = here.workspace.recipe_names()
    settings = here.workspace.index.settings
    return {
        "default": settings.recipe,
        "recipes": [
            {"name": name, "description": (recipe_class(name).__doc__ or "").splitlines()[0], "usable": usable[name]}
            for name in RECIPES
        ],
        "languages": list(here.workspace.language_names),
    }


@router.get("/recipes/{name}/cost")
def cost(here: Here, name: str) -> dict[str, Any]:
    """What building for a recipe would spend on a chat model, by a rehearsal; and how long building has taken so far."""
    _check(here, name)
    report = here.workspace.index.estimate([], [name])
    with here.workspace.reading() as snapshot:
        spent = snapshot.head.spent
    return {
        "calls": report.usage.calls,
        "prompt_tokens": report.usage.prompt_tokens,
        "completion_tokens": report.usage.completion_tokens,
        "seconds_so_far": spent.seconds,
    }


@router.post("/recipes/{name}", status_code=202)
def build(here: Here, name: str) -> dict[str, Any]:
    """Have built what a recipe searches. Gives the job to watch."""
    _check(here, name)
    return here.jobs.build(name, here.client).as_json()


@router.get("/suggestions")
async def suggestions(request: Request, here: Here, served: Served) -> dict[str, Any]:
    """Questions that the documents do answer, found by rules and tried; some answers to begin with."""
    if here.workspace.is_empty:
        return {"questions": []}
    work = partial(suggested, here.workspace)
    return {"questions": list(await served.desk.wait_for(request, work))}


def _check(here: Place, name: str) -> None:
    """Raises: Refusal: there is no such recipe, nothing to build it for, or nothing can be built here."""
    here.workspace.check_changeable()
    if name not in RECIPES:
        raise not_found("recipe")
    here.workspace.corpus()
