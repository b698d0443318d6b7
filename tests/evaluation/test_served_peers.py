"""Served searches beside peers: what their small server returns, and how rounds become figures. Of peers, only bm25s is here."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest
from benchmarks.peers import search_server, served
from benchmarks.peers.search_server import ServingJob, application, bm25s_scored, nothing
from benchmarks.peers.served import Speed, cpu_milliseconds, in_rounds, middle, posting
from benchmarks.serving import load, speed
from fastapi.testclient import TestClient

from hoptrail.index.contract import found_json
from hoptrail.types import Hit
from world import FACTS, make_document, make_passage

QUESTION = "Which river flows through Wrenmouth?"


@pytest.fixture
def job(tmp_path: Path) -> ServingJob:
    units = [make_passage(make_document(title, text)) for title, text in FACTS.items()]
    hits = [dict(found_json(Hit(unit, 0.0, "peer"))) for unit in units]
    return ServingJob(list(FACTS.values()), hits, "vectors.npy", "model", str(tmp_path))


def test_a_job_travels_as_a_file(job: ServingJob, tmp_path: Path) -> None:
    job.write(tmp_path / "job.json")
    assert ServingJob.read(tmp_path / "job.json") == job


def test_a_peer_returns_its_best_passages_as_our_server_would(job: ServingJob) -> None:
    client = TestClient(application(bm25s_scored(job), job.hits))
    reply = client.post("/api/search", json={"question": QUESTION, "recipe": "bm25s", "limit": 3}).json()
    assert (reply["question"], reply["recipe"], len(reply["hits"])) == (QUESTION, "bm25s", 3)
    best = reply["hits"][0]
    assert best["text"] == FACTS["Wrenmouth"]
    assert best["score"] > reply["hits"][1]["score"]
    assert list(best) == list(job.hits[0])


def test_without_a_search_the_first_passages_are_returned(job: ServingJob) -> None:
    client = TestClient(application(nothing(job), job.hits * 2))
    reply = client.post("/api/search", json={"question": QUESTION}).json()
    assert [hit["text"] for hit in reply["hits"]] == [*FACTS.values(), *FACTS.values()][: served.LIMIT]


def test_every_system_has_an_environment() -> None:
    requirements = Path(served.__file__).with_name("requirements")
    assert set(served.PEERS) == {*search_server.SYSTEMS, "txtai-own"}
    for system, environment in served.PEERS.items():
        packages = (requirements / f"{environment}.txt").read_text().replace("[api]", "").split()
        assert served.PACKAGES.get(system, system) in packages


def test_each_request_is_made_and_a_refusal_ends_the_measurement() -> None:
    asked: list[str] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request.read().decode())
        return httpx.Response(503 if b"broken" in request.read() else 200)

    with httpx.Client(base_url="http://peer", transport=httpx.MockTransport(reply)) as client:
        found = load(client, "search", ["one", "two"], 2, 5, "bm25")
        assert (len(asked), found.requests, found.clients) == (5, 5, 2)
        assert found.per_second > 0
        assert found.p50 <= found.p95 <= found.p99
        with pytest.raises(httpx.HTTPStatusError):
            speed(posting(client, "bm25"), ["broken"], 1, 1)


def test_rounds_measure_all_systems_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[tuple[str, int]] = []

    def measured(server: served.Server, questions: list[str], clients: int, requests: int) -> Speed:
        del questions, requests
        order.append((server.system, clients))
        return Speed(clients, float(len(order)), 2.0, 3.0, 1.0, 0.5)

    monkeypatch.setattr(served, "measured", measured)
    monkeypatch.setattr(served, "CLIENTS", (1, 2))
    ask = posting(httpx.Client(), "bm25")
    servers = [served.Server(name, "1", 1, ask, lambda _: []) for name in ("ours", "theirs")]
    found = in_rounds(servers, [QUESTION], 1, 3)
    assert order == [("ours", 1), ("theirs", 1), ("ours", 2), ("theirs", 2)] * 3
    assert [one.per_second for one in found["theirs"]] == [6.0, 8.0]


def test_the_middle_of_rounds_is_taken_for_each_figure() -> None:
    speeds = [
        Speed(8, 10.0, 5.0, 9.0, 1.0, 0.1),
        Speed(8, 30.0, 1.0, 2.0, 3.0, 0.2),
        Speed(8, 20.0, 3.0, 7.0, 2.0, 0.3),
    ]
    assert middle(speeds) == Speed(8, 20.0, 3.0, 7.0, 2.0, 0.2)


def test_cpu_time_of_a_process_only_grows() -> None:
    before = cpu_milliseconds(os.getpid())
    assert before > 0
    assert cpu_milliseconds(os.getpid()) >= before
