"""What a writer writes, when readers see it, and what a crash leaves."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lancedb.table import Table

from hoptrail.errors import IndexMismatch, IndexUnavailable
from hoptrail.store import layout
from hoptrail.store.place import Place
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.tables import METADATA_CACHE, connect
from hoptrail.store.writer import Writer, writing_to
from hoptrail.types import Document, Kind, Link, Span, Unit, Usage
from world import HashingEncoder, make_document, make_passage


def test_versions_of_a_build_are_not_kept_in_mind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions: list[lancedb.Session] = []
    opened = lancedb.Session

    def session(**given: int) -> lancedb.Session:
        sessions.append(opened(**given))
        return sessions[-1]

    monkeypatch.setattr(lancedb, "Session", session)
    table = connect(tmp_path).create_table("some", pa.table({"id": ["0"]}))
    for at in range(400):
        table.add(pa.table({"id": [str(at)]}))
    (kept,) = sessions
    assert kept.size_bytes <= METADATA_CACHE


def write(place: Place, encoder: HashingEncoder, documents: list[Document], usage: Usage | None = None) -> None:
    with writing_to(place, encoder.identity) as writer:
        put(writer, encoder, documents)
        writer.publish(usage or Usage())


def put(writer: Writer, encoder: HashingEncoder, documents: list[Document]) -> None:
    units = [make_passage(document) for document in documents]
    writer.put_documents(documents)
    writer.put_units(units, encoder.encode([unit.searchable for unit in units]))


def titles(place: Place) -> set[str]:
    return {entry.title for entry in Snapshot.open(place).entries}


def test_what_is_published_is_read_back_as_it_was(
    place: Place, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(place, encoder, documents, Usage(calls=2, prompt_tokens=7, seconds=1.5))
    snapshot = Snapshot.open(place)
    assert {document.id: document for document in snapshot.documents()} == {
        document.id: document for document in documents
    }
    units = {unit.id: unit for unit in snapshot.units(Kind.PASSAGE)}
    assert units == {unit.id: unit for unit in map(make_passage, documents)}
    mirror = snapshot.vectors(Kind.PASSAGE)
    assert list(mirror.ids) == sorted(units)
    expected = encoder.encode([units[name].searchable for name in mirror.ids])
    assert np.array_equal(mirror.matrix, expected)
    assert snapshot.head.spent == Usage(calls=2, prompt_tokens=7, seconds=1.5)


def test_long_documents_are_read_and_written_few_at_a_time(
    tmp_path: Path, encoder: HashingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[tuple[int, int]] = []
    choose = layout.rows_at_once

    def noting(table: Table, rows: int, columns: Collection[str] | None = None) -> int:
        fitting = choose(table, rows, columns)
        if table.name == layout.DOCUMENTS and columns is None:
            chosen.append((rows, fitting))
        return fitting

    monkeypatch.setattr(layout, "rows_at_once", noting)
    for name, characters in (("long", 400_000), ("short", 400)):
        texts = [random.Random(number).randbytes(characters // 2).hex() for number in range(40)]
        documents = [make_document(name, text) for text in texts]
        with writing_to(tmp_path / name, encoder.identity) as writer:
            writer.add_documents(documents)
            writer.publish(Usage())
            writer.renew_index(layout.DOCUMENTS)
            writer.publish(Usage())
        assert {document.text for document in Snapshot.open(tmp_path / name).documents()} == set(texts)
        if name == "long":
            assert {rows for rows, _ in chosen} == {1024, 4096}
            assert all(2 <= fitting <= 16 for _, fitting in chosen)
        else:
            assert all(rows == fitting for rows, fitting in chosen)
        chosen.clear()


def test_rows_of_long_documents_become_documents_one_after_the_other() -> None:
    long = [make_document(f"T{number}", f"{number}" * 1_000_000) for number in range(1, 9)]
    rows = layout.documents_to_rows([*long, *(make_document(f"S{number}", "Short.") for number in range(100))])
    tracemalloc.start()
    found = [document.id for document in layout.documents_from_rows(rows)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == rows["id"].to_pylist()
    assert peak < 3_000_000
    assert not list(layout.documents_from_rows(rows.slice(0, 0)))


def test_summaries_are_written_and_read_by_their_sources(
    tmp_path: Path, encoder: HashingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "SOURCES_AT_ONCE", 200)
    monkeypatch.setattr(layout, "SUMMARIES_AMONG", 120)
    written: list[tuple[int, int]] = []
    part = layout.small_parts

    def noting(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in part(batches):
            written.append((batch.num_rows, pc.sum(pc.list_value_length(batch.column("sources"))).as_py()))
            yield batch

    monkeypatch.setattr(layout, "small_parts", noting)
    sizes = [*[1] * 30, *[250] * 6, *[40] * 4]
    places = [tuple(Span("d", at, at + 1) for at in range(size)) for size in sizes]
    units = [Unit(f"s{at:02}", Kind.SUMMARY, "", f"Text {at}.", spans) for at, spans in enumerate(places)]
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_units(units, encoder.encode([unit.searchable for unit in units]))
        writer.publish(Usage())
        writer.renew_index(layout.unit_table(Kind.SUMMARY))
        written.clear()
        writer.publish(Usage())
    assert sum(rows for rows, _ in written) == len(units)
    assert all(rows <= 3 and (rows == 1 or sources <= 200) for rows, sources in written)
    snapshot = Snapshot.open(tmp_path)
    assert {unit.id: unit for unit in snapshot.units(Kind.SUMMARY)} == {unit.id: unit for unit in units}
    table = connect(tmp_path).open_table(layout.unit_table(Kind.SUMMARY))
    assert layout.rows_at_once(table, 4096) == 3
    assert layout.rows_at_once(table, 2) == 2
    assert layout.rows_at_once(table, 4096, ["id", "title"]) == 4096


def test_units_go_in_portions_while_they_are_read(
    place: Place, encoder: HashingEncoder, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoptrail.store.writer._REMOVED", 2)
    write(place, encoder, documents)
    kept = make_passage(documents[2]).id
    with writing_to(place, encoder.identity) as writer:
        there = writer.snapshot().unit_ids(Kind.PASSAGE)
        writer.remove_units(Kind.PASSAGE, (id_ for id_ in there if id_ != kept))
        writer.publish(Usage())
    assert len(documents) > 4
    assert list(Snapshot.open(place).unit_ids(Kind.PASSAGE)) == [kept]


def test_spending_adds_up_over_runs(place: Place, encoder: HashingEncoder, documents: list[Document]) -> None:
    write(place, encoder, documents[:3], Usage(calls=2))
    write(place, encoder, documents[3:], Usage(calls=3, completion_tokens=1))
    assert Snapshot.open(place).head.spent == Usage(calls=5, completion_tokens=1)


def test_readers_see_nothing_before_publish_and_their_snapshot_never_changes(
    place: Place, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(place, encoder, documents[:2])
    before = Snapshot.open(place)
    with writing_to(place, encoder.identity) as writer:
        put(writer, encoder, documents[2:])
        writer.checkpoint()
        assert len(Snapshot.open(place).entries) == 2
        writer.publish(Usage())
        assert len(Snapshot.open(place).entries) == len(documents)
    assert before.search_keywords("harbour", 9) == []
    assert len(list(before.documents())) == 2


def test_an_old_snapshot_still_answers_after_later_commits_and_removals(
    place: Place, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(place, encoder, documents)
    before = Snapshot.open(place)
    for document in documents[:4]:
        with writing_to(place, encoder.identity) as writer:
            writer.remove_documents([document.id])
            writer.publish(Usage())
    assert len(list(before.documents())) == len(documents)
    assert len(before.vectors(Kind.PASSAGE).ids) == len(documents)
    assert [unit.title for unit, _ in before.search_keywords("born", 3)] == ["Orla Finch"]


def test_work_after_the_last_checkpoint_is_undone_by_the_next_writer(
    place: Place, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(place, encoder, documents[:1])
    with writing_to(place, encoder.identity) as writer:
        put(writer, encoder, documents[1:2])
        writer.checkpoint()
        put(writer, encoder, documents[2:3])
        writer.remove_documents([documents[0].id])
    with writing_to(place, encoder.identity) as writer:
        writer.publish(Usage())
    assert titles(place) == {documents[0].title, documents[1].title}
    assert Snapshot.open(place).count(Kind.PASSAGE) == 2


def test_a_table_that_was_begun_but_never_committed_goes(
    place: Place, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(place, encoder, documents)
    with writing_to(place, encoder.identity) as writer:
        writer.put_links([Link("a", "b", "SS", 0.5)])
    with writing_to(place, encoder.identity) as writer:
        writer.publish(Usage())
    assert list(Snapshot.open(place).links()) == []


def test_writing_the_same_again_changes_nothing(
    place: Place, encoder: HashingEncoder, documents: list[Document]
) -> None:
    for _ in range(3):
        write(place, encoder, documents)
    snapshot = Snapshot.open(place)
    assert snapshot.count(Kind.PASSAGE) == len(documents) == len(snapshot.entries)


def test_removing_a_document_takes_what_stands_on_it_and_leaves_the_rest(
    place: Place, encoder: HashingEncoder, documents: list[Document]
) -> None:
    first, second, third = documents[:3]
    spans = (Span(first.id, 0, 5), Span(second.id, 0, 5))
    both = Unit("a1", Kind.PROFILE, "Both", "said of both", spans)
    alone = Unit("a2", Kind.PROFILE, "Third", "said of the third", (Span(third.id, 0, 5),))
    passages = [make_passage(document).id for document in (first, second, third)]
    with writing_to(place, encoder.identity) as writer:
        put(writer, encoder, documents)
        writer.put_units([both, alone], encoder.encode([both.text, alone.text]))
        writer.put_links([Link(passages[0], passages[1], "SS", 1.0), Link(passages[1], passages[2], "SS", 1.0)])
        writer.put_links([Link(passages[1], passages[2], "SA", 0.25), Link("a1", passages[2], "from", 1.0)])
        writer.publish(Usage())
    with writing_to(place, encoder.identity) as writer:
        writer.remove_documents([first.id])
        writer.publish(Usage())
    snapshot = Snapshot.open(place)
    assert first.title not in titles(place)
    assert [unit.id for unit in snapshot.units(Kind.PROFILE)] == ["a2"]
    assert snapshot.count(Kind.PASSAGE) == len(documents) - 1
    kept = {(passages[1], passages[2], "SS", 1.0), (passages[1], passages[2], "SA", 0.25)}
    assert {(link.source, link.target, link.kind, link.weight) for link in snapshot.links()} == kept


def test_no_file_keeps_the_words_of_a_removed_document(tmp_path: Path, encoder: HashingEncoder) -> None:
    secret = make_document("Secret", "The zanzibaric xylograph of Quoxleth was never catalogued.")
    others = [make_document(f"Other {number}", f"Plain words about subject {number}.") for number in range(300)]
    write(Place.of(tmp_path), encoder, [secret, *others])
    assert any(b"uoxleth" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.remove_documents([secret.id])
        writer.publish(Usage())
    for word in (b"uoxleth", b"xylograph", b"zanzibaric"):
        assert [path for path in tmp_path.rglob("*") if path.is_file() and word in path.read_bytes()] == []


def test_versions_that_nobody_needs_are_swept_away(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    for document in documents:
        write(Place.of(tmp_path), encoder, [document])
    for table in tmp_path.glob("*.lance"):
        # The head is written twice by the last publish, once before sweeping and once after.
        assert len(list((table / "_versions").glob("*.manifest"))) <= 2, table
        assert len(list((table / "data").iterdir())) <= 2, table


def test_an_index_of_another_encoder_is_refused_and_both_are_named(
    place: Place, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(place, encoder, documents)
    other = HashingEncoder("other", 32)
    with pytest.raises(IndexMismatch, match=r"encoder hashing \(64 dimensions.*not with other \(32 dimensions"):
        write(place, other, documents)
    assert len(titles(place)) == len(documents)


def test_a_folder_without_an_index_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match=r"there is no index at .*hoptrail index SOURCE"):
        Snapshot.open(tmp_path / "nothing")


def test_structures_are_those_of_the_rows_written(
    place: Place, encoder: HashingEncoder, documents: list[Document]
) -> None:
    with writing_to(place, encoder.identity) as writer:
        writer.structures["passages"] = "one"
        writer.unfinished["sentences"] = "two"
        put(writer, encoder, documents)
        writer.checkpoint()
        assert Snapshot.open(place).head.structures == {}
        writer.publish(Usage())
    head = Snapshot.open(place).head
    assert (head.structures, head.unfinished) == ({"passages": "one"}, {"sentences": "two"})


def test_what_was_built_and_not_published_is_unfinished_to_the_next_writer(
    place: Place, encoder: HashingEncoder, documents: list[Document]
) -> None:
    """Documents may come before it is published."""
    for built in ("passages", "sentences"):
        with writing_to(place, encoder.identity) as writer:
            writer.structures[built] = "one"
            put(writer, encoder, documents)
            writer.checkpoint()
            if built == "passages":
                writer.publish(Usage())
    with writing_to(place, encoder.identity) as writer:
        assert (writer.structures, writer.unfinished) == ({"passages": "one"}, {"sentences": "one"})


def test_an_empty_index_can_be_published_and_searched(place: Place, encoder: HashingEncoder) -> None:
    write(place, encoder, [])
    snapshot = Snapshot.open(place)
    assert snapshot.entries == ()
    assert snapshot.search_keywords("anything", 5) == []
    assert snapshot.vectors(Kind.PASSAGE).matrix.shape == (0, 64)
