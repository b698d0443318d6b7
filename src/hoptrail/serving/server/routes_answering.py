"""The routes for questions: `ask` (whole or as a stream), `search`, `recipes`, `suggestions`, `offer`."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from hoptrail.language.lazy import OFFLINE
from hoptrail.recipes.registry import recipe_class, recipe_names
from hoptrail.serving.server.refusals import not_found
from hoptrail.serving.server.services import Here, Place, Served
from hoptrail.serving.server.streaming import EVENTS, answered, searching, stream
from hoptrail.serving.server.suggesting import suggested
from hoptrail.serving.server.wire import QuestionRequest, Search
from hoptrail.serving.server.workspaces import computes_here
from hoptrail.serving.setup import offer
from hoptrail.types.json_object import JsonObject

router = APIRouter(prefix="/api", tags=["answering"])


@router.post("/ask", response_class=JSONResponse)
async def ask(request: Request, here: Here, served: Served, asked: QuestionRequest) -> Response:
    """Answer a question, as `hoptrail ask --json` does; with `Accept: text/event-stream`, hop by hop."""
    if EVENTS in request.headers.get("accept", ""):
        return await stream(served, here, asked)
    return JSONResponse(await answered(request, served, here, asked))


@router.post("/search", response_class=JSONResponse)
async def search(request: Request, here: Here, served: Served, asked: Search) -> Response:
    """The hits of a recipe for a question, as `hoptrail search --json` prints them."""
    work, computes = searching(here.workspace, asked), computes_here(here.workspace, None)
    return JSONResponse(await served.desk.wait_for(request, work, computes=computes))


@router.get("/recipes")
def recipes(here: Here) -> JsonObject:
    """The recipes, which of them are usable here, which are of other packages (`published` systems), and the languages."""
    usable = here.workspace.recipe_names()
    settings = here.workspace.index.settings
    classes = {name: recipe_class(name) for name in recipe_names()}
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
        "languages": list(here.workspace.language_names),
    }


@router.get("/recipes/{name}/cost")
def cost(here: Here, name: str) -> JsonObject:
    """The estimated cost of building for a recipe with a chat model, and the seconds spent on building so far."""
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
def build(here: Here, name: str) -> JsonObject:
    """Build what a recipe searches. Returns the job."""
    _check(here, name)
    return here.submit("build", {name: name}).as_json()


@router.get("/suggestions")
async def suggestions(request: Request, here: Here, served: Served) -> JsonObject:
    """Example questions that the documents answer, made of their titles and headings."""
    if here.workspace.index.is_empty:
        return {"questions": []}
    work = partial(suggested, here.workspace)
    return {"questions": list(await served.desk.wait_for(request, work))}


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
