"""A copy of an index is one commit, whole, whatever others do meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from corpus.worlds import add, files_with, indexed, made
from hoptrail.corpus import copying, durable
from hoptrail.corpus import segments as segments_module
from hoptrail.corpus.copying import copy_index
from hoptrail.corpus.database import Database
from hoptrail.corpus.durable import write_file
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import IndexDamaged, IndexUnavailable, StillRead, StorageError, UsageError
from hoptrail.types import Document
from hoptrail_scale.publishing.sending import open_commit
from publishing.indexes import commit, files_of, titles

OLD, NEW = made(40), made(40, seed=1)


@pytest.fixture(autouse=True)
def arrays_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "SMALL", 0)


def names(documents: Iterable[Document]) -> set[str]:
    return {document.title for document in documents}


def test_a_copy_has_the_last_commit_and_nothing_else(tmp_path: Path) -> None:
    folder, copy = indexed(tmp_path / "index", OLD), tmp_path / "copies" / "one"
    before = files_of(folder)
    (folder / "replies.sqlite").write_bytes(b"paid for")
    (folder / "arrays" / "99-vectors.npy").write_bytes(b"of a commit that never was")
    with writing_to(folder) as writer:
        add(writer, NEW)
        copy_index(folder, copy)
    assert titles(copy) == names(OLD)
    arrays = {name: content for name, content in before.items() if name.startswith("arrays/")}
    assert arrays
    assert {name: content for name, content in files_of(copy).items() if name != DATABASE} == arrays
    assert not list(tmp_path.glob("**/*.new"))


def test_a_copy_can_be_written_to_and_copied_again(tmp_path: Path) -> None:
    copy_index(indexed(tmp_path / "index", OLD), tmp_path / "copy")
    commit(tmp_path / "copy", NEW, remove=OLD[:1])
    copy_index(tmp_path / "copy", tmp_path / "again")
    assert titles(tmp_path / "again") == names([*OLD[1:], *NEW])
    assert titles(tmp_path / "index") == names(OLD)


def test_a_copy_of_what_stands_in_the_log_alone_is_whole(tmp_path: Path) -> None:
    """Pages get their checksums when they are written, and those of the log have none that hold: an index in its first run."""
    folder, copy = tmp_path / "index", tmp_path / "copy" / DATABASE
    copy.parent.mkdir()
    writer = Database.to_write(folder)
    writer.run("CREATE TABLE large (name INTEGER PRIMARY KEY, content TEXT)")
    for first in (0, 1000):
        rows = ((name, f"{first} {name} " * 60) for name in range(first, 4000))
        writer.run_each("INSERT OR REPLACE INTO large VALUES (?, ?)", rows)
        writer.commit()
        writer.begin()
    assert (folder / DATABASE).stat().st_size < writer.log_size
    reader = Database.to_read(folder)
    reader.copy_to(copy)
    reader.close()
    writer.close()
    copied = Database.to_read(copy.parent)
    assert copied.column("PRAGMA integrity_check") == ["ok"]
    assert copied.column("SELECT count(*) FROM large") == [4000]
    copied.close()


def test_copies_of_the_same_commit_have_the_same_bytes(tmp_path: Path) -> None:
    folder = indexed(tmp_path / "index", OLD)
    copy_index(folder, tmp_path / "one")
    copy_index(folder, tmp_path / "two")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_a_commit_that_removes_files_meanwhile_does_not_reach_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer is told that somebody reads, and removes the files later."""
    folder = indexed(tmp_path / "index", OLD)
    removed: list[Path] = []

    def write(path: Path, parts: Iterable[bytes]) -> None:
        if not removed:
            removed.append(path)
            with writing_to(folder) as writer:
                writer.remove_documents([document.id for document in OLD[:20]])
                with pytest.raises(StillRead):
                    writer.commit()
        write_file(path, parts)

    monkeypatch.setattr(copying, "write_file", write)
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.01)
    copy_index(folder, tmp_path / "copy")
    assert removed
    assert titles(tmp_path / "copy") == names(OLD)
    assert titles(folder) == names(OLD[20:])


def test_copies_beside_a_busy_writer_are_whole(tmp_path: Path) -> None:
    folder = indexed(tmp_path / "index", OLD)
    states = [names(OLD)]
    ended = threading.Event()

    def write() -> None:
        try:
            for number in range(6):
                states.append({f"Title {number + 5} {row}" for row in range(10)} | names(OLD))
                commit(folder, made(10, seed=number + 5), remove=made(10, seed=number + 4) if number else ())
        finally:
            ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    copies = 0
    while not ended.is_set():
        copy_index(folder, tmp_path / str(copies))
        copies += 1
    writer.join()
    assert copies
    for number in range(copies):
        assert titles(tmp_path / str(number)) in states


def test_an_open_commit_can_be_read_after_its_files_have_gone(tmp_path: Path) -> None:
    folder = indexed(tmp_path / "index", OLD)
    before = files_of(folder)
    with open_commit(folder) as (number, files):
        commit(folder, NEW, remove=OLD)
        assert not set(files_of(folder)) & set(before) - {DATABASE}
        for name, file in files.items():
            path = tmp_path / "elsewhere" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read())
    assert number == 1
    assert titles(tmp_path / "elsewhere") == names(OLD)


def test_an_open_commit_leaves_nothing_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even while it is open: so nothing stays where the process is killed."""
    folder = indexed(tmp_path / "index", OLD)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with open_commit(folder) as (_, files):
        assert files[DATABASE].read(6) == b"SQLite"
        assert not list(temporary.iterdir())


def test_removed_text_is_in_no_copy(tmp_path: Path) -> None:
    folder = indexed(tmp_path / "index", OLD)
    title = OLD[3].title
    commit(folder, [], remove=OLD[3:4])
    copy_index(folder, tmp_path / "copy")
    assert files_with(tmp_path / "copy", f"{title}\0") == []
    assert title not in titles(tmp_path / "copy")


def test_a_copy_is_synced_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, to = indexed(tmp_path / "index", OLD), tmp_path / "copy"
    synced: list[str] = []
    at_renaming: list[set[str]] = []

    def sync(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        os.fsync(descriptor)

    def rename(path: Path, target: Path) -> Path:
        if target == to:
            at_renaming.append({name.removesuffix(".new") for name in synced})
        return path.replace(target)

    monkeypatch.setattr(durable, "_sync", sync)
    monkeypatch.setattr(Path, "rename", rename)
    copy_index(folder, to)
    new = f"{to}.new"
    assert at_renaming[0] >= {f"{new}/{name}" for name in files_of(to)} | {str(to), f"{new}/arrays"}
    assert synced[-1] == str(tmp_path)


def test_what_is_in_the_way_is_said(tmp_path: Path) -> None:
    folder = indexed(tmp_path / "index", OLD[:2])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(UsageError, match="full already exists"):
        copy_index(folder, tmp_path / "full")
    with pytest.raises(UsageError, match="already exists"):
        copy_index(folder, tmp_path / "full" / "letter.txt")
    with pytest.raises(IndexUnavailable, match="no index at"):
        copy_index(tmp_path / "nowhere", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    (tmp_path / "empty").mkdir()
    copy_index(folder, tmp_path / "empty")
    assert titles(tmp_path / "empty") == names(OLD[:2])


def test_a_full_disk_leaves_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = indexed(tmp_path / "index", OLD)

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(copying, "sync_file", full)
        with pytest.raises(StorageError, match="No space left"):
            copy_index(folder, tmp_path / "copy")
    assert not (tmp_path / "copy" / "index.sqlite").is_file()
    copy_index(folder, tmp_path / "copy")
    assert titles(tmp_path / "copy") == names(OLD)


def test_a_missing_array_is_named(tmp_path: Path) -> None:
    folder = indexed(tmp_path / "index", OLD)
    lost = min((folder / "arrays").iterdir())
    lost.unlink()
    with pytest.raises(IndexDamaged, match=lost.name):
        copy_index(folder, tmp_path / "copy")
    with pytest.raises(IndexDamaged, match=lost.name), open_commit(folder):
        pass
