"""The endpoint encoder against a real local server that answers well or badly on request. Row A10 of the fault table."""

from __future__ import annotations

import base64
import json
import math
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from hoptrail.errors import ModelUnavailable, UsageError
from hoptrail.models import client
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.models.endpoint import EndpointEncoder
from hoptrail.models.environment import Address

Row = dict[str, Any]


def vector(text: str) -> list[float]:
    return [float(len(text)), float(text.count("a")), 1.0]


class Server(ThreadingHTTPServer):
    """Answers as `behaviour` says; remembers what it was asked."""

    daemon_threads = True

    def __init__(self, behaviour: str = "good") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviour = behaviour
        self.elsewhere = ""
        self.closing = threading.Event()
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients go away in the middle: that is their right."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        self.server.keys.append(self.headers["Authorization"])
        if self.server.behaviour in ENDLESS:
            self.send_response(200)
            self.end_headers()
            while not self.server.closing.wait(ENDLESS[self.server.behaviour]):
                self.wfile.write(b" " if self.server.behaviour == "dripping" else b" " * 100_000)
                self.wfile.flush()
            return
        status, headers, reply = self.reply([{"index": n, "embedding": vector(t)} for n, t in enumerate(body["input"])])
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def reply(self, rows: list[Row]) -> tuple[int, dict[str, str], bytes]:
        kind = self.server.behaviour
        if kind == "busy" or (kind == "busy once" and len(self.server.asked) == 1):
            return 429, {"Retry-After": "0.01", "x-should-retry": "true"}, b'{"error": {"message": "slow down"}}'
        if kind == "unknown model":
            return 404, {}, b'{"error": {"message": "no such model"}}'
        if kind == "redirect":
            return 307, {"Location": self.server.elsewhere + "/embeddings"}, b""
        if kind in LIMITS and (fault := LIMITS[kind](self.server.asked[-1]["input"])):
            return fault[0], {}, json.dumps({"error": {"message": fault[1]}}).encode()
        if kind in WHOLE:
            return 200, {}, WHOLE[kind]
        return 200, {}, json.dumps({"object": "list", "data": CHANGES.get(kind, same)(rows)}).encode()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name that http.server gives it)
        pass


def same(rows: list[Row]) -> list[Row]:
    return rows


def last(value: object) -> Any:
    return lambda rows: [*rows[:-1], rows[-1] | {"embedding": value}]


CHANGES: dict[str, Any] = {
    "one missing": lambda rows: rows[:-1],
    "one too many": lambda rows: [*rows, rows[0] | {"index": len(rows)}],
    "all at 0": lambda rows: [row | {"index": 0} for row in rows],
    "one shorter": last([1.0, 2.0]),
    "empty": lambda rows: [row | {"embedding": []} for row in rows],
    "not a number": last([1.0, math.nan, 1.0]),
    "infinite": last([1.0, math.inf, 1.0]),
    "too large": last([10**400, 1, 1]),
    "zeros": last([0.0, 0.0, 0.0]),
    "strings": last(["1.0", "2.0", "3.0"]),
    "nulls": last([None, 1.0, 1.0]),
    "truth values": last([True, 1.0, 1.0]),
    "no base64": last("AACAPwAAgD8AAIA"),
    "nested": last([[1.0], [1.0], [1.0]]),
    "not rows": lambda rows: [1.0 for _ in rows],
    "no index": lambda rows: [{"embedding": row["embedding"]} for row in rows],
}
LIMITS: dict[str, Callable[[list[str]], tuple[int, str] | None]] = {
    "ten": lambda texts: (400, "batch size should not be larger than 10") if len(texts) > 10 else None,
    "three": lambda texts: (413, "too many inputs") if len(texts) > 3 else None,
    "400 characters each": lambda texts: (422, "input is too large") if max(map(len, texts)) > 400 else None,
    "400 characters each (llama.cpp)": lambda texts: (
        (500, "input is too large to process. increase the physical batch size") if max(map(len, texts)) > 400 else None
    ),
    "nothing": lambda _: (400, "no embeddings here"),
}
"""What a server refuses: the status and its words."""
WHOLE = {"not JSON": b"<html>hello</html>", "a list": b"[]", "no data": b"{}", "deep": b"[" * 100_000, "nothing": b""}

ENDLESS = {"dripping": 0.1, "without end": 0.0}
"""Bodies that go on for ever, and the seconds between two of their parts."""


@pytest.fixture
def server() -> Iterator[Server]:
    yield from serve(Server())


def serve(server: Server) -> Iterator[Server]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def other() -> Iterator[Server]:
    yield from serve(Server())


@pytest.fixture
def encoder(server: Server) -> EndpointEncoder:
    return EndpointEncoder(Address(server.address, "tiny-model", "secret-key"), batch=4, retries=2)


def test_vectors_come_in_order_and_of_length_one(server: Server, encoder: EndpointEncoder) -> None:
    texts = [f"{'a' * number} ship" for number in range(10)]
    seen: list[tuple[int, int]] = []
    vectors = encoder.encode(texts, lambda done, total: seen.append((done, total)))
    expected = np.array([vector(text) for text in texts])
    assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert [len(body["input"]) for body in server.asked] == [4, 4, 2]
    assert seen == [(4, 10), (8, 10), (10, 10)]
    assert {body["model"] for body in server.asked} == {"tiny-model"}
    assert set(server.keys) == {"Bearer secret-key"}


def test_identity_is_asked_for_once(server: Server, encoder: EndpointEncoder) -> None:
    identity = encoder.identity
    assert (identity.name, identity.dimension) == ("endpoint:tiny-model", 3)
    assert encoder.identity == identity
    assert encoder.encode([]).shape == (0, 3)
    assert len(server.asked) == 1
    elsewhere = EndpointEncoder(Address(server.address, "other-model"))
    assert elsewhere.identity.digest != identity.digest


def test_a_missing_index_is_taken_as_in_order(server: Server, encoder: EndpointEncoder) -> None:
    server.behaviour = "no index"
    assert encoder.encode(["a", "b"]).shape == (2, 3)


def test_odd_texts_are_sent_as_valid_text(server: Server, encoder: EndpointEncoder) -> None:
    encoder.encode(["", "\ud800", "\ud83d\ude00", "\x00"])
    assert server.asked[0]["input"] == [" ", "\ufffd", "\U0001f600", "\x00"]


@pytest.mark.parametrize("behaviour", [*sorted(set(CHANGES) - {"no index"}), *WHOLE])
def test_a10_replies_that_cannot_be_right_are_refused(server: Server, encoder: EndpointEncoder, behaviour: str) -> None:
    encoder.encode(["good first"])
    server.behaviour = behaviour
    with pytest.raises(ModelUnavailable, match="tiny-model") as caught:
        encoder.encode(["one", "two", "three"])
    assert server.address in str(caught.value)
    assert "secret-key" not in str(caught.value)
    server.behaviour = "good"
    assert encoder.encode(["good again"]).shape == (1, 3)


def test_a10_refusals_name_the_sizes(server: Server, encoder: EndpointEncoder) -> None:
    for behaviour, sizes in {"one missing": "2 vectors for 3 texts", "one shorter": "2 and 3 numbers"}.items():
        server.behaviour = behaviour
        with pytest.raises(ModelUnavailable, match=sizes):
            encoder.encode(["one", "two", "three"])


def test_a10_the_dimension_may_not_change(server: Server, encoder: EndpointEncoder) -> None:
    encoder.encode(["one"])
    server.behaviour = "one shorter"
    with pytest.raises(ModelUnavailable, match="2 and 3"):
        encoder.encode(["one"])


def test_a_refused_first_reply_does_not_set_the_dimension(server: Server, encoder: EndpointEncoder) -> None:
    CHANGES["two zeros"] = last([0.0, 0.0])
    server.behaviour = "two zeros"
    with pytest.raises(ModelUnavailable, match="zeros"):
        encoder.encode(["one"])
    server.behaviour = "good"
    assert encoder.identity.dimension == 3


def test_a_busy_endpoint_is_asked_again(server: Server, encoder: EndpointEncoder) -> None:
    server.behaviour = "busy once"
    assert encoder.encode(["one"]).shape == (1, 3)
    assert len(server.asked) == 2


def test_retries_are_bounded(server: Server, encoder: EndpointEncoder) -> None:
    server.behaviour = "busy"
    with pytest.raises(ModelUnavailable, match=r"status 429.*slow down"):
        encoder.encode(["one"])
    assert len(server.asked) == 3


def test_a_refused_request_is_not_repeated(server: Server, encoder: EndpointEncoder) -> None:
    server.behaviour = "unknown model"
    with pytest.raises(ModelUnavailable, match=r"status 404.*no such model"):
        encoder.encode(["one"])
    assert len(server.asked) == 1


def test_one_deadline_holds_for_all_tries_of_a_request(server: Server) -> None:
    server.behaviour = "dripping"
    patient = EndpointEncoder(Address(server.address, "m"), retries=1, seconds=0.3)
    with pytest.raises(ModelUnavailable, match=r"did not finish within 0\.6 seconds"):
        patient.encode(["one"])  # the body goes on for ever


def test_size_is_bounded_while_reading(
    server: Server, encoder: EndpointEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LARGEST_BODY", 1_000_000)
    server.behaviour = "without end"
    with pytest.raises(ModelUnavailable, match="sent more than 1,000,000 bytes"):
        encoder.encode(["one"])
    assert len(server.asked) == 1


def test_redirects_are_not_followed(server: Server, other: Server, encoder: EndpointEncoder) -> None:
    server.behaviour, server.elsewhere = "redirect", other.address
    with pytest.raises(ModelUnavailable, match="status 307"):
        encoder.encode(["one"])
    assert other.asked == []


def test_nobody_listens(server: Server) -> None:
    address = server.address.replace(str(server.server_address[1]), "1")
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:1.*could not be asked"):
        EndpointEncoder(Address(address, "m"), retries=0).encode(["one"])


def test_several_threads_at_once(server: Server, encoder: EndpointEncoder) -> None:
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(len(encoder.encode(["x"] * 9)))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [9] * 5
    assert len(server.asked) == 15


def test_opened_by_name_with_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    assert open_encoder("endpoint:some/model:latest").identity.name == "endpoint:some/model:latest"
    assert server.keys == ["Bearer from-environment"]
    monkeypatch.delenv("OPENAI_API_KEY")
    assert open_encoder("endpoint:m").encode(["text"]).shape == (1, 3)
    monkeypatch.delenv("OPENAI_BASE_URL")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL"):
        open_encoder("endpoint:m")


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(Address("http://localhost", "m", "secret"))


def test_a_batch_that_is_refused_is_halved_and_the_size_remembered(server: Server) -> None:
    for limit, sizes in (
        ("ten", [64, 32, 16, 8, 8, 16, 8, 8, 32, 16, 8, 8, 16, 8, 8, 6]),
        ("three", [8, 4, 2, 2, 4, 2, 2, 2]),
    ):
        encoder = EndpointEncoder(Address(server.address, "m"), batch=sizes[0])
        server.behaviour = limit
        server.asked.clear()
        texts = [f"{'a' * number} ship" for number in range(sizes[0] + sizes[-1])]
        vectors = encoder.encode(texts)
        expected = np.array([vector(text) for text in texts])
        assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
        assert [len(body["input"]) for body in server.asked] == sizes


def test_one_text_that_is_too_long_is_shortened_and_named_and_the_rest_goes_on(
    server: Server, encoder: EndpointEncoder, caplog: pytest.LogCaptureFixture
) -> None:
    for server.behaviour in ("400 characters each", "400 characters each (llama.cpp)"):
        caplog.clear()
        server.asked.clear()
        vectors = encoder.encode(["one", "digits " * 200, "three", "four", "five", "six", "seven", "eight"])
        assert vectors.shape == (8, 3)
        assert "refuses a text of 1400 characters, half of it is encoded ('digits digits" in caplog.text
        assert [len(body["input"]) for body in server.asked] == [4, 2, 1, 1, 1, 1, 2, 4], "no try is repeated"


def test_where_nothing_is_found_the_usual_end_of_an_address_is_named(server: Server) -> None:
    server.behaviour = "unknown model"
    place = server.address.removesuffix("/v1")
    with pytest.raises(ModelUnavailable, match=rf"no such model\. Most servers have their models at {place}/v1"):
        EndpointEncoder(Address(place, "m")).encode(["one"])


def test_what_no_smaller_request_mends_is_refused_with_the_reason(server: Server, encoder: EndpointEncoder) -> None:
    server.behaviour = "nothing"
    with pytest.raises(ModelUnavailable, match="status 400: no embeddings here"):
        encoder.encode(["one", "two", "three", "four"])
    assert len(server.asked) == 3


def test_vectors_are_put_in_the_order_of_their_numbers_and_read_from_base64(
    server: Server, encoder: EndpointEncoder
) -> None:
    texts = ["a", "aa", "ship"]
    expected = encoder.encode(texts)
    CHANGES["backwards"] = lambda rows: rows[::-1]
    CHANGES["in base64"] = lambda rows: [
        row | {"embedding": base64.b64encode(np.array(row["embedding"], "<f4").tobytes()).decode()} for row in rows
    ]
    CHANGES["in a list of its own"] = lambda rows: [row | {"embedding": [row["embedding"]]} for row in rows]
    for behaviour in ("backwards", "in base64", "in a list of its own"):
        server.behaviour = behaviour
        assert np.allclose(encoder.encode(texts), expected, atol=1e-6)


def test_the_size_of_a_batch_can_be_set(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.address)
    encoder = open_encoder("endpoint:m?batch=2")
    assert encoder.identity.name == "endpoint:m"
    encoder.encode(["one", "two", "three"])
    assert [len(body["input"]) for body in server.asked[1:]] == [2, 1]
    for wrong in ("endpoint:m?batch=0", "endpoint:m?batch=many", "endpoint:m?batch="):
        with pytest.raises(UsageError, match="size of a batch"):
            open_encoder(wrong)
