"""An index on an object store: one writer, many readers, commits that happen or do not, whatever fails between."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from command import Hoptrail
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import IndexBusy, IndexDamaged, IndexUnavailable, StorageError
from hoptrail.indexing import Watcher, repair_index
from hoptrail.store import snapshot as snapshots
from hoptrail.store import tables
from hoptrail.store.files import StoredFiles, copy_files, files_of
from hoptrail.store.head import Checksum, Head, HeadRecord
from hoptrail.store.integrity import verify
from hoptrail.store.lease import OBJECT
from hoptrail.store.place import Place
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.tables import StorageSettings, connect, sweep_aged
from hoptrail.store.writer import Writer, writing_to
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Document, Kind, Usage
from object_store import KEY, SECRET, Asked, Fault, FaultyStore, nth
from world import FACTS, HashingEncoder, make_document, make_passage

ENCODER = HashingEncoder()


def put(writer: Writer, documents: list[Document]) -> None:
    units = [make_passage(document) for document in documents]
    writer.put_documents(documents)
    writer.put_units(units, ENCODER.encode([unit.searchable for unit in units]))


def publish(place: Place, documents: list[Document], storage: StorageSettings | None = None) -> None:
    with writing_to(place, ENCODER.identity, storage) as writer:
        put(writer, documents)
        writer.publish(Usage(calls=1))


def titles(place: Place) -> set[str]:
    """The titles of a state that is whole: every document has its passage, its vector and its words."""
    snapshot = Snapshot.open(place)
    found = {entry.title for entry in snapshot.entries}
    assert {unit.title for unit in snapshot.units(Kind.PASSAGE)} == found
    assert len(snapshot.vectors(Kind.PASSAGE).ids) == len(found)
    by_words = {unit.title for unit, _ in snapshot.search_keywords(" ".join(found), 99)}
    assert by_words == found
    return found


def unleased(place: Place) -> Writer:
    """A writer that holds no lease, as one that was taken for dead and is not."""
    database = connect(place)
    record = HeadRecord(database, place)
    return Writer(
        place, database, record, record.head() or Head(ENCODER.identity), lambda: None, StorageSettings(keep_hours=48)
    )


# --- two writers


def test_of_two_that_read_the_same_head_the_later_commit_is_refused(place: Place, documents: list[Document]) -> None:
    publish(place, documents[:1])
    first, second = unleased(place), unleased(place)
    put(first, documents[1:2])
    first.publish(Usage())
    second.structures["other"] = "none"
    with pytest.raises(IndexBusy, match="committed to by another writer"):
        second.publish(Usage())
    assert titles(place) == {document.title for document in documents[:2]}


def test_a_writer_that_finds_another_ones_rows_stops(place: Place, documents: list[Document]) -> None:
    """Rows of both would be in its tables; nobody sees them, and whoever comes next has them rolled back."""
    publish(place, documents[:1])
    first, second = unleased(place), unleased(place)
    put(first, documents[1:2])
    with pytest.raises(IndexBusy, match="written to by another process"):
        put(second, documents[2:3])
    assert titles(place) == {documents[0].title}
    publish(place, documents[3:])
    assert titles(place) == {document.title for document in (documents[0], *documents[3:])}


def test_of_two_first_commits_one_is_refused(place: Place, documents: list[Document]) -> None:
    first, second = unleased(place), unleased(place)
    put(first, documents[:1])
    first.publish(Usage())
    refusals = (ValueError, "already exists") if place.is_local else (StorageError, "already exists")
    with pytest.raises(refusals[0], match=refusals[1]):
        put(second, documents[1:2])
    with pytest.raises(IndexBusy):
        second._record.commit(Head(ENCODER.identity))
    assert titles(place) == {documents[0].title}


def test_a_second_writer_fails_fast_with_the_name_of_the_first(stored: Place, documents: list[Document]) -> None:
    with writing_to(stored, ENCODER.identity) as writer:
        put(writer, documents[:1])
        with pytest.raises(IndexBusy, match=r"is being written by process \d+ on .*runs out in \d+ seconds"):
            publish(stored, documents[1:])
        writer.publish(Usage())
    publish(stored, documents[1:])
    assert titles(stored) == set(FACTS)


# --- failed and repeated commits


def test_a_store_that_keeps_to_no_conditions_is_refused(
    stored: Place, object_store: FaultyStore, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "heeds_conditions", False)
    with pytest.raises(StorageError, match="does not keep to conditional writes"):
        publish(stored, documents)


def test_a_commit_is_conditional_on_the_version_that_was_read(
    stored: Place, object_store: FaultyStore, documents: list[Document]
) -> None:
    publish(stored, documents)
    heads = [asked for asked in object_store.requests if asked.method == "PUT" and "head.lance/_versions" in asked.path]
    assert heads
    assert {asked.condition for asked in heads} == {"*"}


def puts_of(object_store: FaultyStore, work: Callable[[], None]) -> list[str]:
    object_store.requests.clear()
    work()
    return [asked.path for asked in object_store.requests if asked.method == "PUT"]


def test_a_commit_that_fails_anywhere_leaves_the_state_before_or_after(
    stored: Place, object_store: FaultyStore, documents: list[Document]
) -> None:
    """A write is refused, with all that come after it; then the same is done again, and succeeds. (All kinds of files, and
    other faults, are the benchmark's.)"""
    publish(stored, documents[:1])
    before = {documents[0].title}
    done = puts_of(object_store, lambda: publish(stored, documents[:2]))
    kinds = {_kind(path): number for number, path in enumerate(done)}
    before |= {documents[1].title}
    for number in sorted(kinds[kind] for kind in ("unit-passage _indices", "head data", "head _versions")):
        document = make_document(f"Late {number}", f"Said at request {number}.")
        with object_store.failing(nth(number, Fault.REFUSED, again=True)), pytest.raises(StorageError, match="403"):
            publish(stored, [document])
        _expire(stored)
        assert titles(stored) in (before, before | {document.title})
        publish(stored, [document])
        before |= {document.title}
        assert titles(stored) == before


def _kind(path: str) -> str:
    table, mark, rest = path.partition(".lance/")
    return f"{table.rpartition('/')[2]} {rest.split('/')[0]}" if mark else "lease"


def _expire(place: Place) -> None:
    """As if the term of a lease that could not be given back had passed."""
    files = StoredFiles(place)
    content, version = files.read(OBJECT)
    files.put(OBJECT, json.dumps(json.loads(content) | {"expires": 0}).encode(), version)


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.FAILED])
def test_writes_that_are_done_twice_or_only_the_second_time_count_once(
    stored: Place, object_store: FaultyStore, documents: list[Document], fault: Fault
) -> None:
    """The first answer to every write that must not be done twice is an error: it was done, or it was not."""
    seen: set[str] = set()

    def first(asked: Asked) -> Fault | None:
        if asked.method != "PUT" or asked.path in seen or not asked.path.endswith((".manifest", OBJECT)):
            return None
        seen.add(asked.path)
        return fault

    with object_store.failing(first):
        publish(stored, documents)
    assert titles(stored) == set(FACTS)
    assert Snapshot.open(stored).head.spent == Usage(calls=1)
    assert len(seen) > 8


# --- readers


def test_a_reader_keeps_its_state_while_others_commit(stored: Place, documents: list[Document]) -> None:
    publish(stored, documents[:2])
    before = Snapshot.open(stored)
    assert before.is_current()
    publish(stored, documents[2:])
    with writing_to(stored, ENCODER.identity) as writer:
        writer.remove_documents([documents[0].id])
        writer.publish(Usage())
    assert {unit.title for unit in before.units(Kind.PASSAGE)} == {document.title for document in documents[:2]}
    assert [unit.title for unit, _ in before.search_keywords("born", 3)] == ["Orla Finch"]
    assert not before.is_current()


def test_looking_whether_a_state_is_current_takes_one_request(
    stored: Place, object_store: FaultyStore, documents: list[Document]
) -> None:
    publish(stored, documents)
    snapshot = Snapshot.open(stored)
    with writing_to(stored, ENCODER.identity) as writer:
        put(writer, [make_document("New", "Not seen yet.")])
        writer.checkpoint()
    assert snapshot.is_current()
    object_store.requests.clear()
    assert snapshot.is_current()
    assert len(object_store.requests) == 1


def test_what_was_replaced_long_ago_is_swept_and_what_was_replaced_lately_is_not(
    stored: Place, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However old it is: the second state was written before the moment that matters, and replaced after it."""
    states = []
    for document, wait in zip(documents, (4, 1.5, 0), strict=False):
        publish(stored, [document])
        states.append(Snapshot.open(stored))
        time.sleep(wait)
    monkeypatch.setattr(tables, "CLOCKS", timedelta(seconds=3))
    table, files = connect(stored).open_table("documents"), files_of(stored)
    last = max(files.written("documents.lance/_versions").values())
    writer = unleased(stored)
    writer._commit(replace(writer.head, checksums=None))  # as a writer does before it sweeps
    sweep_aged(table, files, last - timedelta(seconds=1), every=False)
    assert [len(list(state.documents())) for state in states[1:]] == [2, 3]
    left = {int(found["version"]) for found in table.list_versions()}
    assert [state.head.tables["documents"] in left for state in states] == [False, True, True]
    publish(stored, documents[3:], StorageSettings(keep_hours=0))
    assert len(files.sizes("documents.lance/_versions")) == 1
    assert titles(stored) == set(FACTS)


# --- damage


def test_a_lost_file_is_found_on_opening_and_an_altered_one_by_verifying(
    stored: Place, documents: list[Document]
) -> None:
    import obstore

    publish(stored, documents)
    files = StoredFiles(stored)
    name = next(name for name in files.sizes() if name.startswith("unit-passage.lance/data/"))
    content = bytes(obstore.get(files._store, name).bytes())
    obstore.put(files._store, name, bytes(len(content)))
    snapshot = Snapshot.open(stored)
    with pytest.raises(IndexDamaged, match=f"{name} does not match its checksum"):
        verify_all(snapshot)
    obstore.delete(files._store, name)
    with pytest.raises(IndexDamaged, match=f"{name} is missing"):
        Snapshot.open(stored)


def test_what_a_later_commit_has_swept_while_a_state_was_opened_is_no_damage(
    stored: Place, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(stored, documents[:2])
    verified = []

    def after_another_commit(place: Place, expected: Mapping[str, Checksum]) -> None:
        verified.append(expected)
        if len(verified) == 1:
            with writing_to(place, ENCODER.identity, StorageSettings(keep_hours=0)) as writer:
                put(writer, documents[2:])
                writer.publish(Usage())
        verify(place, expected)

    monkeypatch.setattr(snapshots, "verify", after_another_commit)
    assert titles(stored) == {document.title for document in documents}
    assert len(verified) > 1


def verify_all(snapshot: Snapshot) -> None:
    verify(snapshot.place, snapshot.head.checksums or {}, limit=None)


def test_repair_rebuilds_on_an_object_store_too(stored: Place, world: Path) -> None:
    import obstore

    from hoptrail.documents.reading import ReadingLimits
    from hoptrail.indexing import update_index

    structures = structures_by_name(PassageLimits())
    update_index(stored, [world], ENCODER, list(structures.values()), ReadingLimits(), Watcher())
    files = StoredFiles(stored)
    name = next(name for name in files.sizes() if name.startswith("unit-passage.lance/data/"))
    obstore.delete(files._store, name)
    assert repair_index(stored, ENCODER, structures, Watcher()) == [name]
    assert titles(stored) == set(FACTS)
    head = min(files.sizes("head.lance/_versions"))
    obstore.put(files._store, head, b"")
    assert repair_index(stored, ENCODER, structures, Watcher()) == [head]
    assert titles(stored) == set(FACTS)


def test_an_index_copied_from_a_folder_to_an_object_store_works_there(
    stored: Place, tmp_path: Path, documents: list[Document]
) -> None:
    import obstore

    publish(Place.of(tmp_path), documents[:3])
    files = StoredFiles(stored)
    for name in files_of(Place.of(tmp_path)).sizes():
        obstore.put(files._store, name, tmp_path / name)
    verify_all(Snapshot.open(stored))
    publish(stored, documents[3:])
    assert titles(stored) == set(FACTS)
    copy_files(files, tmp_path / "back", lambda name: ".lance/" in name)
    assert titles(Place.of(tmp_path / "back")) == set(FACTS)


# --- what cannot be reached


def test_no_bucket_no_rights_and_no_server_are_each_named_with_what_to_do(
    stored: Place, object_store: FaultyStore, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = Place.of("s3://no-such-bucket/index")
    for attempt in (lambda: Snapshot.open(nowhere), lambda: publish(nowhere, documents)):
        with pytest.raises(StorageError, match=r"there is no bucket 'no-such-bucket'.*Make it first"):
            attempt()
    with pytest.raises(IndexUnavailable, match=rf"there is no index at {stored}"):
        Snapshot.open(stored)
    with object_store.failing(lambda _: Fault.REFUSED), pytest.raises(StorageError, match="forbids this") as caught:
        publish(stored, documents)
    assert KEY not in str(caught.value)
    assert SECRET not in str(caught.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StorageError, match=r"cannot be reached at http://127\.0\.0\.1:9"):
        Snapshot.open(stored)


# --- the command line


def test_the_commands_work_on_an_object_store(
    stored: Place, world: Path, hoptrail: Hoptrail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPTRAIL_DATA", str(tmp_path / "data"))
    where = ["--index", str(stored)]
    settings = tmp_path / "settings.toml"
    settings.write_text('recipe = "bm25"\n', encoding="utf-8")
    monkeypatch.setenv("HOPTRAIL_SETTINGS", str(settings))
    assert hoptrail("index", str(world), *where, "--for", "bm25").code == 0
    assert "Dunmere" in hoptrail("search", "Which harbour freezes?", *where, "--recipe", "bm25").out
    assert hoptrail("ask", "Which harbour freezes in winter?", *where, "--recipe", "bm25").code == 0
    assert hoptrail("remove", "Dunmere", *where).code == 0
    assert "Dunmere" not in hoptrail("show", *where, "--json").out
    assert hoptrail("verify", *where).code == 0
    refused = hoptrail("show", "--index", "ftp://bucket/x")
    assert refused.code == 2
    assert "s3://" in refused.err
