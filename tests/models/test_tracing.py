"""Spans of a question, its searches and its calls, as the SDK of OpenTelemetry exports them; and none without it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from fakeai.clients import paid_chat, point_at, quick_settings, request
from fakeai.server import FakeAI, serving
from hoptrail import Index
from hoptrail.index.settings import Settings
from hoptrail.language.factory import LanguageContext, open_language
from hoptrail.language.task_batches import perform_all
from hoptrail.language.tasks import Sample, Summarise
from hoptrail.models.client import CallFailed
from hoptrail.models.endpoint import EndpointEncoder
from hoptrail.models.environment import Address
from language_chat import ANSWER, ISK, QUESTION, passage
from world import FACTS, HashingEncoder

TEXTS = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> InMemorySpanExporter:
    exporter.clear()
    return exporter


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: json.dumps(ANSWER))) as running:
        point_at(running, monkeypatch)
        yield running


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def asked(fake: FakeAI, folder: Path) -> None:
    for title, text in FACTS.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    index = Index(
        folder / "index", Settings(recipe="hybrid", language="chat", chat=quick_settings(fake, deadline_seconds=120.0))
    )
    index.encoder = HashingEncoder()
    index.add([folder])
    assert index.ask(QUESTION).text == "the Grey Hills"


def test_a_question_has_a_span_with_its_searches_and_its_calls(
    spans: InMemorySpanExporter, fake: FakeAI, tmp_path: Path
) -> None:
    asked(fake, tmp_path)
    search, chat, question = spans.get_finished_spans()
    assert [span.name for span in (search, chat, question)] == ["retrieval", "chat fake", "invoke_agent hoptrail"]
    assert question.parent is None
    assert {span.parent.span_id for span in (search, chat) if span.parent} == {question.context.span_id}
    assert attributes(chat) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "fake",
        "gen_ai.request.max_tokens": 1024,
        "gen_ai.request.temperature": 0.0,
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": fake.bill.prompt_tokens,
        "gen_ai.usage.output_tokens": fake.bill.completion_tokens,
        "server.address": "127.0.0.1",
        "server.port": fake.port,
        "hoptrail.task": "answer",
    }
    assert attributes(search)["hoptrail.hits"] == len(FACTS)
    assert attributes(search)["hoptrail.search"] == "hybrid_search"
    assert attributes(question)["hoptrail.language"] == "chat:fake"
    assert (attributes(question)["hoptrail.abstained"], attributes(question)["hoptrail.hops"]) == (False, 1)
    assert not any("Isk" in str(span.attributes) for span in spans.get_finished_spans()), "texts are not wanted"


def test_texts_are_in_spans_where_that_is_wanted(
    spans: InMemorySpanExporter, fake: FakeAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TEXTS, "true")
    asked(fake, tmp_path)
    search, chat, question = map(attributes, spans.get_finished_spans())
    for span in (search, question):
        [message] = json.loads(span["gen_ai.input.messages"])
        assert message == {"role": "user", "parts": [{"type": "text", "content": QUESTION}]}
    assert json.loads(question["gen_ai.output.messages"])[0]["parts"][0]["content"] == "the Grey Hills"
    assert [one["role"] for one in json.loads(chat["gen_ai.input.messages"])] == ["system", "user"]
    assert json.loads(chat["gen_ai.output.messages"])[0]["parts"][0]["content"] == json.dumps(ANSWER)


def test_a_remembered_reply_has_no_span_and_retries_share_one(
    spans: InMemorySpanExporter, fake: FakeAI, tmp_path: Path
) -> None:
    fake.plan = {1: "500"}
    chat = paid_chat(fake, tmp_path)
    for _ in range(2):
        chat.ask(request())
    assert len(fake.log) == 2
    assert len(spans.get_finished_spans()) == 1


def test_a_call_that_fails_says_how(spans: InMemorySpanExporter, fake: FakeAI, tmp_path: Path) -> None:
    fake.always = "web page"
    with pytest.raises(CallFailed):
        paid_chat(fake, tmp_path).ask(request())
    [span] = spans.get_finished_spans()
    assert attributes(span)["error.type"] == "CallFailed"
    assert span.status.status_code is StatusCode.ERROR


def test_calls_from_threads_belong_to_the_span_around_them(
    spans: InMemorySpanExporter, fake: FakeAI, tmp_path: Path
) -> None:
    fake.brain = lambda _: json.dumps({"answer": "x", "summary": "x"})
    language = open_language("chat", LanguageContext(None, tmp_path, quick_settings(fake, deadline_seconds=120.0)))
    units = [passage(f"Isk {number}", ISK) for number in range(3)]
    with trace.get_tracer("test").start_as_current_span("outer") as outer:
        list(perform_all(language, [Summarise((unit,), 20) for unit in units], 2))
        language.perform(Sample(QUESTION, tuple(units), 3))
    calls = [span for span in spans.get_finished_spans() if span.name == "chat fake"]
    assert len(calls) == len(fake.log) == 6
    assert {span.parent.span_id for span in calls if span.parent} == {outer.get_span_context().span_id}


def test_embeddings_have_a_span(spans: InMemorySpanExporter, fake: FakeAI) -> None:
    EndpointEncoder(Address(fake.address, "e")).encode(["one", "two"])
    [span] = spans.get_finished_spans()
    assert (span.name, attributes(span)["gen_ai.operation.name"]) == ("embeddings e", "embeddings")


def test_nothing_is_imported_where_nobody_traces() -> None:
    code = (
        "import sys; from hoptrail.models.tracing import span\n"
        "with span('chat', 'm', {'a': 1}) as note: note({'b': 2})\n"
        "print([name for name in sys.modules if 'opentelemetry' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
