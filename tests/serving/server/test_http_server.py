"""The server as a process: access, slow clients, stopping."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from command import Hoptrail
from hoptrail.errors import UsageError
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.guard import is_loopback
from hoptrail.serving.server.http_server import check_address
from hoptrail.serving.server.keys import Key, Keys, find_keys, variable_of
from serving.server.listening import listening
from serving.server.processes import serving
from serving.server.served import MakeApp, ended

KEY = "a-key-for-these-tests"


@pytest.fixture
def port(make_app: MakeApp) -> Iterator[int]:
    """A server with short timeouts, in a thread."""
    limits = ServerLimits(header_seconds=0.4, body_seconds=0.4, connections=20, stop_seconds=5)
    with listening(make_app(None, limits), limits) as address:
        yield int(address.rpartition(":")[2])


LONG_SECONDS = 60.0
"""Seconds that only a hanging server takes."""


def wait_until_closed(connection: socket.socket) -> None:
    """Read until the other side closes."""
    connection.settimeout(LONG_SECONDS)
    while connection.recv(4096):
        pass


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"G",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he",
    ],
    ids=["nothing", "a letter", "a header without end", "a second request without end"],
)
def test_who_does_not_finish_a_request_is_hung_up_on(port: int, said: bytes) -> None:
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(said)
        wait_until_closed(connection)
    assert time.monotonic() - started > 0.2, "not at once"


def dribble(connection: socket.socket) -> None:
    for _ in range(int(LONG_SECONDS / 0.05)):
        connection.sendall(b"X-Slow: x\r\n")
        time.sleep(0.05)


def test_who_dribbles_headers_is_hung_up_on(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        with pytest.raises(ConnectionError):
            dribble(connection)


def test_a_body_that_does_not_come_is_given_up(port: int) -> None:
    head = (
        b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head)
        connection.settimeout(LONG_SECONDS)
        assert b" 408 " in connection.recv(4096).split(b"\r\n")[0]


def test_idle_connections_leave_room_for_others_at_last(port: int) -> None:
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
    for connection in idle:
        wait_until_closed(connection)
        connection.close()
    assert httpx.get(f"http://127.0.0.1:{port}/health", verify=False).status_code == 200


@pytest.mark.parametrize(
    "garbage",
    [b"\x16\x03\x01 not http\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n",
     b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
     b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ids=["tls", "no host", "two hosts", "many headers", "two lengths"],
)  # fmt: skip
def test_garbage_is_refused_and_the_server_lives(port: int, garbage: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(5)
        try:
            connection.sendall(garbage)
            received = connection.recv(4096)
        except ConnectionError:
            received = b""
        assert not received or re.match(rb"HTTP/1.1 4\d\d ", received)
    assert httpx.get(f"http://127.0.0.1:{port}/health", verify=False).status_code == 200


# --- the command


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", ""])
def test_an_address_for_others_wants_a_key(
    hoptrail: Hoptrail, tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOPTRAIL_KEY", raising=False)
    monkeypatch.delenv("HOPTRAIL_KEY_MAIN", raising=False)
    ended = hoptrail("serve", "--index", tmp_path / "index", "--host", host)
    assert (ended.code, ended.out) == (2, "")
    assert "no key is set" in ended.err
    assert "HOPTRAIL_KEY_MAIN" in ended.err
    check_address(host, Keys([Key("main", b"x")]), "main")


def test_loopback_is_told_from_other_addresses() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.example", "", "1", "fe80::1")))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name what to serve"),
        (["--workspace", "north"], "name what to serve"),
        (["--workspace", "a=x", "--workspace", "a=y"], "same name"),
        (["--workspace", "a=x", "--workspace", "b=./x"], "same folder"),
        (["--workspace", "../a=x"], "not a valid workspace name"),
        (["--index", "x", "--key-file", "absent"], "cannot read the key file"),
        (["--index", "x", "--recipe", "bm25"], ""),
    ],
)
def test_what_cannot_be_served_is_told(hoptrail: Hoptrail, arguments: list[str], message: str) -> None:
    ended = hoptrail("serve", *arguments)
    assert ended.code == 2
    assert message in " ".join(ended.err.split())


def test_keys_come_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys"
    assert not find_keys(["a", "b"])
    monkeypatch.setenv("HOPTRAIL_KEY", KEY)
    assert find_keys(["a"]).opened_by(KEY) == {"a": None}
    monkeypatch.delenv("HOPTRAIL_KEY")
    monkeypatch.setenv(variable_of("my-notes"), KEY)
    assert variable_of("my-notes") == "HOPTRAIL_KEY_MY_NOTES"
    with pytest.raises(UsageError, match="no key for workspace b"):
        find_keys(["my-notes", "b"])
    file.write_text(f"a {KEY}\nb {KEY}x\n\n# c\n")
    keys = find_keys(["a", "b"], file)
    assert [sorted(keys.opened_by(key)) for key in (KEY, f"{KEY}x", "")] == [["a"], ["b"], []]
    assert KEY not in repr(keys) + str(vars(type(keys)))
    for broken in ("a short", "a", "a b c", f"c {KEY}", f"a {KEY[:8]}\u00e9{KEY}"):
        file.write_text(broken)
        with pytest.raises(UsageError):
            find_keys(["a"], file)


@pytest.mark.parametrize(
    ("variables", "workspaces", "message"),
    [
        ({"HOPTRAIL_KEY": KEY}, ["a", "b"], "of workspaces a and b: set HOPTRAIL_KEY_A, HOPTRAIL_KEY_B"),
        (
            {"HOPTRAIL_KEY": KEY, "HOPTRAIL_KEY_A": KEY, "HOPTRAIL_KEY_B": KEY},
            ["a", "b"],
            "HOPTRAIL_KEY would be the key of workspaces a and b",
        ),
        ({"HOPTRAIL_KEY": ""}, ["a"], "HOPTRAIL_KEY is set but empty"),
        ({"HOPTRAIL_KEY_A": ""}, ["a"], "HOPTRAIL_KEY_A is set but empty"),
        ({"HOPTRAIL_KEY_A": "", "HOPTRAIL_KEY_B": ""}, ["a", "b"], "HOPTRAIL_KEY_A is set but empty"),
        ({"HOPTRAIL_KEY_NOTES": KEY}, ["main"], "HOPTRAIL_KEY_NOTES belongs to no served workspace.*HOPTRAIL_KEY_MAIN"),
        ({"HOPTRAIL_KEY_TEAM_A": KEY}, ["team-a", "team_a"], "of workspaces team-a and team_a"),
        ({"HOPTRAIL_KEY_MAIN": KEY}, ["Main", "main"], "of workspaces Main and main"),
    ],
)
def test_a_key_that_would_open_nothing_or_too_much_is_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], workspaces: list[str], message: str
) -> None:
    """A mistake in setting a key must not leave the server open to everybody."""
    for name, key in variables.items():
        monkeypatch.setenv(name, key)
    with pytest.raises(UsageError, match=message):
        find_keys(workspaces)


def test_a_key_file_without_a_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# rotated, none yet\n\n")
    with pytest.raises(UsageError, match="holds no key"):
        find_keys(["a"], file)


def test_workspaces_of_like_names_are_told_apart_by_a_key_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"team-a {KEY}\nteam_a {KEY}x\n")
    assert find_keys(["team-a", "team_a"], file).opened_by(KEY) == {"team-a": None}


def test_an_old_key_opens_beside_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"a {KEY}\nb {KEY}b\na {KEY}new\n")
    keys = find_keys(["a", "b"], file)
    assert [sorted(keys.opened_by(key)) for key in (KEY, f"{KEY}new", f"{KEY}b", f"{KEY}old")] == [
        ["a"],
        ["a"],
        ["b"],
        [],
    ]
    file.write_text(f"a {KEY}\na short\n")
    with pytest.raises(UsageError, match="workspace a is not valid"):
        find_keys(["a"], file)


def test_limits_are_checked() -> None:
    assert ServerLimits(queue=0).queue == 0
    nan, endless = {"body_seconds": float("nan")}, {"header_seconds": float("inf")}
    for wrong in ({"asks": 0}, {"ask_seconds": 0.0}, {"queue": -1}, {"upload": 0}, nan, endless):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            ServerLimits(**wrong)


def test_the_command_serves_by_its_settings_and_stops_when_told(tmp_path: Path, tiny: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(f"{tiny.read_text()}\n[server]\nbody = 500\n", encoding="utf-8")
    arguments = ("--index", tmp_path / "index", "--settings", settings, "--name", "notes.example")
    with serving(*arguments, environment={"HOPTRAIL_KEY": KEY}) as server:
        with server.client(KEY) as client:
            assert client.get("/api/show", headers={"Host": "notes.example"}).json()["workspace"] == "main"
            assert client.get("/api/show", headers={"Authorization": "Bearer no"}).status_code == 401
            assert client.post("/api/ask", json={"question": "Why? " * 100}).status_code == 413
            job = client.post("/api/documents", json=[{"title": "Ash", "text": "The ash was felled in Dorn."}]).json()
            assert ended(client, job)["state"] == "done"
        output = server.stop()
    assert "Traceback" not in output
    assert KEY not in output
    assert "POST /api/documents 202" in output
