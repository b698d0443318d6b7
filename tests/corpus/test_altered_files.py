"""Every file of an index with one bit, one byte, its end or all of it gone: it is found and mended, or changes nothing."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from corpus.worlds import rows_of
from hoptrail.corpus import segments
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import IndexDamaged, IndexUnavailable
from hoptrail.index.indexing import Watcher, repair_index, update_index
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Kind
from world import FACTS, HashingEncoder

STRUCTURES = structures_by_name(PassageLimits())
LOG, SHARED = f"{DATABASE}-wal", f"{DATABASE}-shm"


def index(folder: Path, world: Path) -> None:
    update_index(folder, [world], HashingEncoder(), list(STRUCTURES.values()), Watcher())


def seen(folder: Path) -> object:
    with Snapshot.open(folder) as snapshot:
        texts = {document.title: document.text for document in snapshot.documents()}
        units = {(kind, unit.id, unit.text) for kind in snapshot.table.kinds for unit in snapshot.units(kind)}
        links = {(link.kind, link.source, link.target, round(link.weight, 6)) for link in snapshot.links()}
        found = [(unit.id, round(score, 6)) for unit, score in snapshot.search.keywords("river harbour designed", 9)]
        return texts, units, links, found, snapshot.search.vectors(Kind.PASSAGE).matrix.tobytes(), snapshot.head.whole


def write(world: Path, texts: dict[str, str]) -> None:
    world.mkdir(exist_ok=True)
    for title, text in texts.items():
        (world / f"{title}.txt").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """`closed`: an index all of whose arrays are files. `open`: the same as the next run leaves it, the last commits of which
    are in the log, because a reader was in the way.
    """
    folder = tmp_path_factory.mktemp("ground")
    write(folder / "world", FACTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SMALL", 0)
        index(folder / "index", folder / "world")
        shutil.copytree(folder / "index", folder / "closed")
        write(folder / "world", {"New": "A new note on the harbour. It is short."})
        with Snapshot.open(folder / "index"):
            index(folder / "index", folder / "world")
            shutil.copytree(folder / "index", folder / "open")
        yield folder


def alterations(content: bytes, chance: random.Random, places: int) -> Iterator[tuple[str, bytes | None]]:
    for _ in range(places if content else 0):
        at = chance.randrange(len(content))
        for what, byte in (("bit", content[at] ^ 1 << chance.randrange(8)), ("byte", (content[at] + 77) % 256)):
            yield f"{what} at {at}", content[:at] + bytes([byte]) + content[at + 1 :]
        yield f"cut at {at}", content[:at]
    yield "deleted", None


def files_of(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def altered(folder: Path, name: Path, content: bytes | None) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)


def test_an_alteration_of_any_file_is_found_or_changes_nothing(ground: Path, tmp_path: Path) -> None:
    """Of the memory that processes share nothing is read that was written before the first of them began."""
    chance = random.Random(5)
    before, rows = seen(ground / "closed"), rows_of(ground / "closed")
    names = files_of(ground / "closed")
    assert {DATABASE, LOG, SHARED} < {str(name) for name in names}
    for name in [name for name in names if name.parent == Path()]:
        for what, content in alterations(
            (ground / "closed" / name).read_bytes(), chance, 12 if str(name) == DATABASE else 2
        ):
            folder = tmp_path / "index"
            shutil.copytree(ground / "closed", folder)
            altered(folder, name, content)
            if str(name) == DATABASE and not content:
                with pytest.raises(IndexUnavailable, match="there is no index"):
                    damage(folder)
            elif not damage(folder):
                assert str(name) in (SHARED, LOG, DATABASE), (name, what)
                assert seen(folder) == before, (name, what)
                assert rows_of(folder) == rows, (name, what)  # it was unused space of a page
            shutil.rmtree(folder)


@pytest.mark.parametrize("number", range(4))
def test_an_alteration_of_any_array_is_found_and_the_file_is_named(ground: Path, tmp_path: Path, number: int) -> None:
    chance = random.Random(4)
    folder = shutil.copytree(ground / "closed", tmp_path / "index")
    names = [name for name in files_of(folder) if name.parent != Path()]
    for name in names:
        what, content = list(alterations((folder / name).read_bytes(), chance, 1))[number]
        altered(folder, name, content)
    assert sorted(damage(folder)) == [f"{name.as_posix()} is missing or altered" for name in names], what
    if number > 1:  # cut or deleted
        with pytest.raises(IndexDamaged, match=r"npy.*hoptrail repair"):
            Snapshot.open(folder)


@pytest.mark.parametrize("number", range(3))
def test_every_altered_array_is_mended(ground: Path, tmp_path: Path, number: int) -> None:
    chance = random.Random(number)
    before = seen(ground / "closed")
    folder = tmp_path / "index"
    shutil.copytree(ground / "closed", folder)
    for name in [name for name in files_of(folder) if name.parent != Path()]:
        what, content = list(alterations((folder / name).read_bytes(), chance, 1))[number % 4]
        altered(folder, name, content)
    assert damage(folder), what
    repair_index(folder, HashingEncoder(), STRUCTURES, Watcher())
    assert damage(folder) == []
    assert seen(folder) == before


def test_an_altered_database_is_mended_or_said_to_be_lost(ground: Path, tmp_path: Path) -> None:
    chance = random.Random(6)
    before = seen(ground / "closed")
    content = (ground / "closed" / DATABASE).read_bytes()
    mended = 0
    for what, new in list(alterations(content, chance, 5))[:-1]:
        folder = tmp_path / "index"
        shutil.copytree(ground / "closed", folder)
        altered(folder, Path(DATABASE), new)
        with suppress(IndexDamaged):
            repair_index(folder, HashingEncoder(), STRUCTURES, Watcher())
            mended += 1
            assert damage(folder) == [], what
            assert seen(folder) == before, what
        shutil.rmtree(folder)
    assert mended > 1


def test_an_altered_log_is_a_commit_before(ground: Path, tmp_path: Path) -> None:
    """What follows the alteration was never there: an earlier commit, whole, is what is read, and never a mixture."""
    chance = random.Random(7)
    content = (ground / "open" / LOG).read_bytes()
    assert content
    sizes = set()
    for what, new in alterations(content, chance, 3):
        folder = tmp_path / "index"
        shutil.copytree(ground / "open", folder)
        altered(folder, Path(LOG), new)
        (folder / SHARED).unlink()
        assert [one for one in damage(folder) if "does not belong" not in one] == [], what
        with Snapshot.open(folder) as snapshot:
            texts = {document.title: document.text for document in snapshot.documents()}
            assert FACTS.items() <= texts.items(), what
            sizes.add(len(texts))
        index(folder, ground / "world")
        assert damage(folder) == [], what
        with Snapshot.open(folder) as snapshot:
            assert len(snapshot.register) == len(FACTS) + 1
        shutil.rmtree(folder)
    assert sizes == {len(FACTS), len(FACTS) + 1}
