"""Kills, full disks, flipped bits, two writers, left-over files: the last committed state, or a word on what is wrong."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from corpus.worlds import rows_of
from filling import BIG, files_below, fill
from hoptrail.corpus import segments
from hoptrail.corpus.arrays import ARRAYS
from hoptrail.corpus.database import Database
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import IndexBusy, IndexDamaged, IndexUnavailable, StorageError, UsageError
from hoptrail.index.indexing import Watcher, repair_index, update_index
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Kind, Usage
from world import FACTS, HashingEncoder, make_document, make_passage, write_facts

STRUCTURES = structures_by_name(PassageLimits())


def index(folder: Path, world: Path, encoder: HashingEncoder) -> None:
    update_index(folder, [world], encoder, list(STRUCTURES.values()), Watcher())


def state(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """Titles, passages and what a search finds: everything a reader can see."""
    with Snapshot.open(folder) as snapshot:
        texts = sorted(unit.text for unit in snapshot.units(Kind.PASSAGE))
        assert len(snapshot.search.vectors(Kind.PASSAGE).ids) == len(texts)
        found = [unit.id for unit, _ in snapshot.search.keywords("river harbour designed", 9)]
        return [entry.title for entry in snapshot.register.entries], texts, found


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The facts as text files, and an index of them beside, all of whose arrays are files; to be copied."""
    folder = tmp_path_factory.mktemp("sound")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SMALL", 0)
        index(folder / "index", write_facts(folder / "world"), HashingEncoder())
    return folder


@pytest.fixture
def indexed(tmp_path: Path, sound: Path) -> Path:
    return Path(shutil.copytree(sound / "index", tmp_path / "index"))


# --- damage


def pages_of(folder: Path, *tables: str) -> list[int]:
    """The numbers of the pages of the database that tables and their indexes lie on."""
    connection = apsw.Connection(str(folder / DATABASE), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        names = [
            name
            for table in tables
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE tbl_name = ?", (table,))
        ]
        return sorted(
            number
            for name in names
            for (number,) in connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (name,))
        )
    finally:
        connection.close()


def flip_in_page(folder: Path, page: int, chance: random.Random) -> None:
    """Flip a bit of what a page holds: its header, the places of its rows, or these."""
    content = bytearray((folder / DATABASE).read_bytes())
    size = int.from_bytes(content[16:18], "big")
    start = (page - 1) * size
    header = start + (100 if page == 1 else 0)
    used = [*range(start, start + size)]
    if content[header] in (2, 5, 10, 13):  # the page of a tree
        rows, first = (int.from_bytes(content[header + at : header + at + 2], "big") for at in (3, 5))
        head = 12 if content[header] < 10 else 8
        used = [*range(header, header + head + 2 * rows), *range(start + first, start + size)]
    content[chance.choice(used)] ^= 1 << chance.randrange(8)
    (folder / DATABASE).write_bytes(content)


@pytest.mark.parametrize("table", ["units", "postings", "arrays", "segments", "extractions"])
def test_a_database_with_an_altered_page_is_rebuilt_from_its_documents(
    indexed: Path, encoder: HashingEncoder, table: str
) -> None:
    before = state(indexed)
    with Snapshot.open(indexed) as snapshot:
        structures = snapshot.head.structures
    flip_in_page(indexed, pages_of(indexed, table)[0], random.Random(table))
    [fault] = damage(indexed)
    assert DATABASE in fault or table == "arrays"  # the sums of a file are there
    assert len(repair_index(indexed, encoder, STRUCTURES, Watcher())) == 1
    assert damage(indexed) == []
    assert state(indexed) == before
    with Snapshot.open(indexed) as snapshot:
        assert snapshot.head.whole
        assert snapshot.head.structures == structures


def test_damage_to_any_page_is_found(indexed: Path) -> None:
    chance, rows = random.Random(3), rows_of(indexed)
    content = (indexed / DATABASE).read_bytes()
    size = int.from_bytes(content[16:18], "big")
    for page in range(1, len(content) // size + 1):
        for _ in range(3):
            flip_in_page(indexed, page, chance)
            assert damage(indexed) or rows_of(indexed) == rows, page  # it was space that a row has left
            (indexed / DATABASE).write_bytes(content)
    assert damage(indexed) == []


def test_a_flip_of_the_lowest_bit_of_any_byte_of_a_small_table_is_found(indexed: Path) -> None:
    """Among them are those that make a blob of a text, with the same bytes."""
    rows, content = rows_of(indexed), (indexed / DATABASE).read_bytes()
    size = int.from_bytes(content[16:18], "big")
    for page in (*pages_of(indexed, "settings"), *pages_of(indexed, "structures")):
        for at in range((page - 1) * size, page * size):
            if content[at]:
                (indexed / DATABASE).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
                assert damage(indexed) or rows_of(indexed) == rows, (page, at)


def test_a_flip_of_any_byte_of_the_first_page_is_found_or_changes_nothing(indexed: Path) -> None:
    """The numbers of changes, which other programs count up, and the space that no table uses."""
    before, content = state(indexed), (indexed / DATABASE).read_bytes()
    for at in [*range(100), *range(100, 4096, 97)]:
        (indexed / DATABASE).write_bytes(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])
        try:
            found = damage(indexed)
        except IndexUnavailable as error:
            found = [str(error)]
        assert found or state(indexed) == before, at


def test_damaged_documents_are_said_and_nothing_is_touched(indexed: Path, encoder: HashingEncoder) -> None:
    flip_in_page(indexed, pages_of(indexed, "documents")[0], random.Random(2))
    content = (indexed / DATABASE).read_bytes()
    listing = sorted(indexed.rglob("*.npy"))
    with pytest.raises(IndexDamaged, match=r"index\.sqlite.*Index their sources into a new folder"):
        repair_index(indexed, encoder, STRUCTURES, Watcher())
    assert (indexed / DATABASE).read_bytes() == content
    assert sorted(indexed.rglob("*.npy")) == listing


def test_repairing_a_sound_index_changes_nothing(indexed: Path, encoder: HashingEncoder) -> None:
    def seen() -> object:
        with Snapshot.open(indexed) as snapshot:
            return state(indexed), snapshot.head, snapshot.commit

    before = seen()
    assert repair_index(indexed, encoder, STRUCTURES, Watcher()) == []
    assert seen() == before


def test_files_that_do_not_belong_are_found_and_taken_away(indexed: Path, encoder: HashingEncoder) -> None:
    (indexed / ARRAYS / "99-letters.npy.new").write_text("half a file")
    assert damage(indexed) == [f"{ARRAYS}/99-letters.npy.new does not belong to the index"]
    assert repair_index(indexed, encoder, STRUCTURES, Watcher()) == [f"{ARRAYS}/99-letters.npy.new"]
    assert damage(indexed) == []


# --- formats


def test_a_file_made_by_somebody_else_is_refused_and_left_alone(
    tmp_path: Path, world: Path, encoder: HashingEncoder
) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / DATABASE).write_text("no index at all" * 1000)
    with pytest.raises(IndexDamaged, match="not a database"):
        index(folder, world, encoder)
    assert (folder / DATABASE).read_text() == "no index at all" * 1000


# --- processes

HOLD = """
import sys, time
from pathlib import Path
from world import HashingEncoder
from hoptrail.corpus.writer import writing_to
with writing_to(Path(sys.argv[1]), HashingEncoder().identity):
    print("holding", flush=True)
    time.sleep(60)
"""


def run(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
    )


def test_a_second_writer_fails_fast_with_the_name_of_the_first(
    indexed: Path, encoder: HashingEncoder, world: Path
) -> None:
    holder = run(HOLD, str(indexed))
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holding\n"
        with pytest.raises(IndexBusy, match=f"process {holder.pid} "):  # who waits for the first gets to write
            index(indexed, world, encoder)
        assert state(indexed)[0]
    finally:
        holder.kill()
        holder.communicate()
    (world / "New.txt").write_text("A new note. It is short.")
    index(indexed, world, encoder)
    assert len(state(indexed)[0]) == len(FACTS) + 1


def test_a_reader_during_a_long_write_sees_its_state_whole(indexed: Path, encoder: HashingEncoder) -> None:
    before = state(indexed)
    with Snapshot.open(indexed) as held, writing_to(indexed, encoder.identity) as writer:
        for number in range(8):
            document = make_document(f"Late {number}", f"A river note number {number}.")
            unit = make_passage(document)
            writer.put_documents([document])
            writer.put_units([unit], encoder.encode([unit.searchable]))
            if number % 3 == 0:
                writer.checkpoint()
            assert [entry.title for entry in held.register.entries] == before[0]
            assert sorted(unit.text for unit in held.units(Kind.PASSAGE)) == before[1]
            assert len(state(indexed)[0]) == len(before[0]) + number // 3 * 3 + 1
        writer.publish(Usage())
    assert len(state(indexed)[0]) == len(before[0]) + 8


WORK = """
import os, sys, tempfile
from pathlib import Path
from world import HashingEncoder
from hoptrail.documents.splitting import PassageLimits
from hoptrail.index.indexing import Watcher, remove_documents, update_index
from hoptrail.structures.catalogue import structures_by_name
encoder, structures = HashingEncoder(), list(structures_by_name(PassageLimits()).values())

def update(folder, world, turn):
    for part in range(4):
        new = world.with_name("new.txt")
        new.write_text(f"Turn {turn} is about rivers. This is part {part} of it.")
        new.replace(world / f"part {part}.txt")  # a kill leaves no half file
    update_index(folder, [world], encoder, structures, Watcher())

def say(what):
    os.write(1, f"{what}\\n".encode())  # a kill leaves no half line, also where output is not buffered

def work(folder, world, first):
    say(os.getpid())
    for turn in range(first, first + 100):
        update(folder, world, turn)
        say(turn)
        remove_documents(folder, [str(world / "part 3.txt")], encoder, structures)
        say(turn + 0.5)

with tempfile.TemporaryDirectory() as other:  # loads what each would have to load
    Path(other, "world").mkdir()
    update(Path(other, "index"), Path(other, "world"), 0)
while first := sys.stdin.readline():
    child = os.fork()
    if not child:
        work(Path(sys.argv[1]), Path(sys.argv[2]), int(first))
        os._exit(0)
    os.waitpid(child, 0)
    say("over")
"""
"""For every number that it is given, a forked process works from that turn on. Starting a process anew would take longer."""


def test_kill_at_random_moments_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """A turn rewrites four documents, or removes one. Whoever looks after a kill in the middle of a run sees of each part what
    it said before, or what it says now, or both, and says that the run was stopped.
    """
    chance = random.Random(7)
    folder, world = tmp_path / "index", tmp_path / "world"
    world.mkdir()
    turn = 0
    worker = run(WORK, str(folder), str(world))
    assert worker.stdin is not None
    assert worker.stdout is not None
    for _ in range(5):
        print(turn, file=worker.stdin, flush=True)
        process, acknowledged = int(worker.stdout.readline()), float(worker.stdout.readline())
        time.sleep(chance.random() * 0.4)
        os.kill(process, signal.SIGKILL)
        acknowledged = max([acknowledged, *map(float, iter(worker.stdout.readline, "over\n"))])
        assert [what for what in damage(folder) if "does not belong" not in what] == []
        with Snapshot.open(folder) as snapshot:
            whole = snapshot.head.whole
            parts = {unit.title: int(unit.text.split()[1]) for unit in snapshot.units(Kind.PASSAGE)}
        assert set(parts.values()) <= {int(acknowledged), int(acknowledged) + 1}
        if whole:
            assert acknowledged <= turn_of(folder) <= acknowledged + 0.5
        else:
            assert len(parts) >= (4 if acknowledged % 1 == 0 else 3)
        index(folder, world, HashingEncoder())  # the same command again
        assert damage(folder) == []
        with Snapshot.open(folder) as snapshot:
            assert snapshot.head.whole
        assert texts_of(folder) == sorted((path.stem, path.read_text()) for path in world.glob("part *.txt"))
        turn = int(acknowledged) + 2
    worker.communicate()


def turn_of(folder: Path) -> float:
    """The turn that an index shows, with a half when its fourth part is removed; fails on anything mixed or incomplete."""
    titles, texts = zip(*texts_of(folder), strict=True)
    turns = {int(text.split()[1]) for text in texts}
    assert len(turns) == 1
    assert titles in {tuple(f"part {part}" for part in range(parts)) for parts in (3, 4)}
    return turns.pop() + (0.5 if len(titles) == 3 else 0)


def texts_of(folder: Path) -> list[tuple[str, str]]:
    """The titles and texts of an index in order; fails where its passages, their vectors and words are not those of the texts."""
    with Snapshot.open(folder) as snapshot:
        documents = list(snapshot.documents())
        units = {unit.document: unit.text for unit in snapshot.units(Kind.PASSAGE)}
        assert units == {document.id: document.text for document in documents}
        assert len(snapshot.search.vectors(Kind.PASSAGE).ids) == len(documents)
        found = {unit.document for unit, _ in snapshot.search.keywords("rivers", 9)}
    assert found == set(units)
    return sorted((document.title, document.text) for document in documents)


# --- disk

FILL = """
import sys
from pathlib import Path
from filling import fill
from hoptrail.errors import StorageError
try:
    fill(Path(sys.argv[1]))
except StorageError as error:
    print(error)
    sys.exit(9)
"""


@pytest.mark.parametrize("kilobytes", [1, 8, 40, 120])
def test_a_write_that_the_disk_refuses_leaves_the_last_state(indexed: Path, kilobytes: int) -> None:
    """No file may grow beyond a limit, which fails writes as a full disk does, in the middle of a file."""
    before = state(indexed)
    with files_below(kilobytes * 1024), pytest.raises(StorageError, match="The index is as it was last committed"):
        fill(indexed)
    assert state(indexed) == before
    fill(indexed)
    assert len(state(indexed)[0]) == len(before[0]) + BIG
    assert damage(indexed) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_leaves_the_last_state(tmp_path: Path, world: Path, encoder: HashingEncoder) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode()}")
    try:
        index(disk / "index", world, encoder)
        before = state(disk / "index")
        refused = run(FILL, str(disk / "index"))
        out, error = refused.communicate(timeout=60)
        assert refused.returncode == 9, error
        assert "free space" in out
        assert state(disk / "index") == before
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        index(disk / "index", world, encoder)
        again = run(FILL, str(disk / "index"))
        out, error = again.communicate(timeout=60)
        assert again.returncode == 0, error
        assert len(state(disk / "index")[0]) == len(before[0]) + BIG
        assert damage(disk / "index") == []
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path, world: Path, encoder: HashingEncoder) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(StorageError, match="closed"):
        index(folder / "index", world, encoder)


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path, world: Path, encoder: HashingEncoder) -> None:
    (tmp_path / "taken").write_text("here")
    with pytest.raises(UsageError, match="taken is a file, and an index is a folder"):
        index(tmp_path / "taken", world, encoder)
    assert (tmp_path / "taken").read_text() == "here"


@pytest.mark.parametrize("name", ["with spaces and ünïcödé 索引", 'quote\'d "name"', "x" * 255, "%20 #fragment?query"])
def test_odd_folder_names_work(tmp_path: Path, world: Path, encoder: HashingEncoder, name: str) -> None:
    index(tmp_path / name, world, encoder)
    assert len(state(tmp_path / name)[0]) == len(FACTS)
    index(tmp_path / name, world, encoder)


READ = """
import sys
from pathlib import Path
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.types import Kind
folder = Path(sys.argv[1])
for path in [folder / "new", *(path for path in folder.rglob("*") if path.is_file())]:
    try:
        path.open("ab").close()
    except PermissionError:
        continue
    sys.exit(f"{path} can be written")
with Snapshot.open(folder) as snapshot:
    print(len(list(snapshot.units(Kind.PASSAGE))), len(snapshot.search.keywords("river harbour designed", 9)))
"""

WRITE = """
import sys
from pathlib import Path
from hoptrail.corpus.database import Database
Database.to_write(Path(sys.argv[1])).close()
"""

WITHOUT_PRIVILEGES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
"""What has root, too, obey the permissions of files."""


@pytest.mark.skipif(bool(WITHOUT_PRIVILEGES) and shutil.which("setpriv") is None, reason="root may write anywhere")
def test_an_index_that_may_only_be_read_is_read(indexed: Path) -> None:
    before = state(indexed)
    for path in [indexed, *indexed.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        command = [*WITHOUT_PRIVILEGES, sys.executable, "-c", READ, str(indexed)]
        read = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
        assert read.returncode == 0, read.stderr
        assert read.stdout.split() == [str(len(before[1])), str(len(before[2]))]
        command = [*WITHOUT_PRIVILEGES, sys.executable, "-c", WRITE, str(indexed)]
        refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
        assert "StorageError" in refused.stderr, refused.stderr
        assert "cannot be written: it may only be read" in refused.stderr
    finally:
        for path in [indexed, *indexed.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize("left", ["an empty file", "tables", "an array"])
def test_a_kill_before_the_very_first_commit_leaves_nothing_in_the_way(
    tmp_path: Path, world: Path, encoder: HashingEncoder, left: str
) -> None:
    folder = tmp_path / "index"
    folder.mkdir()
    if left == "an empty file":
        (folder / DATABASE).write_bytes(b"")
    else:
        Database.to_write(folder).close()
    if left == "an array":
        (folder / ARRAYS).mkdir()
        (folder / ARRAYS / "1-vectors.npy").write_bytes(b"half a file")
    assert not Snapshot.exists(folder)
    with pytest.raises(IndexUnavailable, match="there is no index"):
        Snapshot.open(folder)
    index(folder, world, encoder)
    assert len(state(folder)[0]) == len(FACTS)
    assert damage(folder) == []
