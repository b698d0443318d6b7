"""A new version takes the place of the old one in one commit, or not at all: wherever a run is stopped, and whatever stops it."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import SpooledTemporaryFile

import pytest

from corpus.test_cut_short import Killed, seen
from hoptrail.corpus import database
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import EndpointBusy, Interrupted, StillRead, StorageError
from hoptrail.index import reading
from hoptrail.index.indexing import Watcher, update_index
from hoptrail.index.syncing import IndexingReport
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Kind
from index.test_indexing import Desk, lines, stopping_after, write
from world import HashingEncoder

STRUCTURES = list(structures_by_name(PassageLimits()).values())
NAMES = ("isk", "orne", "tarn")
OLD = {name: f"The {name} was {name}old." for name in NAMES}
NEW = {name: f"The {name} is {name}new." for name in NAMES}
OF_A_FILE = ({"note": "The note was noteold."}, {"note": "The note is notenew."})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with new versions of a file and of the lines of another, whose old ones are indexed beside it, and a new file."""
    folder = tmp_path / "world"
    for texts, (note,) in ((OLD, OF_A_FILE[0].values()), (NEW, OF_A_FILE[1].values())):
        lines(folder / "rivers.jsonl", kept="It stays.", **texts)
        write(folder / "note.txt", note)
        if texts is OLD:
            index(tmp_path)
    write(folder / "later.txt", "It came later.")
    return tmp_path


def index(place: Path, watcher: Watcher | None = None) -> IndexingReport:
    return update_index(place / "index", [place / "world"], HashingEncoder(), STRUCTURES, watcher or Watcher())


def texts(place: Path) -> list[str]:
    """The texts that a reader lists, without the new file, which may be seen once it is read. Each is found by its own word."""
    with Snapshot.open(place / "index") as snapshot:
        found = [document.text for document in snapshot.documents() if "later" not in document.text]
        for text in found:
            hits = snapshot.search.keywords(text.rstrip(".").rpartition(" ")[2], 9)
            assert [hit.text for hit, _ in hits] == [text]
            assert all(hit.id in snapshot.search.vectors(Kind.PASSAGE).ids for hit, _ in hits)
        return sorted(found)


BEFORE = sorted([*OLD.values(), *OF_A_FILE[0].values(), "It stays."])
AFTER = sorted([*NEW.values(), *OF_A_FILE[1].values(), "It stays."])


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int, Callable[[], None]], None]]:
    """Sets what is done at which step of the next run, from 0."""
    checkpoint = Writer.checkpoint

    def set_(wanted: int, act: Callable[[], None]) -> None:
        steps = count()

        def acting(writer: Writer) -> None:
            if next(steps) == wanted:
                act()
            checkpoint(writer)

        monkeypatch.setattr(Writer, "checkpoint", acting)

    yield set_
    monkeypatch.undo()


@pytest.mark.parametrize(("first", "error"), list(enumerate([Interrupted, EndpointBusy, StorageError, Killed])))
def test_wherever_a_run_stops_the_old_versions_are_whole_and_the_next_run_finishes(
    place: Path, steps: Callable[[int, Callable[[], None]], None], first: int, error: type[BaseException]
) -> None:
    def stop() -> None:
        raise error("stopped")

    for step in range(first, 1000, 6):
        steps(step, stop)
        try:
            index(place)
            break
        except error:
            assert texts(place) == BEFORE
        assert error is Killed or damage(place / "index") == [], "a kill may leave files, which the next run removes"
    assert step > 10
    assert texts(place) == AFTER
    assert damage(place / "index") == []
    steps(-1, stop)
    index(place)
    stopped = seen(place / "index")
    (place / "index").rename(place / "stopped")
    index(place)
    assert stopped == seen(place / "index")


def test_readers_see_the_old_versions_until_the_new_ones_are_whole(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, looks = Writer.checkpoint, []

    def looking(writer: Writer) -> None:
        looks.append(texts(place))
        checkpoint(writer)

    monkeypatch.setattr(Writer, "checkpoint", looking)
    report = index(place)
    assert (report.added, report.updated, report.unchanged, report.removed) == (1, 4, 1, 0)
    assert len(looks) > 10
    assert all(look == BEFORE for look in looks)
    assert texts(place) == AFTER


def test_many_new_versions_come_in_several_commits(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line in one version at any time, and lines that have gone go with the last."""
    monkeypatch.setattr(reading, "BATCH_DOCUMENTS", 2)
    lines(place / "world/rivers.jsonl", **NEW)
    commits: list[list[str]] = []
    publish = Writer.publish

    def publishing(writer: Writer, *given: object, **more: object) -> None:
        publish(writer, *given, **more)  # type: ignore[arg-type]
        commits.append(texts(place))

    monkeypatch.setattr(Writer, "publish", publishing)
    report = index(place)
    assert (report.added, report.updated, report.removed) == (1, 4, 1)
    assert [len(set(commit) & set(AFTER)) for commit in commits] == [1, 3, 4]
    assert [len(commit) for commit in commits] == [5, 5, 4]


def test_a_line_that_moves_across_batches_is_never_absent(
    place: Path, steps: Callable[[int, Callable[[], None]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines without ids, whose sources are their numbers, after one was put before them, two were replaced and one was left out.
    A kill between two commits and another command after it change nothing.
    """
    monkeypatch.setattr(reading, "BATCH_DOCUMENTS", 2)
    file, other, folder = place / "world/rivers.jsonl", place / "other", place / "index"
    write(other / "other.txt", "The other is otherword.")
    old = [f"The river is word{number}." for number in range(9)]
    new = [
        "It is first.",
        *old[:3],
        "It is third.",
        "It is fourth.",
        *old[5:8],
        "A new line at a new place may be seen later.",
    ]

    def killed() -> None:
        raise Killed

    def check() -> None:
        found = [text for text in texts(place) if text in {*old, *new}]
        assert len(found) == len(set(found)) >= len(set(old) & set(new))
        assert set(found) >= set(old) & set(new)

    for version in (old, new):
        write(file, "".join(f'{{"title": "River", "text": "{text}"}}\n' for text in version))
        if version is old:
            index(place)
    for step in count(0, 5):
        copytree(folder, place / "stopped", dirs_exist_ok=True)
        steps(step, killed)
        try:
            index(place)
            break
        except Killed:
            check()
            steps(-1, killed)
            update_index(folder, [other], HashingEncoder(), STRUCTURES, Watcher())
            check()
            rmtree(folder)
            (place / "stopped").rename(folder)
    assert step > 10
    assert sorted(text for text in texts(place) if text in {*old, *new}) == sorted(new[:-1])


def test_a_new_structure_is_kept_though_the_replacement_beside_it_is_stopped(tmp_path: Path, world: Path) -> None:
    desk = Desk(tmp_path / "index")
    desk.index(world)
    write(world / "Isk.txt", "The Isk dried up.")
    for calls in range(100):
        with pytest.raises(Interrupted):
            desk.index(world, watcher=stopping_after(calls), names=("passages", "sentences"))
        if desk.structures() == (["passages", "sentences"], []):
            break
    assert desk.finds("Hills") == ["Isk"]
    desk.encoder.texts.clear()
    desk.index(world, names=("passages", "sentences"))
    assert set(desk.encoder.texts) == {"Isk\nThe Isk dried up."}
    assert desk.finds("dried") == ["Isk"]


def test_a_reader_who_delays_the_erasing_delays_no_later_commit(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH_DOCUMENTS", 1)
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.01)
    with Snapshot.open(place / "index"), pytest.raises(StillRead):
        index(place)
    assert texts(place) == AFTER


def test_a_full_disk_while_new_versions_wait_keeps_the_old_ones(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(SpooledTemporaryFile[bytes]):
        def writelines(self, _: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(reading, "SpooledTemporaryFile", Full)
    with pytest.raises(StorageError, match=r"cannot hold documents in .*: No space left"):
        index(place)
    monkeypatch.undo()
    assert texts(place) == BEFORE
    index(place)
    assert texts(place) == AFTER


def test_a_full_disk_at_the_commit_keeps_the_old_versions(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index(place)  # beside it nothing is to be committed
    lines(place / "world/rivers.jsonl", kept="It stays.", **OLD)

    def full(_: database.Database) -> None:
        raise StorageError("database or disk is full")

    monkeypatch.setattr(database.Database, "commit", full)
    with pytest.raises(StorageError):
        index(place)
    monkeypatch.undo()
    assert texts(place) == AFTER


def test_two_files_that_swap_their_texts_lose_neither(place: Path) -> None:
    index(place)
    for start in range(2):  # there and back again, together stopped at each step
        first, second = place / "world/note.txt", place / "world/later.txt"
        one, other = first.read_text(), second.read_text()
        first.write_text(other)
        second.write_text(one)
        for calls in range(start, 100, 2):
            try:
                index(place, stopping_after(calls))
                break
            except Interrupted:
                assert texts(place) == AFTER
        assert texts(place) == AFTER
