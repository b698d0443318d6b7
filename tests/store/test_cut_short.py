"""What is left where a writer is killed, suspended or refused between two of its steps, and that the next one goes on."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from hoptrail.documents.reading import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import IndexBusy, IndexDamaged, IndexUnavailable, Interrupted, StorageError
from hoptrail.index import Index
from hoptrail.indexing import Watcher, repair_index, update_index
from hoptrail.store.files import StoredFiles, files_of
from hoptrail.store.head import Head, HeadRecord, _row
from hoptrail.store.layout import HEAD
from hoptrail.store.place import Place
from hoptrail.store.repairing import set_damage_aside
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.tables import StorageSettings, connect
from hoptrail.store.writer import Writer, writing_to
from hoptrail.structures import renewing
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Document, Kind, Link, Usage
from object_store import Asked, Fault, FaultyStore
from world import FACTS, HashingEncoder, make_passage

ENCODER = HashingEncoder()
STRUCTURES = structures_by_name(PassageLimits())
KEEP_NOTHING = StorageSettings(keep_hours=0, lease_seconds=1)


class Killed(Exception):
    """Ends a writer as a kill does, but for its lock."""


def put(writer: Writer, documents: list[Document]) -> None:
    units = [make_passage(document) for document in documents]
    writer.put_documents(documents)
    writer.put_units(units, ENCODER.encode([unit.searchable for unit in units]))


def publish(place: Place, documents: list[Document]) -> None:
    with writing_to(place, ENCODER.identity, KEEP_NOTHING) as writer:
        put(writer, documents)
        writer.publish(Usage())


def index(place: Place, world: Path) -> None:
    update_index(place, [world], ENCODER, list(STRUCTURES.values()), ReadingLimits(), Watcher())


def titles(place: Place) -> set[str]:
    """The titles of a state that is whole: every document has its passage, its vector and its words."""
    snapshot = Snapshot.open(place)
    found = {entry.title for entry in snapshot.entries}
    assert {unit.title for unit in snapshot.units(Kind.PASSAGE)} == found
    assert len(snapshot.vectors(Kind.PASSAGE).ids) == len(found)
    assert {unit.title for unit, _ in snapshot.search_keywords(" ".join(found), 99)} == found
    return found


def unleased(place: Place) -> Writer:
    """A writer that holds no lease, as one that was taken for dead and is not."""
    database = connect(place)
    record = HeadRecord(database, place)
    return Writer(place, database, record, record.head() or Head(ENCODER.identity), lambda: None, KEEP_NOTHING)


def killed_at_commit(number: int, monkeypatch: pytest.MonkeyPatch, writer: Writer) -> None:
    """The writer dies when it is about to commit for that time, counted from 1."""
    commit, left = writer._commit, [number]

    def last(head: Head) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        commit(head)

    monkeypatch.setattr(writer, "_commit", last)


# --- the first commit


def test_a_first_commit_that_was_cut_in_two_has_made_no_index_and_is_not_in_the_way(place: Place, world: Path) -> None:
    connect(place).create_table(HEAD, schema=_row("").schema)
    assert not Snapshot.exists(place)
    with pytest.raises(IndexUnavailable, match="there is no index"):
        Snapshot.open(place)
    with pytest.raises(IndexUnavailable, match="Run the same `hoptrail index` again") as refused:
        set_damage_aside(place)
    assert not isinstance(refused.value, IndexDamaged)
    made = Index(place)
    made.encoder = ENCODER
    made.add([world], ["bm25"])
    assert Snapshot.exists(place)
    assert titles(place) == set(FACTS)


def test_a_first_run_that_was_stopped_before_any_commit_is_run_again(place: Place, documents: list[Document]) -> None:
    def stopped() -> None:
        with writing_to(place, ENCODER.identity, KEEP_NOTHING) as writer:
            put(writer, documents)
            raise Killed

    with pytest.raises(Killed):
        stopped()
    with pytest.raises(IndexUnavailable, match=r"no index|Run the same `hoptrail index` again") as refused:
        set_damage_aside(place)
    assert not isinstance(refused.value, IndexDamaged)
    publish(place, documents)
    assert titles(place) == set(FACTS)


def test_a_folder_without_an_index_has_nothing_to_repair(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("No index.")
    with pytest.raises(IndexUnavailable, match="there is no index"):
        set_damage_aside(tmp_path)


def test_a_first_commit_whose_second_write_is_refused_is_done_by_the_next_run(
    stored: Place, object_store: FaultyStore, documents: list[Document]
) -> None:
    def second(asked: Asked) -> Fault | None:
        is_head = asked.method == "PUT" and "head.lance/_versions" in asked.path
        return Fault.REFUSED if is_head and any("head.lance/_versions" in done.path for done in before(asked)) else None

    def before(asked: Asked) -> list[Asked]:
        return [done for done in object_store.requests if done.method == "PUT" and done is not asked]

    with object_store.failing(second), pytest.raises(StorageError, match="403"):
        publish(stored, documents)
    assert not Snapshot.exists(stored)
    publish(stored, documents)
    assert titles(stored) == set(FACTS)


def test_an_old_first_commit_is_an_index(place: Place) -> None:
    """The first version of the head was the first commit, once."""
    from hoptrail.store.head import _Payload

    connect(place).create_table(HEAD, _row(_Payload(Head(ENCODER.identity)).model_dump_json()))
    assert Snapshot.exists(place)
    assert Snapshot.open(place).entries == ()


# --- tables that are dropped, or are gone


def test_a_writer_whose_new_table_was_dropped_meanwhile_cannot_commit_it(
    stored: Place, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is suspended after it has made sure of its lease; the next writer rolls back what it wrote."""
    publish(stored, documents[:1])
    suspended = unleased(stored)
    suspended.put_links([Link("a", "b", "SS", 0.5)])
    monkeypatch.setattr(suspended, "_held", lambda: unleased(stored))
    with pytest.raises(IndexBusy, match="committed to by another writer"):
        suspended.checkpoint()
    publish(stored, documents[1:])
    assert titles(stored) == set(FACTS)


def test_a_table_that_vanished_is_named_and_repaired_even_without_checksums(
    tmp_path: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place.of(tmp_path / "index")
    index(place, world)
    with writing_to(place, ENCODER.identity) as writer:
        killed_at_commit(2, monkeypatch, writer)
        with pytest.raises(Killed):
            writer.sweep()
    shutil.rmtree(place.folder / "unit-passage.lance")
    with pytest.raises(IndexDamaged, match=r"unit-passage\.lance of .* is missing\. Run `hoptrail repair"):
        index(place, world)
    assert repair_index(place, ENCODER, STRUCTURES, Watcher()) == ["unit-passage.lance"]
    assert titles(place) == set(FACTS)


# --- sweeping after a roll-back


def test_what_a_killed_writer_added_is_swept(place: Place, documents: list[Document]) -> None:
    publish(place, documents[:2])
    with writing_to(place, ENCODER.identity, KEEP_NOTHING) as writer:
        put(writer, documents[2:])
    with writing_to(place, ENCODER.identity, KEEP_NOTHING) as writer:
        assert writer.sweep()
        assert writer.head.tables == writer._versions()
    assert titles(place) == {document.title for document in documents[:2]}
    assert len(connect(place).open_table("documents").list_versions()) == 1


@pytest.mark.parametrize("commit", [1, 2])
def test_a_sweep_that_is_killed_leaves_what_the_head_names(
    place: Place, documents: list[Document], monkeypatch: pytest.MonkeyPatch, commit: int
) -> None:
    """After a writer that was killed when it had marked the versions that its head was to name."""
    publish(place, documents[:2])
    with writing_to(place, ENCODER.identity, KEEP_NOTHING) as writer:
        put(writer, documents[2:])
        killed_at_commit(1, monkeypatch, writer)
        with pytest.raises(Killed):
            writer.publish(Usage())
        dead = set(writer._versions().values())
    with writing_to(place, ENCODER.identity, KEEP_NOTHING) as writer:
        marked = [tag["version"] for table in writer._tables.values() for tag in table.tags.list().values()]
        assert not dead & set(marked)
        killed_at_commit(commit, monkeypatch, writer)
        with pytest.raises(Killed):
            writer.sweep()
    assert titles(place) == {document.title for document in documents[:2]}
    publish(place, documents[2:])
    assert titles(place) == set(FACTS)


def test_a_sweep_that_readers_forbid_writes_nothing(tmp_path: Path, documents: list[Document]) -> None:
    place = Place.of(tmp_path / "index")
    publish(place, documents[:2])
    reader = Snapshot.open(place)
    publish(place, documents[2:])
    later = Snapshot.open(place)
    assert not reader.is_read_alone()
    before = files_of(place).sizes()
    with writing_to(place, ENCODER.identity, KEEP_NOTHING) as writer:
        assert not writer.sweep()
    assert {name for name in before.keys() ^ files_of(place).sizes().keys() if "lock" not in name} == set()
    del reader
    assert later.is_read_alone()
    with writing_to(place, ENCODER.identity, KEEP_NOTHING) as writer:
        assert not writer.sweep(), "asking took nothing from the reader who asked"
        with pytest.raises(IndexBusy):
            later.is_read_alone()
    assert titles(place) == set(FACTS)
    del later
    with writing_to(place, ENCODER.identity, KEEP_NOTHING) as writer:
        assert writer.sweep()


# --- checksums


def test_a_sweep_that_failed_is_made_good_by_the_same_command(
    place: Place, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(place, world)
    with writing_to(place, ENCODER.identity) as writer:
        killed_at_commit(2, monkeypatch, writer)
        with pytest.raises(Killed):
            writer.sweep()
    made = Index(place)
    with pytest.raises(IndexUnavailable, match=r"cannot be verified.*run `hoptrail index`"):
        made.verify()
    index(place, world)
    assert made.verify() > 0


# --- repairing


NAMES = ("passages", "sentences", "dense-neighbours")


def indexed(place: Place, world: Path, limits: PassageLimits | None = None, names: Sequence[str] = NAMES) -> None:
    known = structures_by_name(limits or PassageLimits())
    update_index(place, [world], ENCODER, [known[name] for name in names], ReadingLimits(), Watcher())


def truncate(place: Place, files: str) -> str:
    """Harm the first of these files; its name."""
    path = min(place.folder.glob(files))
    path.write_bytes(path.read_bytes()[:-7])
    return path.relative_to(place.folder).as_posix()


def stopping_after(calls: int) -> Watcher:
    asked = count()
    return Watcher(stopped=lambda: next(asked) >= calls)


def stand(place: Place) -> tuple[dict[str, str], dict[str, str], dict[Kind, int], dict[str, int]]:
    """Structures that are present and that are not, units and links."""
    snapshot = Snapshot.open(place)
    units = {kind: snapshot.count(kind) for kind in snapshot.kinds}
    return snapshot.head.structures, snapshot.head.unfinished, units, dict(snapshot.count_links())


@pytest.mark.parametrize("calls", [-1, 0, 1, 3])
def test_a_repair_that_was_killed_or_stopped_is_gone_on_with(
    tmp_path: Path, world: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    """Killed when damage had been set aside, or stopped at one of its steps."""
    monkeypatch.setattr(renewing, "BATCH", 2)
    place = Place.of(tmp_path / "index")
    indexed(place, world)
    before = stand(place)
    truncate(place, "unit-sentence.lance/data/*")
    if calls < 0:
        set_damage_aside(place)
    else:
        with pytest.raises(Interrupted, match="Run the same command again"):
            repair_index(place, ENCODER, STRUCTURES, stopping_after(calls))
    assert Snapshot.open(place).head.structures == {}
    assert repair_index(place, ENCODER, STRUCTURES, Watcher()) == []
    assert stand(place) == before
    made = Index(place)
    assert made.verify() > 0
    assert made.unfinished() == ()


def test_indexing_after_a_repair_that_was_killed_builds_what_it_names_and_repairing_the_rest(
    tmp_path: Path, world: Path
) -> None:
    place = Place.of(tmp_path / "index")
    indexed(place, world)
    structures, _, units, links = stand(place)
    truncate(place, "unit-sentence.lance/data/*")
    set_damage_aside(place)
    indexed(place, world, names=["passages"])
    head = Snapshot.open(place).head
    assert (set(head.structures), set(head.unfinished)) == ({"passages"}, {"sentences", "dense-neighbours"})
    repair_index(place, ENCODER, STRUCTURES, Watcher())
    assert stand(place) == (structures, {}, units, links)


def test_a_keyword_index_that_a_killed_repair_was_to_renew_is_renewed_by_the_next(tmp_path: Path, world: Path) -> None:
    place = Place.of(tmp_path / "index")
    indexed(place, world)
    name = truncate(place, "unit-passage.lance/_indices/*/*")
    assert set_damage_aside(place).files == (name,)
    assert repair_index(place, ENCODER, STRUCTURES, Watcher()) == []
    assert not (place.folder / name).exists()
    assert Index(place).verify() > 0
    assert titles(place) == set(FACTS)


def test_a_repair_under_other_settings_takes_no_old_passage_for_one_of_its_own(tmp_path: Path, world: Path) -> None:
    small = PassageLimits(words=5, short_document_words=0)
    place, other = Place.of(tmp_path / "index"), Place.of(tmp_path / "other")
    indexed(place, world)
    truncate(place, "unit-sentence.lance/data/*")
    repair_index(place, ENCODER, structures_by_name(small), Watcher())
    indexed(other, world, small)
    assert stand(place) == stand(other)


# --- looking


def test_looking_whether_a_state_is_current_makes_no_new_client(
    stored: Place, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a machine with a role, each would have to get credentials first."""
    publish(stored, documents)
    made: list[Place] = []
    begin = StoredFiles.__init__

    def counted(files: StoredFiles, place: Place) -> None:
        made.append(place)
        begin(files, place)

    held = Index(stored)
    held.contents()
    monkeypatch.setattr(StoredFiles, "__init__", counted)
    held.contents()
    assert made == []


def test_an_index_that_is_gone_is_not_current(tmp_path: Path, documents: list[Document]) -> None:
    place = Place.of(tmp_path / "index")
    publish(place, documents)
    held = Index(place)
    held.contents()
    shutil.rmtree(place.folder)
    with pytest.raises(IndexUnavailable, match="there is no index"):
        held.contents()
    assert not place.folder.exists()
