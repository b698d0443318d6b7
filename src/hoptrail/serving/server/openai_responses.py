"""Open Responses, as far as it is spoken here: what a request may hold, and an answer as one message, whole or as events.

The text is that of the chat API (`answer_text`). Every citation is an annotation of it, with the exact place and the quotation
in the field `hoptrail`. Nothing is stored: a response cannot be fetched, or gone on from, later.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from hoptrail.serving.answer_text import written
from hoptrail.serving.contract import Json
from hoptrail.serving.server.openai_shapes import (
    DONE,
    Message,
    OpenRequest,
    Part,
    details_of,
    question_in,
    unsupported,
)
from hoptrail.serving.server.streaming import event
from hoptrail.serving.server.wire import AsOf

_QUOTED = ("title", "heading_path", "place", "date", "replaced", "start", "end")
_UNUSED = (
    *("incomplete_details", "previous_response_id", "instructions", "reasoning", "user", "max_output_tokens"),
    *("max_tool_calls", "safety_identifier", "prompt_cache_key"),
)
"""Fields of a response that have no value here."""
_SETTLED: Json = {
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
    "store": False,
    "background": False,
    "service_tier": "default",
}
"""Fields that are the same in every response, whatever was asked for."""


class Item(OpenRequest):
    """What the input consists of; what is no message has no role, and is passed over."""

    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[Part] | None = None


class ResponseRequest(OpenRequest):
    """The last message of the user in `input` is the question; nothing before it is looked at. The model is a recipe.
    `as_of` is ours.
    """

    model: Annotated[str, Field(min_length=1, max_length=200)]
    input: str | Annotated[list[Item], Field(min_length=1, max_length=1000)]
    as_of: AsOf | None = None
    stream: bool | None = None
    metadata: Annotated[dict[str, Annotated[str, Field(max_length=512)]], Field(max_length=16)] | None = None
    tools: list[Any] | None = None
    text: dict[str, Any] | None = None
    previous_response_id: str | None = None
    conversation: Any = None
    prompt: Any = None
    background: bool | None = None

    @property
    def question(self) -> str:
        """Raises: Refusal: something is asked for that is not done here, or there is no question."""
        asked_for = {
            "Tools": self.tools,
            "Response formats": ((self.text or {}).get("format") or {}).get("type", "text") != "text",
            "Earlier responses": self.previous_response_id or self.conversation,
            "Stored prompts": self.prompt,
            "Responses in the background": self.background,
        }
        for what, wanted in asked_for.items():
            if wanted:
                raise unsupported(what)
        items = [Item(role="user", content=self.input)] if isinstance(self.input, str) else self.input
        return question_in([Message(role=one.role, content=one.content) for one in items if one.role], "input")


@dataclass(slots=True)
class ResponseInMaking:
    """One response, told whole or in events."""

    model: str
    metadata: dict[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"resp_{secrets.token_hex(12)}")
    item: str = field(default_factory=lambda: f"msg_{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))
    told: int = 0
    """Events so far."""

    def whole(self, answer: Json) -> Json:
        """An abstention is a message as any other, with `abstained` and `closest` in the field `hoptrail`."""
        return self._response(
            "completed", [self._message([_content(answer)])], usage=_usage(answer), hoptrail=details_of(answer)
        )

    def event(self, name: str, content: Json) -> str:
        """An event of an answer as events of a response. Sub-questions and hops are events of our own."""
        match name:
            case "question":
                started = self._response("in_progress", [])
                return self._event("response.created", response=started) + self._event(
                    "response.in_progress", response=started
                )
            case "answer":
                return "".join(self._message_events(content)) + DONE
            case "error":
                told = content["error"]
                error = {"code": told["code"], "message": f"{told['message']} {told['what_to_do']}"}
                return self._event("response.failed", response=self._response("failed", [], error=error)) + DONE
            case _:
                return self._event(f"hoptrail:{name}", **content)

    def _message_events(self, answer: Json) -> Iterator[str]:
        content = _content(answer)
        item: Json = {"item_id": self.item, "output_index": 0}
        part: Json = {**item, "content_index": 0}
        yield self._event("response.output_item.added", output_index=0, item=self._message([], "in_progress"))
        yield self._event("response.content_part.added", **part, part={**content, "text": "", "annotations": []})
        yield self._event("response.output_text.delta", **part, delta=content["text"], logprobs=[])
        for place, annotation in enumerate(content["annotations"]):
            yield self._event(
                "response.output_text.annotation.added", **part, annotation_index=place, annotation=annotation
            )
        yield self._event("response.output_text.done", **part, text=content["text"], logprobs=[])
        yield self._event("response.content_part.done", **part, part=content)
        yield self._event("response.output_item.done", output_index=0, item=self._message([content]))
        yield self._event("response.completed", response=self.whole(answer))

    def _message(self, content: list[Json], status: str = "completed") -> Json:
        return {"type": "message", "id": self.item, "status": status, "role": "assistant", "content": content}

    def _response(self, status: str, output: list[Json], **more: Json) -> Json:
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "completed_at": int(time.time()) if status == "completed" else None,
            "status": status,
            "model": self.model,
            "output": output,
            **dict.fromkeys(_UNUSED),
            **_SETTLED,
            "metadata": self.metadata,
            "error": None,
            "usage": None,
            **more,
        }

    def _event(self, kind: str, **content: Any) -> str:
        told = {"type": kind, "sequence_number": self.told, **content}
        self.told += 1
        return event(kind, told)


def _content(answer: Json) -> Json:
    """The text of an answer with its citations; of an abstention those of the closest statements."""
    text = written(answer)
    annotations = [
        {
            "type": "file_citation",
            "index": index,
            "file_id": one["document"],
            "filename": one["file"] or one["title"],
            "hoptrail": {"quote": one["text"], **{name: one[name] for name in _QUOTED if name in one}},
        }
        for index, one in text.quoted
    ]
    return {"type": "output_text", "text": text.text, "annotations": annotations, "logprobs": []}


def _usage(answer: Json) -> Json:
    """Tokens of the language model behind the recipe; none where rules answered."""
    spent = answer["usage"]
    asked, told = spent["prompt_tokens"], spent["completion_tokens"]
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": told,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": asked + told,
    }
