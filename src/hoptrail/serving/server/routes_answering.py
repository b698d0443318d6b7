"""The routes for questions: `ask` (whole or as a stream), `search`, `recipes`, `suggestions`, `offer`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from hoptrail.corpus.journal import Item
from hoptrail.language.tasks import OFFLINE
from hoptrail.recipes.registry import recipe_class, recipe_names
from hoptrail.serving.server.job_thread import Job
from hoptrail.serving.server.refusals import not_found
from hoptrail.serving.server.services import Here, Place
from hoptrail.serving.server.streaming import EVENTS, ClientQuestion, answered, searched, stream
from hoptrail.serving.server.wire import QuestionRequest, Search
from hoptrail.serving.server.workspaces import examples
from hoptrail.serving.setup import offer
from hoptrail.types.json_object import JsonObject

router = APIRouter(prefix="/api", tags=["answering"])


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
def suggestions(here: Here) -> JsonObject:
    """Example questions, made of titles."""
    return {"questions": here.workspace.read(examples, tuple[str, ...]())}


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
