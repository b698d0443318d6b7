"""Power cuts, kills and refusals at numbered write operations of the commands: a small part of what the benchmarks
`power_cuts`, `kills` and `replacing` try, and the faults that they have found.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from benchmarks.operations import preloaded

from corpus.worlds import files_with
from hoptrail.corpus import database, repairing, segments
from hoptrail.corpus.arrays import ARRAYS
from hoptrail.corpus.durable import remove_files
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import IndexUnavailable, UsageError
from hoptrail.index.indexing import Watcher, remove_documents, repair_index, update_index
from hoptrail.index.syncing import ReadingOptions
from hoptrail.structures.catalogue import structures_by_name
from world import HashingEncoder

ROOT = Path(__file__).parent.parent.parent
STRUCTURES = structures_by_name(PassageLimits())

pytestmark = pytest.mark.timeout(300)  # some tests try a hundred commands, on a machine that may be busy
recorder = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="operations are recorded by a library for Linux, built by cc",
)


def found_by(benchmark: str, out: Path, *arguments: str) -> dict[str, object]:
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", "--out", str(out), *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=preloaded(), capture_output=True, text=True, check=False, timeout=280)
    assert out.exists(), ended.stderr
    found = json.loads(out.read_text())
    assert isinstance(found, dict)
    return found


@recorder
def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    found = found_by("power_cuts", tmp_path / "out.json", "--of", "commands", "--seeds", "1", "--states", "120")
    assert found["failures"] == []
    assert isinstance(found["total"], int)
    assert found["total"] > 60


@recorder
def test_a_power_cut_loses_nothing_that_a_server_has_acknowledged(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    found = found_by("power_cuts", tmp_path / "out.json", "--of", "server", "--seeds", "1", "--states", "8")
    assert found["failures"] == []
    assert isinstance(found["total"], int)
    assert found["total"] >= 4


@recorder
def test_after_a_kill_or_a_refusal_the_same_command_is_enough(tmp_path: Path) -> None:
    found = found_by("kills", tmp_path / "out.json", "--trials", "28")
    assert found["failures"] == []
    assert found["total"] == 28


@recorder
def test_a_replacement_that_is_stopped_anywhere_leaves_one_version_whole(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    ways = ["--of=uploaded lines", "--of=lines", "--of=folder"]
    found = found_by("replacing", tmp_path / "out.json", *ways, "--trials", "15")
    assert [found[name] for name in ("failures", "lost", "doubled", "silent", "total")] == [[], 0, 0, 0, 15]


@pytest.fixture
def sources(world: Path, tmp_path: Path) -> Path:
    """Files that are indexed in `tmp_path / "index"`, all of whose arrays are files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SMALL", 0)
        index(tmp_path / "index", world)
    return world


def index(folder: Path, world: Path) -> None:
    update_index(folder, [world], HashingEncoder(), list(STRUCTURES.values()), Watcher())


def remove(folder: Path, *names: str) -> list[str]:
    return [one.title for one in remove_documents(folder, names, HashingEncoder(), list(STRUCTURES.values()))]


def seen(folder: Path) -> object:
    with Snapshot.open(folder) as snapshot:
        units = {unit.id for kind in snapshot.table.kinds for unit in snapshot.units(kind)}
        links = {(link.kind, link.source, link.target, link.weight) for link in snapshot.links()}
        return units, links, snapshot.head.whole, snapshot.head.structures


class Killed(BaseException):
    """What stands for a kill: nothing catches it."""


@pytest.mark.usefixtures("sources")
@pytest.mark.parametrize("array", ["vectors", "targets", "starts"])
def test_a_repair_that_was_stopped_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, array: str) -> None:
    """The loss itself is committed before what was lost is made again."""
    folder = tmp_path / "index"
    before = seen(folder)
    lost = [path for path in (folder / ARRAYS).iterdir() if path.stem.endswith(f"-{array}")]
    assert lost
    for path in lost:
        path.unlink()

    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(repairing, "writing_to", killed)
    with pytest.raises(Killed):
        repair_index(folder, HashingEncoder(), STRUCTURES, Watcher())
    monkeypatch.undo()
    repair_index(folder, HashingEncoder(), STRUCTURES, Watcher())
    assert damage(folder) == []
    assert seen(folder) == before


@pytest.mark.usefixtures("sources")
def test_what_a_stopped_repair_of_the_database_leaves_is_found_and_cleared(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    (folder / f"{DATABASE}.new").mkdir()
    (folder / f"{DATABASE}.new" / DATABASE).write_text("half a database")
    assert damage(folder) == [f"{DATABASE}.new does not belong to the index"]
    assert repair_index(folder, HashingEncoder(), STRUCTURES, Watcher()) == [f"{DATABASE}.new"]
    assert damage(folder) == []


def test_a_removal_whose_end_was_not_seen_may_be_said_again(sources: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    named = min(sources.iterdir())
    remove(folder, str(named))
    after = seen(folder)
    assert remove(folder, str(named)) == [str(named)]
    assert seen(folder) == after
    with pytest.raises(UsageError, match="there is no document"):
        remove(folder, str(named.with_name("other.txt")))
    assert files_with(folder, str(named)) == []
    (sources / "New.txt").write_text("A new note.")
    index(folder, sources / "New.txt")
    remove(folder, "New")
    assert remove(folder, str(named), named.stem) == [str(named), named.stem], (
        "also after other commands, by any of its names"
    )
    index(folder, sources)
    assert remove(folder, str(named)) == [named.stem], "it is there again"


@pytest.mark.parametrize("wanted", range(1, 6))
def test_what_a_sync_that_was_cut_off_has_removed_may_be_removed_again(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: int
) -> None:
    """By its path, or that of its JSONL file, whether or not the sync had come to its commit."""
    folder, gone, notes = tmp_path / "index", min(sources.iterdir()), sources / "notes.jsonl"
    text = gone.read_text(encoding="utf-8")
    notes.write_text('{"id": "a", "title": "A", "text": "A heron."}\n{"id": "b", "title": "B", "text": "A newt."}')
    index(folder, sources)
    gone.unlink()
    notes.unlink()
    empty_log, calls = database.Database.empty_log, count(1)

    def killed(self: database.Database, wait: float = 0.0) -> bool:
        if next(calls) == wanted:
            raise Killed
        return empty_log(self, wait)

    with monkeypatch.context() as until, suppress(Killed):
        until.setattr(database.Database, "empty_log", killed)
        sync = ReadingOptions(sync=True)
        update_index(folder, [sources], HashingEncoder(), list(STRUCTURES.values()), Watcher(), options=sync)
    assert remove(folder, str(gone), str(notes))
    assert [files_with(folder, one) for one in (text, "heron", "newt")] == [[], [], []]
    assert remove(folder, str(gone), str(notes)) == [str(gone), str(notes)]


def test_what_an_update_has_replaced_is_in_no_file_once_it_is_said_again(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it had been killed between one of its commits and the cleaning after it, the last one included."""
    changed, empty_log = sources / "Isk.txt", database.Database.empty_log
    for wanted in range(1, 20):
        old = changed.read_text(encoding="utf-8")
        changed.write_text(f"Note {wanted} is new.", encoding="utf-8")
        calls = count(1)

        def killed(self: database.Database, wait: float = 0.0) -> bool:
            if next(calls) == wanted:  # noqa: B023 - called in this turn only
                raise Killed
            return empty_log(self, wait)

        with monkeypatch.context() as until:
            until.setattr(database.Database, "empty_log", killed)
            try:
                index(tmp_path / "index", sources)
                break
            except Killed:
                pass
        index(tmp_path / "index", sources)
        assert files_with(tmp_path / "index", old) == [], wanted
    assert wanted > 1


def test_a_journal_of_a_first_run_that_was_stopped_is_no_index_yet(tmp_path: Path) -> None:
    """SQLite writes one before there is a log; whoever only reads can do nothing about it."""
    import apsw

    connection = apsw.Connection(str(tmp_path / "made"))
    connection.execute("PRAGMA cache_size = 1; CREATE TABLE t (v); INSERT INTO t VALUES (1); BEGIN; UPDATE t SET v = 2")
    connection.execute("CREATE TABLE u (v)")
    connection.execute("INSERT INTO u SELECT randomblob(4000) FROM t, (VALUES (1), (2), (3), (4))")
    folder = tmp_path / "index"
    folder.mkdir()
    shutil.copy(tmp_path / "made", folder / DATABASE)
    shutil.copy(tmp_path / "made-journal", folder / f"{DATABASE}-journal")
    connection.close()
    for look in (Snapshot.open, damage):
        with pytest.raises(IndexUnavailable, match="there is no index"):
            look(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be synced there")
def test_files_that_were_removed_do_not_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their folders are synced after the last of them has gone."""
    synced = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append((os.fstat(file).st_ino, sorted((tmp_path / "arrays").iterdir())))
    )
    (tmp_path / "arrays").mkdir()
    for name in ("1-letters.npy", "2-letters.npy"):
        (tmp_path / "arrays" / name).write_text("text")
    remove_files([tmp_path / "arrays" / "1-letters.npy", tmp_path / "arrays" / "2-letters.npy"])
    assert synced == [((tmp_path / "arrays").stat().st_ino, [])]


def test_the_log_is_synced_when_it_was_cut(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that was added and removed while one log lasted would come back with it."""
    lengths = []
    log = tmp_path / "index" / f"{DATABASE}-wal"
    monkeypatch.setattr(database, "sync_file", lambda path: lengths.append((path, path.stat().st_size)))
    (sources / "New.txt").write_text("A new note.")
    index(tmp_path / "index", sources)
    assert lengths
    assert set(lengths) == {(log, 0)}
