"""Every route, found by walking the router, refuses unauthorised requests. Add new routes to REQUESTS here."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
import zipfile
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hoptrail.errors import UsageError
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.guard import HEADERS, OPEN, PAGE_FILES
from hoptrail.serving.server.keys import Keys, find_keys
from hoptrail.types.sources import file_name
from serving.server.served import (
    AGENT,
    NORTH,
    OPERATOR,
    QUESTION,
    SECRET,
    SOUTH,
    MakeApp,
    beside,
    client_of,
    ended,
    new_app,
    upload,
)

Route = tuple[str, str]


@pytest.fixture(scope="module")
def app(built: Path, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return new_app(built, tmp_path_factory.mktemp("served"), keys)


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[TestClient]:
    with client_of(app, NORTH) as opened:
        yield opened


@pytest.fixture
def served(app: FastAPI) -> Path:
    """The folder of the index in the north."""
    folder: Path = app.state.services.workspaces.get("north").index.folder
    return folder


REQUESTS: dict[Route, dict[str, Any]] = {
    ("GET", "/"): {},
    ("GET", "/page/{name}"): {},
    ("GET", "/health"): {},
    ("GET", "/metrics"): {},
    ("GET", "/api/openapi.json"): {},
    ("GET", "/api/workspaces"): {},
    ("GET", "/api/show"): {},
    ("GET", "/api/recipes"): {},
    ("GET", "/api/recipes/{name}/cost"): {},
    ("POST", "/api/recipes/{name}"): {},
    ("GET", "/api/suggestions"): {},
    ("GET", "/api/offer"): {},
    ("POST", "/api/ask"): {"json": {"question": QUESTION}},
    ("POST", "/api/search"): {"json": {"question": QUESTION}},
    ("GET", "/api/documents"): {},
    ("GET", "/api/documents/{name}"): {},
    ("GET", "/api/documents/{name}/original"): {},
    ("DELETE", "/api/documents"): {"params": {"document": "none"}},
    ("POST", "/api/documents"): {"files": [("files", ("a.txt", b"Ash is a tree."))]},
    ("DELETE", "/api/documents/{name}"): {},
    ("GET", "/api/documents/{name}/pages/{number}"): {},
    ("GET", "/api/history"): {},
    ("GET", "/api/history/{name}"): {},
    ("POST", "/api/history/{name}"): {"json": {"name": "Another"}},
    ("DELETE", "/api/history/{name}"): {},
    ("DELETE", "/api/history"): {},
    ("GET", "/api/jobs"): {},
    ("GET", "/api/jobs/{name}"): {},
    ("DELETE", "/api/jobs/{name}"): {},
    ("POST", "/api/jobs/{name}/cancel"): {},
    ("POST", "/api/jobs/{name}/resume"): {},
    ("GET", "/v1/models"): {},
    ("GET", "/v1/models/{name}"): {},
    ("POST", "/v1/chat/completions"): {"json": {"model": "trail", "messages": [{"role": "user", "content": QUESTION}]}},
    ("POST", "/v1/responses"): {"json": {"model": "trail", "input": QUESTION}},
    ("POST", "/mcp"): {"json": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}},
}
"""A request to each route that would have an effect if it were allowed."""

WITHOUT_WORKSPACE = {"/metrics", "/api/workspaces"}
"""Routes that require a key but belong to no single workspace."""


def routes_of(routes: Any) -> Iterator[Route]:
    """Every method and path of a router, including its sub-routers and mounts."""
    for route in routes:
        inner = getattr(route, "original_router", None) or route
        if hasattr(inner, "routes") and not hasattr(route, "methods"):
            yield from ((method, getattr(route, "path", "") + path) for method, path in routes_of(inner.routes))
        else:
            assert route.methods, f"a route that is not of HTTP: {route}"
            yield from ((method, route.path) for method in route.methods if method != "HEAD")


def is_open(path: str) -> bool:
    return path in OPEN or path.startswith(PAGE_FILES)


def send(client: TestClient, route: Route, name: str = "none", **more: Any) -> Any:
    method, path = route
    return client.request(method, path.format(name=name, number=1), **{**REQUESTS[route], **more})


GUARDED = sorted(route for route in REQUESTS if not is_open(route[1]))
OF_WORKSPACES = sorted(route for route in GUARDED if route[1] not in WITHOUT_WORKSPACE)


def test_every_route_is_known_here(app: FastAPI) -> None:
    found = set(routes_of(app.routes))
    assert found == set(REQUESTS), "add the route to REQUESTS"
    described = app.openapi()["paths"]
    assert {(method.upper(), path) for path, methods in described.items() for method in methods} <= found


WRONG: list[dict[Any, Any]] = [
    {},
    {"Authorization": ""},
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer "},
    {"Authorization": "Bearer wrong-key-0123456789"},
    {"Authorization": f"Basic {NORTH}"},
    {"Authorization": NORTH},
    {"Authorization": f"Bearer {NORTH}x"},
    {"Authorization": f"Bearer {NORTH[:-1]}"},
    {"Authorization": b"Bearer \xff\xfe"},
    {"Cookie": f"key={NORTH}"},
    {"X-API-Key": NORTH},
]


@pytest.mark.parametrize("route", GUARDED)
def test_without_a_right_key_there_is_nothing(client: TestClient, route: Route) -> None:
    keyless = beside(client)
    for header, name in zip(WRONG, cycle(["north", "south", "nowhere"]), strict=False):
        answer = send(keyless, route, headers=header, params={"workspace": name})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "no_key"), header
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_open_routes_tell_nothing_about_workspaces(client: TestClient) -> None:
    for route in set(REQUESTS) - set(GUARDED):
        text = send(beside(client), route, "index.html").text
        assert not {word for word in ("north", "south", "Wrenmouth", "zanzibar") if word in text}, route


@pytest.mark.parametrize("route", OF_WORKSPACES)
def test_a_foreign_key_finds_what_does_not_exist(client: TestClient, route: Route) -> None:
    foreign = send(client, route, params={"workspace": "south"})
    absent = send(client, route, params={"workspace": "nowhere"})
    assert foreign.status_code == 404
    assert (foreign.status_code, foreign.content) == (absent.status_code, absent.content)


@pytest.fixture(scope="module")
def ids_of_the_south(client: TestClient) -> list[str]:
    """Of a document, a job and an upload of another workspace."""
    south = beside(client, SOUTH)
    job = upload(south, ("b.txt", b"Birch is a tree."))
    return [south.get("/api/documents").json()["documents"][0]["id"], job["id"], job["items"][0]["id"]]


@pytest.mark.parametrize("route", sorted(route for route in OF_WORKSPACES if "{name}" in route[1]))
def test_guessed_and_foreign_ids_are_not_found(client: TestClient, ids_of_the_south: list[str], route: Route) -> None:
    names = [*ids_of_the_south, "Vault", "d" + "0" * 20]
    names += ["..%2f..%2fsouth", "%00", "..", "%2e%2e%2f", "/etc/passwd", "x" * 5000, "' OR 1=1 --", "$(id)"]
    for name in names:
        answer = send(client, route, name)
        assert answer.status_code in {404, 405}, name
        assert set(answer.json()["error"]) - {"type", "param"} == {"code", "message", "what_to_do"}


def test_nothing_of_another_workspace_is_ever_seen(client: TestClient) -> None:
    answers = [send(client, route).text for route in OF_WORKSPACES]
    question = {"question": "When does the zanzibar vault open?"}
    answers += [client.post(f"/api/{verb}", json=question).text for verb in ("ask", "search")]
    text = "".join(answers).replace(question["question"], "")
    assert "Vault" not in text
    assert "noon" not in text
    assert SECRET not in text


FOREIGN_HOSTS = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1@evil.example",
    "",
    "localhost:0",
    "0.0.0.0",
    "[::",
    "a b",
]
"""A foreign web page can point its own name at this machine (DNS rebinding)."""


@pytest.mark.parametrize("route", sorted(REQUESTS))
def test_another_host_name_gets_nothing(client: TestClient, route: Route) -> None:
    answer = send(client, route, headers={"Host": FOREIGN_HOSTS[0]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong_host")
    assert send(client, route, headers={"Host": "localhost:8765"}).status_code != 421


@pytest.mark.parametrize("route", [("GET", "/"), ("GET", "/api/show"), ("POST", "/mcp")])
def test_a_host_name_is_read_as_a_whole(client: TestClient, route: Route) -> None:
    for host in FOREIGN_HOSTS:
        answer = send(client, route, headers={"Host": host})
        assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong_host"), host
    for host in ("localhost:8765", "127.0.0.1:1", "[::1]:8765", "LOCALHOST"):
        assert send(client, route, headers={"Host": host}).status_code != 421, host


def test_names_are_answered_to_however_they_are_written(make_app: MakeApp) -> None:
    with client_of(make_app(hosts={"Answers.Example.org", "2001:DB8::0001", "[::1]"})) as client:
        for host in ("answers.example.org", "ANSWERS.example.org:8765", "[2001:db8::1]:80", "[::1]"):
            assert client.get("/health", headers={"Host": host}).status_code == 200, host
        for host in ("example.org", "localhost", ""):
            assert client.get("/health", headers={"Host": host}).status_code == 421, host


@pytest.mark.parametrize(
    "name",
    ["https://answers.example.org", "answers.example.org:8765", "answers.example.org/", "*", "", "a b", "[::1]:80"],
)
def test_what_is_no_name_is_not_answered_to(make_app: MakeApp, name: str) -> None:
    with pytest.raises(UsageError, match="not a host name: give it without scheme, port or path"):
        make_app(hosts={name})


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("/srv/secret #1/team/notes.txt", "notes.txt"),
        ("/srv/secret #1/team/c#.md", "c#.md"),
        ("/srv/team/pages.jsonl#https://x.example/a#b", "pages.jsonl#https://x.example/a#b"),
        ("/srv/secret #1/pages.JSONL.gz#7/8", "pages.JSONL.gz#7/8"),
        (f"/srv/north/uploads/n{0:020}.jsonl#notes #1/a.txt", "notes #1/a.txt"),
    ],
)
def test_a_source_is_shown_without_its_folders(source: str, shown: str) -> None:
    assert file_name(source) == shown


@pytest.mark.parametrize("route", sorted(REQUESTS))
def test_another_origin_gets_nothing(client: TestClient, route: Route) -> None:
    for origin in ("http://evil.example", "null", "http://localhost:9", "http://localhost.evil.example", "file://"):
        answer = send(client, route, headers={"Origin": origin})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "foreign_origin"), origin
        assert "access-control-allow-origin" not in answer.headers
    crossing = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    assert send(client, route, headers=crossing).status_code == 403
    assert send(beside(client, OPERATOR), route, headers={"Origin": "http://localhost"}).status_code != 403


@pytest.fixture(scope="module")
def narrow(built: Path, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a server that takes bodies of at most 2000 bytes."""
    app = new_app(built, tmp_path_factory.mktemp("narrow"), keys, ServerLimits(body=2000, upload=2000))
    with client_of(app, NORTH) as opened:
        yield opened


@pytest.mark.parametrize("route", sorted(REQUESTS))
def test_a_body_beyond_the_limit_is_refused(narrow: TestClient, route: Route) -> None:
    """By the declared length or, without one, as soon as the limit is exceeded."""
    method, path = route[0], route[1].format(name="x", number="1")
    response = narrow.request(method, path, content=b"x" * 3000)
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")
    if method == "POST" and "{name}" not in route[1]:
        parts = (b"x" * 500 for _ in range(100))
        untold = narrow.request(method, path, content=parts, headers={"Content-Type": "application/json"})
        assert (untold.status_code, untold.json()["error"]["code"]) == (413, "too_large")
    for length in ("-1", "1e3", "9" * 30, "٣"):
        lying = narrow.request(method, path, headers={b"Content-Length": length.encode()})
        assert lying.status_code == 413, length


@pytest.mark.parametrize(
    "route", sorted(route for route in REQUESTS if route[0] == "POST" and "{name}" not in route[1])
)
def test_bodies_of_a_wrong_kind_are_refused(client: TestClient, route: Route) -> None:
    body = json.dumps({"question": "Who?"}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/xml", "", "multipart/form-data"):
        answer = client.post(route[1], content=body, headers={"Content-Type": kind})
        assert answer.status_code in {400, 415}, kind
    for broken in (
        b"",
        b"{",
        b"null",
        b"[" * 100_000,
        b'{"question": NaN}',
        b"\xff\xfe",
        b'{"question": 1}',
        b'{"quest": "Who?"}',
    ):
        answer = client.post(route[1], content=broken, headers={"Content-Type": "application/json"})
        assert answer.status_code == 400, broken[:20]
        assert set(answer.json()) - {"jsonrpc", "id"} == {"error"}
    packed = client.post(
        route[1], content=body, headers={"Content-Type": "application/json", "Content-Encoding": "gzip"}
    )
    assert packed.status_code == 415


@pytest.mark.parametrize("route", sorted(REQUESTS))
def test_every_response_carries_the_policy(client: TestClient, route: Route) -> None:
    answer = send(client, route)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "server" not in answer.headers


@pytest.mark.parametrize("route", sorted(REQUESTS))
def test_no_response_names_a_place_on_the_machine(client: TestClient, route: Route, served: Path) -> None:
    for name in ("none", "index.html"):
        text = send(client, route, name).text
        assert str(served) not in text
        assert str(served.parent) not in text
        assert "site-packages" not in text
        assert "Traceback" not in text


def test_other_methods_and_addresses_are_refused_in_the_one_shape(client: TestClient) -> None:
    for method, path in (
        ("PUT", "/api/ask"),
        ("GET", "/api/ask"),
        ("TRACE", "/api/show"),
        ("GET", "/docs"),
        ("GET", "/redoc"),
    ):
        answer = client.request(method, path)
        assert answer.status_code in {404, 405}
        assert set(answer.json()["error"]) == {"code", "message", "what_to_do"}


# --- uploads


HOSTILE_NAMES = [
    "../../escape.txt",
    "/etc/cron.d/escape.txt",
    "C:\\Windows\\escape.txt",
    "..\\..\\escape.txt",
    "nul\x00escape.txt",
    "CON.txt",
    ".txt",
    "~/escape.txt",
    "x" * 4000 + ".txt",
    "line\nbreak.txt",
    "<img src=x onerror=alert(1)>.txt",
    "$(touch escape).txt",
    "u0123456789abcdef0123.json.txt",
    "\u202etxt.escape.txt",
]


_recordings: list[list[Path]] = []
"""Paths that this process opened for writing, created, moved or removed, for the tests that record them."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def _note_writing(event: str, arguments: tuple[object, ...]) -> None:
    if not _recordings:
        return
    moved = event in {"os.mkdir", "os.rename", "os.link", "os.symlink", "os.remove", "os.rmdir"}
    if moved or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING):
        paths = arguments if moved else arguments[:1]
        _recordings[-1].extend(
            Path(os.fsdecode(one)).absolute() for one in paths if isinstance(one, str | bytes | Path)
        )


sys.addaudithook(_note_writing)


@pytest.fixture
def written() -> Iterator[list[Path]]:
    _recordings.append([])
    yield _recordings[-1]
    _recordings.pop()


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_a_name_is_data_and_no_path(client: TestClient, name: str, served: Path, written: list[Path]) -> None:
    before = {path for path in served.parent.rglob("*") if "arrays" not in path.parts}
    boundary = "b0undary"
    quoted = name.encode().replace(b"\n", b"%0A").replace(b'"', b"%22")
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="'.encode()
        + quoted
        + f'"\r\nContent-Type: text/plain\r\n\r\nThe osprey nests late.\r\n--{boundary}--\r\n'.encode()
    )
    answer = client.post(
        "/api/documents", content=body, headers={"Content-Type": f"multipart/form-data; boundary={boundary}"}
    )
    assert answer.status_code in {202, 400, 415}, answer.text
    if answer.status_code == 202:
        job = ended(client, answer.json())
        assert "osprey" in client.get(f"/api/documents/{job['items'][0]['documents'][0]}").json()["text"]
    after = {path for path in served.parent.rglob("*") if "arrays" not in path.parts}
    assert {
        path for path in after - before if path.name not in {"uploads", "jobs.sqlite"} and path.suffix != ".lock"
    } == set()
    uploads = client.app.state.services.workspaces.get("north").index.folder / "uploads"  # type: ignore[attr-defined]
    ours = re.compile(r"(u[0-9a-f]{20}|n[0-9a-f]{20})\.[a-z.]+|[a-z0-9]+\.lock")
    assert answer.status_code != 202 or written
    for path in written:
        assert path.is_relative_to(uploads.parent) or "escape" not in str(path), path
        assert path.parent != uploads or ours.fullmatch(path.name), path


def docx(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def test_bombs_and_broken_files_cost_only_themselves(client: TestClient) -> None:
    bomb = docx({"[Content_Types].xml": b"", "word/document.xml": b" " * (40 << 20)})
    entities = (
        b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c SYSTEM "file:///etc/passwd">]><a>&b;&c;</a>'
    )
    files = [
        ("bomb.docx", bomb),
        ("entities.docx", docx({"[Content_Types].xml": b"<Types/>", "word/document.xml": entities})),
        ("broken.pdf", b"%PDF-1.7\ngarbage"),
        ("links.docx", docx({"../../escape": b"x"})),
        ("page.exe", b"MZ\x90\x00\x03\x00\x00\x00\x04\x00"),
        ("good.txt", b"The heron was painted by Ida Berg."),
    ]
    assert len(bomb) < ServerLimits().upload
    job = upload(client, *files)
    states = {item["name"]: (item["state"], item["reason"]) for item in job["items"]}
    assert states["good.txt"] == ("done", "")
    for name in ("bomb.docx", "entities.docx", "broken.pdf", "links.docx", "page.exe"):
        assert states[name][0] == "failed"
        assert states[name][1]
    assert "root:" not in json.dumps(job)
    assert client.post("/api/ask", json={"question": "Who painted the heron?"}).json()["answer"]


def test_uploads_have_a_limit_each_way(make_app: MakeApp, keys: Any) -> None:
    app = make_app(keys, ServerLimits(files=2, waiting_uploads=1000))
    with client_of(app, NORTH) as client:
        many = client.post("/api/documents", files=[("files", (f"{n}.txt", b"x")) for n in range(3)])
        assert many.status_code == 400
        assert "The request has 3 documents" in many.json()["error"]["message"]
        assert many.json()["error"]["what_to_do"] == "Send 1 to 2 files at once."
        long = client.post("/api/documents", files=[("files", ("a.txt", b"x" * 2000))])
        assert (long.status_code, long.json()["error"]["code"]) == (413, "too_large")
        fields = {f"field{n}": "x" for n in range(2000)}
        assert client.post("/api/documents", data=fields, files=[("files", ("a.txt", b"x"))]).status_code == 400
        assert client.get("/api/jobs").json()["jobs"] == []


# --- texts and secrets


def test_markup_in_documents_is_text_everywhere(client: TestClient) -> None:
    hostile = "<script>alert(1)</script> The petrel <b>sleeps</b> in Marn.\n\nevent: answer\ndata: {}\n\n"
    upload(client, ("<svg onload=alert(1)>.txt", hostile.encode()))
    question = {"question": "Where does the petrel sleep? <script>alert(2)</script>\n\ndata: x"}
    response = client.post("/api/ask", json=question, headers={"Accept": "text/event-stream"})
    names = [line for line in response.text.split("\n") if line.startswith("event: ")]
    assert names[0] == "event: question"
    assert names.count("event: answer") == 1
    for line in response.text.split("\n"):
        assert line == "" or line.startswith(("event: ", "data: {"))
    for route in OF_WORKSPACES:
        answer = send(client, route)
        assert answer.headers["content-type"].startswith("application/json"), route


def test_logs_hold_no_question_and_no_key(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for route in sorted(REQUESTS):
        send(client, route, params={"title": "petrel-in-query"})
        send(beside(client), route, headers={"Authorization": "Bearer a-wrong-key-that-is-long"})
    ours = [record for record in caplog.records if record.name.startswith(("hoptrail", "uvicorn"))]
    assert len(ours) >= 2 * len(REQUESTS)
    log_text = "\n".join(f"{record.getMessage()} {record.exc_text or ''}" for record in ours)
    for secret in (NORTH, SOUTH, "a-wrong-key", "Tallow", "petrel-in-query"):
        assert secret not in log_text


def test_an_unforeseen_failure_is_told_without_its_message(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("the secret of /home/someone")

    monkeypatch.setattr("hoptrail.serving.server.streaming.check_question", broken)
    answer = client.post("/api/search", json={"question": "Who?"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in answer.text + caplog.text
    assert "ZeroDivisionError in serving.server.test_security" in caplog.text.replace("tests.", "")


def test_languages_that_read_files_cannot_be_asked_for(client: TestClient) -> None:
    for language in ("scripted:/etc/passwd", "replay:/etc/passwd", "chat", "oracle", "offline:x"):
        answer = client.post("/api/ask", json={"question": "Who?", "language": language})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "not_valid")
        assert "passwd" not in answer.text


def test_counts_of_all_workspaces_want_a_key_of_all(make_app: MakeApp, tmp_path: Path) -> None:
    """The counts would reveal uploads and questions of other keys."""
    both = {"north": NORTH, "south": SOUTH}
    file = tmp_path / "keys"
    file.write_text("".join(f"{name} {key}\n{name} {OPERATOR}\n" for name, key in both.items()))
    app = make_app(find_keys(both, file))
    assert client_of(app).get("/metrics").status_code == 401
    for key in both.values():
        refused = client_of(app, key).get("/metrics")
        assert refused.status_code == 403
        assert "hoptrail_" not in refused.text
    assert "hoptrail_requests_total" in client_of(app, OPERATOR).get("/metrics").text


@pytest.mark.parametrize("path", ["/", "/health", "/page/app.js", "/api/show", "/v1/models", "/api/documents"])
def test_head_is_answered_like_get_without_its_body(client: TestClient, path: str) -> None:
    got, headed = client.get(path), client.head(path)
    assert (headed.status_code, headed.content) == (got.status_code, b"") == (200, b"")
    assert headed.headers["content-type"] == got.headers["content-type"]


def test_a_slash_at_the_end_of_an_address_is_ignored_without_a_redirect(client: TestClient) -> None:
    """A redirect would name the scheme and the host behind a proxy, and many clients follow none for POST."""
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answers = [client.get(path, follow_redirects=False) for path in ("/v1/models/", "/api/documents/")]
    answers.append(client.post("/mcp/", json=listing, headers=AGENT, follow_redirects=False))
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert beside(client).get("/api/documents/").status_code == 401
