"""OpenAI's API, for chat windows: recipes appear as models, questions as chats (the chat API) or as input of Open Responses.

The API key is the key of a workspace; `?workspace=NAME` chooses among several. Errors have OpenAI's form (`refusals`), answers
those of `openai_shapes`. The latest responses are kept in memory, to be gone on from (`previous_response_id`); they cannot be
fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, BeforeValidator, Field, field_validator

from hoptrail.index.conversation import MOST_TURNS
from hoptrail.retrieval.corpus import QUESTION_LIMIT
from hoptrail.serving.answer_text import answers_in
from hoptrail.serving.server.openai_shapes import AnswerShape, Completion, ResponseWriter
from hoptrail.serving.server.refusals import OPENAI, Refusal, not_valid
from hoptrail.serving.server.services import Here, Place
from hoptrail.serving.server.streaming import ClientQuestion, answered, stream
from hoptrail.serving.server.wire import AsOf, Name, QuestionRequest
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.types import Answer
from hoptrail.types.json_object import JsonObject

router = APIRouter(prefix=OPENAI.rstrip("/"), tags=["OpenAI"])

TEXTS = frozenset({"text", "input_text", "output_text"})
"""Types of the parts of a message that are text, in both APIs."""


class MessagePart(BaseModel):
    """A part of a message; a question with a part that is not text is refused."""

    type: Annotated[str, Field(max_length=50)]
    text: str | None = None


class ChatMessage(BaseModel):
    """A message, whose content is a text or a list of parts. Items of a response's input without a role are ignored."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"] | None = None
    content: str | list[MessagePart] | None = None

    @property
    def text(self) -> str:
        """The text of all parts."""
        content = self.content or ""
        return content if isinstance(content, str) else "\n".join(part.text or "" for part in content)


def _as_messages(given: object) -> object:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


class Body(BaseModel):
    """A request of either API. The user's last message is the question, which may follow up the ones before. The model is a
    recipe. `as_of` is our extension. Unknown fields are ignored: clients send temperatures and the like, without meaning here.
    """

    model: Name
    as_of: AsOf | None = None
    stream: bool | None = None
    tools: list[Any] | None = None
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=1000)]

    def unsupported(self) -> Mapping[str, object]:
        """What can be asked for and is not supported, each with whether it is."""
        raise NotImplementedError

    def question(self) -> str:
        """Raises: Refusal: the request asks for something unsupported, or has no question, or it is too long or not text."""
        for what, requested in self.unsupported().items():
            if requested:
                raise _unsupported(what)
        last = next((one for one in reversed(self.messages) if one.role == "user"), ChatMessage())
        if isinstance(last.content, list) and any(part.type not in TEXTS for part in last.content):
            raise _unsupported("Images, sound and files in messages")
        question, field = last.text.strip(), type(self).model_fields["messages"].alias or "messages"
        if not question:
            raise not_valid(f"{field}: there is no question, which is the user's last message.")
        if len(question) > QUESTION_LIMIT:
            raise not_valid(f"{field}: the question has {len(question):,} characters of at most {QUESTION_LIMIT:,}.")
        if any("\ud800" <= character <= "\udfff" for character in question):  # JSON can hold them
            raise not_valid(f"{field}: the question holds half of a character (a lone surrogate).")
        return question

    def before(self) -> list[Answer]:
        """The user's messages before the last one, each with what was answered; of a long conversation the last ones."""
        return answers_in((message.role or "", message.text) for message in self.messages)[:-1][-MOST_TURNS:]


class ChatBody(Body):
    """A request of the chat API. Of the `stream_options`, `include_usage` asks for the number of tokens in a last chunk."""

    stream_options: dict[str, Any] | None = None
    n: int | None = None
    functions: list[Any] | None = None
    response_format: JsonObject | None = None
    modalities: list[str] | None = None
    logprobs: bool | None = None

    @field_validator("messages")
    @classmethod
    def _with_roles(cls, messages: list[ChatMessage]) -> list[ChatMessage]:
        if any(message.role is None for message in messages):
            raise ValueError("every message needs a role")
        return messages

    def unsupported(self) -> Mapping[str, object]:
        return {
            "Tools": self.tools or self.functions,
            "Several choices": self.n not in {None, 1},
            "Response formats": (self.response_format or {}).get("type", "text") != "text",
            "Modalities other than text": set(self.modalities or ["text"]) != {"text"},
            "Log probabilities": self.logprobs,
        }


class ResponseBody(Body):
    """A request of Open Responses, which may go on from an earlier response."""

    messages: Annotated[
        list[ChatMessage], BeforeValidator(_as_messages), Field(min_length=1, max_length=1000, alias="input")
    ]
    metadata: Annotated[dict[str, Annotated[str, Field(max_length=512)]], Field(max_length=16)] | None = None
    text: JsonObject | None = None
    previous_response_id: Annotated[str, Field(max_length=100)] | None = None
    store: bool | None = None
    conversation: Any = None
    prompt: Any = None
    background: bool | None = None

    def unsupported(self) -> Mapping[str, object]:
        return {
            "Tools": self.tools,
            "Response formats": ((self.text or {}).get("format") or {}).get("type", "text") != "text",
            "Stored conversations": self.conversation,
            "Stored prompts": self.prompt,
            "Responses in the background": self.background,
        }


def _unsupported(what: str) -> Refusal:
    return Refusal(400, "not_supported", f"{what} are not supported.", "Send one question as text.")


@router.get("/models")
def models(here: Here) -> JsonObject:
    """The recipes that this workspace can serve, the default first."""
    return {"object": "list", "data": [_model(name) for name in _usable_recipes(here.workspace)]}


@router.get("/models/{name}")
def model(here: Here, name: str) -> JsonObject:
    """One recipe."""
    if name not in _usable_recipes(here.workspace):
        raise _unknown()
    return _model(name)


@router.post("/chat/completions", response_class=JSONResponse)
async def complete(here: Here, chat: ChatBody) -> Response:
    """Answer the user's last message, completed from the ones before, at once or as a stream, with citations in the text and in
    the field `hoptrail`.
    """
    completion = Completion(chat.model, include_usage=bool((chat.stream_options or {}).get("include_usage")))
    return await _answer(here, chat, completion)


@router.post("/responses", response_class=JSONResponse)
async def respond(here: Here, asked: ResponseBody) -> Response:
    """Answer the user's last message, at once or as a stream, with citations as annotations and in the field `hoptrail`."""
    kept, previous = here.served.responses[here.workspace.name, here.client], asked.previous_response_id
    before: tuple[Answer, ...] = ()
    if previous:
        said = await asyncio.to_thread(kept.conversation, previous, here.workspace, "earlier response")
        before = said[-MOST_TURNS:]
    writer = ResponseWriter(asked.model, asked.metadata or {}, previous, asked.store is not False)

    def keep(answer: Answer) -> None:
        if writer.store:
            kept.keep(answer, writer.id, before)

    return await _answer(here, asked, writer, before, keep)


async def _answer(
    here: Place,
    body: Body,
    shape: AnswerShape,
    before: Sequence[Answer] = (),
    keep: Callable[[Answer], None] | None = None,
) -> Response:
    asked = QuestionRequest(question=body.question(), recipe=body.model, as_of=body.as_of)
    if not here.workspace.index.is_empty and body.model not in await asyncio.to_thread(_usable_recipes, here.workspace):
        raise _unknown()
    asking = ClientQuestion(here, asked, [*before, *body.before()], keep)
    return await stream(asking, shape.event) if body.stream else JSONResponse(shape.whole(await answered(asking)))


def _model(name: str) -> JsonObject:
    """A recipe as a model. `created` is 0, since a recipe has no date."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "hoptrail"}


def _usable_recipes(workspace: Workspace) -> list[str]:
    default = workspace.index.settings.recipe
    usable = [name for name, is_usable in workspace.recipe_names().items() if is_usable]
    return sorted(usable, key=lambda name: name != default)


def _unknown() -> Refusal:
    return Refusal(404, "model_not_found", "There is no such model here.", "GET /v1/models lists the models.")
