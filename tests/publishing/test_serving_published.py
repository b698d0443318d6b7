"""A published index is served: newer publications are asked at once, broken ones are told of."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from command import Hoptrail
from hoptrail import Index
from hoptrail.errors import IndexDamaged, UsageError
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.workspaces import Workspace
from hoptrail_scale import published_index
from hoptrail_scale.published_index import PublishedIndex
from hoptrail_scale.publishing.sending import publish
from object_store import Fault, FaultyStore
from publishing.indexes import objects_of, pointer_of
from serving.server.served import client_of
from waiting import wait_until
from world import HashingEncoder


class Source:
    """An index with documents of a line each, and where it is published."""

    def __init__(self, folder: Path, address: str) -> None:
        self._documents = folder / "documents"
        self._documents.mkdir()
        self.index = Index(folder / "index")
        self.index.encoder = HashingEncoder()
        self.address = address

    def publish(self, title: str, text: str) -> None:
        (self._documents / f"{title}.txt").write_text(text, encoding="utf-8")
        self.index.add(self._documents)
        publish(self.index.folder, self.address)


@pytest.fixture
def source(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Source:
    monkeypatch.setenv("HOPTRAIL_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(published_index, "LOOK_SECONDS", 0.05)
    made = Source(tmp_path, address)
    made.publish("Bridge", "The Tallow Bridge was designed by Ada Quill.")
    return made


@pytest.fixture
def served(source: Source, tmp_path: Path) -> Iterator[PublishedIndex]:
    index = PublishedIndex(source.address, cache=tmp_path / "cache")
    index.encoder = HashingEncoder()
    yield index
    index.close()


def client_for(index: PublishedIndex) -> TestClient:
    return client_of(create_app([Workspace("main", index)], warm=False))


def found(client: TestClient) -> set[str]:
    return {one["title"] for one in client.get("/api/documents").json()["documents"]}


def test_the_next_question_is_asked_of_what_was_published_last(source: Source, served: PublishedIndex) -> None:
    with client_for(served) as client:
        assert found(client) == {"Bridge"}
        before = client.post("/api/ask", json={"question": "Who designed the Tallow Bridge?"})
        assert before.status_code == 200, before.text
        source.publish("River", "The river Sorrel flows through Wexley.")
        wait_until(lambda: found(client) == {"Bridge", "River"})
        assert "Sorrel" in client.post("/api/search", json={"question": "Which river flows through Wexley?"}).text


def test_a_question_under_way_keeps_its_publication(source: Source, served: PublishedIndex) -> None:
    asked = served.corpus()
    source.publish("River", "The river Sorrel flows through Wexley.")
    assert served.look()
    assert {entry.title for entry in asked.snapshot.register.entries} == {"Bridge"}
    assert asked.snapshot.folder.is_dir()
    assert {entry.title for entry in served.corpus().snapshot.register.entries} == {"Bridge", "River"}
    old = asked.snapshot.folder
    del asked
    assert not served.look()  # which clears up what nobody reads
    assert not old.exists()


def test_nothing_can_be_changed(served: PublishedIndex, tmp_path: Path) -> None:
    with client_for(served) as client:
        added = client.post("/api/documents", json=[{"title": "New", "text": "Something new."}])
        (document,) = client.get("/api/documents").json()["documents"]
        removed = client.delete(f"/api/documents/{document['id']}")
        for refused in (added, removed):
            assert refused.status_code == 409
            assert refused.json()["error"]["code"] == "read_only"
        assert client.get("/api/jobs").json()["jobs"] == []
        assert found(client) == {"Bridge"}
    changes: list[Callable[[], object]] = [
        lambda: served.add(tmp_path),
        lambda: served.remove("Bridge"),
        served.clean,
        served.repair,
    ]
    for change in changes:
        with pytest.raises(UsageError, match="hoptrail publish"):
            change()
    assert not list((tmp_path / "data").rglob("*"))


def test_what_cannot_be_fetched_is_logged_and_the_publication_before_is_served(
    source: Source, served: PublishedIndex, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "hoptrail.server")
    source.publish("River", "The river Sorrel flows through Wexley.")
    objects = objects_of(source.address)
    broken = f"manifests/{pointer_of(source.address).manifests[0]}"
    (name,) = [one for one in objects.written("manifests") if one.startswith(broken)]
    whole = objects.get(name)
    assert whole
    objects.put(name, whole[:-10])
    with pytest.raises(IndexDamaged):
        served.look()
    with client_for(served) as client:
        wait_until(lambda: "is still served" in caplog.text)
        assert found(client) == {"Bridge"}
        objects.put(name, whole)
        wait_until(lambda: found(client) == {"Bridge", "River"})


def test_a_store_that_does_not_answer_is_logged(
    served: PublishedIndex, store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    with store.failing(lambda _: Fault.REFUSED), client_for(served) as client:
        wait_until(lambda: "is still served" in caplog.text)
        assert found(client) == {"Bridge"}
    wait_until(lambda: not any(thread.name.startswith("following") for thread in threading.enumerate()))


def test_an_address_without_a_publication_is_not_served(hoptrail: Hoptrail, address: str) -> None:
    ended = hoptrail("serve", address)
    assert ended.code == 1
    assert "nothing is published" in ended.err
