"""The supported part of OpenAI's chat API and of Open Responses: requests, and answers in their forms, whole or as events.

A response has the text of the chat API (`answer_text`). Every citation is an annotation of it, with the exact place and the
quotation in the field `hoptrail`. The latest responses are kept in memory, to be gone on from (`previous_response_id`); they
cannot be fetched.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hoptrail.index.conversation import MOST_TURNS
from hoptrail.retrieval.corpus import QUESTION_LIMIT
from hoptrail.serving.answer_text import SentText, answers_in, citations_of, written
from hoptrail.serving.server.refusals import Refusal, not_valid
from hoptrail.serving.server.streaming import event
from hoptrail.serving.server.wire import AsOf, Before
from hoptrail.types.json_object import JsonObject

DONE = "data: [DONE]\n\n"
"""Ends a stream."""
TEXTS = frozenset({"text", "input_text", "output_text"})
"""Types of the parts of a message that are text, in both APIs."""


class OpenRequest(BaseModel):
    """Ignores unknown fields: clients send temperatures and the like, which have no meaning here."""

    model_config = ConfigDict(extra="ignore")


class MessagePart(OpenRequest):
    """A part of a message; a question with a part that is not text is refused."""

    type: Annotated[str, Field(max_length=50)]
    text: str | None = None


class ChatMessage(OpenRequest):
    """A message, whose content is a text or a list of parts."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[MessagePart] | None = None


class StreamOptions(OpenRequest):
    """`include_usage` asks for the number of tokens in a last chunk."""

    include_usage: bool | None = None


class ChatBody(OpenRequest):
    """The user's last message is the question, which may follow up the ones before. The model is a recipe. `as_of` is our
    extension.
    """

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=1000)]
    as_of: AsOf | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: JsonObject | None = None
    modalities: list[str] | None = None
    logprobs: bool | None = None

    @property
    def question(self) -> str:
        """Raises: Refusal: the request asks for something unsupported, or has no question."""
        unsupported = {
            "Tools": self.tools or self.functions,
            "Several choices": self.n not in {None, 1},
            "Response formats": (self.response_format or {}).get("type", "text") != "text",
            "Modalities other than text": set(self.modalities or ["text"]) != {"text"},
            "Log probabilities": self.logprobs,
        }
        return question_in(self.messages, "messages", unsupported)

    @property
    def before(self) -> list[Before]:
        """The earlier questions with their answers, oldest first."""
        return turns_in(self.messages)


def turns_in(messages: Sequence[ChatMessage | InputItem]) -> list[Before]:
    """The user's messages before the last one, each with what the assistant answered; of a long conversation the last ones."""
    answers = answers_in((message.role or "", _text_of(message.content)) for message in messages)
    return [turn for answer in answers[:-1][-MOST_TURNS:] for turn in Before.of(answer)]


def _text_of(content: str | list[MessagePart] | None) -> str:
    return content if isinstance(content, str) else "\n".join(part.text or "" for part in content or [])


def question_in(messages: Sequence[ChatMessage | InputItem], field_name: str, unsupported: Mapping[str, object]) -> str:
    """The text of the user's last message; `field_name` names the field of the messages in errors.
    Raises: Refusal: there is none, it is too long, or it is not text; or something `unsupported` is requested.
    """
    for what, requested in unsupported.items():
        if requested:
            raise _unsupported(what)
    content = next((message.content for message in reversed(messages) if message.role == "user"), None)
    if isinstance(content, list) and any(part.type not in TEXTS for part in content):
        raise _unsupported("Images, sound and files in messages")
    question = _text_of(content).strip()
    if not question:
        raise not_valid(f"{field_name}: there is no question, which is the user's last message.")
    if len(question) > QUESTION_LIMIT:
        raise not_valid(f"{field_name}: the question has {len(question):,} characters of at most {QUESTION_LIMIT:,}.")
    if any("\ud800" <= character <= "\udfff" for character in question):  # JSON can hold them
        raise not_valid(f"{field_name}: the question holds half of a character (a lone surrogate).")
    return question


def _unsupported(what: str) -> Refusal:
    return Refusal(400, "not_supported", f"{what} are not supported.", "Send one question as text.")


def model_json(name: str) -> JsonObject:
    """A recipe as a model. `created` is 0, since a recipe has no date."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "hoptrail"}


@dataclass(slots=True)
class Completion:
    """Formats one answer, whole or as chunks."""

    model: str
    include_usage: bool = False
    sent: SentText = field(default_factory=SentText)
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, answer: JsonObject) -> JsonObject:
        """The whole completion."""
        message: JsonObject = {"role": "assistant", "content": written(answer).text, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(answer),
            "hoptrail": details_of(answer),
        }

    def event(self, name: str, content: JsonObject) -> str:
        """An event of an answer as chunks. Sub-questions and hops are in the extra field, with an empty text."""
        match name:
            case "question":
                self.sent.question = content["question"]
                return self._chunk({"role": "assistant", "content": ""})
            case "writing" if more := self.sent.more(content):
                return self._chunk({"content": more})
            case "answer":
                events = self._chunk({"content": self.sent.rest(written(content).text)})
                events += self._chunk({}, finish_reason="stop", hoptrail=details_of(content))
                if self.include_usage:
                    events += _data({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(content)})
                return events + DONE
            case "error":
                error = {**content["error"], "type": "server_error", "param": None}
                return _data({"error": error}) + DONE
            case _:
                self.sent.question = content["asked"] if name == "completed" else self.sent.question
                return self._chunk({}, hoptrail={"event": name, **content})

    def _chunk(self, delta: JsonObject, finish_reason: str | None = None, **more: JsonObject) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        usage = {"usage": None} if self.include_usage else {}
        return _data({**self._head("chat.completion.chunk"), "choices": [choice], **usage, **more})

    def _head(self, kind: str) -> JsonObject:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def _data(content: JsonObject) -> str:
    """JSON on one line, so that no text can end the event early."""
    return f"data: {json.dumps(content, ensure_ascii=True)}\n\n"


def details_of(answer: JsonObject) -> JsonObject:
    """The extra field: the output of `hoptrail ask --json`, and the span that each number cites."""
    return {**answer, "citations": citations_of(answer)}


def _usage(answer: JsonObject) -> JsonObject:
    """Tokens of the language model behind the recipe; 0 if rules answered."""
    usage = answer["usage"]
    prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


_QUOTED_KEYS = ("title", "heading_path", "place", "date", "replaced", "start", "end")
_UNUSED = (
    *("incomplete_details", "instructions", "reasoning", "user", "max_output_tokens"),
    *("max_tool_calls", "safety_identifier", "prompt_cache_key"),
)
"""Fields of a response that have no value here."""
_CONSTANT: JsonObject = {
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
"""Fields that are the same in every response, whatever the request."""


class InputItem(OpenRequest):
    """An item of the input. Items without a role are not messages and are ignored."""

    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[MessagePart] | None = None


class ResponseRequest(OpenRequest):
    """The user's last message in `input` is the question, which may follow up the ones before and the earlier response. The model
    is a recipe. `as_of` is our extension.
    """

    model: Annotated[str, Field(min_length=1, max_length=200)]
    input: str | Annotated[list[InputItem], Field(min_length=1, max_length=1000)]
    as_of: AsOf | None = None
    stream: bool | None = None
    metadata: Annotated[dict[str, Annotated[str, Field(max_length=512)]], Field(max_length=16)] | None = None
    tools: list[Any] | None = None
    text: JsonObject | None = None
    previous_response_id: Annotated[str, Field(max_length=100)] | None = None
    store: bool | None = None
    conversation: Any = None
    prompt: Any = None
    background: bool | None = None

    @property
    def question(self) -> str:
        """Raises: Refusal: the request asks for something unsupported, or has no question."""
        unsupported = {
            "Tools": self.tools,
            "Response formats": ((self.text or {}).get("format") or {}).get("type", "text") != "text",
            "Stored conversations": self.conversation,
            "Stored prompts": self.prompt,
            "Responses in the background": self.background,
        }
        return question_in(self._messages, "input", unsupported)

    @property
    def before(self) -> list[Before]:
        """The earlier questions of the input with their answers, oldest first."""
        return turns_in(self._messages)

    @property
    def _messages(self) -> list[InputItem]:
        return [InputItem(role="user", content=self.input)] if isinstance(self.input, str) else self.input


@dataclass(slots=True)
class ResponseWriter:
    """Formats one response, whole or as events."""

    model: str
    metadata: dict[str, str] = field(default_factory=dict)
    previous: str | None = None
    store: bool = True
    id: str = field(default_factory=lambda: f"resp_{secrets.token_hex(12)}")
    item: str = field(default_factory=lambda: f"msg_{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))
    events_sent: int = 0
    begun: bool = False
    sent: SentText = field(default_factory=SentText)

    def whole(self, answer: JsonObject) -> JsonObject:
        """The whole response. An abstention is an ordinary message, with `abstained` and `closest` in the field `hoptrail`."""
        output, usage = [self._message([_content(answer, self.sent)])], _response_usage(answer)
        return self._response("completed", output, usage=usage, hoptrail=details_of(answer))

    def event(self, name: str, content: JsonObject) -> str:
        """An event of an answer as events of a response. Sub-questions and hops are events of our extension."""
        match name:
            case "question":
                self.sent.question = content["question"]
                started = self._response("in_progress", [])
                names = ("response.created", "response.in_progress")
                return "".join(self._event(name, response=started) for name in names)
            case "writing" if more := self.sent.more(content):
                return self._delta(more)
            case "answer":
                return "".join(self._message_events(content)) + DONE
            case "error":
                fault = content["error"]
                error = {"code": fault["code"], "message": f"{fault['message']} {fault['what_to_do']}"}
                return self._event("response.failed", response=self._response("failed", [], error=error)) + DONE
            case _:
                self.sent.question = content["asked"] if name == "completed" else self.sent.question
                return self._event(f"hoptrail:{name}", **content)

    @property
    def _part(self) -> JsonObject:
        return {"item_id": self.item, "output_index": 0, "content_index": 0}

    def _delta(self, more: str) -> str:
        """More text; before the first of it, the message begins."""
        events = ""
        if not self.begun:
            self.begun = True
            empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            events = self._event("response.output_item.added", output_index=0, item=self._message([], "in_progress"))
            events += self._event("response.content_part.added", **self._part, part=empty)
        return events + self._event("response.output_text.delta", **self._part, delta=more, logprobs=[])

    def _message_events(self, answer: JsonObject) -> Iterator[str]:
        content, part = _content(answer, self.sent), self._part
        yield self._delta(content["text"][len(self.sent.text) :])
        for place, annotation in enumerate(content["annotations"]):
            yield self._event(
                "response.output_text.annotation.added", **part, annotation_index=place, annotation=annotation
            )
        yield self._event("response.output_text.done", **part, text=content["text"], logprobs=[])
        yield self._event("response.content_part.done", **part, part=content)
        yield self._event("response.output_item.done", output_index=0, item=self._message([content]))
        yield self._event("response.completed", response=self.whole(answer))

    def _message(self, content: list[JsonObject], status: str = "completed") -> JsonObject:
        return {"type": "message", "id": self.item, "status": status, "role": "assistant", "content": content}

    def _response(self, status: str, output: list[JsonObject], **more: JsonObject) -> JsonObject:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "completed_at": int(time.time()) if status == "completed" else None,
            "status": status,
            "model": self.model,
            "output": output,
            **dict.fromkeys(_UNUSED),
            **_CONSTANT,
            "previous_response_id": self.previous,
            "store": self.store,
            "metadata": self.metadata,
            "error": None,
            "usage": None,
            **more,
        }

    def _event(self, kind: str, **content: Any) -> str:
        numbered = {"type": kind, "sequence_number": self.events_sent, **content}
        self.events_sent += 1
        return event(kind, numbered)


def _content(answer: JsonObject, sent: SentText) -> JsonObject:
    """The text of an answer with its citations (for an abstention, those of the closest statements), after what was `sent` before
    and does not stand.
    """
    text = written(answer)
    whole = sent.text + sent.rest(text.text)
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
    return {"type": "output_text", "text": whole, "annotations": annotations, "logprobs": []}


def _response_usage(answer: JsonObject) -> JsonObject:
    tokens = _usage(answer)
    return {
        "input_tokens": tokens["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": tokens["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens["total_tokens"],
    }
