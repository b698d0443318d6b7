"""Any SQLite program may open the database, and a cut or longer file is named."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from corpus.test_altered_files import seen
from corpus.worlds import add, made
from hoptrail.corpus import segments
from hoptrail.corpus.database import Database
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import IndexDamaged
from hoptrail.index.index import Index
from hoptrail.index.indexing import Watcher, repair_index, update_index
from hoptrail.structures.catalogue import structures_by_name
from world import HashingEncoder, write_facts

STRUCTURES = structures_by_name(PassageLimits())
LOG = f"{DATABASE}-wal"


def index(folder: Path, world: Path) -> None:
    update_index(folder, [world], HashingEncoder(), list(STRUCTURES.values()), Watcher())


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`closed`: an index whose log is empty. `killed`: the next run was killed once its commits were in the log."""
    folder = tmp_path_factory.mktemp("ground")
    world = write_facts(folder / "world")
    (world / "Mill.md").write_text(
        "# Mill\n\nThe mill of Dunmere is by the harbour.\n\n- It is old.\n", encoding="utf-8"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SMALL", 256)
        index(folder / "index", world)
        shutil.copytree(folder / "index", folder / "closed")
        (world / "New.txt").write_text("A new note on the harbour. It is short.", encoding="utf-8")
        with Snapshot.open(folder / "index"):  # a reader that keeps the log from being emptied
            index(folder / "index", world)
            shutil.copytree(folder / "index", folder / "killed", ignore=shutil.ignore_patterns("*-shm"))
    return folder


def damaged(folder: Path) -> list[str]:
    """The faults, apart from what a killed run has left."""
    return [fault for fault in damage(folder) if "does not belong" not in fault]


def read(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM documents").fetchone()[0]


def vacuum(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("VACUUM")


def checkpoint(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)


def analyze(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ANALYZE")


def without_log(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")


def replaced_by_a_copy(path: Path) -> None:
    """What a backup tool makes is put in its place."""
    copy = path.with_name("copy")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    for one in path.parent.glob(f"{DATABASE}*"):
        one.unlink()
    copy.rename(path)


@pytest.mark.parametrize("state", ["closed", "killed"])
@pytest.mark.parametrize("foreign", [read, vacuum, checkpoint, analyze, without_log, replaced_by_a_copy])
def test_another_program_harms_nothing(
    ground: Path, tmp_path: Path, state: str, foreign: Callable[[Path], None]
) -> None:
    before = seen(ground / state)
    folder = shutil.copytree(ground / state, tmp_path / "index")
    foreign(folder / DATABASE)
    assert seen(folder) == before
    assert damaged(folder) == []
    index(folder, ground / "world")
    assert damage(folder) == []
    assert seen(folder)[0] == seen(ground / "index")[0]  # type: ignore[index]


def test_another_program_cannot_change_rows(ground: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(ground / "closed", tmp_path / "index")
    with closing(sqlite3.connect(folder / DATABASE)) as connection, pytest.raises(sqlite3.Error, match="row_checksum"):
        connection.execute("UPDATE sources SET source = 'elsewhere'")


@pytest.mark.parametrize("cut", [1, 8, 10, 100, 4000, 4096, 4097, 12_288])
@pytest.mark.parametrize("state", ["closed", "killed"])
def test_a_cut_file_is_never_read_in_silence(ground: Path, tmp_path: Path, state: str, cut: int) -> None:
    """Pages that are still in the log are not missed."""
    before = seen(ground / state)
    folder = shutil.copytree(ground / state, tmp_path / "index")
    content = (folder / DATABASE).read_bytes()
    (folder / DATABASE).write_bytes(content[:-cut])
    if state == "killed" and not damaged(folder):
        assert seen(folder) == before
        return
    assert any(DATABASE in fault for fault in damage(folder))
    for look in (seen, Database.to_write):
        with pytest.raises(IndexDamaged, match="hoptrail repair"):
            look(folder)
    with suppress(IndexDamaged):  # documents were cut off
        assert repair_index(folder, HashingEncoder(), STRUCTURES, Watcher()) == [DATABASE]
        assert damage(folder) == []
        assert seen(folder)[0] == before[0]  # type: ignore[index]


def test_every_page_of_a_large_log_is_looked_for(tmp_path: Path) -> None:
    """The pages that a first run has added are in its log alone; the same state with an empty log lacks them."""
    with writing_to(tmp_path / "index") as writer:
        add(writer, made(2))
        writer.commit()
    with Snapshot.open(tmp_path / "index"), writing_to(tmp_path / "index") as writer:
        add(writer, made(60, seed=1))
        writer.commit()
        shutil.copytree(tmp_path / "index", tmp_path / "killed", ignore=shutil.ignore_patterns("*-shm"))
    with closing(Database.to_read(tmp_path / "killed")) as database:
        [size] = database.column("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
    assert size > (tmp_path / "killed" / DATABASE).stat().st_size
    with Snapshot.open(tmp_path / "killed") as snapshot:
        assert len(snapshot.register) == 62
    assert damage(tmp_path / "killed") == []
    path = tmp_path / "killed" / DATABASE
    path.write_bytes(path.read_bytes()[:8192])
    assert damage(tmp_path / "killed")


@pytest.mark.parametrize("more", [b"\0", b"more", bytes(4096), b"x" * 5000])
def test_what_follows_the_last_page_is_named_and_cut_off(ground: Path, tmp_path: Path, more: bytes) -> None:
    before = seen(ground / "closed")
    folder = shutil.copytree(ground / "closed", tmp_path / "index")
    content = (folder / DATABASE).read_bytes()
    (folder / DATABASE).write_bytes(content + more)
    assert seen(folder) == before
    assert damage(folder) == [f"{folder / DATABASE} has {len(more)} bytes after its end"]
    assert repair_index(folder, HashingEncoder(), STRUCTURES, Watcher()) == [DATABASE]
    assert damage(folder) == []
    assert seen(folder) == before


@pytest.mark.parametrize(
    "table", ["documents", "blocks", "units", "postings", "gone", "segments", "arrays", "settings"]
)
def test_a_row_that_does_not_match_is_never_read_in_silence(ground: Path, tmp_path: Path, table: str) -> None:
    """Of every table that answers are made of, what a reader meets."""
    folder = shutil.copytree(ground / "closed", tmp_path / "index")
    columns = {
        "documents": "text = replace(text, 'harbour', 'harbor ')",
        "blocks": "packed = replace(packed, 'paragraph', 'list item')",
        "units": "text = replace(text, 'harbour', 'harbor ')",
        "postings": "tfs = x'0700' || substr(tfs, 3)",
        "gone": "rows = x'00000000'",
        "segments": "rows = rows + 1",
        "arrays": "type = '<i2'",
        "settings": "value = '1' WHERE name = 'encoder.dimension'",
    }
    with closing(sqlite3.connect(folder / DATABASE)) as connection, connection:
        for event in ("insert", "delete", "update"):
            connection.execute(f"DROP TRIGGER IF EXISTS sums_{table}_{event}")
        if table == "gone":
            connection.execute("INSERT INTO gone (segment, part, rows) SELECT max(number), 0, x'0000' FROM segments")
        changed = connection.execute(f"UPDATE {table} SET {columns[table]}").rowcount
        assert changed
    with pytest.raises(IndexDamaged, match="hoptrail repair"):
        seen(folder)


def test_no_message_says_its_remedy_twice(ground: Path, tmp_path: Path) -> None:
    """All that `verify` may say, and what opening says of the same."""
    messages: list[str] = []

    def look(what: Callable[[Path], object]) -> None:
        folder = shutil.copytree(ground / "closed", tmp_path / str(len(messages)))
        what(folder)
        index = Index(folder)
        index.encoder = HashingEncoder()
        for ask in (index.verify, index.contents, lambda: index.search("river harbour designed", "hybrid")):
            try:
                ask()
            except IndexDamaged as error:
                messages.append(str(error).replace(str(folder), "X"))

    def altered(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
        def alter(folder: Path) -> None:
            path = next(folder.rglob(name))
            path.write_bytes(change(path.read_bytes()))

        return alter

    for name in (DATABASE, "*-vectors.npy"):
        look(altered(name, lambda content: content[:-1]))
        look(altered(name, lambda content: content + b"x"))
        look(altered(name, lambda content: content[: len(content) // 2]))
        look(altered(name, lambda content: bytes(200) + content[200:]))
        look(altered(name, lambda content: content[:-40] + bytes(40)))
    look(lambda folder: next(folder.rglob("*-vectors.npy")).unlink())
    look(lambda folder: (folder / "arrays" / "stray.npy").write_bytes(b""))
    look(lambda folder: (folder / "jobs.sqlite").write_bytes(b"no database" * 400))
    assert len(messages) > 15
    for message in messages:
        assert message.count("hoptrail repair") == 1, message
        assert ".." not in message, message
        assert message.endswith("."), message
