"""What servers and models send nowadays, each as a script of replies: answered, or told rightly, in how many calls.

The rows are behaviours that people have reported of Ollama, LM Studio, llama.cpp, vLLM, mlx-lm, gateways and hosted models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from fakeai.faults import FAULTS
from fakeai.server import Asked, Body, FakeAI, Handler, completion, events, form_of
from hoptrail.errors import HoptrailError
from hoptrail.language.tasks import Read
from hoptrail.models import client
from hoptrail.types import Unit
from language_chat import ANSWER, ISK, QUESTION, Speaking, passage

GOOD = json.dumps(ANSWER)
BARE = json.dumps({"steps": [], "answer": "The Isk rises in the Grey Hills.", "confidence": "high"})
DRAFT = json.dumps({"steps": [], "answer": "the Marn", "confidence": "high"})
HILLS = "the Grey Hills"
USAGE = {"prompt_tokens": 300, "completion_tokens": 40}
Reply = Callable[[Body], "Sent"]


@dataclass(frozen=True)
class Sent:
    """A status with its body, or the events of a stream."""

    status: int
    body: Any
    headers: tuple[tuple[str, str], ...] = ()


def said(content: Any = GOOD, finish: str = "stop", usage: Any = USAGE, error: Any = None, **message: Any) -> Reply:
    """Status 200 with this content and these fields of the message."""
    whole = completion(content, usage, finish=finish, message=message)
    if error is not None:
        whole["choices"][0]["error"] = error
    return lambda _: Sent(200, whole)


def streamed(content: str = GOOD, finish: str = "stop", more: Sequence[bytes] = (), **message: Any) -> Reply:
    return lambda _: Sent(0, [*events(content, USAGE, finish=finish, message=message), *more])


def status(number: int, body: Any, **headers: str) -> Reply:
    body = {"error": {"message": body}} if isinstance(body, str) else body
    return lambda _: Sent(number, body, tuple((name.replace("_", "-"), value) for name, value in headers.items()))


def unless(has: Callable[[Body], bool], refused: Reply) -> Reply:
    """Refused, unless the body has what is wanted."""
    return lambda body: said()(body) if has(body) else refused(body)


def cut_to(tokens: int) -> Reply:
    """The server's window is smaller than the prompt, and the model does not see the passages in front."""

    def reply(body: Body) -> Sent:
        count = sum(len(message["content"]) for message in body["messages"]) // 4
        content = GOOD if count <= tokens else json.dumps({"steps": [], "answer": None})
        return said(content, usage={"prompt_tokens": min(count, tokens), "completion_tokens": 9})(body)

    return reply


def refused(message: str, **more: Any) -> Sent:
    """As Google sends it: in a list."""
    return Sent(400, [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", **more}}])


def event(choice: Body) -> bytes:
    head = {"id": "fake", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
    return f"data: {json.dumps({**head, 'choices': [{'index': 0, **choice}]})}\n\n".encode()


def called(arguments: Any) -> Reply:
    call = {"id": "c", "type": "function", "function": {"name": "answer", "arguments": arguments}}
    return said(None, finish="tool_calls", tool_calls=[call])


def unless_streamed(refused: Reply) -> Reply:
    """Refused as long as the usage of a stream is asked for."""
    return lambda body: streamed()(body) if "stream_options" not in body else refused(body)


FORMED: Callable[[Body], bool] = lambda body: form_of(body) == ""  # noqa: E731
NO_SYSTEM: Callable[[Body], bool] = lambda body: "system" not in {one["role"] for one in body["messages"]}  # noqa: E731
ROOMY: Callable[[Body], bool] = lambda body: body["max_tokens"] >= 2000  # noqa: E731
A_MINUTE = (
    "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7294, reduce your message size"
)
EXTRA = {
    "type": "extra_forbidden",
    "loc": ["body", "stream_options", "include_usage"],
    "msg": "Extra inputs are not permitted",
}
BEFORE = [b": OPENROUTER PROCESSING\n\n", b'data: {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}\n\n']
EATEN = said("", finish="length", usage={"prompt_tokens": 300, "completion_tokens": 1024}, reasoning="Hm. " * 99)
PLAIN_ONLY: Reply = lambda body: said("It rises in the Grey Hills." if form_of(body) == "plain" else "Well.")(body)  # noqa: E731

ANSWERED: dict[str, tuple[int, list[Reply]]] = {
    "a reply to the schema": (1, [said()]),
    "reasoning_content beside it (vLLM, DeepSeek)": (1, [said(reasoning_content=f"Perhaps {DRAFT}?")]),
    "reasoning beside it (Ollama, OpenRouter)": (1, [said(reasoning=f"Perhaps {DRAFT}?")]),
    "all of it in reasoning_content (LM Studio, vLLM)": (1, [said(None, reasoning_content=GOOD)]),
    "all of it in reasoning (vLLM since .12)": (1, [said("", reasoning=f"So: {DRAFT} No, wait. {GOOD}")]),
    "<think> with a draft": (1, [said(f"<think>Maybe {DRAFT}</think>\n\n{GOOD}")]),
    "<think> never ended": (1, [said(f"<think>Maybe {DRAFT}, but it says so. {GOOD}")]),
    "the end of a thought alone (GLM)": (1, [said(f"It says so.\n</think>\n{GOOD}")]),
    "[THINK] (Magistral)": (1, [said(f"[THINK]Maybe {DRAFT}[/THINK]{GOOD}")]),
    "the marks of Kimi": (1, [said(f"◁think▷Maybe {DRAFT}◁/think▷{GOOD}")]),
    "the channel of Gemma": (1, [said(f"<|channel>thought\nMaybe {DRAFT}<channel|>{GOOD}")]),
    "harmony with its marks (mlx-lm)": (
        1,
        [
            said(
                f"<|channel|>analysis<|message|>Maybe {DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}"
            )
        ],
    ),
    "harmony, its final channel constrained": (
        1,
        [said(f"<|channel|>final <|constrain|>json<|message|>{GOOD}<|return|>")],
    ),
    "harmony without marks (tokens dropped)": (1, [said(f"analysisMaybe {DRAFT}. Check.assistantfinal{GOOD}")]),
    "harmony, commentary alone (TensorRT-LLM)": (1, [said(f"<|channel|>commentary<|message|>{GOOD}<|end|>")]),
    "a draft, prose, and the final one in a fence": (1, [said(f"{DRAFT}\nOn second thoughts:\n```json\n{GOOD}\n```")]),
    "a draft of the wrong form": (1, [said('{"thoughts": "?"} ' + GOOD)]),
    "Python's quotes": (1, [said(repr(ANSWER))]),
    "a function called unasked": (1, [called(GOOD)]),
    "its arguments as an object": (1, [called(ANSWER)]),
    "content in parts": (1, [said([{"type": "text", "text": GOOD}])]),
    "no usage": (1, [said(usage=None)]),
    "usage null inside": (1, [said(usage={"prompt_tokens": None, "completion_tokens": None})]),
    "a sentence without a quote": (1, [said(BARE)]),
    "a sentence in plain text": (3, [PLAIN_ONLY]),
    "nothing to a schema": (2, [unless(lambda body: form_of(body) == "", said(""))]),
    "no schema": (2, [unless(lambda body: form_of(body) == "", status(400, "response_format is not supported"))]),
    "a grammar that fails (500)": (
        2,
        [unless(lambda body: form_of(body) == "", status(500, "Failed to parse grammar"))],
    ),
    "reasoning that needs room": (2, [unless(lambda body: body["max_tokens"] >= 4000, EATEN)]),
    "no end of white space after a bracket (Qwen)": (3, [said("{" + "\n " * 900, finish="length")] * 2 + [PLAIN_ONLY]),
    "no temperature": (
        2,
        [unless(lambda body: "temperature" not in body, status(400, "Unsupported value: 'temperature'"))],
    ),
    "max_tokens under its newer name": (
        2,
        [
            unless(
                lambda body: "max_tokens" not in body,
                status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            )
        ],
    ),
    "limits of a schema refused": (
        2,
        [unless(lambda body: "maxLength" not in json.dumps(body), status(400, "'maxLength' is not permitted"))],
    ),
    "the model is loading (llama.cpp)": (2, [status(503, "Loading model"), said()]),
    "busy for a moment": (2, [status(429, "slow down", retry_after="0.05"), said()]),
    "429 inside status 200": (
        2,
        [status(200, {"error": {"code": 429, "message": "Rate limit exceeded, retry in 0.05s"}}), said()],
    ),
    "502 inside a choice (OpenRouter)": (
        2,
        [said('{"ans', finish="error", error={"code": 502, "message": "Provider returned error"}), said()],
    ),
    "an end by network_error (z.AI)": (2, [said("", finish="network_error"), said()]),
    "no choices": (2, [status(200, {"id": "x", "choices": None}), said()]),
    "a window smaller than declared": (
        2,
        [
            status(
                400,
                {"error": {"message": "request (2100 tokens) exceeds the available context size (2048 tokens)"}},
            ),
            said(),
        ],
    ),
    "a prompt cut without a word (Ollama)": (2, [cut_to(1024)]),
    "a stream": (1, [streamed()]),
    "a stream with reasoning": (1, [streamed(reasoning_content=f"Maybe {DRAFT}.")]),
    "a stream of reasoning alone": (1, [streamed("", reasoning=GOOD)]),
    "a stream that ends in an error": (2, [streamed('{"ans', finish="error"), streamed()]),
    "a stream with an empty finish_reason in every chunk (Ollama, SGLang)": (
        1,
        [
            lambda _: Sent(
                0, [part.replace(b'"finish_reason": null', b'"finish_reason": ""') for part in events(GOOD, USAGE)]
            )
        ],
    ),
    "a stream that never says it has ended (proxies of Gemini)": (1, [streamed(finish="")]),
    "a stream with comments (OpenRouter), then filter results (Azure)": (
        1,
        [lambda _: Sent(0, [*BEFORE, *events(GOOD, USAGE)])],
    ),
    "stream_options refused by pydantic (Mistral)": (
        2,
        [
            unless_streamed(
                status(422, {"object": "error", "message": {"detail": [EXTRA]}, "type": "invalid_request_error"})
            )
        ],
    ),
    "include_usage of a stream refused (Databricks)": (
        2,
        [unless_streamed(status(400, 'Stream option "include_usage" is not supported for this model'))],
    ),
    "the schema itself (small models)": (
        2,
        [said('{"type": "object", "properties": {"answer": {"type": "string"}}}'), said()],
    ),
    **{
        f"no system role ({words})": (2, [unless(NO_SYSTEM, status(400, words))])
        for words in (
            "Developer instruction is not enabled for models/gemma-3-27b-it",
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            "System role not supported",
            "Conversation roles must alternate user/assistant/user/assistant/...",
        )
    },
    "JSON that a server could not make (Groq)": (
        2,
        [
            unless(
                FORMED,
                status(400, {"error": {"message": "Failed to generate JSON.", "code": "json_validate_failed"}}),
            )
        ],
    ),
    "a type of format that is unavailable (DeepSeek)": (
        2,
        [unless(FORMED, status(422, "response_format.type `json_schema` is unavailable now"))],
    ),
    "a keyword of a schema unknown (Gemini)": (
        2,
        [
            unless(
                FORMED,
                lambda _: refused("Unknown name \"additionalProperties\" at 'generation_config.response_schema'"),
            )
        ],
    ),
    "no provider for a format (OpenRouter)": (
        2,
        [unless(FORMED, status(404, "No endpoints found that can handle the requested parameters."))],
    ),
    "temperature deprecated (Anthropic)": (
        2,
        [unless(lambda body: "temperature" not in body, status(400, "`temperature` is deprecated for this model."))],
    ),
    "a temperature of 1 alone (Kimi)": (
        2,
        [unless(lambda body: "temperature" not in body, status(400, "invalid temperature: only 1 is allowed"))],
    ),
    "more tokens than are allowed in a minute (Groq)": (2, [status(413, A_MINUTE), said()]),
    "the same as 429 (OpenAI)": (2, [status(429, A_MINUTE), said()]),
    "a body too large for a proxy (nginx)": (
        2,
        [lambda _: Sent(413, "<html><head><title>413 Request Entity Too Large</title></head></html>"), said()],
    ),
    "parts, one of them reasoning (Mistral)": (
        1,
        [said([{"type": "thinking", "thinking": [{"type": "text", "text": DRAFT}]}, {"type": "text", "text": GOOD}])],
    ),
    "reasoning parts alone": (1, [said([{"type": "thinking", "thinking": [{"type": "text", "text": GOOD}]}])]),
    "reasoning_details alone (OpenRouter)": (
        1,
        [said("", reasoning_details=[{"type": "reasoning.text", "text": GOOD}])],
    ),
    "parts of another type, or of none": (1, [said([{"type": "output_text", "text": GOOD[:9]}, {"text": GOOD[9:]}])]),
    "content parsed already": (1, [said(ANSWER)]),
    "JSON in JSON": (1, [said(json.dumps(GOOD))]),
    "a function called the older way": (1, [said(None, function_call={"name": "answer", "arguments": GOOD})]),
    "a function called with values (LiteLLM)": (1, [called(json.dumps({"values": ANSWER}))]),
    "MAX_TOKENS, and nothing said (Gemini)": (
        2,
        [unless(ROOMY, said("", "MAX_TOKENS", {"prompt_tokens": 300, "completion_tokens": 0}))],
    ),
    "cut off by max_tokens (Anthropic)": (2, [unless(ROOMY, said(GOOD[:40], "max_tokens"))]),
    "no content at all": (
        2,
        [
            unless(
                ROOMY, lambda _: Sent(200, {"choices": [{"message": {"role": "assistant"}, "finish_reason": "length"}]})
            )
        ],
    ),
    "null once, and no tokens (Ollama's cloud)": (
        2,
        [said(None, usage={"prompt_tokens": 0, "completion_tokens": 0}), said()],
    ),
    "a count without cached tokens, as if cut short (Anthropic behind a proxy)": (
        1,
        [said(usage={"prompt_tokens": 150, "completion_tokens": 40, "cache_read_input_tokens": 2400})],
    ),
    "a stream with null for a delta (Azure)": (
        1,
        [lambda _: Sent(0, [event({"finish_reason": None}), *events(GOOD, USAGE), event({"delta": None})])],
    ),
    "a stream with null events and pings": (
        1,
        [lambda _: Sent(0, [b"data: null\n\nevent: ping\ndata: {}\n\ndata:\n\n", *events(GOOD, USAGE)])],
    ),
    "a stream of one whole message": (
        1,
        [lambda _: Sent(0, [event({"message": {"content": GOOD}, "finish_reason": "stop"})])],
    ),
    "no stream where one was asked for, and called text": (
        1,
        [lambda _: Sent(200, completion(GOOD, USAGE), (("Content-Type", "text/plain"),))],
    ),
    "one where none was asked for (gateways)": (1, [lambda _: Sent(0, events(GOOD, USAGE))]),
    "white space before a body, to keep a connection (DeepSeek)": (
        1,
        [lambda _: Sent(200, "\n\n  \n" + json.dumps(completion(GOOD, USAGE)))],
    ),
    "an error as an event": (
        2,
        [streamed('{"ans', finish="", more=[b'data: {"error": {"code": 502, "message": "upstream"}}\n\n']), streamed()],
    ),
}

UPSTREAM = {"code": 502, "message": "Provider returned error", "metadata": {"raw": "upstream is down"}}
CREDIT = {"message": "Provider returned error", "metadata": {"raw": "more credits, or fewer max_tokens"}}
TOLD: dict[str, tuple[int, str, list[Reply]]] = {
    "reasoning without end": (2, r"used all 4,096 tokens .*raise max_output_tokens .*thinking off", [EATEN]),
    "reasoning and no reply": (3, "all of it is reasoning", [said("<think>Hm. I wonder.")]),
    "a key refused inside status 200": (
        1,
        "No auth credentials",
        [status(200, {"error": {"code": 401, "message": "No auth credentials found"}})],
    ),
    "no credit, in the provider's words": (
        1,
        "more credits, or fewer max_tokens",
        [status(402, {"error": CREDIT})],
    ),
    "a provider that fails for good": (
        3,
        "Provider returned error upstream is down",
        [said("", finish="error", error=UPSTREAM)],
    ),
    "a prompt that is filtered (Azure)": (
        1,
        "content management policy",
        [status(400, {"error": {"message": "triggering Azure's content management policy", "code": "content_filter"}})],
    ),
    "more tokens than are allowed in a minute, always": (2, "TPM.*Limit 6000", [status(413, A_MINUTE)]),
    "more to write than a model may": (
        2,
        "less than or equal to 512",
        [
            status(
                400, "max_tokens must be less than or equal to 512, the maximum value for max_tokens is less than ..."
            )
        ],
    ),
    "too little memory (Ollama)": (
        3,
        "requires more system memory",
        [status(500, "model requires more system memory")],
    ),
    "a page in place of an error (nginx)": (
        3,
        r"502: a web page \(502 Bad Gateway\)$",
        [lambda _: Sent(502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>")],
    ),
    "nothing there, with status 200 (LM Studio)": (
        1,
        "Unexpected endpoint.*the address",
        [status(200, {"error": "Unexpected endpoint or method. (POST /chat/completions)"})],
    ),
    "nothing there (FastAPI)": (1, "status 404: Not Found", [status(404, {"detail": "Not Found"})]),
    "no such model": (1, "try pulling it first", [status(404, 'model "m" not found, try pulling it first')]),
    "a login page": (1, "a web page", [lambda _: Sent(200, "<!DOCTYPE html><title>Log in</title>")]),
}


@pytest.fixture(autouse=True)
def _loads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LOADING_SECONDS", 0.05)


def follow(fake: FakeAI, replies: list[Reply]) -> None:
    """Send these replies in order, the last for ever."""

    def as_scripted(handler: Handler, _fake: FakeAI, asked: Asked) -> None:
        sent = replies[min(asked.number, len(replies)) - 1](asked.body)
        if sent.status == 0:
            handler.send_events(sent.body)
        else:
            content = sent.body if isinstance(sent.body, str) else json.dumps(sent.body)
            handler.send(sent.status, content.encode(), dict(sent.headers))

    FAULTS["as scripted"] = as_scripted
    fake.always = "as scripted"


@pytest.mark.parametrize("what", ANSWERED)
def test_it_is_answered(
    fake: FakeAI, speaking: Speaking, isk: Unit, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    calls, replies = ANSWERED[what]
    follow(fake, replies)
    evidence = (
        isk,
        *(passage(f"Filler {number}", f"{ISK.lower()} " * 9) for number in range(12 if " cut " in what else 0)),
    )
    reading = speaking(stream="stream" in what or "event" in what).perform(Read(QUESTION, evidence)).value
    assert reading.answer is not None
    assert HILLS in reading.answer
    span = reading.steps[-1].support[0]
    assert (span.document, isk.text[span.start - 7 : span.end - 7]) == (
        "d-Isk",
        "It rises in the Grey Hills and is 90 km long.",
    )
    assert reading.supported
    assert len(fake.log) == calls
    assert ("num_ctx" in caplog.text) == ("prompt cut" in what)


@pytest.mark.parametrize("what", TOLD)
def test_it_is_told(fake: FakeAI, speaking: Speaking, isk: Unit, what: str) -> None:
    calls, words, replies = TOLD[what]
    follow(fake, replies)
    with pytest.raises(HoptrailError, match=words):
        speaking().perform(Read(QUESTION, (isk,)))
    assert len(fake.log) == calls


@pytest.mark.parametrize(
    "reply",
    [
        said("", finish="content_filter"),
        said(None, refusal="I can't help."),
        said("", finish="sensitive"),
        said(None, finish="SAFETY"),
    ],
)
def test_declining_is_an_abstention(fake: FakeAI, speaking: Speaking, isk: Unit, reply: Reply) -> None:
    follow(fake, [reply])
    assert speaking().perform(Read(QUESTION, (isk,))).value.answer is None
    assert len(fake.log) == 1


def test_a_prompt_that_is_cut_twice_is_told(
    fake: FakeAI, speaking: Speaking, isk: Unit, caplog: pytest.LogCaptureFixture
) -> None:
    """What came is used, and the remedy is named."""
    none = json.dumps({"steps": [], "answer": None})
    follow(fake, [said(none, usage={"prompt_tokens": tokens, "completion_tokens": 9}) for tokens in (1800, 300)])
    units = (isk, *(passage(f"Filler {number}", f"{ISK} " * 20) for number in range(8)))
    assert speaking().perform(Read(QUESTION, units)).value.answer is None
    assert len(fake.log) == 2
    assert caplog.text.count("OLLAMA_CONTEXT_LENGTH") == 2
    caplog.clear()
    follow(fake, [said(none, usage={"prompt_tokens": 200, "completion_tokens": 9})])
    assert speaking().perform(Read("What is too long for 200 tokens?", units)).value.answer is None
    assert (len(fake.log), "asked once more" in caplog.text) == (3, False)
    assert "what it says completely is used" in caplog.text
