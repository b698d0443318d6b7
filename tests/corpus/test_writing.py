"""One writer at a time, one transaction a commit, and what was removed is in no file."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pytest

from corpus.worlds import add, files_with, indexed, made, sentence_of, vectors_of
from hoptrail.corpus import segments as segments_module
from hoptrail.corpus.arrays import ARRAYS
from hoptrail.corpus.database import Database
from hoptrail.corpus.durable import make_folder
from hoptrail.corpus.locations import DATABASE, check_file_system
from hoptrail.corpus.names import NameList
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.schema import FORMAT, OLD_FORMAT
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import IndexBusy, IndexDamaged, IndexMismatch, StillRead, StorageError
from hoptrail.types import Extraction
from world import make_document, make_passage

HOLD = """
import sys, pathlib
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
folder = pathlib.Path(sys.argv[2])
with (writing_to(folder) if sys.argv[1] == "writer" else Snapshot.open(folder)) as held:
    print("held", flush=True)
    sys.stdin.read()
"""

LOCK = """
import fcntl, sys, time
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 512, 0x40000000)  # the bytes by which SQLite locks a whole file
    print("locked", flush=True)
    time.sleep(0.3)
"""


@pytest.fixture(params=["writer", "reader"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    """Another process that has the index open."""
    indexed(tmp_path, [make_document("Secret", "The quetzalcoatlus sleeps."), *made(5)])
    command = [sys.executable, "-c", HOLD, request.param, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        yield request.param, process.pid
        process.kill()


def test_who_writes_and_who_reads_is_named(
    tmp_path: Path, other: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    what, process = other
    if what == "writer":
        with pytest.raises(IndexBusy, match=f"process {process} "), writing_to(tmp_path):
            pass
        with Snapshot.open(tmp_path) as snapshot:
            assert len(snapshot.register) == 6
        return
    secret = make_document("Secret", "The quetzalcoatlus sleeps.").id
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.05)
    with writing_to(tmp_path) as writer:
        writer.remove_documents([secret])
        with pytest.raises(StillRead, match=f"process {process} "):
            writer.commit()
        assert not list(writer.snapshot().register.read([secret]))
        assert not writer.erase_removed()
    os.kill(process, 9)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    with writing_to(tmp_path) as writer:
        assert writer.erase_removed()
        assert files_with(tmp_path, "quetzalcoatlus") == []


@pytest.mark.parametrize("use", [Database.to_read, Database.to_write])
def test_a_file_that_its_last_reader_locks_while_it_closes_is_waited_for(
    tmp_path: Path, use: Callable[[Path], Database]
) -> None:
    folder = indexed(tmp_path, made(5))
    with subprocess.Popen([sys.executable, "-c", LOCK, str(folder / DATABASE)], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"locked\n"
        use(folder).close()


@pytest.mark.parametrize("small", [0, 1 << 16])
def test_removed_text_is_in_no_file(tmp_path: Path, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it stood in a text, a title, a source, a name, a fact, or in a word of the keyword index."""
    monkeypatch.setattr(segments_module, "SMALL", small)
    secret = make_document("Zyzzyva", "The zyzzyva " + "zyzzyva hums " * 2000 + "quietly.", "/zyzzyva.txt")
    with writing_to(tmp_path) as writer:
        number = add(writer, [secret, *made(20)])[0]
        writer.put_units([sentence_of(secret)], vectors_of([sentence_of(secret)]))
        writer.names.put("title", NameList.of([(b"zyzzyva", number), (b"other", number + 1)]))
        writer.put_extractions({make_passage(secret).id: Extraction(("zyzzyva",), ())})
        writer.commit()
        assert len(files_with(tmp_path, "zyzzyva")) >= 2 - bool(small)
        writer.remove_documents([secret.id])
        writer.commit()
        assert files_with(tmp_path, "yzzyva") == files_with(tmp_path, secret.id) == []
        assert writer.snapshot().names.of("title").row("other") == 0
    with Snapshot.open(tmp_path) as snapshot:
        assert len(snapshot.register) == 20
        assert not damage(tmp_path)


def _killed(*_: object) -> None:
    raise RuntimeError("killed")


def test_what_a_stopped_writer_left_of_a_removal_is_cleaned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it had been killed after its commit."""
    monkeypatch.setattr(segments_module, "SMALL", 0)
    secret = make_document("Zyzzyva", "The zyzzyva hums.")
    indexed(tmp_path, [secret, *made(3)])
    with monkeypatch.context() as killed, suppress(RuntimeError), writing_to(tmp_path) as writer:
        killed.setattr(Database, "empty_log", _killed)
        writer.remove_documents([secret.id])
        writer.commit()
    (tmp_path / ARRAYS / "99-letters.npy.new").write_text("zyzzyva")
    assert len(files_with(tmp_path, "zyzzyva")) == 2
    with writing_to(tmp_path) as writer:
        assert writer.erase_removed()
    assert files_with(tmp_path, "zyzzyva") == []


def test_what_is_not_committed_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "SMALL", 0)
    indexed(tmp_path, made(3))
    files = sorted(path.name for path in (tmp_path / ARRAYS).iterdir())
    with writing_to(tmp_path) as writer:
        add(writer, made(2, seed=7))
        assert len(writer.snapshot().register) == 5
        with Snapshot.open(tmp_path) as snapshot:
            assert len(snapshot.register) == 3
    assert sorted(path.name for path in (tmp_path / ARRAYS).iterdir()) == files
    with Snapshot.open(tmp_path) as snapshot:
        assert len(snapshot.register) == 3


def test_the_same_commits_make_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "SMALL", 200)
    sums = []
    for name in ("one", "two"):
        with writing_to(tmp_path / name) as writer:
            for seed in range(9):
                numbers = add(writer, made(4, seed))
                writer.names.put("title", NameList.of((f"n{number}".encode(), number) for number in numbers))
                if seed % 3 == 2:
                    writer.remove_documents([document.id for document in made(4, seed - 1)[:2]])
                writer.commit()
        files = sorted(
            path for path in (tmp_path / name).rglob("*") if path.is_file() and path.suffix in {".npy", ".sqlite"}
        )
        sums.append([(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files])
    assert len(sums[0]) > 3
    assert sums[0] == sums[1]


def test_a_second_writer_that_came_between_two_transactions_is_told(tmp_path: Path) -> None:
    with writing_to(tmp_path) as writer:
        writer._database.commit()
        with writing_to(tmp_path) as second:
            add(second, made(1))
            second.commit()
        with pytest.raises(IndexBusy, match="written by another process meanwhile"):
            writer._database.begin()


def _count(snapshot: Snapshot) -> None:
    try:
        len(snapshot.register)
    except RuntimeError as error:
        os._exit(7 if "forked" in str(error) else 1)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_snapshot_is_not_carried_across_a_fork(tmp_path: Path) -> None:
    indexed(tmp_path, made(1))
    with Snapshot.open(tmp_path) as snapshot:
        child = get_context("fork").Process(target=_count, args=(snapshot,))
        child.start()
        child.join()
        assert child.exitcode == 7
        assert len(snapshot.register) == 1


def test_a_medium_that_nobody_can_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    indexed(tmp_path, made(2))
    monkeypatch.setattr("hoptrail.corpus.connecting.is_read_only", lambda _: True)
    for ending in ("-wal", "-shm"):
        (tmp_path / f"{DATABASE}{ending}").unlink()
    with Snapshot.open(tmp_path) as snapshot:
        assert len(snapshot.keywords.search("title", 5)) == 2
    assert not (tmp_path / f"{DATABASE}-wal").exists()
    (tmp_path / f"{DATABASE}-wal").write_text("commits")
    with pytest.raises(StorageError, match="on a read-only medium"):
        Snapshot.open(tmp_path)


def test_network_file_systems_are_refused(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "mountinfo"
    line = f"27 1 {os.major(device)}:{os.minor(device)} / / rw,relatime shared:1 - {{}} server:/export rw\n"
    mounts.write_text(line.format("nfs4"))
    with pytest.raises(StorageError, match=r"network file system \(nfs4\).*hoptrail serve"):
        check_file_system(tmp_path, mounts)
    mounts.write_text(line.format("ext4"))
    check_file_system(tmp_path, mounts)
    check_file_system(tmp_path, tmp_path / "absent")


def test_other_formats_and_other_files_are_refused(tmp_path: Path) -> None:
    indexed(tmp_path, made(1))
    with writing_to(tmp_path) as writer:
        writer._database.run(f"PRAGMA user_version = {FORMAT + 1}")
        writer._database.commit()
        writer._database.begin()
    with pytest.raises(IndexMismatch, match=f"format {FORMAT + 1}"):
        Snapshot.open(tmp_path)
    with pytest.raises(IndexMismatch, match="Update hoptrail"), writing_to(tmp_path):
        pass
    make_folder(tmp_path / "deep" / "other")
    (tmp_path / "deep" / "other" / DATABASE).write_text("no database at all" * 1000)
    with pytest.raises(IndexDamaged, match="not a database"):
        Snapshot.open(tmp_path / "deep" / "other")


@pytest.mark.parametrize("version", range(1, OLD_FORMAT))
def test_an_older_format_is_refused_and_left_as_it_is(tmp_path: Path, version: int) -> None:
    indexed(tmp_path, made(1))
    with writing_to(tmp_path) as writer:
        writer._database.run(f"PRAGMA user_version = {version}")
        writer._database.commit()
        writer._database.begin()
    words = r"holds an index of an older format.*hoptrail index SOURCE\.\.\. --index NEW"
    with pytest.raises(IndexMismatch, match=words):
        Snapshot.open(tmp_path)
    before = (tmp_path / DATABASE).read_bytes()
    with pytest.raises(IndexMismatch, match=words), writing_to(tmp_path):
        pass
    assert (tmp_path / DATABASE).read_bytes() == before


def test_every_connection_has_the_promised_settings(tmp_path: Path) -> None:
    indexed(tmp_path, made(1))
    with writing_to(tmp_path) as writer, Snapshot.open(tmp_path) as snapshot:
        for database in (writer._database, snapshot._database):
            found = [
                database.column(f"PRAGMA {name}")
                for name in ("journal_mode", "synchronous", "secure_delete", "temp_store")
            ]
            assert found == [["wal"], [2], [1], [2]]
            assert database.column("PRAGMA wal_autocheckpoint") == [0]
