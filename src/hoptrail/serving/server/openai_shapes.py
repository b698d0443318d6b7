"""Answers in the forms of OpenAI's chat API and of Open Responses, whole or as events.

A response has the text of the chat API (`answer_text`). Every citation is an annotation of it, with the exact place and the
quotation in the field `hoptrail`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from typing import Any

from hoptrail.serving.answer_text import SentText, citations_of, written
from hoptrail.serving.server.streaming import data, event
from hoptrail.types.json_object import JsonObject

DONE = "data: [DONE]\n\n"
"""Ends a stream."""


class AnswerShape:
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
        ends = DONE if name in {"answer", "error"} else ""
        return "".join(self.events("more" if more else name, {"more": more} if more else content)) + ends

    def events(self, name: str, content: JsonObject) -> Iterator[str]:
        """The events for one. `more` is text to be appended; sub-questions and hops become events of our extension."""
        raise NotImplementedError

    def whole(self, answer: JsonObject) -> JsonObject:
        """The whole answer in this form. An abstention is an ordinary text, with `abstained` and `closest` in `hoptrail`."""
        raise NotImplementedError


class Completion(AnswerShape):
    """A completion of the chat API, whole or as chunks."""

    def __init__(self, model: str, *, include_usage: bool) -> None:
        super().__init__(model, "chatcmpl-")
        self._include_usage = include_usage

    def whole(self, answer: JsonObject) -> JsonObject:
        message: JsonObject = {"role": "assistant", "content": written(answer).text, "refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        extra = {"usage": _usage(answer), "hoptrail": _details(answer)}
        return {**self._head("chat.completion"), "choices": [choice], **extra}

    def events(self, name: str, content: JsonObject) -> Iterator[str]:
        match name:
            case "question":
                yield self._chunk({"role": "assistant", "content": ""})
            case "more":
                yield self._chunk({"content": content["more"]})
            case "answer":
                yield self._chunk({"content": self.sent.rest(written(content).text)})
                yield self._chunk({}, finish_reason="stop", hoptrail=_details(content))
                if self._include_usage:
                    yield data({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(content)})
            case "error":
                yield data({"error": {**content["error"], "type": "server_error", "param": None}})
            case _:
                yield self._chunk({}, hoptrail={"event": name, **content})

    def _chunk(self, delta: JsonObject, finish_reason: str | None = None, **more: JsonObject) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        usage = {"usage": None} if self._include_usage else {}
        return data({**self._head("chat.completion.chunk"), "choices": [choice], **usage, **more})

    def _head(self, kind: str) -> JsonObject:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def _details(answer: JsonObject) -> JsonObject:
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


class ResponseWriter(AnswerShape):
    """A response of Open Responses, whole or as events."""

    def __init__(self, model: str, metadata: dict[str, str], previous: str | None, store: bool) -> None:
        super().__init__(model, "resp_")
        self.store = store
        self._of_request = {"previous_response_id": previous, "store": store, "metadata": metadata}
        self._item = f"msg_{secrets.token_hex(12)}"
        self._events = 0
        self._begun = False

    def whole(self, answer: JsonObject) -> JsonObject:
        tokens = _usage(answer)
        usage = {
            "input_tokens": tokens["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": tokens["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens["total_tokens"],
        }
        message = self._message([self._content(answer)])
        return self._response("completed", [message], usage=usage, hoptrail=_details(answer))

    def events(self, name: str, content: JsonObject) -> Iterator[str]:
        match name:
            case "question":
                for kind in ("response.created", "response.in_progress"):
                    yield self._event(kind, response=self._response("in_progress", []))
            case "more":
                yield self._more(content["more"])
            case "answer":
                yield from self._end(content)
            case "error":
                fault = content["error"]
                error = {"code": fault["code"], "message": f"{fault['message']} {fault['what_to_do']}"}
                yield self._event("response.failed", response=self._response("failed", [], error=error))
            case _:
                yield self._event(f"hoptrail:{name}", **content)

    def _more(self, text: str) -> str:
        """More text; before the first of it, the message begins."""
        events = ""
        if not self._begun:
            self._begun = True
            empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            events = self._event("response.output_item.added", output_index=0, item=self._message([], "in_progress"))
            events += self._event("response.content_part.added", **self._part, part=empty)
        return events + self._event("response.output_text.delta", **self._part, delta=text, logprobs=[])

    def _end(self, answer: JsonObject) -> Iterator[str]:
        content, part = self._content(answer), self._part
        yield self._more(content["text"][len(self.sent.text) :])
        for place, annotation in enumerate(content["annotations"]):
            added = {"annotation_index": place, "annotation": annotation}
            yield self._event("response.output_text.annotation.added", **part, **added)
        yield self._event("response.output_text.done", **part, text=content["text"], logprobs=[])
        yield self._event("response.content_part.done", **part, part=content)
        yield self._event("response.output_item.done", output_index=0, item=self._message([content]))
        yield self._event("response.completed", response=self.whole(answer))

    @property
    def _part(self) -> JsonObject:
        return {"item_id": self._item, "output_index": 0, "content_index": 0}

    def _content(self, answer: JsonObject) -> JsonObject:
        """The text of an answer with its citations (for an abstention, those of the closest statements), after what was sent and
        does not stand.
        """
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
        return {"type": "output_text", "text": whole, "annotations": annotations, "logprobs": []}

    def _message(self, content: list[JsonObject], status: str = "completed") -> JsonObject:
        return {"type": "message", "id": self._item, "status": status, "role": "assistant", "content": content}

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
            **self._of_request,
            "error": None,
            "usage": None,
            **more,
        }

    def _event(self, kind: str, **content: Any) -> str:
        numbered = {"type": kind, "sequence_number": self._events, **content}
        self._events += 1
        return event(kind, numbered)
