"""A busy client takes little from the others: questions, jobs, connections."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from fastapi import FastAPI

from hoptrail.documents.read_sources import ReadingLimits
from hoptrail.errors import DocumentError
from hoptrail.index.settings import ServerLimits
from hoptrail.models.encoder import FloatMatrix, Progress
from hoptrail.serving.server import question_threads, uploads
from hoptrail.serving.server.keys import Keys
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.question_threads import Desk, Stopped
from hoptrail.types import Ranking
from serving.server.listening import listening
from serving.server.served import NORTH, OPERATOR, QUESTION, SOUTH, MakeApp, client_of, ended
from serving.server.test_jobs import HoldingEncoder, texts
from waiting import wait_until
from world import FACTS

SECONDS = 0.2
"""Extra seconds that a search of these tests takes."""


class Slowly:
    """A recipe that computes for a long time; `begun` has the workspaces of all searches in order of start."""

    seconds = SECONDS

    def __init__(self, recipe: Any, name: str, begun: list[str]) -> None:
        self._recipe = recipe
        self.name = recipe.name
        self._name = name
        self._begun = begun

    def retrieve(self, question: str) -> Ranking:
        self._begun.append(self._name)
        time.sleep(self.seconds)
        found: Ranking = self._recipe.retrieve(question)
        return found


def slow_down(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    begun: list[str] = []
    for name in ("north", "south"):
        served = app.state.services.workspaces.get(name)
        recipe = served.recipe
        monkeypatch.setattr(
            served, "recipe", lambda *given, _recipe=recipe, _name=name: Slowly(_recipe(*given), _name, begun)
        )
    return begun


def client(address: str, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=address, headers=headers, timeout=60, verify=False)


def search(asking: httpx.Client) -> int:
    return asking.post("/api/search", json={"question": QUESTION, "recipe": "bm25"}).status_code


def test_a_busy_key_goes_before_another_twice_at_the_most(
    make_app: MakeApp, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve clients of the busy key ask as soon as they have an answer. Searches are counted, since times hang on what else
    this machine does (`benchmarks.fair_shares` takes them): in one queue, ten of the others would go before.
    """
    limits = ServerLimits(asks=2, queue=8)
    app = make_app(keys, limits)
    begun = slow_down(app, monkeypatch)
    stop = threading.Event()

    def ask_on(address: str) -> list[int]:
        found = []
        with client(address, NORTH) as asking:
            while not stop.is_set():
                found.append(search(asking))
        return found

    before = []
    with listening(app, limits) as address, ThreadPoolExecutor(12) as threads, client(address, SOUTH) as other:
        busy = [threads.submit(ask_on, address) for _ in range(12)]
        while len(begun) < 3:
            time.sleep(0.01)
        for _ in range(9):
            there = len(begun)
            assert search(other) == 200
            before.append(begun.index("south", there) - there)
        stop.set()
        monkeypatch.setattr(Slowly, "seconds", 0.0)  # for what is still waiting
        answers = {code for one in busy for code in one.result()}
    assert answers == {200, 429}, "it was busy"
    assert median(before) <= 2, before


def test_a_question_waits_for_no_thread_before_it_is_handed_in(
    make_app: MakeApp, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FastAPI runs plain functions in threads; beside a busy key, each such switch took as long as the search."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a dependency of the route ran in a thread")

    monkeypatch.setattr("fastapi.dependencies.utils.run_in_threadpool", refuse)
    with client_of(make_app(keys), NORTH) as asking:
        assert asking.post("/api/search", json={"question": QUESTION, "recipe": "bm25"}).status_code == 200


def test_questions_that_compute_here_do_so_one_after_the_other(
    make_app: MakeApp, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parallel threads of one interpreter only slow each other down, and another key's question with them."""
    app, lock = make_app(keys), threading.Lock()
    together: list[bool] = []

    class Computing:
        name = "bm25"

        def retrieve(self, _: str) -> Ranking:
            alone = lock.acquire(blocking=False)
            together.append(not alone)
            time.sleep(SECONDS)
            if alone:
                lock.release()
            return ()

    monkeypatch.setattr(app.state.services.workspaces.get("north"), "recipe", lambda *_: Computing())
    with listening(app, ServerLimits()) as address, ThreadPoolExecutor(4) as threads, client(address, NORTH) as busy:
        assert list(threads.map(lambda _: search(busy), range(4))) == [200] * 4
    assert together == [False] * 4


def test_questions_that_wait_for_a_model_leave_a_thread_for_others(
    make_app: MakeApp, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such questions take no turns, because they do not compute here, so those of one key could occupy all threads."""
    limits = ServerLimits(asks=2, queue=8)
    app, replied, waits = make_app(keys, limits), threading.Event(), threading.Event()

    class Waiting:
        name = "bm25"

        def retrieve(self, _: str) -> Ranking:
            waits.set()
            assert replied.wait(60)
            return ()

    monkeypatch.setattr("hoptrail.serving.server.streaming.computes_here", lambda *_: False)
    monkeypatch.setattr(app.state.services.workspaces.get("north"), "recipe", lambda *_: Waiting())
    with listening(app, limits) as address, ThreadPoolExecutor(4) as threads, client(address, NORTH) as busy:
        asked = [threads.submit(search, busy) for _ in range(4)]
        assert waits.wait(60)
        try:
            with client(address, SOUTH) as other:
                assert search(other) == 200
        finally:
            replied.set()
        assert [one.result() for one in asked] == [200] * 4


@contextmanager
def at_the_desk(
    turn: float, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Callable[[str, str], None], list[str], threading.Event]]:
    """Hands in a question by its name and client; the names of those that have begun; and what ends all of them."""
    monkeypatch.setattr(question_threads, "LONGEST_TURN", turn)
    desk, begun, ends = Desk(ServerLimits(), Metrics()), list[str](), threading.Event()

    async def hand_in(name: str, client: str) -> None:
        def search(_: Stopped) -> None:
            begun.append(name)
            assert ends.wait(60)

        desk.hand_in(search, client)

    with start_blocking_portal() as portal:
        yield partial(portal.call, hand_in), begun, ends
        ends.set()


def test_a_long_search_holds_up_nobody_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """It blocks neither another client's questions nor the next one of the same client; a third of the same client waits."""
    with at_the_desk(0.05, monkeypatch) as (hand_in, begun, ends):
        for number in range(3):
            hand_in(f"busy {number}", "busy")
        wait_until(lambda: len(begun) == 2)
        time.sleep(0.3)
        assert begun == ["busy 0", "busy 1"]
        hand_in("other", "other")
        wait_until(lambda: len(begun) == 3)
        assert begun[2] == "other"
        ends.set()
        wait_until(lambda: len(begun) == 4)


def test_the_turn_goes_to_who_has_had_none_for_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    with at_the_desk(60, monkeypatch) as (hand_in, begun, ends):
        for client in ("busy", "busy", "busy", "other"):
            hand_in(client, client)
        wait_until(lambda: begun)
        time.sleep(0.1)
        assert begun == ["busy"]
        ends.set()
        wait_until(lambda: len(begun) == 4)
        assert begun == ["busy", "other", "busy", "busy"]


def test_a_key_that_waits_goes_before_what_another_has_waiting(make_app: MakeApp, keys: Keys) -> None:
    """For jobs in one workspace that two keys open."""
    app = make_app(keys)

    class Noted(HoldingEncoder):
        def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
            order.extend(word for text in texts for word in text.split() if word in birds)
            return super().encode(texts, progress)

    order: list[str] = []
    birds = ("avocet", "bittern", "crake", "dunlin")
    noted = Noted("avocet")
    app.state.services.workspaces.get("north").index.encoder = noted
    with client_of(app, NORTH) as busy:
        other = client_of(app, OPERATOR)
        jobs = [busy.post("/api/documents", json=texts(bird)).json() for bird in birds[:3]]
        assert noted.reached.wait(60)  # type: ignore[attr-defined]
        last = other.post("/api/documents?workspace=north", json=texts("dunlin")).json()
        time.sleep(0.1)
        noted.go.set()  # type: ignore[attr-defined]
        assert {ended(busy, job)["state"] for job in (*jobs, last)} == {"done"}
    assert list(dict.fromkeys(order)) == ["avocet", "dunlin", "bittern", "crake"]


def _refused(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health").status_code != 200
    except httpx.TransportError:
        return True


@pytest.mark.parametrize("key", [None, NORTH])
def test_one_address_leaves_connections_for_others(make_app: MakeApp, keys: Keys, key: str | None) -> None:
    limits = ServerLimits(connections=40, address_connections=10, header_seconds=20)
    with listening(make_app(keys if key else None, limits), limits) as address:
        port = int(address.rpartition(":")[2])
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
        try:
            refused = idle[-1]
            refused.settimeout(20)
            assert refused.recv(4096).startswith(b"HTTP/1.1 503 ")
            there = httpx.HTTPTransport(local_address="127.0.0.2")
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            with httpx.Client(transport=there, base_url=address, headers=headers) as other:
                assert other.get("/health").status_code == 200
                assert other.get("/api/documents").json()["total"] == len(FACTS)
            with socket.create_connection(("127.0.0.1", port)) as mine:
                mine.settimeout(20)
                assert mine.recv(4096).startswith(b"HTTP/1.1 503 ")
        finally:
            for connection in idle:
                connection.close()
        wait_until(lambda: not _refused(address), 20)  # connections that were closed are not counted any more


def test_documents_that_never_end_cost_ever_less(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each uses up its time, which halves with each; a document read in time is still indexed."""
    given: list[int] = []
    read = vars(uploads)["read_sources"]

    def reading(sources: list[Path], limits: ReadingLimits, **more: Any) -> Any:
        if sources[0].suffix == ".html":
            given.append(limits.parsing_seconds)
            time.sleep(limits.parsing_seconds * 0.002)
            raise DocumentError("slow.html", "took too long")
        return read(sources, limits, **more)

    app = make_app()
    monkeypatch.setattr(uploads, "read_sources", reading)
    monkeypatch.setattr("hoptrail.serving.server.jobs.SECOND", 0.002)
    with client_of(app) as client:
        files = [("files", (f"slow {n}.html", b"<p>x")) for n in range(9)]
        files.append(("files", ("quick.txt", b"The heron waits.")))
        job = ended(client, client.post("/api/documents", files=files).json())
    assert [item["state"] for item in job["items"]] == ["failed"] * 9 + ["done"]
    assert given == [60, 30, 15, 7, 3, 1, 1, 1, 1]
    assert (tmp_path / "north").is_dir()
