"""Keys stay out of logs and messages, whatever the server echoes. Row D12 of the fault table."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from fakeai.clients import KEY, Endpoint, quick_settings, request
from fakeai.server import FakeAI, serving
from hoptrail.errors import ModelUnavailable
from hoptrail.models.client import CallFailed
from hoptrail.models.endpoint import EndpointEncoder
from hoptrail.models.environment import Address, without, without_whole

PASSWORD, TOKEN = "pass-word%2F-1", "token-0123456789abcdef"


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: "hello")) as running:
        yield running


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that any logger says, written as users would have it written."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.setLevel(level)
    root.removeHandler(handler)


FAULTS = (
    None,
    "echo",
    "echo for status",
    "echo cut off",
    "401",
    "402",
    "403",
    "quota",
    "web page",
    "reset",
    "redirect",
)


@pytest.mark.parametrize("stream", [False, True])
def test_d12_a_key_that_the_server_echoes_reaches_no_log_no_reply_and_no_reason(
    fake: FakeAI, log: io.StringIO, stream: bool
) -> None:
    address = fake.address.replace("http://", f"http://someone:{PASSWORD}@") + f"/?token={TOKEN}"
    endpoint = Endpoint(Address(address, "fake", KEY), quick_settings(fake, stream=stream, deadline_seconds=2.0))
    said = []
    for fault in FAULTS:
        fake.always = fault
        try:
            said.append(endpoint.send(request()).text)
        except CallFailed as failure:
            said.append(failure.reason)
    shown = "\n".join([log.getvalue(), *said])
    assert "receive_response_headers" in shown, "the library's log is on"
    assert "X-Echo" in shown
    for secret in (KEY, KEY[:12], PASSWORD, "pass-word/-1", TOKEN):
        assert secret not in shown


def test_d12_an_embeddings_endpoint_shows_no_key_either(fake: FakeAI, log: io.StringIO) -> None:
    address = fake.address.replace("http://", f"http://someone:{PASSWORD}@")
    fake.embed = lambda _: []
    with pytest.raises(ModelUnavailable) as caught:
        EndpointEncoder(Address(f"{address}/models?k={KEY}", "none", KEY), retries=0).encode(["text"])
    assert KEY not in log.getvalue() + str(caught.value)
    assert PASSWORD not in log.getvalue() + str(caught.value)
    assert "HTTP Request: POST" in log.getvalue()


@pytest.mark.parametrize(
    ("before", "after", "secret"),
    [
        ("token-as-user-0123456789@", "", "token-as-user"),
        ("short-token@", "", "short-token"),
        ("token-as-user-0123456789:pass-word@", "", "token-as-user"),
        ("", "?sig=abc+defghijklmnop0123", "defghijklm"),
        ("", "?sig=abc%2fdefghijklmnop0123&x=1", "defghijklm"),
        ("", "?sig=abc/defghijklmnop0123", "defghijklm"),
        ("", "?sig=%61bc~defghijklmnop0123", "defghijklm"),
    ],
)
def test_d12_what_stands_in_an_address_reaches_no_log(
    fake: FakeAI, log: io.StringIO, before: str, after: str, secret: str
) -> None:
    address = fake.address.replace("http://", f"http://{before}") + after
    assert Endpoint(Address(address, "fake", KEY), quick_settings(fake)).send(request()).text == "hello"
    assert EndpointEncoder(Address(address, "fake", KEY), retries=0).encode(["text"]).shape == (1, 2)
    assert log.getvalue().count("HTTP Request: POST http") == 2
    assert secret not in log.getvalue()


def test_who_asks_and_which_version_is_meant_is_no_secret() -> None:
    address = Address("http://someone:pass-word@host/v1?api-version=2024-12-01-preview&stream=1", "m", KEY)
    assert address.secrets == (KEY, "pass-word")


def test_every_logger_of_the_http_libraries_is_covered(fake: FakeAI) -> None:
    Endpoint(Address(fake.address, "fake", KEY), quick_settings(fake)).send(request())
    names = [
        name for name in logging.root.manager.loggerDict if name.split(".")[0] in {"httpx2", "httpcore2", "openai"}
    ]
    assert len(names) > 5
    for name in names:
        for level in (logging.DEBUG, logging.ERROR):
            logger = logging.getLogger(name)
            record = logger.makeRecord(name, level, "file", 1, "seen %r", (KEY.encode(),), _raised())
            assert logger.filter(record)
            assert KEY not in logging.Formatter().format(record)
            assert "RuntimeError" in logging.Formatter().format(record)


def _raised() -> tuple[type[BaseException], BaseException, None]:
    error = RuntimeError(f"wrong key {KEY}")
    return type(error), error, None


def test_what_is_replaced() -> None:
    assert without("a sk-0123456789 b", ["sk-0123456789"]) == "a (key) b"
    assert without("cut off: sk-01234567", ["sk-0123456789"]) == "cut off: (key)"
    assert without("sk-0123456789sk-0123456789", ["sk-0123456789"]) == "(key)(key)"
    assert without("none of it", ["none", ""]) == "none of it", "the key that means no key is none"
    assert without_whole("keys begin with sk-01234567", "sk-0123456789") == "keys begin with sk-01234567"
    assert without_whole("it is sk-0123456789", "sk-0123456789") == "it is (key)"
