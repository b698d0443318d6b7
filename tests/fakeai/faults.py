"""Every way in which the server misbehaves, by name. Where the model ran before things went wrong, the call is billed."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from fakeai.server import Asked, FakeAI, completion, events

if TYPE_CHECKING:
    from fakeai.server import Handler

Fault = Callable[["Handler", FakeAI, Asked], None]


def misbehave(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    assert asked.fault is not None
    FAULTS[asked.fault](handler, fake, asked)


def status(number: int, message: str, code: str = "", headers: dict[str, str] | None = None) -> Fault:
    def fault(handler: Handler, _fake: FakeAI, asked: Asked) -> None:
        echoed = message.replace("$KEY", asked.key or "")
        handler.send(number, json.dumps({"error": {"message": echoed, "code": code}}).encode(), headers)

    return fault


def error_in_list(number: int, message: str, name: str) -> Fault:
    """As Gemini sends it."""

    def fault(handler: Handler, _fake: FakeAI, _asked: Asked) -> None:
        error = {"code": number, "message": message, "status": name}
        handler.send(number, json.dumps([{"error": error}]).encode())

    return fault


def busy_seconds(handler: Handler, fake: FakeAI, _asked: Asked) -> None:
    handler.send(429, b'{"error": {"message": "slow down"}}', {"Retry-After": fake.retry_after})


def busy_date(handler: Handler, _fake: FakeAI, _asked: Asked) -> None:
    now = time.time() - 3600  # the server's clock is wrong: only the difference may count
    content = b'{"error": {"message": "slow down"}}'
    handler.wfile.write(
        b"HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\n"
        + f"Date: {formatdate(now, usegmt=True)}\r\nRetry-After: {formatdate(now + 1, usegmt=True)}\r\n".encode()
        + f"Content-Length: {len(content)}\r\n\r\n".encode()
        + content
    )


def good(**changes: Any) -> Fault:
    def fault(handler: Handler, fake: FakeAI, asked: Asked) -> None:
        handler.answer(asked.body, fake.brain(asked.body), **changes)

    return fault


def saying(text: str | Callable[[str], str], **changes: Any) -> Fault:
    """A reply of these words, or of what becomes of the brain's."""

    def fault(handler: Handler, fake: FakeAI, asked: Asked) -> None:
        handler.answer(asked.body, text if isinstance(text, str) else text(fake.brain(asked.body)), **changes)

    return fault


def gateway_timeout(number: int) -> Fault:
    """The model runs, and what stands before it does not wait for it."""

    def fault(handler: Handler, fake: FakeAI, asked: Asked) -> None:
        fake.charge(asked.body, fake.brain(asked.body))
        handler.send(number, b"upstream request timeout")

    return fault


def reset(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    fake.charge(asked.body, fake.brain(asked.body))
    _reset(handler)


def reset_in_body(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    content = _whole(fake, asked)
    handler.start(200, {"Content-Type": "application/json", "Content-Length": str(len(content))})
    handler.wfile.write(content[: len(content) // 2])
    handler.wfile.flush()
    _reset(handler)


def hang(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    content = _whole(fake, asked)
    handler.start(200, {"Content-Type": "application/json", "Content-Length": str(len(content))})
    handler.wfile.flush()
    fake.closing.wait(300)  # longer than a test may take


def drip(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    content = _whole(fake, asked)
    handler.start(200, {"Content-Type": "application/json", "Content-Length": str(len(content))})
    _drip(handler, fake, content)


def drip_headers(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    _whole(fake, asked)
    _drip(handler, fake, b"HTTP/1.1 200 OK\r\nX-Slow: " + b"s" * 400)


def web_page(handler: Handler, _fake: FakeAI, _asked: Asked) -> None:
    handler.send(200, b"<!DOCTYPE html><html><title>Log in</title></html>", {"X-Kind": "login"})


def echo(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    """A good reply that says the key wherever a reply can."""
    content = json.dumps(completion(f"You are {asked.key}.", fake.charge(asked.body, ""))).encode()
    headers = {"X-Echo": asked.key or "", "X-Request-Id": asked.key or "", "Content-Length": str(len(content))}
    handler.send_response(200, f"hello {asked.key}")
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(content)


def echo_for_status(handler: Handler, _fake: FakeAI, asked: Asked) -> None:
    """No HTTP at all: the library's error quotes it."""
    handler.wfile.write(f"HTTQ/{asked.key}\r\n\r\n".encode())


def echo_cut_off(handler: Handler, _fake: FakeAI, asked: Asked) -> None:
    """Long words, so that a cut falls into the key wherever it is made."""
    handler.send(500, json.dumps({"error": {"message": f"{asked.key} " * 100}}).encode())


def redirect(handler: Handler, fake: FakeAI, _asked: Asked) -> None:
    handler.send(307, b"", {"Location": f"{fake.elsewhere}/chat/completions"})


def no_schema(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    if asked.form == "json_schema":
        handler.send(400, b'{"error": {"message": "response_format json_schema is not supported"}}')
    else:
        handler.answer(asked.body, fake.brain(asked.body))


def small_window(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    """A window of 900 tokens, whatever was declared."""
    if len(asked.prompt) / 3.7 > 900:
        words = "This model's maximum context length is 900 tokens. Please reduce the length of the messages."
        handler.send(400, json.dumps({"error": {"message": words, "code": "context_length_exceeded"}}).encode())
    else:
        handler.answer(asked.body, fake.brain(asked.body))


def stream_cut(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    content = fake.brain(asked.body)
    parts = events(content, fake.charge(asked.body, content), finish=None)
    handler.send_events(parts[: max(1, len(parts) // 2)], done=False)


def stream_malformed(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    content = fake.brain(asked.body)
    parts = events(content, fake.charge(asked.body, content))
    handler.send_events([parts[0], b'data: {"choices": [{"del\n\n', *parts[1:]])


def stream_without_end_mark(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    content = fake.brain(asked.body)
    handler.send_events(events(content, fake.charge(asked.body, content)), done=False)


def stream_by_bytes(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    """Every write is one byte, so every character beyond ASCII is split."""
    content = fake.brain(asked.body)
    whole = b"".join(events(content, fake.charge(asked.body, content)))
    handler.send_events([whole[at : at + 1] for at in range(len(whole))])


def stream_error(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    content = fake.brain(asked.body)
    parts = events(content, fake.charge(asked.body, content))
    handler.send_events([*parts[:2], b'data: {"error": {"message": "the model crashed"}}\n\n'], done=False)


def whole_then(seconds: float) -> Fault:
    """All is told, in parts whose last is never sent: the connection ends after `seconds`."""

    def fault(handler: Handler, fake: FakeAI, asked: Asked) -> None:
        content = fake.brain(asked.body)
        usage = fake.charge(asked.body, content)
        stream = bool(asked.body.get("stream"))
        parts = events(content, usage) if stream else [json.dumps(completion(content, usage)).encode()]
        kind = "text/event-stream" if stream else "application/json"
        handler.start(200, {"Content-Type": kind, "Transfer-Encoding": "chunked"})
        for part in parts:
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
            handler.wfile.flush()
        fake.closing.wait(seconds)

    return fault


def says_gzip(number: int) -> Fault:
    """What is sent is none."""

    def fault(handler: Handler, fake: FakeAI, asked: Asked) -> None:
        handler.send(number, _whole(fake, asked), {"Content-Encoding": "gzip"})

    return fault


def endless(number: int, kind: str, begin: bytes = b"") -> Fault:
    def fault(handler: Handler, fake: FakeAI, _asked: Asked) -> None:
        handler.start(number, {"Content-Type": kind})
        handler.wfile.write(begin)
        while not fake.closing.is_set():
            handler.wfile.write(b" " * 100_000)

    return fault


def packed(size: int) -> Fault:
    def fault(handler: Handler, _fake: FakeAI, _asked: Asked) -> None:
        handler.send(200, gzip.compress(b" " * size), {"Content-Encoding": "gzip"})

    return fault


def stream_of(*parts: bytes) -> Fault:
    """These events, and the end."""

    def fault(handler: Handler, fake: FakeAI, asked: Asked) -> None:
        fake.charge(asked.body, fake.brain(asked.body))
        handler.send_events(list(parts))

    return fault


def stream_of_loops(handler: Handler, fake: FakeAI, asked: Asked) -> None:
    """Would go on for ever; the client has to hang up."""
    fake.charge(asked.body, "and so on, " * 600)
    parts = events("and so on, " * 600, None, finish=None)[:-1]
    handler.start(200, {"Content-Type": "text/event-stream"})
    while not fake.closing.is_set():
        for part in parts:
            handler.wfile.write(part)
        handler.wfile.flush()


def _whole(fake: FakeAI, asked: Asked) -> bytes:
    content = fake.brain(asked.body)
    return json.dumps(completion(content, fake.charge(asked.body, content))).encode()


def _drip(handler: Handler, fake: FakeAI, content: bytes) -> None:
    for at in range(len(content)):
        handler.wfile.write(content[at : at + 1])
        handler.wfile.flush()
        if fake.closing.wait(fake.drip):
            return


def _reset(handler: Handler) -> None:
    """End the connection with a reset instead of a goodbye."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def _single_quotes(text: str) -> str:
    return repr(json.loads(text))


FAULTS: dict[str, Fault] = {
    "busy seconds": busy_seconds,
    "busy date": busy_date,
    "busy": status(429, "slow down"),
    "unavailable": status(503, "upstream connect error"),
    "500": status(500, "oh no"),
    "502": status(502, "bad gateway"),
    "504": gateway_timeout(504),
    "524": gateway_timeout(524),
    "reset": reset,
    "reset in body": reset_in_body,
    "401": status(401, "Incorrect API key provided: $KEY", "invalid_api_key"),
    "402": status(402, "payment required for $KEY"),
    "403": status(403, "not for you, $KEY"),
    "moderated": status(403, "Your chosen model requires moderation, and your input was flagged for violence."),
    "quota": status(429, "You exceeded your current quota, please check your plan and billing details."),
    "quota by code": status(429, "No.", "insufficient_quota"),
    "per minute": status(
        429,
        "Rate limit reached for fake on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 350ms. You "
        "can increase your rate limit by adding a payment method at https://platform.openai.com/account/billing.",
        "rate_limit_exceeded",
    ),
    "per minute in a list": error_in_list(
        429,
        "You exceeded your current quota, please check your plan and billing details. "
        + "To monitor your usage, head to: https://ai.dev/usage. * Quota exceeded for metric: free_tier_requests. " * 6
        + "Please retry in 0.35s.",
        "RESOURCE_EXHAUSTED",
    ),
    "hang": hang,
    "drip": drip,
    "drip headers": drip_headers,
    "stream cut": stream_cut,
    "stream malformed": stream_malformed,
    "stream without end mark": stream_without_end_mark,
    "stream by bytes": stream_by_bytes,
    "stream error": stream_error,
    "stream of loops": stream_of_loops,
    "stream of parts": good(message={"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]}),
    "stream of numbers": good(message={"content": [1, 2]}),
    "stream of an abyss": stream_of(b"data: " + b"[" * 100_000 + b"\n\n"),
    "stream of strange choices": stream_of(b'data: {"choices": {"a": 1}}\n\n', b'data: {"choices": ["x"]}\n\n'),
    "a number for finish": good(finish=5),
    "whole, then cut": whole_then(0),
    "whole, then open": whole_then(30),
    "gzip that is none": says_gzip(200),
    "500 in gzip that is none": says_gzip(500),
    "429 until beyond time": status(
        429, "slow down", "", {"Date": "x", "Retry-After": f"Mon, 01 Jan 2024 00:00:00 +{'9' * 20}"}
    ),
    "endless body": endless(200, "application/json"),
    "endless event": endless(200, "text/event-stream", b"data: "),
    "endless 500": endless(500, "application/json"),
    "20 MB packed": packed(20_000_000),
    "half a character": status(500, "oh \ud83d"),
    "usage in words": good(usage="n/a"),
    "usage in a list": good(usage=[1]),
    "cut off": saying(lambda text: text[: len(text) // 2], finish="length"),
    "cut at its limit": saying(lambda text: text, finish="length"),
    "only reasoning": saying("", finish="length", message={"reasoning_content": "Hmm. " * 200}),
    "empty": saying(""),
    "no schema": no_schema,
    "small window": small_window,
    "web page": web_page,
    "redirect": redirect,
    "echo": echo,
    "echo for status": echo_for_status,
    "echo cut off": echo_cut_off,
    "no usage": good(usage=None),
    "zero usage": good(usage={"prompt_tokens": 0, "completion_tokens": 0}),
    "negative usage": good(usage={"prompt_tokens": -5, "completion_tokens": -7}),
    "absurd usage": good(usage={"prompt_tokens": 10**12, "completion_tokens": 10**12}),
    "usage of words": good(usage={"prompt_tokens": "many", "completion_tokens": True}),
    "prose around": saying(lambda text: f"Sure! Here {{it}} is:\n\n```json\n{text}\n```\nHope that helps {{you}}."),
    "trailing comma": saying(lambda text: text[:-1] + ",}"),
    "single quotes": saying(_single_quotes),
    "deep": saying("[" * 50 + '{"a":' * 50 + "1" + "}" * 50 + "]" * 50),
    "abyss": saying('{"answer": ' + "[" * 100_000),
    "not a number": saying('{"answer": "x", "steps": [], "confidence": NaN}'),
    "missing field": saying('{"steps": [], "confidence": 1}'),
    "wrong types": saying('{"answer": {"text": ["x"]}, "steps": "none", "confidence": "high"}'),
    "duplicate keys": saying('{"answer": "x", "answer": "y", "steps": [], "confidence": 1}'),
    "20 MB": saying("x" * 20_000_000),
    "20 MB of JSON": saying('{"answer": "' + "x y " * 5_000_000 + '"}'),
    "loop": saying("The answer is the answer. " * 400, finish="length"),
    "thinking": saying(lambda text: f'<think>Is it {{"answer": "no"}}? </think>\n{text}'),
    "thinking without begin": saying(lambda text: f"So, thinking it over.\n</think>\n\n{text}"),
    "tool call": saying(
        lambda text: f'<tool_call>\n{{"name": "reply", "arguments": {text}}}\n</tool_call>',
    ),
    "refusal": saying("I'm sorry, but I cannot help with that."),
    "refusal field": saying("", message={"content": None, "refusal": "I can't help with that."}),
    "filtered": saying("", finish="content_filter"),
    "unknown": saying('{"steps": [], "answer": "The evidence does not say.", "confidence": 0.9}'),
}
