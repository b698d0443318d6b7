"""Spans of OpenTelemetry for questions, searches and calls of models, under the names of its conventions for generative AI.

Nothing is imported or sent from here: where this process has loaded no OpenTelemetry (`opentelemetry-instrument hoptrail ...`, or
a program that sets a provider), there are no spans. Texts are in them only if the variable
`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from hoptrail.system.environment_variables import variable

Search = TypeVar("Search", bound=Callable[..., Sized])
Note = Callable[[Mapping[str, Any]], None]


@contextmanager
def span(operation: str, about: str = "", attributes: Mapping[str, Any] | None = None) -> Iterator[Note]:
    """A span around the body, named by the operation and what it is about. Yields what adds attributes; None is none."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield lambda _: None
        return
    with trace.get_tracer("hoptrail").start_as_current_span(f"{operation} {about}".strip()) as current:

        def note(more: Mapping[str, Any]) -> None:
            current.set_attributes({name: value for name, value in more.items() if value is not None})

        note({"gen_ai.operation.name": operation, **(attributes or {})})
        try:
            yield note
        except BaseException as error:
            note({"error.type": type(error).__qualname__})
            raise


def said(direction: str, messages: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The attribute for the messages (role and text) that go in (`input`) or come out (`output`), if texts may be in spans."""
    wanted = variable("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").lower()
    if wanted not in {"true", "span_only", "span_and_event"}:
        return {}
    shown = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages]
    return {f"gen_ai.{direction}.messages": json.dumps(shown, ensure_ascii=False)}


def traced_search(search: Search) -> Search:
    """`search` by a corpus, a question and the most hits, in a span."""

    @wraps(search)
    def traced(corpus: Any, question: str, limit: int, *more: Any, **named: Any) -> Sized:
        about = {
            "gen_ai.retrieval.top_k": limit,
            "hoptrail.search": search.__name__,
            **said("input", [("user", question)]),
        }
        with span("retrieval", attributes=about) as note:
            found: Sized = search(corpus, question, limit, *more, **named)
            note({"hoptrail.hits": len(found)})
        return found

    return cast("Search", traced)
