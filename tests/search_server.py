"""A search engine on this machine, over real HTTP, that answers well or badly on request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

WIKI = {
    "query": {
        "pages": [
            {"index": 2, "title": "Isk", "extract": "The Isk is a river.", "fullurl": "https://wiki.example/Isk"},
            {"index": 1, "title": "Orla Finch", "extract": "A designer.", "fullurl": "https://wiki.example/Orla"},
            {"index": 3, "title": "Empty", "extract": " ", "fullurl": "https://wiki.example/Empty"},
        ]
    }
}
SERPER = {
    "organic": [
        {"title": "Isk", "link": "https://web.example/isk", "snippet": "The Isk is a river."},
        {"title": "Bad", "link": "javascript:alert(1)", "snippet": "No address."},
        {"title": 3, "link": "https://web.example/odd", "snippet": "A title that is a number."},
        "nonsense",
    ]
}


class Server(ThreadingHTTPServer):
    """Answers with `reply`, or as `behaviour` says; remembers what it was asked."""

    daemon_threads = True

    def __init__(self, reply: object = None, behaviour: str = "good") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply = reply
        self.behaviour = behaviour
        self.elsewhere = ""
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/search"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self.answer("GET", query)

    def do_POST(self) -> None:
        self.answer("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, method: str, asked: dict[str, Any]) -> None:
        self.server.asked.append((method, asked, dict(self.headers)))
        kind = self.server.behaviour
        status = {"redirect": 302, "refuse": 403, "break": 500}.get(kind, 200)
        body = json.dumps(self.server.reply).encode()
        if kind == "html":
            body = b"<html>Not found</html>"
        elif kind == "deep":
            body = b"[" * 200_000
        elif kind == "refuse":
            body = json.dumps({"message": f"the key {self.headers.get('X-API-KEY')} is wrong"}).encode()
        self.send_response(status, f"because of {self.headers.get('X-API-KEY')}" if kind == "refuse" else None)
        if kind == "redirect":
            self.send_header("Location", self.server.elsewhere)
        if kind == "endless":
            self.endless(body)
            return
        self.send_header("Content-Length", str(len(body) if kind != "short" else len(body) + 10))
        self.end_headers()
        self.wfile.write(body)

    def endless(self, body: bytes) -> None:
        self.end_headers()
        try:
            for byte in body * 1000:
                self.wfile.write(bytes([byte]))
                time.sleep(0.02)
        except OSError:
            pass

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(reply: object = None, behaviour: str = "good") -> Iterator[Server]:
    with Server(reply, behaviour) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()
