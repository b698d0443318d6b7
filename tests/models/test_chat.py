"""One try of a chat call against a real server that misbehaves. Rows A3, A4, A5, A6, A14, A16 and D12 of the fault table."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

from fakeai.clients import KEY, Endpoint, endpoint_at, quick_settings, request
from fakeai.faults import FAULTS, good, status
from fakeai.server import Body, FakeAI, form_of, serving
from hoptrail.errors import UsageError
from hoptrail.index.settings import Settings, settings_from, to_toml
from hoptrail.models import client
from hoptrail.models.chat import ChatSettings, Rung
from hoptrail.models.chat_endpoint import read_replies
from hoptrail.models.client import CallFailed, FailureKind, failure_of_status
from hoptrail.models.environment import NO_KEY, Address, find_address
from hoptrail_papers.hirag.web_search import WebSearch, WebSearchSettings

WORDS = "日本の首都は東京です。 The capital is Tōkyō — 🗼."


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: WORDS)) as running:
        yield running


def failure(fake: FakeAI, fault: str, **changes: object) -> CallFailed:
    fake.always = fault
    with pytest.raises(CallFailed) as caught:
        endpoint_at(fake, **changes).send(request())
    return caught.value


def test_a_call_sends_what_was_asked_and_reads_the_reply(fake: FakeAI) -> None:
    reply = endpoint_at(fake).send(request("What is this?", tokens=77, rung=Rung.SCHEMA))
    assert (reply.text, reply.finish, reply.estimated) == (WORDS, "stop", False)
    assert (reply.prompt_tokens, reply.completion_tokens) == (fake.bill.prompt_tokens, fake.bill.completion_tokens)
    body = fake.log[0].body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("fake", 0.0, 77)
    assert body["messages"][1] == {"role": "user", "content": "What is this?"}
    assert body["response_format"]["json_schema"]["name"] == "answer"
    assert fake.log[0].key == f"Bearer {KEY}"


def test_a_notebook_whose_thread_has_an_event_loop_asks_too(fake: FakeAI) -> None:
    async def cell() -> str:
        return endpoint_at(fake).send(request()).text

    assert asyncio.run(cell()) == endpoint_at(fake).send(request()).text


@pytest.mark.parametrize("fault", ["hang", "whole, then open"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("notebook", [False, True])
def test_an_interrupt_ends_a_call_at_once(fake: FakeAI, fault: str, stream: bool, notebook: bool) -> None:
    """Also where the reply is there and the connection stays open."""
    fake.always = fault
    endpoint = endpoint_at(fake, stream=stream, deadline_seconds=20.0)

    async def cell() -> None:
        endpoint.send(request())

    def interrupt() -> None:
        while not fake.log:
            time.sleep(0.01)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # processes of parallel tests ignore it
    loop, thread, started = asyncio.new_event_loop(), threading.Thread(target=interrupt), time.monotonic()
    thread.start()
    with closing(loop), pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(cell()) if notebook else endpoint.send(request())
    thread.join()
    signal.signal(signal.SIGINT, handler)
    assert time.monotonic() - started < 10


def test_each_rung_asks_in_its_own_way(fake: FakeAI) -> None:
    for rung in Rung:
        endpoint_at(fake).send(request(rung=rung))
    assert [asked.form for asked in fake.log] == ["json_schema", "", ""]
    assert len({request(rung=rung).key for rung in Rung}) == len(Rung)


def test_a_negative_temperature_is_not_sent(fake: FakeAI) -> None:
    endpoint_at(fake).send(replace(request(), temperature=-1.0))
    assert "temperature" not in fake.log[0].body


def refusing(name: str, words: str, code: str = "unsupported_parameter") -> Callable[[int, Body], str | None]:
    """A server that answers 400 in these words to every body with this parameter."""
    FAULTS[f"no {name}"] = status(400, words, code)
    return lambda _, body: f"no {name}" if name in body else None


def test_max_tokens_is_called_by_its_newer_name_where_the_older_is_refused(fake: FakeAI) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    fake.choose = refusing("max_tokens", words)
    endpoint = endpoint_at(fake)
    assert [endpoint.send(request(text)).text for text in ("one", "two")] == [WORDS, WORDS]
    said = [[name for name in asked.body if name.startswith("max")] for asked in fake.log]
    assert said == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]], "found out once"


def test_only_in_plain_text_words_said_before_are_made_less_likely(fake: FakeAI) -> None:
    fake.choose = refusing(
        "frequency_penalty", "Unsupported parameter: 'frequency_penalty' is not supported with this model."
    )
    endpoint = endpoint_at(fake)
    for rung in Rung:
        endpoint.send(request(rung=rung))
    endpoint.send(request("again", rung=Rung.PLAIN))
    assert [asked.body.get("frequency_penalty") for asked in fake.log] == [None, None, 0.5, None, None]


LIMITED = '{"type": "object", "properties": {"answer": {"type": "string", "maxLength": 160}}}'


@pytest.mark.parametrize(
    "words",
    [
        "Invalid schema for response_format 'answer': In context=('properties', 'answer'), 'maxLength' is not permitted.",
        "The provided JSON schema contains features not supported by xgrammar.",
        "The specified schema produces a constraint that has too many states for serving.",
    ],
)
def test_a_schema_goes_without_its_limits_where_they_are_refused(fake: FakeAI, words: str) -> None:
    FAULTS["limits"] = status(400, words)
    fake.choose = lambda _, body: (
        "limits" if "maxLength" in json.dumps(body) and form_of(body) == "json_schema" else None
    )
    endpoint = endpoint_at(fake)
    for text in ("one", "two"):
        assert endpoint.send(replace(request(text, rung=Rung.SCHEMA), schema=LIMITED)).text == WORDS
    said = [(asked.form, "maxLength" in json.dumps(asked.body)) for asked in fake.log]
    assert said == [
        ("json_schema", True),
        *[("json_schema", False)] * 2,
    ], "found out once"


def test_a_form_that_is_refused_without_limits_too_is_refused(fake: FakeAI) -> None:
    words = "response_format.json_schema: extra fields not permitted, given {'schema': {'maxLength': 160}}"
    FAULTS["quoting"] = status(422, words)
    fake.always = "quoting"
    with pytest.raises(CallFailed) as caught:
        endpoint_at(fake).send(replace(request(rung=Rung.SCHEMA), schema=LIMITED))
    assert caught.value.kind is FailureKind.FORMAT
    assert len(fake.log) == 2


def test_a_limit_that_is_too_high_is_not_a_parameter_that_is_unknown(fake: FakeAI) -> None:
    fake.choose = refusing("max_tokens", "max_tokens must be at most 50", "invalid_value")
    assert failure(fake, "no max_tokens").kind is FailureKind.FORMAT
    assert len(fake.log) == 1


def test_a_parameter_that_a_model_refuses_is_left_out_and_that_is_said(
    fake: FakeAI, caplog: pytest.LogCaptureFixture
) -> None:
    words = "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported."
    fake.choose = refusing("temperature", words)
    endpoint = endpoint_at(fake)
    assert [endpoint.send(request(text)).text for text in ("one", "two")] == [WORDS, WORDS]
    assert ["temperature" in asked.body for asked in fake.log] == [True, False, False]
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith("the endpoint refuses temperature, which is left out from now on")


def test_a_refused_form_is_no_refused_parameter_even_where_the_request_is_quoted(fake: FakeAI) -> None:
    fake.choose = refusing(
        "response_format", "response_format: unknown. In: {'messages': [{'role': 'system'}], 'temperature': 0.0}"
    )
    endpoint = endpoint_at(fake)
    with pytest.raises(CallFailed):
        endpoint.send(request(rung=Rung.SCHEMA))
    assert endpoint.send(request()).text == WORDS
    assert [(asked.form, asked.body["temperature"]) for asked in fake.log] == [("json_schema", 0.0), ("", 0.0)]


def test_text_that_python_holds_but_unicode_does_not_is_sent_whole(fake: FakeAI) -> None:
    endpoint_at(fake).send(request("lone \ud800 and paired \ud83d\ude00"))
    assert fake.log[0].body["messages"][1]["content"] == "lone \ufffd and paired \U0001f600"


@pytest.mark.parametrize(
    ("fault", "paid"),
    [
        *(("500", False), ("502", False), ("unavailable", False), ("504", True), ("524", True)),
        *(("reset", True), ("reset in body", True)),
    ],
)
def test_a3_server_errors_and_resets_may_pass(fake: FakeAI, fault: str, paid: bool) -> None:
    failed = failure(fake, fault)
    assert failed.kind is FailureKind.PASSING
    assert failed.paid is paid
    assert len(fake.log) == 1, "retries have another owner"


def test_a3_a_connection_that_is_refused_costs_nothing(fake: FakeAI) -> None:
    with ExitStack() as held:
        full = held.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0)).getsockname()
        for _ in range(4):  # more than it holds, so that the next is not heard
            held.enter_context(waiting := socket.socket()).settimeout(0)
            waiting.connect_ex(full)
        for port in (9, full[1]):
            settings = quick_settings(fake, deadline_seconds=0.5)
            nobody = Endpoint(Address(f"http://127.0.0.1:{port}/v1", "fake", KEY), settings)
            with pytest.raises(CallFailed, match="could not be asked") as caught:
                nobody.send(request())
            assert (caught.value.kind, caught.value.paid) == (FailureKind.UNREACHED, False)


@pytest.mark.parametrize("fault", ["per minute", "per minute in a list"])
def test_a1_a_limit_a_minute_that_speaks_of_billing_is_waited_out(fake: FakeAI, fault: str) -> None:
    failed = failure(fake, fault)
    assert failed.kind is FailureKind.BUSY
    assert failed.wait == pytest.approx(0.35)
    assert "billing" in failed.reason
    assert len(failed.reason) < 600


QUOTA = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("headers", "words", "wait"),
    [
        ({}, "Please try again in 20s. Visit", 20.0),
        ({}, "Please try again in 1m3.5s.", 63.5),
        ({}, "Try again in 1h0m2s", 3602.0),
        ({}, "Please retry in 11.6s.", 11.6),
        ({}, "Please retry after 2 minutes.", 120.0),
        ({}, f"{QUOTA} Please retry in 11.6s.", 11.6),
        ({"retry-after": "7"}, f"{QUOTA} Please retry in 11.6s.", 7.0),
        ({"retry-after": "7"}, QUOTA, 7.0),
        ({}, f"{QUOTA} Limit: 3 requests per minute.", None),
        ({}, "Too many requests, try again in 2 more steps", None),
    ],
)
def test_a1_how_long_to_wait_is_read_from_the_header_else_from_the_words(
    headers: dict[str, str], words: str, wait: float | None
) -> None:
    failed = failure_of_status(429, headers, words)
    assert (failed.kind, failed.wait) == (FailureKind.BUSY, wait)


@pytest.mark.parametrize("fault", ["401", "402", "403", "quota", "quota by code"])
def test_a4_refusals_are_final_and_never_show_the_key(fake: FakeAI, fault: str) -> None:
    failed = failure(fake, fault)
    assert failed.kind is FailureKind.REFUSED
    assert not failed.paid
    assert KEY not in "".join(traceback.format_exception(failed))


@pytest.mark.parametrize(
    "words",
    [
        "Your input was flagged.",
        "Blocked by moderation",
        "It violates our content policy",
        "content_policy_violation",
        "Request blocked by guardrails",
    ],
)
def test_a4_a_prompt_that_is_moderated_concerns_itself_alone(words: str) -> None:
    assert failure_of_status(403, {}, words).kind is FailureKind.NONSENSE
    assert failure_of_status(401, {}, words).kind is FailureKind.REFUSED
    assert failure_of_status(403, {}, "not for you").kind is FailureKind.REFUSED


@pytest.mark.parametrize("fault", ["hang", "drip", "drip headers"])
@pytest.mark.parametrize("stream", [False, True])
def test_a5_one_deadline_holds_for_the_whole_call(fake: FakeAI, fault: str, stream: bool) -> None:
    fake.drip = 0.05  # far more often than any limit on a single read, and for longer than a deadline in all
    started = time.monotonic()
    failed = failure(fake, fault, deadline_seconds=0.4, stream=stream)
    assert time.monotonic() - started > 0.3
    assert "0.4 seconds" in failed.reason
    assert (failed.kind, failed.paid) == (FailureKind.PASSING, True)


def test_a5_a_deadline_cuts_its_own_call_only(fake: FakeAI) -> None:
    fake.choose = lambda number, _: "drip" if number == 1 else None
    endpoint = endpoint_at(fake, deadline_seconds=2.0)
    slow: list[CallFailed] = []

    def ask_slowly() -> None:
        with pytest.raises(CallFailed) as caught:
            endpoint.send(request())
        slow.append(caught.value)

    thread = threading.Thread(target=ask_slowly)
    thread.start()
    while not fake.log:
        time.sleep(0.01)
    assert [endpoint.send(request()).text for _ in range(5)] == [WORDS] * 5
    thread.join()
    assert len(slow) == 1


@pytest.mark.parametrize("fault", ["stream cut", "stream malformed", "stream error"])
def test_a6_a_stream_that_breaks_is_no_reply_but_may_be_asked_again(fake: FakeAI, fault: str) -> None:
    failed = failure(fake, fault, stream=True)
    assert (failed.kind, failed.paid) == (FailureKind.PASSING, True)


@pytest.mark.parametrize("fault", [None, "stream by bytes", "stream without end mark"])
def test_a6_a_whole_stream_is_read_however_it_is_cut_up(fake: FakeAI, fault: str | None) -> None:
    fake.always = fault
    reply = endpoint_at(fake, stream=True).send(request())
    assert (reply.text, reply.finish, reply.estimated) == (WORDS, "stop", False)
    assert reply.completion_tokens == fake.bill.completion_tokens


@pytest.mark.parametrize("fault", ["whole, then cut", "whole, then open"])
@pytest.mark.parametrize("stream", [False, True])
def test_a6_a_reply_that_was_told_whole_counts_however_its_connection_ends(
    fake: FakeAI, fault: str, stream: bool
) -> None:
    fake.always = fault
    endpoint = endpoint_at(fake, stream=stream, deadline_seconds=1.5)
    reply = endpoint.send(request())
    assert (reply.text, reply.finish, reply.estimated) == (WORDS, "stop", False)
    assert (reply.prompt_tokens, reply.completion_tokens) == (fake.bill.prompt_tokens, fake.bill.completion_tokens)


@pytest.mark.parametrize(
    ("fault", "stream"),
    [
        *(("stream of numbers", True), ("stream of an abyss", True), ("stream of strange choices", True)),
        *(("gzip that is none", False), ("gzip that is none", True), ("500 in gzip that is none", False)),
    ],
)
def test_a6_whatever_a_server_sends_costs_that_call_alone(fake: FakeAI, fault: str, stream: bool) -> None:
    failed = failure(fake, fault, stream=stream)
    assert (failed.kind, failed.paid) == (FailureKind.PASSING, True)


def test_a6_a_stream_in_parts_is_read(fake: FakeAI) -> None:
    fake.always = "stream of parts"
    assert endpoint_at(fake, stream=True).send(request()).text == "in parts"
    begun, ended = b'data: {"choices": [{"delta": {"content": "parts"},', b'data: "finish_reason": "stop"}]}'
    for end in (b"\n", b"\r", b"\r\n"):
        lines = end.join([begun, ended, b"", b"data: [DONE]", b"", b""])
        for at in range(len(lines)):
            assert read(lines[:at], lines[at:]) == "parts"
        unspaced = (begun + ended[5:] + end) * 2
        assert read(unspaced) == "partsparts"


@pytest.mark.parametrize("stream", [False, True])
def test_the_arguments_of_a_function_that_is_called_unasked_are_the_reply(fake: FakeAI, stream: bool) -> None:
    calls = [{"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": '{"answer": "x"}'}}]
    FAULTS["a call"] = good(message={"content": None, "tool_calls": calls})
    fake.always = "a call"
    assert endpoint_at(fake, stream=stream).send(request()).text == '{"answer": "x"}'


@pytest.mark.parametrize("calls", [[None], {"a": 1}, [{"function": "f"}], "f", [{"function": {"arguments": None}}]])
def test_calls_in_no_form_of_the_protocol_do_not_spoil_a_reply(fake: FakeAI, calls: object) -> None:
    FAULTS["odd calls"] = good(message={"content": "Tarnwick", "tool_calls": calls})
    fake.always = "odd calls"
    assert endpoint_at(fake).send(request()).text == "Tarnwick"


def test_a6_a_finish_that_is_no_text_becomes_one(fake: FakeAI) -> None:
    """A recording of it could not be read otherwise."""
    fake.always = "a number for finish"
    assert [endpoint_at(fake, stream=stream).send(request()).finish for stream in (False, True)] == ["5", "5"]


def test_a1_a_date_beyond_time_is_no_time_to_wait(fake: FakeAI) -> None:
    failed = failure(fake, "429 until beyond time")
    assert (failed.kind, failed.wait) == (FailureKind.BUSY, None)


def test_the_reason_of_a_failure_can_be_written_down(fake: FakeAI) -> None:
    assert "oh \N{REPLACEMENT CHARACTER}" in failure(fake, "half a character").reason


@pytest.mark.parametrize("stream", [False, True])
def test_a17_a_refusal_in_a_field_of_its_own_is_read(fake: FakeAI, stream: bool) -> None:
    fake.always = "refusal field"
    reply = endpoint_at(fake, stream=stream).send(request())
    assert (reply.text, reply.refusal, reply.finish) == ("", "I can't help with that.", "stop")


def test_a9_an_endless_stream_is_cut_off_by_us(fake: FakeAI) -> None:
    fake.always = "stream of loops"
    reply = endpoint_at(fake, stream=True).send(request())
    assert reply.finish == "length"
    assert len(reply.text) < 10_000
    assert reply.estimated


@pytest.mark.parametrize(
    "fault",
    [
        *("no usage", "zero usage", "negative usage", "absurd usage", "usage of words", "usage in words"),
        "usage in a list",
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a14_usage_that_cannot_be_right_is_replaced_and_flagged(fake: FakeAI, fault: str, stream: bool) -> None:
    fake.always = fault
    reply = endpoint_at(fake, stream=stream).send(request("words " * 100))
    assert reply.estimated
    assert reply.prompt_tokens == request("words " * 100).prompt_tokens
    assert 0 < reply.completion_tokens < 2 * fake.bill.completion_tokens


def test_a16_redirects_are_not_followed(fake: FakeAI) -> None:
    with serving(FakeAI(lambda _: "from elsewhere")) as other:
        fake.elsewhere = other.address
        failed = failure(fake, "redirect")
        assert other.log == []
    assert failed.kind is FailureKind.NONSENSE
    assert "307" in failed.reason


def test_a16_a_login_page_is_no_reply(fake: FakeAI) -> None:
    failed = failure(fake, "web page")
    assert failed.kind is FailureKind.NONSENSE
    assert "web page" in failed.reason


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b'{"choices": []}', b'{"choices": [{}]}', b"[" * 100_000])
def test_a_body_that_is_no_reply_is_refused(content: bytes) -> None:
    with pytest.raises(CallFailed, match="not a chat reply"):
        read(content)


def read(*chunks: bytes) -> str:
    async def sent() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return asyncio.run(read_replies(sent(), request()))[0].text


def test_content_may_come_in_parts_or_not_at_all() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    for content, text in ((parts, "ab"), (None, ""), ("c", "c")):
        body = json.dumps({"choices": [{"message": {"content": content}, "finish_reason": None}]}).encode()
        assert read(body[:9], body[9:]) == text


@pytest.mark.parametrize(
    ("fault", "stream", "paid"),
    [("endless body", False, True), ("endless event", True, True), ("endless 500", False, False)],
)
def test_what_has_no_end_is_not_read_to_its_end(
    fake: FakeAI, monkeypatch: pytest.MonkeyPatch, fault: str, stream: bool, paid: bool
) -> None:
    monkeypatch.setattr(client, "LARGEST_BODY", 1_000_000)
    failed = failure(fake, fault, stream=stream)
    assert failed.reason == "sent more than 1,000,000 bytes"
    assert (failed.kind, failed.paid) == (FailureKind.NONSENSE, paid)


def test_what_grows_when_it_is_unpacked_is_not_unpacked_to_its_end(
    fake: FakeAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LARGEST_BODY", 1_000_000)
    assert "more than 1,000,000 bytes" in failure(fake, "20 MB packed").reason


def test_a_query_in_the_address_goes_with_every_request(fake: FakeAI) -> None:
    address = Address(f"{fake.address}/?api-version=2024-10-21&a=x%26y&a=%2B", "fake", KEY)
    Endpoint(address, quick_settings(fake)).send(request())
    path, _, query = fake.log[0].path.partition("?")
    assert path == "/v1/chat/completions"
    assert parse_qsl(query) == [("api-version", "2024-10-21"), ("a", "x&y"), ("a", "+")]


def test_a12_a_prompt_that_is_too_long_is_told_from_other_bad_requests(fake: FakeAI) -> None:
    fake.always = "small window"
    with pytest.raises(CallFailed) as caught:
        endpoint_at(fake).send(request("word " * 2000))
    assert caught.value.kind is FailureKind.CONTEXT
    fake.always = "no schema"
    with pytest.raises(CallFailed) as caught:
        endpoint_at(fake).send(request(rung=Rung.SCHEMA))
    assert caught.value.kind is FailureKind.FORMAT


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (
            422,
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
        ),
        (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000"),
        (400, "This model's maximum prompt length is 131072 but the request contains 153452 tokens."),
        (400, "Input is too long for requested model."),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
        (400, "the request exceeds the available context size, try increasing it exceed_context_size_error"),
        (500, "context shift is disabled; the request exceeds the available context size"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    ],
)
def test_a12_servers_say_in_many_words_that_a_prompt_is_too_long(status: int, words: str) -> None:
    assert failure_of_status(status, {}, words).kind is FailureKind.CONTEXT


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (500, "CUDA out of memory", FailureKind.PASSING),
        (503, "the maximum number of tokens of this minute is used up", FailureKind.PASSING),
        (422, "Input validation error: `temperature` must be strictly positive", FailureKind.FORMAT),
        (422, "`inputs` must be a string", FailureKind.FORMAT),
        (400, "the input is not valid", FailureKind.FORMAT),
    ],
)
def test_a12_other_words_mean_something_else(status: int, words: str, kind: FailureKind) -> None:
    assert failure_of_status(status, {}, words).kind is kind


def test_keys_differ_with_everything_that_shapes_the_reply() -> None:
    base = request()
    others = [
        request("What is that?"),
        request(tokens=101),
        request(rung=Rung.SCHEMA),
        request(rung=Rung.PLAIN),
        request(place="http://other/v1"),
        replace(base, model="other"),
        replace(base, temperature=0.5),
        replace(base, task="recall"),
        replace(request(rung=Rung.SCHEMA), schema="{}"),
    ]
    assert len({one.key for one in [base, *others]}) == 10
    assert request().key == base.key
    assert replace(base, schema="{}", documents=("d1",)).key == base.key, "what is not sent does not count"


def test_d12_the_key_shows_in_no_form_of_the_objects_that_hold_it(fake: FakeAI) -> None:
    address = Address("http://user:password@host:8000/v1?token=abc", "m", KEY)
    endpoint = endpoint_at(fake)
    shown = repr(address) + str(endpoint) + repr(endpoint) + repr(vars(endpoint))
    assert KEY not in shown
    assert address.place == "http://host:8000/v1"


def test_the_environment_is_read_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "HOPTRAIL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="set OPENAI_BASE_URL"):
        find_address("chat")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:11434/v1/")
    with pytest.raises(UsageError, match="set HOPTRAIL_MODEL"):
        find_address("chat")
    monkeypatch.setenv("HOPTRAIL_MODEL", "tiny")
    monkeypatch.setenv("MY_KEY", KEY)
    found = find_address("chat", key_variable="MY_KEY")
    assert (found.place, found.model, found.key) == ("http://localhost:11434/v1", "tiny", KEY)
    assert find_address("chat", "https://elsewhere/v1", "large").model == "large"


@pytest.mark.parametrize("key", ["sk–test-0123456789", "sk-test\r\nX: y", "sk-“test”", "sk-\x7f"])
def test_a_key_that_no_header_can_carry_is_refused_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(UsageError, match="the key in MY_KEY has characters") as caught:
        find_address("chat", "http://host/v1", "m", "MY_KEY")
    assert key not in str(caught.value)
    with pytest.raises(UsageError, match="the key in MY_KEY has characters"):
        WebSearch(WebSearchSettings("serper", "http://host/search", "MY_KEY"))


def test_space_around_a_key_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f" {KEY}\r\n")
    assert find_address("chat", "http://host/v1", "m", "MY_KEY").key == KEY
    monkeypatch.setenv("MY_KEY", " \n")
    assert find_address("chat", "http://host/v1", "m", "MY_KEY").key == NO_KEY


@pytest.mark.parametrize(
    "address", ["localhost:8000", "ftp://host/v1", "http://", "http://host:port/v1", "file:///etc"]
)
def test_addresses_that_are_none_are_refused(address: str) -> None:
    with pytest.raises(UsageError, match="http"):
        find_address("chat", address, "m")


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_output_tokens": 0},
        {"concurrency": 0},
        {"attempts": 0},
        {"context_window": 1000},
        {"deadline_seconds": 0.0},
        {"backoff_seconds": -1.0},
        {"limit_calls": -1},
        {"structured": "xml"},
        {"key": "sk-secret"},
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        settings_from({"chat": wrong}, "test.toml")


def test_settings_come_back_from_their_toml_and_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    import tomllib

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = Settings(chat=ChatSettings(model="m", limit_money=2.5, stream=True))
    text = to_toml(settings)
    assert settings_from(tomllib.loads(text), "test.toml") == settings
    assert KEY not in text
