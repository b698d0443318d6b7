"""Kills, full disks, flipped bits, two writers, left-over files: the last committed state, or a word on what is wrong."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from filling import BIG, fill
from hoptrail.documents.reading import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import IndexBusy, IndexDamaged, IndexMismatch, IndexUnavailable, StorageError
from hoptrail.indexing import Watcher, repair_index, update_index
from hoptrail.store import lock
from hoptrail.store.head import FORMAT
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.tables import connect
from hoptrail.store.writer import writing_to
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Document, Kind, Usage
from world import FACTS, HashingEncoder, make_document, make_passage

STRUCTURES = structures_by_name(PassageLimits())


def index(folder: Path, world: Path, encoder: HashingEncoder) -> None:
    update_index(folder, [world], encoder, list(STRUCTURES.values()), ReadingLimits(), Watcher())


def state(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """Titles, passages and what a search finds: everything a reader can see."""
    snapshot = Snapshot.open(folder)
    texts = sorted(unit.text for unit in snapshot.units(Kind.PASSAGE))
    assert len(snapshot.vectors(Kind.PASSAGE).ids) == len(texts)
    found = [unit.id for unit, _ in snapshot.search_keywords("river harbour designed", 9)]
    return [entry.title for entry in snapshot.entries], texts, found


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The facts as text files, and an index of them beside; to be copied."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "world").mkdir()
    for title, text in FACTS.items():
        (folder / "world" / f"{title}.txt").write_text(text, encoding="utf-8")
    index(folder / "index", folder / "world", HashingEncoder())
    return folder


@pytest.fixture
def indexed(tmp_path: Path, sound: Path) -> Path:
    return Path(shutil.copytree(sound / "index", tmp_path / "index"))


def files_of(folder: Path) -> list[Path]:
    """The files that a published index cannot do without."""
    checksums = Snapshot.open(folder).head.checksums
    assert checksums
    return [folder / name for name in sorted(checksums)]


# --- damage


@pytest.mark.parametrize("harm", ["flip", "truncate", "empty", "delete"])
def test_damage_to_any_file_is_found_and_the_file_is_named(indexed: Path, harm: str) -> None:
    chance = random.Random(harm)
    for path in files_of(indexed):
        content = path.read_bytes()
        damage(path, harm, chance)
        with pytest.raises(IndexDamaged, match=path.name):
            Snapshot.open(indexed)
        path.write_bytes(content)
    Snapshot.open(indexed)


def damage(path: Path, harm: str, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if harm == "delete":
        path.unlink()
    elif harm == "flip":
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
    else:
        path.write_bytes(content[: chance.randrange(len(content)) if harm == "truncate" else 0])


def test_everything_but_documents_is_rebuilt_by_repair(indexed: Path, encoder: HashingEncoder) -> None:
    before = state(indexed)
    chance = random.Random(1)
    rebuilt = 0
    for name in sorted(path.relative_to(indexed).as_posix() for path in files_of(indexed)):
        if not (indexed / name).exists() or name.startswith("documents"):
            continue
        damage(indexed / name, "flip", chance)
        assert repair_index(indexed, encoder, STRUCTURES, Watcher()) == [name]
        assert state(indexed) == before
        rebuilt += 1
    assert rebuilt >= 1


def test_damaged_documents_are_named_and_nothing_is_touched(indexed: Path, encoder: HashingEncoder) -> None:
    path = next(path for path in files_of(indexed) if "documents.lance/data" in path.as_posix())
    damage(path, "truncate", random.Random(2))
    listing = sorted(indexed.rglob("*"))
    with pytest.raises(IndexDamaged, match=r"documents\.lance/data/.*Index their sources into a new folder"):
        repair_index(indexed, encoder, STRUCTURES, Watcher())
    assert [path for path in sorted(indexed.rglob("*")) if ".lock" not in path.name] == [
        path for path in listing if ".lock" not in path.name
    ]


def test_a_damaged_head_is_named_and_repair_falls_back_to_the_one_before(
    indexed: Path, encoder: HashingEncoder
) -> None:
    before = state(indexed)
    newest = min((indexed / "head.lance" / "_versions").glob("*.manifest"))
    newest.write_bytes(b"")
    with pytest.raises(IndexDamaged):
        Snapshot.open(indexed)
    repair_index(indexed, encoder, STRUCTURES, Watcher())
    assert state(indexed) == before


def test_repairing_a_sound_index_changes_nothing(indexed: Path, encoder: HashingEncoder) -> None:
    before = state(indexed), Snapshot.open(indexed).head
    assert repair_index(indexed, encoder, STRUCTURES, Watcher()) == []
    assert (state(indexed), Snapshot.open(indexed).head) == before


# --- formats


def test_an_index_of_a_newer_format_is_refused_and_left_alone(
    indexed: Path, encoder: HashingEncoder, world: Path
) -> None:
    table = connect(indexed).open_table("head")
    row = table.to_arrow().to_pylist()[0]
    table.add(pa.table({"format": [FORMAT + 1], "payload": ["{}"], "crc": [row["crc"]]}), mode="overwrite")
    for attempt in (lambda: Snapshot.open(indexed), lambda: index(indexed, world, encoder)):
        with pytest.raises(IndexMismatch, match=rf"index format {FORMAT + 1}.*Update hoptrail"):
            attempt()


@pytest.mark.parametrize("payload", ["", "[]", "{}", '{"encoder": 3}', '{"encoder": {"name": "x"}}', "\u0000"])
def test_a_head_made_by_somebody_else_is_parsed_as_data_and_refused(indexed: Path, payload: str) -> None:
    import zlib

    rows = pa.table({"format": [FORMAT], "payload": [payload], "crc": [zlib.crc32(payload.encode())]})
    connect(indexed).open_table("head").add(rows, mode="overwrite")
    with pytest.raises(IndexDamaged, match="not a head record"):
        Snapshot.open(indexed)


# --- processes

HOLD = """
import sys, time
from pathlib import Path
from world import HashingEncoder
from hoptrail.store.writer import writing_to
with writing_to(Path(sys.argv[1]), HashingEncoder().identity):
    print("holding", flush=True)
    time.sleep(60)
"""


def run(code: str, *arguments: str, limit: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
        preexec_fn=limit,  # noqa: PLW1509 - limits must be set in the child, and the parent has no other threads of ours
    )


def test_a_second_writer_fails_fast_with_the_name_of_the_first(
    indexed: Path, encoder: HashingEncoder, world: Path
) -> None:
    holder = run(HOLD, str(indexed))
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holding\n"
        started = time.monotonic()
        with pytest.raises(IndexBusy, match=f"process {holder.pid} on "):
            index(indexed, world, encoder)
        assert time.monotonic() - started < 5
        assert state(indexed)[0]
    finally:
        holder.kill()
        holder.communicate()
    index(indexed, world, encoder)


def test_lock_files_of_a_dead_process_hold_nothing(indexed: Path, encoder: HashingEncoder, world: Path) -> None:
    (indexed / lock.LOCK).write_text("")
    (indexed / lock.NOTE).write_text(json.dumps({"pid": 1, "host": "gone", "command": "x", "since": "then"}))
    (indexed / "unit-passage.lance" / "data" / ".tmp-left-over").write_text("junk")
    before = state(indexed)
    (world / "New.txt").write_text("A new note. It is short.")
    index(indexed, world, encoder)
    assert len(state(indexed)[0]) == len(before[0]) + 1


def test_a_reader_during_a_long_write_sees_the_old_state_whole(indexed: Path, encoder: HashingEncoder) -> None:
    before = state(indexed)
    with writing_to(indexed, encoder.identity) as writer:
        for number in range(8):
            document = make_document(f"Late {number}", f"A river note number {number}.")
            unit = make_passage(document)
            writer.put_documents([document])
            writer.put_units([unit], encoder.encode([unit.searchable]))
            if number % 3 == 0:
                writer.checkpoint()
            assert state(indexed) == before
        writer.publish(Usage())
    assert len(state(indexed)[0]) == len(before[0]) + 8


WORK = """
import sys
from pathlib import Path
from world import HashingEncoder
from hoptrail.documents.reading import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.indexing import Watcher, remove_documents, update_index
from hoptrail.structures.catalogue import structures_by_name
folder, world, first = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
encoder, structures = HashingEncoder(), list(structures_by_name(PassageLimits()).values())
for turn in range(first, first + 100):
    for part in range(4):
        (world / f"part {part}.txt").write_text(f"Turn {turn} is about rivers. This is part {part} of it.")
    update_index(folder, [world], encoder, structures, ReadingLimits(), Watcher())
    print(turn, flush=True)
    remove_documents(folder, [str(world / "part 3.txt")], encoder, structures)
    print(turn + 0.5, flush=True)
"""


def test_kill_at_random_moments_leaves_the_state_before_or_after(tmp_path: Path) -> None:
    """A turn rewrites four documents, or removes one; whoever looks after a kill sees one turn, whole, and no lost one."""
    chance = random.Random(7)
    folder, world = tmp_path / "index", tmp_path / "world"
    world.mkdir()
    turn = 0
    for _ in range(8):
        worker = run(WORK, str(folder), str(world), str(turn))
        assert worker.stdout is not None
        acknowledged = float(worker.stdout.readline())
        time.sleep(chance.random() * 0.4)
        worker.kill()
        out, _ = worker.communicate()
        acknowledged = max([acknowledged, *map(float, out.split())])
        seen = turn_of(folder)
        assert acknowledged <= seen <= acknowledged + 0.5
        turn = int(seen) + 1


def turn_of(folder: Path) -> float:
    """The turn that an index shows, with a half when its fourth part is removed; fails on anything mixed or incomplete."""
    snapshot = Snapshot.open(folder)
    documents = list(snapshot.documents())
    units = {unit.document: unit.text for unit in snapshot.units(Kind.PASSAGE)}
    assert units == {document.id: document.text for document in documents}
    assert len(snapshot.vectors(Kind.PASSAGE).ids) == len(documents)
    found = {unit.document for unit, _ in snapshot.search_keywords("rivers", 9)}
    assert found == set(units)
    turns = {int(document.text.split()[1]) for document in documents}
    assert len(turns) == 1
    assert sorted(document.title for document in documents) == [f"part {part}" for part in range(len(documents))]
    assert len(documents) in (3, 4)
    return turns.pop() + (0.5 if len(documents) == 3 else 0)


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

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, kilobytes * 1024))

    refused = run(FILL, str(indexed), limit=limit)
    out, error = refused.communicate(timeout=60)
    assert refused.returncode == 9, error
    assert "The index is as it was last committed" in out
    assert state(indexed) == before
    fill(indexed)
    assert len(state(indexed)[0]) == len(before[0]) + BIG


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
    with pytest.raises(StorageError, match="taken"):
        index(tmp_path / "taken", world, encoder)
    assert (tmp_path / "taken").read_text() == "here"


@pytest.mark.parametrize("name", ["with spaces and ünïcödé 索引", 'quote\'d "name"', "x" * 255, "%20 #fragment?query"])
def test_odd_folder_names_work(tmp_path: Path, world: Path, encoder: HashingEncoder, name: str) -> None:
    index(tmp_path / name, world, encoder)
    assert len(state(tmp_path / name)[0]) == len(FACTS)
    index(tmp_path / name, world, encoder)


def test_an_index_that_may_only_be_read_is_read(indexed: Path, documents: list[Document]) -> None:
    before = state(indexed)
    for path in [indexed, *indexed.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert state(indexed) == before
    finally:
        for path in [indexed, *indexed.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert len(documents) == len(before[0])


def test_a_kill_during_the_very_first_commit_leaves_nothing_in_the_way(
    tmp_path: Path, world: Path, encoder: HashingEncoder
) -> None:
    """The folders and files that such a kill was seen to leave: tables begun, a head without a version."""
    folder = tmp_path / "index"
    for part in ("head.lance/data", "head.lance/_versions", "documents.lance/_transactions", "unit-passage.lance"):
        (folder / part).mkdir(parents=True)
    (folder / "head.lance/data/begun.lance").write_bytes(b"half a file")
    (folder / "head.lance/_versions/.tmp.manifest").write_bytes(b"half a manifest")
    assert not Snapshot.exists(folder)
    with pytest.raises(IndexUnavailable, match="there is no index"):
        Snapshot.open(folder)
    index(folder, world, encoder)
    assert len(state(folder)[0]) == len(FACTS)


def test_a_head_whose_versions_vanished_is_damage_and_nothing_is_dropped(
    indexed: Path, encoder: HashingEncoder, world: Path
) -> None:
    for manifest in (indexed / "head.lance" / "_versions").glob("*.manifest"):
        manifest.unlink()
    for attempt in (lambda: Snapshot.open(indexed), lambda: index(indexed, world, encoder)):
        with pytest.raises(IndexDamaged, match=r"head\.lance"):
            attempt()
    assert (indexed / "documents.lance").is_dir()
