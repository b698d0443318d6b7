"""An index of version 0.2 is read as it is, and carried over by the first command that writes (`released_index/README.md`)."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from hoptrail.corpus import arrays, carrying_over
from hoptrail.corpus.database import Database
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.schema import FORMAT, OLD_FORMAT
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import IndexDamaged
from hoptrail.index.indexing import Watcher, remove_documents, repair_index, update_index
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Kind
from world import HashingEncoder

PACKED = Path(__file__).parent / "released_index" / "indexes.tar.xz"
NAMES = ("plain", "uploads", "killed")
STRUCTURES = structures_by_name(PassageLimits())


@pytest.fixture(scope="module")
def released() -> dict[str, Any]:
    """What the release read of its indexes."""
    with tarfile.open(PACKED) as packed:
        said = packed.extractfile("seen.json")
        assert said is not None
        found: dict[str, Any] = json.load(said)
    return found


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Path:
    with tarfile.open(PACKED) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / name


def seen(folder: Path) -> dict[str, Any]:
    with Snapshot.open(folder) as snapshot:
        query = HashingEncoder().encode(["river harbour designed"])
        found = snapshot.search.keywords("river harbour designed", 9)
        return {
            "documents": {document.title: document.text for document in snapshot.documents()},
            "units": sorted(
                [str(kind), unit.id, unit.text] for kind in snapshot.table.kinds for unit in snapshot.units(kind)
            ),
            "links": sorted([link.kind, link.source, link.target, round(link.weight, 6)] for link in snapshot.links()),
            "found": [[unit.id, round(score, 6)] for unit, score in found],
            "nearest": [[id_, round(score, 4)] for id_, score in snapshot.search.nearest(Kind.PASSAGE, query, 9)[0]],
        }


def format_of(folder: Path) -> int:
    with closing(sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True)) as connection:
        [version] = connection.execute("PRAGMA user_version").fetchone()
        return int(version)


def damaged(folder: Path) -> list[str]:
    return [fault for fault in damage(folder) if "does not belong" not in fault]


def index(folder: Path, world: Path) -> None:
    update_index(folder, [world], HashingEncoder(), list(STRUCTURES.values()), Watcher())


def test_it_is_read_as_it_is(folder: Path, name: str, released: dict[str, Any]) -> None:
    assert damaged(folder) == []
    assert seen(folder) == released[name]
    assert format_of(folder) == OLD_FORMAT


def test_the_first_command_that_writes_carries_it_over(
    folder: Path, name: str, released: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "New.txt").write_text("A mill stands in Lindeth.", encoding="utf-8")
    index(folder, tmp_path / "New.txt")
    assert format_of(folder) == FORMAT
    assert damage(folder) == []
    after = seen(folder)
    assert after["documents"] == released[name]["documents"] | {"New": "A mill stands in Lindeth."}
    assert all(unit in after["units"] for unit in released[name]["units"])
    with closing(Database.to_read(folder)) as database:
        assert database.altered() == []
        files = database.column("SELECT sums FROM arrays WHERE data IS NULL")
        assert files
        assert all(files)
    if name != "plain":
        assert "Noor Amsel" in after["documents"]
        remove_documents(folder, ["Noor Amsel"], HashingEncoder(), list(STRUCTURES.values()))
        assert damage(folder) == []
        assert "Noor Amsel" not in seen(folder)["documents"]


def test_repair_carries_it_over_and_changes_nothing_else(folder: Path, name: str, released: dict[str, Any]) -> None:
    repair_index(folder, HashingEncoder(), STRUCTURES, Watcher())
    assert format_of(folder) == FORMAT
    assert damage(folder) == []
    assert seen(folder) == released[name]


class Killed(BaseException):
    """What stands for a kill: nothing catches it."""


@contextmanager
def killed_at(number: int) -> Iterator[None]:
    """Kill the carrying over before one of its statements."""
    count = 0

    def trace(_: object, __: str, ___: object) -> bool:
        nonlocal count
        count += 1
        if count == number:
            raise Killed
        return True

    def carry_over(connection: apsw.Connection, folder: Path) -> None:
        connection.exec_trace = trace
        carried(connection, folder)

    carried = carrying_over.carry_over
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hoptrail.corpus.database.carry_over", carry_over)
        yield


@pytest.mark.parametrize("name", ["uploads", "killed"])
def test_a_kill_in_the_middle_leaves_it_as_it_was(folder: Path, name: str, released: dict[str, Any]) -> None:
    for number in range(1, 1000, 9):
        try:
            with killed_at(number), closing(Database.to_write(folder)):
                break
        except Killed:
            if format_of(folder) == FORMAT:  # it was killed after the commit
                break
        if number % 4 == 1:
            assert damaged(folder) == [], number
            assert seen(folder) == released[name], number
    assert number > 100
    assert format_of(folder) == FORMAT
    assert damaged(folder) == []
    assert seen(folder) == released[name]


@pytest.mark.parametrize("name", ["killed"])
def test_one_that_another_program_has_opened_is_read_and_mended(
    folder: Path, name: str, released: dict[str, Any]
) -> None:
    """The other program moves the log into the database, whose pages are then without the checksums of that version."""
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        assert connection.execute("SELECT count(*) FROM documents").fetchone()[0] > 0
    assert seen(folder) == released[name]
    assert [DATABASE in fault for fault in damaged(folder)] == [True]
    with pytest.raises(IndexDamaged, match="hoptrail repair"):
        Database.to_write(folder)
    assert repair_index(folder, HashingEncoder(), STRUCTURES, Watcher()) == [DATABASE]
    assert damage(folder) == []
    after = seen(folder)
    assert {part: after[part] for part in ("documents", "found", "nearest")} == {
        part: released[name][part] for part in ("documents", "found", "nearest")
    }


@pytest.mark.parametrize("name", ["plain"])
def test_a_damaged_page_is_found_before_it_is_carried_over(folder: Path) -> None:
    content = (folder / DATABASE).read_bytes()
    at = content.rindex(b"harbour")
    (folder / DATABASE).write_bytes(content[:at] + b"H" + content[at + 1 :])
    assert [DATABASE in fault for fault in damaged(folder)] == [True]
    with pytest.raises(IndexDamaged, match="hoptrail repair"):
        Database.to_write(folder)


@pytest.mark.parametrize("name", ["plain"])
def test_a_damaged_array_is_found_by_its_old_checksum(folder: Path) -> None:
    for path in (folder / arrays.ARRAYS).glob("*-vectors.npy"):
        content = path.read_bytes()
        path.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    with pytest.raises(IndexDamaged, match=r"-vectors\.npy is damaged\. Run `hoptrail repair --index"):
        seen(folder)
    repair_index(folder, HashingEncoder(), STRUCTURES, Watcher())
    assert damage(folder) == []
