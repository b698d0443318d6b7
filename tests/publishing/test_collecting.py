"""What only old publications name goes in time; what the current or the last one names never does."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import pytest

from corpus.worlds import files_with, indexed_once, made
from hoptrail.corpus import segments as segments_module
from hoptrail.errors import IndexBusy, StorageError
from hoptrail_scale.publishing import sending
from hoptrail_scale.publishing.manifest import number_of
from hoptrail_scale.publishing.objects import Objects
from hoptrail_scale.publishing.sending import publish
from object_store import Asked, Fault, FaultyStore, nth
from publishing.indexes import commit, fetch, manifests_of, objects_of, pointer_of, stored, titles
from world import make_document

OLD = made(300, words=80)


@pytest.fixture(autouse=True)
def arrays_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "SMALL", 1 << 10)


def named(address: str) -> set[str]:
    """The chunks that the manifests which are there name."""
    return {f"chunks/{chunk}" for manifest in manifests_of(address) for chunk in manifest.chunks}


def numbers(address: str) -> list[int]:
    return [manifest.number for manifest in manifests_of(address)]


def test_without_time_to_keep_the_current_and_the_last_stay(any_address: str, tmp_path: Path) -> None:
    folder = indexed_once(tmp_path / "index", OLD)
    for number in range(5):
        commit(folder, made(2, seed=number + 1), remove=OLD[number : number + 1])
        publish(folder, any_address, keep_hours=0)
        assert numbers(any_address) == [number + 1, number][: number + 1]
        assert stored(any_address, "chunks") == named(any_address)
        assert len(stored(any_address, "manifests")) == len(numbers(any_address))
    with fetch(any_address, tmp_path / "cache") as copy:
        assert len(titles(copy.folder)) == 300 + 5


def test_what_was_replaced_a_short_while_ago_stays(address: str, tmp_path: Path) -> None:
    folder = indexed_once(tmp_path / "index", OLD)
    for number in range(4):
        commit(folder, made(1, seed=number + 1), remove=OLD[number : number + 1])
        assert publish(folder, address).removed == 0
    assert numbers(address) == [4, 3, 2, 1]
    assert stored(address, "chunks") == named(address)
    assert publish(folder, address, keep_hours=0).removed > 0  # nothing new, but time to clear up
    assert numbers(address) == [4, 3]
    assert stored(address, "chunks") == named(address)


def test_what_failed_publishers_sent_goes(address: str, tmp_path: Path, store: FaultyStore) -> None:
    folder = indexed_once(tmp_path / "index", OLD)
    publish(folder, address)
    commit(folder, made(20, seed=1))

    def refuse(asked: Asked) -> Fault | None:
        return Fault.REFUSED if asked.path.endswith("current.json") and asked.method == "PUT" else None

    with store.failing(refuse), pytest.raises(StorageError):
        publish(folder, address)
    left = stored(address, "chunks/2")
    assert left
    commit(folder, made(20, seed=2), remove=made(20, seed=1))
    for number in range(3):
        publish(folder, address, keep_hours=0)
        commit(folder, made(1, seed=number + 3))
    assert numbers(address) == [4, 3]
    assert stored(address, "chunks") == named(address)
    assert len(stored(address, "manifests")) == 2


def test_collecting_that_was_interrupted_is_done_again(address: str, tmp_path: Path, store: FaultyStore) -> None:
    folder = indexed_once(tmp_path / "index", OLD)
    for number in range(3):
        commit(folder, made(1, seed=number + 1), remove=OLD[number : number + 1])
        publish(folder, address)
    for method in ("POST", "DELETE"):
        with store.failing(nth(2, Fault.REFUSED, again=True, method=method)):
            try:
                publish(folder, address, keep_hours=0)
            except StorageError:
                assert numbers(address)[:2] == [3, 2]
    publish(folder, address, keep_hours=0)
    assert numbers(address) == [3, 2]
    assert stored(address, "chunks") == named(address)


def test_a_slow_collector_takes_nothing_from_later_publications(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others publish, and bring back what has gone, between any two of its requests."""
    draw = Random(3)
    folder, other = indexed_once(tmp_path / "index", OLD), indexed_once(tmp_path / "other", made(50, seed=77))
    for number in range(3):
        commit(folder, made(1, seed=number + 1), remove=OLD[number : number + 1])
        publish(folder, address)
    within: list[str] = []
    kept = Objects.delete

    def delete(objects: Objects, name: str) -> None:
        if len(within) < 3 and draw.random() < 0.5:
            within.append(name)
            publish(other if len(within) % 2 else folder, address, keep_hours=48)
        kept(objects, name)

    monkeypatch.setattr(sending, "STREAMS", 1)
    monkeypatch.setattr(Objects, "delete", delete)
    publish(folder, address, keep_hours=0)
    assert len(within) == 3
    assert named(address) <= stored(address, "chunks")
    assert numbers(address)[:4] == [6, 5, 4, 3]


@pytest.mark.parametrize("seed", range(3))
def test_publishers_that_fail_and_race_never_lose_what_is_current(
    address: str, tmp_path: Path, store: FaultyStore, seed: int
) -> None:
    """Whatever requests fail, and whoever publishes between two of them."""
    draw = Random(seed)
    folders = [indexed_once(tmp_path / str(number), made(60, seed=number, words=60)) for number in range(2)]
    publish(folders[0], address)
    ended = []
    for turn in range(12):
        folder = draw.choice(folders)
        if draw.random() < 0.7:
            commit(folder, made(2, seed=turn + 10))
        with store.failing(_Trouble(draw, folders[0], address)):
            try:
                publish(folder, address, keep_hours=draw.choice([0, 48]), afresh=draw.random() < 0.1)
                ended.append("published")
            except (IndexBusy, StorageError) as error:
                ended.append(type(error).__name__)
        current = manifests_of(address)[:2]
        assert {f"chunks/{chunk}" for one in current for chunk in one.chunks} <= stored(address, "chunks")
        assert current[0].number == pointer_of(address).number
    assert len(set(ended)) > 1
    publish(folders[0], address, keep_hours=0)
    with fetch(address, tmp_path / "cache") as copy:
        assert titles(copy.folder) == titles(folders[0])


class _Trouble:
    """From some request on, all that would change something are refused; or somebody else publishes before the pointer."""

    def __init__(self, draw: Random, folder: Path, address: str) -> None:
        self._left = draw.randrange(12) if draw.random() < 0.4 else 1 << 30
        self._race = draw.random() < 0.3
        self._publish = partial(publish, folder, address, keep_hours=0)

    def __call__(self, asked: Asked) -> Fault | None:
        if asked.method == "GET":
            return None
        if self._race and asked.path.endswith("current.json"):
            self._race = False
            self._publish()
        self._left -= 1
        return Fault.REFUSED if self._left < 0 else None


def test_a_damaged_publication_is_collected_too(address: str, tmp_path: Path) -> None:
    folder = indexed_once(tmp_path / "index", OLD)
    publish(folder, address)
    (name,) = stored(address, "manifests")
    objects_of(address).put(name, b"{}")
    publish(folder, address, afresh=True)
    commit(folder, made(1, seed=1))
    assert publish(folder, address, keep_hours=0).removed > 0
    assert numbers(address) == [3, 2]
    assert stored(address, "chunks") == named(address)


def test_removed_text_goes_with_the_publications_that_hold_it(address: str, tmp_path: Path) -> None:
    secret = make_document("Secret", "The quetzalcoatlus sleeps.")
    folder = indexed_once(tmp_path / "index", [secret, *OLD])
    publish(folder, address)
    commit(folder, [], remove=[secret])
    publish(folder, address, keep_hours=0)
    commit(folder, made(1, seed=1))
    publish(folder, address, keep_hours=0)
    objects = objects_of(address)
    assert not any(b"quetzalcoatlus" in (objects.get(name) or b"") for name in stored(address, ""))
    with fetch(address, tmp_path / "cache") as copy:
        assert files_with(copy.folder, "quetzalcoatlus") == []
    assert {number_of(name.partition("/")[2]) for name in stored(address, "manifests")} == {3, 2}
