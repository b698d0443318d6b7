"""A publication is sent in pieces, of which only those that changed; it becomes current wholly or not at all."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from corpus.worlds import indexed_once, made
from hoptrail.corpus import segments as segments_module
from hoptrail.errors import IndexBusy, IndexUnavailable, StorageError, UsageError
from hoptrail_scale.publishing.manifest import number_of
from hoptrail_scale.publishing.sending import MOST_CHUNKS, SMALLEST_CHUNK, database_chunk, publish
from object_store import KEY, SECRET, Asked, Fault, FaultyStore, nth
from publishing.indexes import commit, fetch, files_of, manifests_of, objects_of, pointer_of, stored, titles

OLD, NEW = made(400, words=80), made(3, seed=1)


@pytest.fixture(autouse=True)
def arrays_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "SMALL", 1 << 10)


def puts(store: FaultyStore) -> list[str]:
    return [asked.path for asked in store.requests if asked.method == "PUT"]


def test_what_is_published_is_what_is_fetched_elsewhere(any_address: str, tmp_path: Path) -> None:
    folder = indexed_once(tmp_path / "index", OLD)
    done = publish(folder, any_address)
    with fetch(any_address, tmp_path / "cache") as copy:
        assert (done.number, done.commit) == (copy.number, copy.commit) == (1, 1)
        assert titles(copy.folder) == {document.title for document in OLD}
        arrays = {name: content for name, content in files_of(folder).items() if name.startswith("arrays/")}
        assert arrays
        assert arrays.items() <= files_of(copy.folder).items()


def test_one_more_document_sends_few_chunks(any_address: str, tmp_path: Path) -> None:
    documents = made(3000, words=60)
    folder = indexed_once(tmp_path / "index", documents)
    first = publish(folder, any_address)
    assert first.sent_chunks == first.chunks
    commit(folder, NEW[:1])
    second = publish(folder, any_address)
    assert (second.number, second.commit) == (2, 2)
    assert 0 < second.sent_chunks < 20
    assert second.sent_bytes < first.sent_bytes / 6
    with fetch(any_address, tmp_path / "cache") as copy:
        assert titles(copy.folder) == {document.title for document in [*documents, NEW[0]]}


def test_the_same_commit_is_not_published_twice(address: str, tmp_path: Path, store: FaultyStore) -> None:
    folder = indexed_once(tmp_path / "index", OLD)
    publish(folder, address)
    store.requests.clear()
    again = publish(folder, address)
    assert (again.number, again.sent_chunks, again.sent_bytes) == (1, 0, 0)
    assert puts(store) == []


def test_chunks_are_named_by_their_content(address: str, tmp_path: Path) -> None:
    publish(indexed_once(tmp_path / "index", OLD), address)
    objects = objects_of(address)
    for name in stored(address, "chunks"):
        assert hashlib.sha256(objects.get(name) or b"").hexdigest() == name.rpartition("/")[2]
    assert stored(address, "chunks") == {f"chunks/{chunk}" for chunk in manifests_of(address)[0].chunks}


def test_chunks_of_a_database_are_whole_pages_and_not_too_many() -> None:
    for size in (1, 1 << 20, 1 << 28, (1 << 28) + 1, 1 << 33, 1 << 40):
        chunk = database_chunk(size)
        assert chunk % 4096 == 0
        assert chunk == SMALLEST_CHUNK or MOST_CHUNKS / 2 <= size / chunk <= MOST_CHUNKS


PUBLISH = """
import sys, pathlib
from hoptrail_scale.publishing.sending import publish
publish(pathlib.Path(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.parametrize("request_number", ["first chunk", "manifest", "pointer"])
def test_a_publisher_that_is_killed_leaves_the_old_publication_whole(
    address: str, tmp_path: Path, store: FaultyStore, request_number: str
) -> None:
    folder = indexed_once(tmp_path / "index", OLD)
    publish(folder, address)
    before = pointer_of(address)
    commit(folder, NEW, remove=OLD[:5])
    folders = {"first chunk": "/chunks/", "manifest": "/manifests/", "pointer": "/current.json"}
    with subprocess.Popen([sys.executable, "-c", PUBLISH, str(folder), address], env=dict(os.environ)) as process:

        def kill(asked: Asked) -> Fault | None:
            if asked.method == "PUT" and folders[request_number] in asked.path:
                process.kill()
                return Fault.REFUSED
            return None

        with store.failing(kill):
            assert process.wait() == -signal.SIGKILL
    assert pointer_of(address) == before
    with fetch(address, tmp_path / "cache") as copy:
        assert titles(copy.folder) == {document.title for document in OLD}
    store.requests.clear()
    done = publish(folder, address)
    assert done.number == 2
    if request_number != "first chunk":  # what the killed one has sent is not sent again
        assert done.sent_chunks == 0
    with fetch(address, tmp_path / "cache") as copy:
        assert titles(copy.folder) == {document.title for document in [*OLD[5:], *NEW]}


@pytest.mark.parametrize("published", [True, False])
def test_of_two_publishers_one_wins_and_the_other_is_told(
    any_address: str, tmp_path: Path, server: FaultyStore, cloud_server: FaultyStore, published: bool
) -> None:
    """The second has finished by the time that the first writes its pointer."""
    ours, theirs = indexed_once(tmp_path / "ours", OLD), indexed_once(tmp_path / "theirs", NEW)
    if published:
        publish(indexed_once(tmp_path / "before", made(9)), any_address)
    raced: list[bool] = []

    def race(asked: Asked) -> None:
        if asked.method == "PUT" and asked.path.endswith("/current.json") and not raced:
            raced.append(True)
            publish(theirs, any_address)

    store = server if any_address.startswith("s3:") else cloud_server
    with store.failing(race), pytest.raises(IndexBusy, match=f"publication {1 + published} is current"):
        publish(ours, any_address)
    with fetch(any_address, tmp_path / "cache") as copy:
        assert titles(copy.folder) == {document.title for document in NEW}
    publish(ours, any_address)
    with fetch(any_address, tmp_path / "cache") as copy:
        assert (copy.number, titles(copy.folder)) == (2 + published, {document.title for document in OLD})


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.CUT])
def test_a_pointer_whose_answer_is_lost_counts_once(
    address: str, tmp_path: Path, store: FaultyStore, fault: Fault
) -> None:
    folder = indexed_once(tmp_path / "index", NEW)
    publish(folder, address)
    commit(folder, OLD[:2])
    seen: list[Asked] = []

    def lose(asked: Asked) -> Fault | None:
        if asked.method == "PUT" and asked.path.endswith("/current.json") and not seen:
            seen.append(asked)
            return fault
        return None

    with store.failing(lose):
        assert publish(folder, address).number == 2
    assert seen
    assert [number_of(name) for name in pointer_of(address).manifests] == [2, 1]


def test_a_store_that_heeds_no_conditions_is_refused(
    address: str, tmp_path: Path, store: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = indexed_once(tmp_path / "index", NEW)
    with monkeypatch.context() as patched:
        patched.setattr(store, "heeds_conditions", False)
        with pytest.raises(StorageError, match="ignores conditions"):
            publish(folder, address)
    assert not stored(address, "current.json")
    publish(folder, address)
    commit(folder, OLD[:1])
    monkeypatch.setattr(store, "heeds_conditions", False)
    with pytest.raises(StorageError, match="ignores conditions"):
        publish(folder, address)
    assert pointer_of(address).number == 1


# --- refusals and secrets


def test_no_key_is_in_messages_or_objects(address: str, tmp_path: Path, store: FaultyStore) -> None:
    folder = indexed_once(tmp_path / "index", NEW)
    publish(folder, address)
    commit(folder, OLD[:3])
    for number in range(4):
        with store.failing(nth(number, Fault.REFUSED, again=True)), pytest.raises(StorageError) as refused:
            publish(folder, address)
        assert "forbids this" in str(refused.value)
        assert KEY not in str(refused.value)
        assert SECRET not in str(refused.value)
    with store.failing(nth(0, Fault.REFUSED, again=True, method="GET")), pytest.raises(StorageError) as refused:
        fetch(address, tmp_path / "cache")
    assert KEY not in str(refused.value)
    publish(folder, address)
    fetch(address, tmp_path / "cache").close()
    written = [objects_of(address).get(name) or b"" for name in stored(address, "")]
    written += [path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert written
    assert not any(secret.encode() in content for content in written for secret in (KEY, SECRET))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("s3://me:pass-word@bucket/x", "without user or password"),
        ("s3://bucket/x?X-Amz-Signature=pass-word", "not a usable address"),
        ("ftp://bucket/x", "not an address of an object store"),
        ("folder/of/mine", "not an address of an object store"),
        ("s3://bucket/../x", "not a usable address"),
        ("s3://", "not a usable address"),
    ],
)
def test_what_is_no_address_is_refused(wrong: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        publish(tmp_path, wrong)
    assert "pass-word" not in str(refused.value)


def test_what_is_missing_is_said(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IndexUnavailable, match="no index at"):
        publish(tmp_path / "nowhere", address)
    with pytest.raises(IndexUnavailable, match="nothing is published at"):
        fetch(address, tmp_path / "cache")
    with pytest.raises(StorageError, match="no bucket 'no-such-bucket'"):
        fetch("s3://no-such-bucket/x", tmp_path / "cache")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr("hoptrail_scale.publishing.objects.RETRIES", 0)
    with pytest.raises(StorageError, match=r"cannot be reached at http://127\.0\.0\.1:1"):
        fetch(address, tmp_path / "cache")
