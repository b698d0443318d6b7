"""A chat server that answers as its brain says and misbehaves as its plan says, over real HTTP on this machine.

It keeps its own bill: a call is billed when the model ran, whether or not the client ever got the reply. It keeps a log of
what it was asked, and when. Its faults stand in `faults.py`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Brain = Callable[[Body], str]


def made_up_vectors(texts: list[str]) -> list[list[float]]:
    return [[1.0, float(len(text))] for text in texts]


def count_tokens(text: str) -> int:
    """The server's own tokeniser: near enough to ours to be plausible, never the same."""
    return -(-len(text) * 10 // 37)


@dataclass(frozen=True)
class Asked:
    """A request as it came in. `seconds` is the monotonic clock."""

    number: int
    seconds: float
    body: Body
    fault: str | None
    key: str | None
    path: str = ""

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])

    @property
    def form(self) -> str:
        return form_of(self.body)


def form_of(body: Body) -> str:
    """How a form is asked for: json_schema, plain, or nothing: in the prompt."""
    if "response_format" not in body and "Reply in plain text" in body["messages"][-1]["content"]:
        return "plain"
    return str(body.get("response_format", {}).get("type", ""))


@dataclass
class Bill:
    """What the server would send an invoice for."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass
class FakeAI:
    """`plan` names the fault of the n-th request (from 1), or `always` that of every other; `choose` may decide instead.

    With `several` it gives as many replies as `n` asks for, each what its brain says then. `drip` is the pause between two bytes
    of the faults that drip; `elsewhere` is where redirects point.
    """

    brain: Brain
    plan: Mapping[int, str] = field(default_factory=dict)
    always: str | None = None
    choose: Callable[[int, Body], str | None] | None = None
    seconds: float = 0.0  # how long the model takes
    embed: Callable[[list[str]], list[list[float]]] = made_up_vectors
    drip: float = 0.2
    elsewhere: str = ""
    retry_after: str = "0.3"
    models: list[str] = field(default_factory=list)
    pages: dict[str, Any] = field(default_factory=dict)  # what it says to GET, by path
    several: bool = False  # whether it knows `n`
    pace: float = 0.0  # the pause before each event of a stream
    log: list[Asked] = field(default_factory=list)
    bill: Bill = field(default_factory=Bill)
    busiest: int = 0  # the most requests whose model ran at a time
    port: int = 0

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.running: set[int] = set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def enter(self, body: Body, key: str | None, path: str) -> Asked:
        with self.lock:
            number = len(self.log) + 1
            fault = self.choose(number, body) if self.choose else self.plan.get(number, self.always)
            asked = Asked(number, time.monotonic(), body, fault, key, path)
            self.log.append(asked)
            self.running.add(number)
            self.busiest = max(self.busiest, len(self.running))
        return asked

    def leave(self, asked: Asked) -> None:
        """The model is done. Called before the last byte goes out: a client that has it may ask anew at once."""
        with self.lock:
            self.running.discard(asked.number)

    def charge(self, body: Body, content: str, *more: str) -> dict[str, int]:
        """Enter a call in the bill; its usage as the reply gives it."""
        prompt = sum(count_tokens(message["content"]) for message in body["messages"])
        completion = count_tokens(content) + sum(map(count_tokens, more))
        with self.lock:
            self.bill.calls += 1
            self.bill.prompt_tokens += prompt
            self.bill.completion_tokens += completion
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, fake: FakeAI) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.fake = fake

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients go away in the middle: that is their right."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    asked: Asked
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        from fakeai.faults import misbehave

        self.close_connection = True
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.partition("?")[0].endswith("/embeddings"):
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            rows = [{"index": at, "embedding": row} for at, row in enumerate(self.server.fake.embed(texts))]
            self.send(200, json.dumps({"object": "list", "model": body.get("model"), "data": rows}).encode())
            return
        fake = self.server.fake
        self.asked = asked = fake.enter(body, self.headers["Authorization"], self.path)
        try:
            if fake.models and body["model"] not in fake.models:
                self.send(404, b'{"error": {"message": "no such model", "code": "model_not_found"}}')
            elif asked.fault:
                misbehave(self, fake, asked)
            else:
                self.answer(body, fake.brain(body))
        finally:
            fake.leave(asked)

    def do_GET(self) -> None:
        self.close_connection = True
        page = self.server.fake.pages.get(self.path)
        self.send(404 if page is None else 200, json.dumps(page).encode())

    def answer(self, body: Body, content: str, **changes: Any) -> None:
        """A whole, good reply, but for `changes`: of the `finish` reason, the `usage`, the `message`."""
        fake = self.server.fake
        if fake.seconds:
            fake.closing.wait(fake.seconds)
        more = [fake.brain(body) for _ in range(1, body.get("n", 1) if fake.several else 1)]
        usage: Any = fake.charge(body, content, *more)
        usage = changes.pop("usage", usage)
        fake.leave(self.asked)
        if body.get("stream"):
            self.send_events(events(content, usage, **changes))
        else:
            whole = completion(content, usage, **changes)
            whole["choices"] += [choice for text in more for choice in completion(text, None)["choices"]]
            self.send(200, json.dumps(whole).encode())

    def send_events(self, parts: list[bytes], *, done: bool = True) -> None:
        self.start(200, {"Content-Type": "text/event-stream"})
        for part in [*parts, *([b"data: [DONE]\n\n"] if done else [])]:
            self.server.fake.closing.wait(self.server.fake.pace)
            self.wfile.write(part)
            self.wfile.flush()

    def send(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.start(status, {"Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})})
        self.wfile.write(content)

    def start(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name that http.server gives it)
        pass


def completion(content: str | None, usage: Any, *, finish: str = "stop", **changes: Any) -> Body:
    """The JSON body of a reply; a change named `message` updates the message."""
    message = {"role": "assistant", "content": content} | changes.get("message", {})
    made: Body = {
        "id": "fake",
        "object": "chat.completion",
        "created": 1,
        "model": "fake",
        "choices": [
            {"index": 0, "message": message, "finish_reason": finish, "logprobs": None},
        ],
        "usage": usage,
    }
    if made["usage"] is None:
        del made["usage"]
    return made


def events(content: str, usage: Any, finish: str | None = "stop", message: Body | None = None) -> list[bytes]:
    """The same reply as server-sent events, a few characters each, without the closing mark."""
    said = {"content": content} | (message or {})
    deltas: list[tuple[Body, str | None]] = [
        ({name: text[at : at + 7]}, None) for name, text in said.items() if text for at in range(0, len(text), 7)
    ]
    if finish:
        deltas.append(({}, finish))
    chunks: list[Body] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]} for delta, reason in deltas
    ]
    chunks.append({"choices": [], "usage": usage})
    head = {"id": "fake", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
    return [f"data: {json.dumps(head | chunk, ensure_ascii=False)}\n\n".encode() for chunk in chunks]


@contextmanager
def serving(fake: FakeAI) -> Iterator[FakeAI]:
    """Run the server in a thread."""
    server = Server(fake)
    fake.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        fake.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
