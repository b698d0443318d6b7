"""The routes of OpenAI's API, for chat windows: recipes appear as models, questions as chats.

The API key is the key of a workspace; `?workspace=NAME` chooses among several. Errors have OpenAI's form (`refusals`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from hoptrail.index.conversation import MOST_TURNS
from hoptrail.serving.server.openai_shapes import ChatBody, Completion, ResponseRequest, ResponseWriter, model_json
from hoptrail.serving.server.refusals import OPENAI, Refusal
from hoptrail.serving.server.services import Here, Place, Served, Services
from hoptrail.serving.server.streaming import answered, stream
from hoptrail.serving.server.wire import Before, QuestionRequest
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.types import Answer
from hoptrail.types.json_object import JsonObject

router = APIRouter(prefix=OPENAI.rstrip("/"), tags=["OpenAI"])


@router.get("/models")
def models(here: Here) -> JsonObject:
    """The recipes that this workspace can serve, the default first."""
    return {"object": "list", "data": [model_json(name) for name in _usable_recipes(here.workspace)]}


@router.get("/models/{name}")
def model(here: Here, name: str) -> JsonObject:
    """One recipe."""
    if name not in _usable_recipes(here.workspace):
        raise _unknown()
    return model_json(name)


@router.post("/chat/completions", response_class=JSONResponse)
async def complete(request: Request, here: Here, served: Served, chat: ChatBody) -> Response:
    """Answer the user's last message, completed from the ones before, at once or as a stream, with citations in the text and in
    the field `hoptrail`.
    """
    completion = Completion(chat.model, bool(chat.stream_options and chat.stream_options.include_usage))
    return await _answer(request, here, served, chat, completion)


@router.post("/responses", response_class=JSONResponse)
async def respond(request: Request, here: Here, served: Served, asked: ResponseRequest) -> Response:
    """Answer the user's last message, at once or as a stream, with citations as annotations and in the field `hoptrail`."""
    kept, previous = served.responses[here.workspace.name, here.client], asked.previous_response_id
    before: tuple[Answer, ...] = ()
    if previous:
        said = await asyncio.to_thread(kept.conversation, previous, here.workspace, "earlier response")
        before = said[-MOST_TURNS:]
    writer = ResponseWriter(asked.model, asked.metadata or {}, previous, asked.store is not False)

    def keep(answer: Answer) -> None:
        if writer.store:
            kept.keep(answer, writer.id, before)

    earlier = [one for answer in before for one in Before.of(answer)]
    return await _answer(request, here, served, asked, writer, keep, earlier)


async def _answer(
    request: Request,
    here: Place,
    served: Services,
    body: ChatBody | ResponseRequest,
    shape: Completion | ResponseWriter,
    keep: Callable[[Answer], None] | None = None,
    earlier: Sequence[Before] = (),
) -> Response:
    question = body.question  # checked first
    before = [*earlier, *body.before]
    asked = QuestionRequest(question=question, recipe=body.model, as_of=body.as_of, before=before)
    if not here.workspace.index.is_empty and body.model not in await asyncio.to_thread(_usable_recipes, here.workspace):
        raise _unknown()
    if body.stream:
        return await stream(served, here, asked, shape.event, keep)
    return JSONResponse(shape.whole(await answered(request, served, here, asked, keep)))


def _usable_recipes(workspace: Workspace) -> list[str]:
    default = workspace.index.settings.recipe
    usable = [name for name, is_usable in workspace.recipe_names().items() if is_usable]
    return sorted(usable, key=lambda name: name != default)


def _unknown() -> Refusal:
    return Refusal(404, "model_not_found", "There is no such model here.", "GET /v1/models lists the models.")
