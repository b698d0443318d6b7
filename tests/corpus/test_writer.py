"""What a writer writes, when readers see it, and what a crash leaves."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.repairing import repair
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.errors import IndexMismatch, IndexUnavailable, StillRead
from hoptrail.types import Document, Kind, Link, Span, Unit, Usage
from world import HashingEncoder, make_document, make_passage


def write(place: Path, encoder: HashingEncoder, documents: list[Document], usage: Usage | None = None) -> None:
    with writing_to(place, encoder.identity) as writer:
        put(writer, encoder, documents)
        writer.publish(usage or Usage())


def put(writer: Writer, encoder: HashingEncoder, documents: list[Document]) -> None:
    units = [make_passage(document) for document in documents]
    writer.put_documents(documents)
    writer.put_units(units, encoder.encode([unit.searchable for unit in units]))


def titles(place: Path) -> set[str]:
    return {entry.title for entry in Snapshot.open(place).register.entries}


def test_what_is_published_is_read_back_as_it_was(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(tmp_path, encoder, documents, Usage(calls=2, prompt_tokens=7, seconds=1.5))
    snapshot = Snapshot.open(tmp_path)
    assert {document.id: document for document in snapshot.documents()} == {
        document.id: document for document in documents
    }
    units = {unit.id: unit for unit in snapshot.units(Kind.PASSAGE)}
    assert units == {unit.id: unit for unit in map(make_passage, documents)}
    mirror = snapshot.search.vectors(Kind.PASSAGE)
    assert list(mirror.ids) == sorted(units)
    expected = encoder.encode([units[name].searchable for name in mirror.ids])
    assert np.array_equal(mirror.matrix, expected)
    assert snapshot.head.spent == Usage(calls=2, prompt_tokens=7, seconds=1.5)


def test_units_of_many_sources_are_read_back_as_they_were(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    sizes = [*[1] * 30, *[250] * 6, *[40] * 4]
    places = [tuple(Span(documents[at % 2].id, at, at + 1) for at in range(size)) for size in sizes]
    units = [Unit(f"s{at:02}", Kind.SUMMARY, "", f"Text {at}.", spans) for at, spans in enumerate(places)]
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents(documents)
        writer.put_units(units, encoder.encode([unit.searchable for unit in units]))
        writer.publish(Usage())
    snapshot = Snapshot.open(tmp_path)
    assert {unit.id: unit for unit in snapshot.units(Kind.SUMMARY)} == {unit.id: unit for unit in units}
    assert {unit.id for unit in snapshot.table.within(Kind.SUMMARY, [documents[1].id])} == {
        f"s{at:02}" for at in range(30, 40)
    }


def test_reading_documents_one_by_one_holds_few(tmp_path: Path, encoder: HashingEncoder) -> None:
    long = [make_document(f"T{number}", f"{number}" * 1_000_000) for number in range(1, 9)]
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents(long)
        writer.publish(Usage())
    with Snapshot.open(tmp_path) as snapshot:
        tracemalloc.start()
        found = [document.id for document in snapshot.documents()]
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert found == [document.id for document in long]
    assert peak < 4_000_000


def test_units_go_in_portions_while_they_are_read(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoptrail.corpus.writer.BATCH", 2)
    write(tmp_path, encoder, documents)
    kept = make_passage(documents[2]).id
    with writing_to(tmp_path, encoder.identity) as writer:
        there = writer.snapshot().table.ids(Kind.PASSAGE)
        writer.remove_units(Kind.PASSAGE, (id_ for id_ in there if id_ != kept))
        writer.publish(Usage())
    assert len(documents) > 4
    assert list(Snapshot.open(tmp_path).table.ids(Kind.PASSAGE)) == [kept]


def test_spending_adds_up_over_runs(tmp_path: Path, encoder: HashingEncoder, documents: list[Document]) -> None:
    write(tmp_path, encoder, documents[:3], Usage(calls=2))
    write(tmp_path, encoder, documents[3:], Usage(calls=3, completion_tokens=1))
    assert Snapshot.open(tmp_path).head.spent == Usage(calls=5, completion_tokens=1)


def test_readers_see_what_is_committed_and_their_snapshot_never_changes(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(tmp_path, encoder, documents[:2])
    before = Snapshot.open(tmp_path)
    with writing_to(tmp_path, encoder.identity) as writer:
        put(writer, encoder, documents[2:4])
        assert len(Snapshot.open(tmp_path).register.entries) == 2
        writer.checkpoint()
        assert len(Snapshot.open(tmp_path).register.entries) == 4
        assert not Snapshot.open(tmp_path).head.whole
        put(writer, encoder, documents[4:])
        writer.publish(Usage())
        assert len(Snapshot.open(tmp_path).register.entries) == len(documents)
        assert Snapshot.open(tmp_path).head.whole
    assert before.search.keywords("harbour", 9) == []
    assert len(list(before.documents())) == 2


def test_an_old_snapshot_still_answers_after_later_commits_and_removals(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.05)
    write(tmp_path, encoder, documents)
    before = Snapshot.open(tmp_path)
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.remove_documents([document.id for document in documents[:4]])
        with pytest.raises(StillRead, match="an earlier state is being read"):
            writer.publish(Usage())
    assert len(titles(tmp_path)) == len(documents) - 4
    assert len(list(before.documents())) == len(documents)
    assert len(before.search.vectors(Kind.PASSAGE).ids) == len(documents)
    assert [unit.title for unit, _ in before.search.keywords("born", 3)] == ["Orla Finch"]
    before.close()
    with writing_to(tmp_path, encoder.identity) as writer:
        assert writer.erase_removed()
    assert not any(b"was born in" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_work_after_the_last_checkpoint_is_undone_by_the_next_writer(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(tmp_path, encoder, documents[:1])
    with writing_to(tmp_path, encoder.identity) as writer:
        put(writer, encoder, documents[1:2])
        writer.checkpoint()
        put(writer, encoder, documents[2:3])
        writer.remove_documents([documents[0].id])
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.publish(Usage())
    assert titles(tmp_path) == {documents[0].title, documents[1].title}
    assert Snapshot.open(tmp_path).count(Kind.PASSAGE) == 2


def test_writing_the_same_again_changes_nothing(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    for _ in range(3):
        write(tmp_path, encoder, documents)
    snapshot = Snapshot.open(tmp_path)
    assert snapshot.count(Kind.PASSAGE) == len(documents) == len(snapshot.register.entries)


def test_removing_a_document_takes_what_stands_on_it_and_leaves_the_rest(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    first, second, third = documents[:3]
    spans = (Span(first.id, 0, 5), Span(second.id, 0, 5))
    both = Unit("a1", Kind.PROFILE, "Both", "said of both", spans)
    alone = Unit("a2", Kind.PROFILE, "Third", "said of the third", (Span(third.id, 0, 5),))
    passages = [make_passage(document).id for document in (first, second, third)]
    with writing_to(tmp_path, encoder.identity) as writer:
        put(writer, encoder, documents)
        writer.put_units([both, alone], encoder.encode([both.text, alone.text]))
        writer.links.put([Link(passages[0], passages[1], "SS", 1.0), Link(passages[1], passages[2], "SS", 1.0)])
        writer.links.put([Link(passages[1], passages[2], "SA", 0.25), Link("a1", passages[2], "from", 1.0)])
        writer.publish(Usage())
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.remove_documents([first.id])
        writer.publish(Usage())
    snapshot = Snapshot.open(tmp_path)
    assert first.title not in titles(tmp_path)
    assert [unit.id for unit in snapshot.units(Kind.PROFILE)] == ["a2"]
    assert snapshot.count(Kind.PASSAGE) == len(documents) - 1
    kept = {(passages[1], passages[2], "SS", 1.0), (passages[1], passages[2], "SA", 0.25)}
    assert {(link.source, link.target, link.kind, link.weight) for link in snapshot.links()} == kept


def test_an_index_of_another_encoder_is_refused_and_both_are_named(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(tmp_path, encoder, documents)
    other = HashingEncoder("other", 32)
    with pytest.raises(IndexMismatch, match=r"encoder hashing \(64 dimensions.*not with other \(32 dimensions"):
        write(tmp_path, other, documents)
    assert len(titles(tmp_path)) == len(documents)


def test_a_folder_without_an_index_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match=r"there is no index at .*hoptrail index SOURCE"):
        Snapshot.open(tmp_path / "nothing")


def test_structures_are_those_of_the_rows_written(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.structures["passages"] = "one"
        writer.unfinished["sentences"] = "two"
        put(writer, encoder, documents)
        writer.checkpoint()
        with Snapshot.open(tmp_path) as snapshot:
            assert (snapshot.head.structures, snapshot.head.whole) == ({"passages": "one"}, False)
        writer.publish(Usage())
    head = Snapshot.open(tmp_path).head
    assert (head.structures, head.unfinished, head.whole) == ({"passages": "one"}, {"sentences": "two"}, True)


def test_units_of_documents_that_are_not_stored_are_refused(tmp_path: Path, encoder: HashingEncoder) -> None:
    unit = make_passage(make_document("Absent", "It is not there."))
    with (
        writing_to(tmp_path, encoder.identity) as writer,
        pytest.raises(KeyError, match="documents that are not stored"),
    ):
        writer.put_units([unit], encoder.encode([unit.searchable]))


def remade(writer: Writer, encoder: HashingEncoder, *documents: Document) -> None:
    """A summary of some documents, which another summary is over."""
    spans = tuple(Span(document.id, 0, 3) for document in documents)
    units = [Unit("s1", Kind.SUMMARY, "", "Of all.", spans), Unit("s2", Kind.SUMMARY, "", "Over it.", spans)]
    writer.put_units(units, encoder.encode([unit.text for unit in units]))


def test_while_units_wait_to_be_made_again_readers_see_the_state_before(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    with writing_to(tmp_path, encoder.identity) as writer:
        put(writer, encoder, documents)
        remade(writer, encoder, *documents)
        writer.links.put([Link("s2", "s1", "tree", 1.0)])
        writer.publish(Usage())
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.begin_run(undivided=True)
        writer.remove_documents([documents[0].id])
        writer.checkpoint()
        assert len(titles(tmp_path)) == len(documents)
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.remove_documents([documents[0].id])
        remade(writer, encoder, *documents[1:])
        writer.publish(Usage())
    with Snapshot.open(tmp_path) as snapshot:
        assert len(snapshot.register.entries) == len(documents) - 1
        assert [(link.source, link.target) for link in snapshot.links("tree")] == [("s2", "s1")]


def test_a_stopped_run_notes_what_it_spent_and_forgets_what_it_had_not_kept(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    write(tmp_path, encoder, documents[:2], Usage(calls=2))
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.remove_documents([documents[0].id])
        put(writer, encoder, documents[2:3])
        writer.checkpoint()
        put(writer, encoder, documents[3:4])
        writer.note_spent(Usage(calls=3))
    with Snapshot.open(tmp_path) as snapshot:
        assert {entry.title for entry in snapshot.register.entries} == {document.title for document in documents[1:3]}
        assert (snapshot.head.spent, snapshot.head.whole) == (Usage(calls=5), False)


def test_what_a_removal_left_for_a_reader_is_cleaned_by_the_next_run(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoptrail.corpus.writer.WAIT", 0.05)
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.structures["passages"] = "one"
        put(writer, encoder, documents)
        writer.publish(Usage())
    with Snapshot.open(tmp_path), writing_to(tmp_path, encoder.identity) as writer:
        writer.remove_documents([documents[0].id])
        with pytest.raises(StillRead):
            writer.publish(Usage())
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.settle({"passages": "as it is"})
    assert Snapshot.open(tmp_path).head.settled == {"passages": "as it is"}
    text = documents[0].text.encode()
    assert not any(text in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_the_log_is_emptied_between_commits_once_the_earlier_state_is_released(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, encoder, documents)
    monkeypatch.setattr("hoptrail.corpus.writer.LOG", 0)
    sizes = []
    with writing_to(tmp_path, encoder.identity) as writer:
        change = writer.change
        assert change is not None
        change.release()
        for number in range(5):
            unit = Unit(f"s{number}", Kind.SUMMARY, "", "A summary. " * 500, (Span(documents[0].id, 0, 1),))
            writer.put_units([unit], encoder.encode([unit.searchable]))
            writer.checkpoint()
            sizes.append((tmp_path / f"{DATABASE}-wal").stat().st_size)
        followed = [writer.change is change]
        writer.remove_documents([documents[0].id])
        followed.append(writer.change is change)
    assert followed == [True, False], "the earlier state was released"
    assert sizes == [0] * 5


def test_an_empty_index_can_be_published_and_searched(tmp_path: Path, encoder: HashingEncoder) -> None:
    write(tmp_path, encoder, [])
    snapshot = Snapshot.open(tmp_path)
    assert snapshot.register.entries == ()
    assert snapshot.search.keywords("anything", 5) == []
    assert snapshot.search.vectors(Kind.PASSAGE).matrix.shape == (0, 64)


def test_passages_are_found_by_their_words_before_they_have_vectors(tmp_path: Path, encoder: HashingEncoder) -> None:
    documents = [make_document(name, f"{name} is a town on the Isk.") for name in ("Ulm", "Aar", "Dun")]
    units = [make_passage(document) for document in documents]
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents(documents)
        writer.put_units(units[:2], None)
        writer.checkpoint()
        with Snapshot.open(tmp_path) as snapshot:
            assert [unit.title for unit, _ in snapshot.search.keywords("Aar", 5)] == ["Aar"]
            assert snapshot.count(Kind.PASSAGE) == 0
            assert len(snapshot.numbered.unencoded()) == 2
            assert set(snapshot.table.passages_by_document()) == {document.id for document in documents[:2]}
            assert snapshot.table.documents_without(Kind.PASSAGE, None) == [documents[2].id]
        writer.put_vectors(units[:1], encoder.encode([units[0].searchable]))
        writer.checkpoint()
        with Snapshot.open(tmp_path) as snapshot:
            assert list(snapshot.search.vectors(Kind.PASSAGE).ids) == [units[0].id]
        writer.remove_documents({documents[1].id})
        writer.publish(Usage())
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.search.keywords("Aar", 5) == []
        assert len(snapshot.numbered.unencoded()) == 0


def test_to_drop_passages_takes_those_without_vectors_along(tmp_path: Path, encoder: HashingEncoder) -> None:
    documents = [make_document(name, f"{name} is a town on the Isk.") for name in ("Ulm", "Aar")]
    units = [make_passage(document) for document in documents]
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents(documents)
        writer.put_units(units[:1], encoder.encode([units[0].searchable]))
        writer.put_units(units[1:], None)
        writer.drop_units(Kind.PASSAGE)
        writer.publish(Usage())
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.search.keywords("town", 5) == []
        assert snapshot.table.documents_without(Kind.PASSAGE, None) == [document.id for document in documents]


def test_repairing_leaves_what_waits_for_its_vectors_to_the_run(tmp_path: Path, encoder: HashingEncoder) -> None:
    document = make_document("Ulm", "Ulm is a town on the Isk.")
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents([document])
        writer.put_units([make_passage(document)], None)
        writer.checkpoint()
    repair(tmp_path, encoder.encode)
    with Snapshot.open(tmp_path) as snapshot:
        assert len(snapshot.numbered.unencoded()) == 1
