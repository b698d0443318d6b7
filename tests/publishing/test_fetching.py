"""A machine has of an address the newest publication and those in use, each whole."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from corpus.worlds import indexed_once, made
from hoptrail.corpus import segments as segments_module
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import IndexDamaged, IndexMismatch, StorageError, UsageError
from hoptrail_scale.publishing import fetching
from hoptrail_scale.publishing.fetching import Follower, restore
from hoptrail_scale.publishing.manifest import Manifest, Pointer, object_of
from hoptrail_scale.publishing.objects import StoreAddress
from hoptrail_scale.publishing.sending import publish
from object_store import FaultyStore
from publishing.indexes import commit, fetch, files_of, manifests_of, objects_of, pointer_of, titles

OLD, NEW = made(400, words=80), made(3, seed=1)
OLD_TITLES = {document.title for document in OLD}
NEW_TITLES = {document.title for document in NEW}


@pytest.fixture(autouse=True)
def arrays_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "SMALL", 1 << 10)


@pytest.fixture
def folder(tmp_path: Path, address: str) -> Path:
    """A published index."""
    found = indexed_once(tmp_path / "index", OLD)
    publish(found, address)
    return found


def here(tmp_path: Path, address: str) -> list[int]:
    """The numbers of the publications in the cache."""
    home = tmp_path / "cache" / StoreAddress.of(address).folder_name
    return sorted(int(path.name.partition("-")[0]) for path in home.iterdir() if path.is_dir())


def chunks_got(store: FaultyStore) -> int:
    return sum(asked.method == "GET" and "/chunks/" in asked.path for asked in store.requests)


@pytest.mark.usefixtures("folder")
def test_what_is_here_is_not_fetched_again(address: str, tmp_path: Path, store: FaultyStore) -> None:
    fetch(address, tmp_path / "cache").close()
    store.requests.clear()
    with fetch(address, tmp_path / "cache") as copy:
        assert titles(copy.folder) == OLD_TITLES
    assert len(store.requests) == 1


def test_only_what_changed_is_fetched(folder: Path, address: str, tmp_path: Path, store: FaultyStore) -> None:
    fetch(address, tmp_path / "cache").close()
    commit(folder, NEW, remove=OLD[:2])
    done = publish(folder, address)
    store.requests.clear()
    with fetch(address, tmp_path / "cache") as copy:
        assert titles(copy.folder) == OLD_TITLES - {OLD[0].title, OLD[1].title} | NEW_TITLES
    assert 0 < chunks_got(store) <= done.sent_chunks


def test_a_follower_sees_news_and_what_is_read_stays(folder: Path, any_address: str, tmp_path: Path) -> None:
    publish(folder, any_address)
    follower = Follower(any_address, tmp_path / "cache")
    first = follower.look()
    assert first
    with Snapshot.open(first.folder) as snapshot:
        assert follower.look() is None
        commit(folder, NEW)
        publish(folder, any_address)
        second = follower.look()
        assert second
        assert here(tmp_path, any_address) == [1, 2]
        assert len(snapshot.register) == len(OLD)
    assert titles(first.folder) == OLD_TITLES
    assert titles(second.folder) == OLD_TITLES | NEW_TITLES
    assert follower.look() is None
    assert here(tmp_path, any_address) == [1, 2]
    first.close()
    assert follower.look() is None
    assert here(tmp_path, any_address) == [2]
    second.close()


@pytest.mark.usefixtures("folder")
def test_to_look_for_news_is_one_small_request(address: str, tmp_path: Path, store: FaultyStore) -> None:
    follower = Follower(address, tmp_path / "cache")
    copy = follower.look()
    store.requests.clear()
    assert copy
    assert [follower.look() for _ in range(3)] == [None] * 3
    assert [asked.path.rpartition("/")[2] for asked in store.requests] == ["current.json"] * 3
    assert all(asked.condition for asked in store.requests)
    copy.close()


def test_many_publications_leave_only_the_newest(folder: Path, address: str, tmp_path: Path) -> None:
    follower = Follower(address, tmp_path / "cache")
    for number in range(5):
        copy = follower.look()
        assert copy
        copy.close()
        commit(folder, made(1, seed=number + 7))
        publish(folder, address)
        assert here(tmp_path, address) == [number + 1]


HOLD = """
import sys, pathlib
from hoptrail_scale.publishing.fetching import Follower
copy = Follower(sys.argv[1], pathlib.Path(sys.argv[2])).first()
print(copy.folder, flush=True)
sys.stdin.read()
"""


def test_what_another_process_uses_stays_until_it_ends(folder: Path, address: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, address, str(tmp_path / "cache")]
    follower = Follower(address, tmp_path / "cache")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        theirs = Path(process.stdout.readline().strip())
        commit(folder, NEW)
        publish(folder, address)
        copy = follower.look()
        assert titles(theirs) == OLD_TITLES
        process.kill()
    assert follower.look() is None
    assert here(tmp_path, address) == [2]
    assert copy
    copy.close()


@pytest.mark.usefixtures("folder")
def test_processes_that_fetch_at_once_get_the_same(address: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, address, str(tmp_path / "cache")]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = {process.communicate("")[0].strip() for process in started}
    assert [process.returncode for process in started] == [0, 0, 0]
    (only,) = found
    assert titles(Path(only)) == OLD_TITLES


# --- damage


def test_an_altered_chunk_is_refused_by_name(folder: Path, address: str, tmp_path: Path) -> None:
    objects, chunk = objects_of(address), manifests_of(address)[0].files[-1].chunks[1]
    content = bytearray(objects.get(f"chunks/{chunk}") or b"")
    content[100] ^= 1
    objects.put(f"chunks/{chunk}", bytes(content))
    with pytest.raises(IndexDamaged, match=f"chunks/{chunk} of {address} is damaged"):
        fetch(address, tmp_path / "cache")
    assert here(tmp_path, address) == [] or not list((tmp_path / "cache").glob("*/*/index.sqlite"))
    publish(folder, address, afresh=True)
    with fetch(address, tmp_path / "cache") as copy:
        assert titles(copy.folder) == OLD_TITLES
    assert here(tmp_path, address) == [2]


@pytest.mark.usefixtures("folder")
def test_a_chunk_that_is_cut_short_or_missing_is_refused_by_name(address: str, tmp_path: Path) -> None:
    objects, chunk = objects_of(address), manifests_of(address)[0].files[0].chunks[0]
    whole = objects.get(f"chunks/{chunk}") or b""
    objects.put(f"chunks/{chunk}", whole[:-1])
    with pytest.raises(IndexDamaged, match=f"chunks/{chunk} of {address} is damaged"):
        fetch(address, tmp_path / "cache")
    objects.delete(f"chunks/{chunk}")
    with pytest.raises(IndexDamaged, match=f"chunks/{chunk} of {address} is missing"):
        fetch(address, tmp_path / "cache")
    with pytest.raises(IndexDamaged, match=chunk):
        restore(address, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_an_altered_manifest_is_refused(folder: Path, address: str, tmp_path: Path) -> None:
    objects, name = objects_of(address), object_of(pointer_of(address).manifests[0])
    objects.put(name, (objects.get(name) or b"").replace(b'"commit":1', b'"commit":2'))
    with pytest.raises(IndexDamaged, match=name):
        fetch(address, tmp_path / "cache")
    with pytest.raises(IndexDamaged, match="--afresh"):
        publish(folder, address)
    assert publish(folder, address, afresh=True).number == 2


@pytest.mark.parametrize("name", ["../index.sqlite", "/etc/passwd", "arrays/../../x.npy", "replies.sqlite"])
@pytest.mark.usefixtures("folder")
def test_files_outside_an_index_are_not_written(address: str, tmp_path: Path, name: str) -> None:
    objects, manifest = objects_of(address), asdict(manifests_of(address)[0])
    manifest["files"][0]["name"] = name
    wrong = Manifest(1, 1, 1, ())
    object.__setattr__(wrong, "content", json.dumps(manifest).encode())
    objects.put(object_of(wrong.name), wrong.content)
    objects.put("current.json", Pointer(1, (wrong.name,)).content)
    with pytest.raises(IndexDamaged, match="not one of a file of an index"):
        fetch(address, tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.name != "fetching.lock"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", IndexDamaged),
        (b"[]", IndexDamaged),
        (b'{"format":1,"manifests":[]}', IndexDamaged),
        (b'{"format":1,"manifests":["../../x"]}', IndexDamaged),
        (b'{"format":2,"manifests":7}', IndexMismatch),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_pointer_that_cannot_be_read_is_refused(
    address: str, tmp_path: Path, content: bytes, error: type[Exception]
) -> None:
    objects_of(address).put("current.json", content)
    with pytest.raises(error, match=r"current\.json|format 2"):
        fetch(address, tmp_path / "cache")


def test_what_is_damaged_here_is_fetched(folder: Path, address: str, tmp_path: Path) -> None:
    """Pieces of an older publication are taken only where they are what they should be."""
    with fetch(address, tmp_path / "cache") as copy:
        database = copy.folder / "index.sqlite"
        content = bytearray(database.read_bytes())
        content[40_000:60_000] = bytes(20_000)
        database.write_bytes(content)
    commit(folder, NEW)
    publish(folder, address)
    with fetch(address, tmp_path / "cache") as copy:
        assert titles(copy.folder) == OLD_TITLES | NEW_TITLES


def test_a_fetch_that_fails_leaves_what_is_here(
    folder: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = Follower(address, tmp_path / "cache")
    first = follower.look()
    assert first
    commit(folder, NEW)
    publish(folder, address)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(fetching, "move_folder", full)
        with pytest.raises(StorageError, match="No space left"):
            follower.look()
    assert titles(first.folder) == OLD_TITLES
    second = follower.look()
    assert second
    assert titles(second.folder) == OLD_TITLES | NEW_TITLES
    first.close()
    second.close()


# --- back into an index


def test_an_index_is_restored_from_an_address_and_goes_on(folder: Path, address: str, tmp_path: Path) -> None:
    restored = tmp_path / "restored"
    restore(address, restored)
    assert set(files_of(restored)) == set(files_of(folder))
    commit(restored, NEW, remove=OLD[:1])
    assert titles(restored) == OLD_TITLES - {OLD[0].title} | NEW_TITLES
    assert publish(restored, address).number == 2


def test_nothing_is_restored_over_an_index(folder: Path, address: str) -> None:
    with pytest.raises(UsageError, match="already exists"):
        restore(address, folder)
    assert titles(folder) == OLD_TITLES
