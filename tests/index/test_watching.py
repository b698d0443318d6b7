"""A folder that is watched: what changes is indexed once it has come to rest, and nothing is lost where the watch is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import pytest

from corpus.worlds import files_with
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import StorageError, UsageError
from hoptrail.index import watching
from hoptrail.index.index import Index
from hoptrail.index.indexing import Watcher
from hoptrail.index.syncing import IndexingReport
from hoptrail.index.watching import watch
from index.test_indexing import write
from world import FACTS, HashingEncoder

QUICK = 0.15
LONG = 60.0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("QUIET", QUICK), ("LONGEST", 5.0), ("RETRY", QUICK)):
        monkeypatch.setattr(watching, name, seconds)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    opened = Index(tmp_path / "index")
    opened.encoder = HashingEncoder()
    return opened


class Watched:
    """The reports of a watch that goes on in a thread, and what it has said."""

    def __init__(self, stop: Event) -> None:
        self.stop = stop
        self.reports: list[IndexingReport] = []
        self.said: list[str] = []
        self.error: Exception | None = None

    def until(self, seen: Callable[[], bool]) -> None:
        end = time.monotonic() + LONG
        while not seen():
            assert self.error is None, self.error
            assert time.monotonic() < end, (self.reports, self.said)
            time.sleep(0.01)


@contextmanager
def watched(index: Index, *folders: Path, sync: bool = False) -> Iterator[Watched]:
    found = Watched(Event())
    watcher = Watcher(stopped=found.stop.is_set, say=found.said.append)

    def collected() -> None:
        try:
            for report in watch(index, folders, ["bm25"], watcher, sync=sync):
                found.reports.append(report)
        except Exception as error:  # noqa: BLE001 - looked at by the test
            found.error = error

    thread = Thread(target=collected, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.stop.set()
        thread.join(LONG)
        assert not thread.is_alive()


def titles(index: Index) -> list[str]:
    return sorted(document.title for document in index.contents().documents)


@pytest.mark.usefixtures("quick")
def test_what_changes_is_indexed(index: Index, world: Path) -> None:
    with watched(index, world, sync=True) as found:
        found.until(lambda: len(found.reports) == 1)
        assert found.reports[0].added == 6
        write(world / "below/Ulm.txt", "Ulm is a town on the Isk.")
        found.until(lambda: any(report.added == 1 for report in found.reports[1:]))
        write(world / "Isk.txt", "The Isk dried up in the Grey Hills.")
        found.until(lambda: any(report.updated == 1 for report in found.reports[1:]))
        (world / "Lindeth.txt").unlink()
        found.until(lambda: any(report.removed == 1 for report in found.reports[1:]))
    assert titles(index) == sorted({*FACTS, "Ulm"} - {"Lindeth"})
    assert index.search("dried", "bm25")


@pytest.mark.usefixtures("quick")
def test_a_name_that_is_not_utf8_ends_no_watch(index: Index, world: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(world) + b"/caf\xe9.txt"))
    with watched(index, world, sync=True) as found:
        found.until(lambda: len(found.reports) == 1)
        write(file, "The cafe is in Ulm.")
        found.until(lambda: r"caf\xe9" in titles(index))
        write(world / "Ulm.txt", "Ulm is a town on the Isk.")
        found.until(lambda: "Ulm" in titles(index))
        file.unlink()
        found.until(lambda: r"caf\xe9" not in titles(index))
    assert titles(index) == sorted({*FACTS, "Ulm"})


@pytest.mark.usefixtures("quick")
def test_without_sync_nothing_is_forgotten(index: Index, world: Path) -> None:
    with watched(index, world) as found:
        found.until(lambda: len(found.reports) == 1)
        (world / "Lindeth.txt").unlink()
        found.until(lambda: any(report.gone == 1 for report in found.reports[1:]))
    assert "Lindeth" in titles(index)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("sync", [False, True])
def test_a_file_that_is_no_longer_read_takes_its_text_with_it(index: Index, world: Path, sync: bool) -> None:
    write(world / "photo.jpg", "The Arrow is a brook.")
    with watched(index, world, sync=sync) as found:
        found.until(lambda: len(found.reports) == 1)
        assert index.search("brook", "bm25")
        (world / "photo.jpg").write_bytes(b"GIF89a" + bytes(300))
        found.until(lambda: any(report.removed == 1 for report in found.reports[1:]))
        last = found.reports[-1]
        assert ([Path(name).name for name in last.left_out], last.documents) == (["photo.jpg"], 6)
        (world / ".gitignore").write_text("Isk.txt", encoding="utf-8")
        found.until(lambda: "Isk" not in titles(index))
    assert "photo" not in titles(index)


@pytest.mark.usefixtures("quick")
def test_what_is_excluded_is_not_watched_for(index: Index, world: Path) -> None:
    write(world / "drafts/a.md", "A draft.")
    stop = Event()
    for report in watch(index, [world], ["bm25"], Watcher(stopped=stop.is_set), exclude=["drafts/"]):
        stop.set()
        assert (report.added, len(report.left_out)) == (6, 1)


@pytest.mark.usefixtures("quick")
def test_what_hoptrail_writes_within_the_folder_is_no_change(world: Path) -> None:
    inside = Index(world / ".hoptrail")
    inside.encoder = HashingEncoder()
    with watched(inside, world) as found:
        found.until(lambda: len(found.reports) == 1)
        time.sleep(4 * QUICK)
        assert len(found.reports) == 1


@pytest.mark.usefixtures("quick")
def test_while_another_process_writes_it_is_said_and_tried_again(index: Index, world: Path) -> None:
    with writing_to(index.folder, index.encoder.identity):
        pass
    with watched(index, world) as found:
        found.until(lambda: len(found.reports) == 1)
        with writing_to(index.folder, index.encoder.identity):
            write(world / "Ulm.txt", "Ulm is a town on the Isk.")
            found.until(lambda: bool(found.said))
            assert "is being written by this process itself" in found.said[0]
            assert "It will be retried." in found.said[0]
        found.until(lambda: any(report.added == 1 for report in found.reports[1:]))


@pytest.mark.usefixtures("quick")
def test_a_reader_of_removed_text_ends_no_watch(index: Index, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.01)
    with watched(index, world, sync=True) as found:
        found.until(lambda: len(found.reports) == 1)
        with Snapshot.open(index.folder):
            (world / "Lindeth.txt").unlink()
            found.until(lambda: bool(found.said))
            assert "its text is still in the log" in found.said[0]
        write(world / "Ulm.txt", "Ulm is a town on the Isk.")
        found.until(lambda: any(report.added == 1 for report in found.reports[1:]))
    assert titles(index) == sorted({*FACTS, "Ulm"} - {"Lindeth"})
    assert files_with(index.folder, "Lindeth") == []


def test_only_folders_are_watched(index: Index, world: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        next(watch(index, [world / "Isk.txt"], [], Watcher()))


@pytest.mark.usefixtures("quick")
def test_a_folder_that_goes_ends_the_watch(index: Index, world: Path) -> None:
    with watched(index, world) as found:
        found.until(lambda: len(found.reports) == 1)
        world.rename(world.parent / "elsewhere")
        (world.parent / "elsewhere" / "new.txt").write_text("New.", encoding="utf-8")
        end = time.monotonic() + LONG
        while found.error is None and time.monotonic() < end:
            time.sleep(0.05)
        assert isinstance(found.error, StorageError)
        found.error = None
    assert len(titles(index)) == 6


class TestDue:
    """When it is time."""

    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        now = [1000.0]
        monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=lambda: now[0]))
        return now

    def test_at_once_at_first_then_after_rest(self, clock: list[float]) -> None:
        due = watching._Due()
        assert due
        due.done(started=990.0)  # it took ten seconds
        assert not due
        due.note()
        clock[0] += 5
        assert not due, "as long as it took is rested"
        clock[0] += 5
        assert due

    def test_a_file_that_never_rests_waits_for_so_long_only(self, clock: list[float]) -> None:
        due = watching._Due()
        due.done(started=1000.0)
        waited = 0
        while not due:
            due.note()
            clock[0] += 1
            waited += 1
        assert waited == 60

    def test_what_could_not_be_done_is_put_off(self, clock: list[float]) -> None:
        due = watching._Due()
        due.put_off()
        clock[0] += 9
        assert not due
        clock[0] += 1
        assert due


KILLED = """
import signal
import sys
from pathlib import Path
from hoptrail.index.index import Index
from world import HashingEncoder
from hoptrail.index.indexing import Watcher
from hoptrail.index import watching
import time

class Slow(HashingEncoder):
    def encode(self, texts, progress=None):
        time.sleep(0.2)
        return super().encode(texts)

signal.signal(signal.SIGINT, signal.default_int_handler)  # what was started in the background ignores it
index = Index(sys.argv[1])
index.encoder = Slow()
watching.QUIET, watching.LONGEST, watching.RETRY = 0.2, 5.0, 0.2
for report in watching.watch(index, [sys.argv[2]], ["hybrid"], Watcher(), sync=True):
    print(report.documents, flush=True)
"""


@contextmanager
def watching_process(index: Index, world: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that watches, and has indexed what is there."""
    command = [sys.executable, "-c", KILLED, str(index.folder), str(world)]
    there = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=there) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "6\n"
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("after", [0.0, 0.25])
def test_a_kill_in_the_middle_of_a_watch_loses_nothing(index: Index, world: Path, after: float) -> None:
    with watching_process(index, world) as process:
        for number in range(40):
            write(world / f"new {number}.txt", f"Town {number} stands on the Isk.")
        (world / "Lindeth.txt").unlink()
        time.sleep(0.4 + after)
        process.send_signal(signal.SIGKILL)
    assert set(FACTS) - {"Lindeth"} <= set(titles(index)), "what was acknowledged is there"
    index.add(world, ["hybrid"], sync=True)
    assert set(titles(index)) == {*FACTS, *(f"new {number}" for number in range(40))} - {"Lindeth"}
    assert index.contents().reached is None
    index.verify()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_ends_a_watch(index: Index, world: Path) -> None:
    with watching_process(index, world) as process:
        time.sleep(1.0)  # it waits for changes
        process.send_signal(signal.SIGINT)
        process.wait(LONG)
