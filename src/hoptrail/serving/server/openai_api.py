"""OpenAI's API, for chat windows: recipes appear as models, questions as chats (the chat API) or as input of Open Responses.

The API key is the key of a workspace; `?workspace=NAME` chooses among several. Errors have OpenAI's form (`refusals`). The text
of an answer is that of `answer_text`; in a response every citation is an annotation of it, with the exact place and the quotation
in the field `hoptrail`. The latest responses are kept in memory, to be gone on from; they cannot be fetched.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from hoptrail.language.questions.follow_ups import MOST_TURNS
from hoptrail.retrieval.corpus import QUESTION_LIMIT
from hoptrail.serving.answer_text import SentText, answers_in, citations_of, written
from hoptrail.serving.server.refusals import OPENAI, Refusal, not_valid
from hoptrail.serving.server.services import Here, Place
from hoptrail.serving.server.streaming import ClientQuestion, answered, data, event, stream
from hoptrail.serving.server.wire import AsOf, Name, QuestionRequest
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.types import Answer
from hoptrail.types.json_object import JsonObject

router = APIRouter(prefix=OPENAI.rstrip("/"), tags=["OpenAI"])

TEXTS = frozenset({"text", "input_text", "output_text"})
"""Types of the parts of a message that are text, in both APIs."""
UNSUPPORTED: dict[str, tuple[str, object]] = {
    "tools": ("Tools", None),
    "functions": ("Tools", None),
    "n": ("Several choices", 1),
    "response_format": ("Response formats", {"type": "text"}),
    "modalities": ("Modalities other than text", ["text"]),
    "logprobs": ("Log probabilities", None),
    "conversation": ("Stored conversations", None),
    "prompt": ("Stored prompts", None),
    "background": ("Responses in the background", None),
}
"""Fields of either API that ask for what is not supported, and the value that asks for nothing."""


class MessagePart(BaseModel):
    """A part of a message; a question with a part that is not text is refused."""

    type: Annotated[str, Field(max_length=50)]
    text: str | None = None


Role = Literal["system", "developer", "user", "assistant", "tool", "function"]


class InputItem(BaseModel):
    """An item of a response's input: a message, whose content is a text or a list of parts, or, without a role, ignored."""

    role: Role | None = None
    content: str | list[MessagePart] | None = None

    @property
    def text(self) -> str:
        """The text of all parts."""
        content = self.content or ""
        return content if isinstance(content, str) else "\n".join(part.text or "" for part in content)


class ChatMessage(InputItem):
    """A message of the chat API."""

    role: Role


class Body(BaseModel):
    """A request of either API. The user's last message is the question, which may follow up the ones before. The model is a
    recipe. `as_of` is our extension. Other fields are ignored: clients send temperatures and the like, without meaning here.
    """

    model_config = ConfigDict(extra="allow")

    model: Name
    as_of: AsOf | None = None
    stream: bool | None = None
    text: JsonObject | None = None
    messages: Sequence[InputItem]

    def question(self) -> str:
        """Raises: Refusal: the request asks for something unsupported, or has no question, or it is too long or not text."""
        asked = {"response_format": (self.text or {}).get("format"), **(self.model_extra or {})}
        unsupported = [what for field, (what, no) in UNSUPPORTED.items() if asked.get(field) and asked[field] != no]
        last = next((one for one in reversed(self.messages) if one.role == "user"), InputItem())
        if isinstance(last.content, list) and any(part.type not in TEXTS for part in last.content):
            unsupported.append("Images, sound and files in messages")
        if unsupported:
            message = f"{unsupported[0]} are not supported."
            raise Refusal(400, "not_supported", message, "Send one question as text.")
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

    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=1000)]
    stream_options: dict[str, Any] | None = None


def _as_messages(given: object) -> object:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


class ResponseBody(Body):
    """A request of Open Responses, which may go on from an earlier response."""

    messages: Annotated[
        list[InputItem], BeforeValidator(_as_messages), Field(min_length=1, max_length=1000, alias="input")
    ]
    metadata: Annotated[dict[str, Annotated[str, Field(max_length=512)]], Field(max_length=16)] | None = None
    previous_response_id: Annotated[str, Field(max_length=100)] | None = None
    store: bool | None = None


# --- answers, whole or as events


class AnswerShape(ABC):
    """The form of one answer, whole or as events."""

    def __init__(self, model: str, prefix: str) -> None:
        self.model = model
        self.id = f"{prefix}{secrets.token_hex(12)}"
        self.created = int(time.time())
        self.sent = SentText()

    def event(self, name: str, content: JsonObject) -> str:
        """An event of an answer (`streaming`) in this form."""
        if name in {"question", "completed"}:
            self.sent.question = content["question" if name == "question" else "asked"]
        more = self.sent.more(content) if name == "writing" else ""
        ends = "data: [DONE]\n\n" if name in {"answer", "error"} else ""
        return "".join(self.events("more" if more else name, {"more": more} if more else content)) + ends

    @abstractmethod
    def events(self, name: str, content: JsonObject) -> Iterator[str]:
        """The events for one. `more` is text to be appended; sub-questions and hops become events of our extension."""

    @abstractmethod
    def whole(self, answer: JsonObject) -> JsonObject:
        """The whole answer in this form. An abstention is an ordinary text, with `abstained` and `closest` in `hoptrail`."""


class Completion(AnswerShape):
    """A completion of the chat API, whole or as chunks."""

    def __init__(self, model: str, *, include_usage: bool) -> None:
        super().__init__(model, "chatcmpl-")
        self._include_usage = include_usage

    def whole(self, answer: JsonObject) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": written(answer).text, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return self._object("chat.completion", [choice], usage=_usage(answer), hoptrail=_cited(answer))

    def events(self, name: str, content: JsonObject) -> Iterator[str]:
        match name:
            case "question":
                yield self._chunk({"role": "assistant", "content": ""})
            case "more":
                yield self._chunk({"content": content["more"]})
            case "answer":
                yield self._chunk({"content": self.sent.rest(written(content).text)})
                yield self._chunk({}, finish_reason="stop", hoptrail=_cited(content))
                if self._include_usage:
                    yield data(self._object("chat.completion.chunk", [], usage=_usage(content)))
            case "error":
                yield data({"error": {**content["error"], "type": "server_error", "param": None}})
            case _:
                yield self._chunk({}, hoptrail={"event": name, **content})

    def _chunk(self, delta: JsonObject, finish_reason: str | None = None, **more: JsonObject) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        usage = {"usage": None} if self._include_usage else {}
        return data(self._object("chat.completion.chunk", [choice], **usage, **more))

    def _object(self, kind: str, choices: list[JsonObject], **more: JsonObject | None) -> JsonObject:
        about = {"id": self.id, "object": kind, "created": self.created, "model": self.model}
        return {**about, "choices": choices, **more}


def _cited(answer: JsonObject) -> JsonObject:
    return answer | {"citations": citations_of(answer)}


def _usage(answer: JsonObject, prompt: str = "prompt", completion: str = "completion") -> JsonObject:
    """Tokens of the language model behind the recipe, by the words of the API; 0 if rules answered."""
    asked, said = answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]
    return {f"{prompt}_tokens": asked, f"{completion}_tokens": said, "total_tokens": asked + said}


_QUOTED_KEYS = ("title", "heading_path", "place", "date", "replaced", "start", "end")
_NO_DETAILS: JsonObject = {
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}
_NULL = (
    *("incomplete_details", "instructions", "reasoning", "user", "max_output_tokens", "max_tool_calls"),
    *("safety_identifier", "prompt_cache_key", "completed_at", "error", "usage"),
)
_CONSTANT: JsonObject = {
    **dict.fromkeys(_NULL),
    "tools": [],
    "tool_choice": "none",
    "parallel_tool_calls": False,
    "truncation": "disabled",
    "text": {"format": {"type": "text"}},
    "temperature": 0,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "top_logprobs": 0,
    "background": False,
    "service_tier": "default",
}
"""Fields that are the same in every response, whatever the request, unless it is completed or has failed."""


class ResponseWriter(AnswerShape):
    """A response of Open Responses, whole or as events; `about` are its fields that repeat the request."""

    def __init__(self, model: str, about: JsonObject) -> None:
        super().__init__(model, "resp_")
        self._about = about
        self._item = f"msg_{secrets.token_hex(12)}"
        self._numbers = count()

    def whole(self, answer: JsonObject) -> JsonObject:
        about = {"completed_at": int(time.time()), "usage": _usage(answer, "input", "output") | _NO_DETAILS}
        message = self._message("completed", self._content(answer))
        return self._response("completed", message, **about, hoptrail=_cited(answer))

    def events(self, name: str, content: JsonObject) -> Iterator[str]:
        match name:
            case "question":
                for kind in ("response.created", "response.in_progress"):
                    yield self._event(kind, response=self._response("in_progress"))
                yield self._event("response.output_item.added", item=self._message("in_progress"), output_index=0)
                yield self._of_text("content_part.added", part=_text_part("", []))
            case "more":
                yield self._of_text("output_text.delta", delta=content["more"], logprobs=[])
            case "answer":
                part = self._content(content)
                yield self._of_text("output_text.delta", delta=part["text"][len(self.sent.text) :], logprobs=[])
                for place, one in enumerate(part["annotations"]):
                    yield self._of_text("output_text.annotation.added", annotation_index=place, annotation=one)
                yield self._of_text("output_text.done", text=part["text"], logprobs=[])
                yield self._of_text("content_part.done", part=part)
                message = self._message("completed", part)
                yield self._event("response.output_item.done", item=message, output_index=0)
                yield self._event("response.completed", response=self.whole(content))
            case "error":
                fault = content["error"]
                error = {"code": fault["code"], "message": f"{fault['message']} {fault['what_to_do']}"}
                yield self._event("response.failed", response=self._response("failed", error=error))
            case _:
                yield self._event(f"hoptrail:{name}", **content)

    def _content(self, answer: JsonObject) -> JsonObject:
        """The text of an answer with its citations, or the closest statements, after what was sent and does not stand."""
        text = written(answer)
        whole = self.sent.text + self.sent.rest(text.text)
        annotations = [
            {
                "type": "file_citation",
                "index": index + len(whole) - len(text.text),
                "file_id": one["document"],
                "filename": one["file"] or one["title"],
                "hoptrail": {"quote": one["text"], **{name: one[name] for name in _QUOTED_KEYS if name in one}},
            }
            for index, one in text.quotations
        ]
        return _text_part(whole, annotations)

    def _message(self, status: str, *content: JsonObject) -> JsonObject:
        return {"type": "message", "id": self._item, "status": status, "role": "assistant", "content": content}

    def _response(self, status: str, *output: JsonObject, **more: Any) -> JsonObject:
        about = {"id": self.id, "object": "response", "created_at": self.created, "status": status, "model": self.model}
        return {**about, "output": output, **_CONSTANT, **self._about, **more}

    def _event(self, kind: str, **content: Any) -> str:
        return event(kind, {"type": kind, "sequence_number": next(self._numbers), **content})

    def _of_text(self, kind: str, **content: Any) -> str:
        return self._event(f"response.{kind}", item_id=self._item, output_index=0, content_index=0, **content)


def _text_part(text: str, annotations: list[JsonObject]) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": []}


# --- routes


@router.get("/models")
def models(here: Here) -> JsonObject:
    """The recipes that this workspace can serve, the default first. `created` is 0, since a recipe has no date."""
    about = {"object": "model", "created": 0, "owned_by": "hoptrail"}
    return {"object": "list", "data": [{"id": name} | about for name in _usable_recipes(here.workspace)]}


@router.get("/models/{name}")
def model(here: Here, name: str) -> JsonObject:
    """One recipe."""
    found: list[JsonObject] = [one for one in models(here)["data"] if one["id"] == name]
    if not found:
        raise Refusal(404, "model_not_found", "There is no such model here.", "GET /v1/models lists the models.")
    return found[0]


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
    kept, previous, store = here.served.kept[here.workspace.name, here.client], asked.previous_response_id, asked.store
    before: Sequence[Answer] = ()
    if previous:
        said = await asyncio.to_thread(kept.conversation, previous, here.workspace, "earlier response")
        before = said[-MOST_TURNS:]
    about = {"previous_response_id": previous, "store": store is not False, "metadata": asked.metadata or {}}
    writer = ResponseWriter(asked.model, about)
    keep = None if store is False else partial(kept.keep, writer.id, before=before)
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
        raise Refusal(404, "model_not_found", "There is no such model here.", "GET /v1/models lists the models.")
    asking = ClientQuestion(here, asked, [*before, *body.before()], keep)
    return await stream(asking, shape.event) if body.stream else JSONResponse(shape.whole(await answered(asking)))


def _usable_recipes(workspace: Workspace) -> list[str]:
    default = workspace.index.settings.recipe
    usable = [name for name, is_usable in workspace.recipe_names().items() if is_usable]
    return sorted(usable, key=lambda name: name != default)
