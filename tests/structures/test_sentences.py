"""Sentences as units: exact spans, ids by place, and which of them lie where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.corpus import units
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.structures import sentences
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.progress_tracker import ignore
from hoptrail.structures.sentences import SentencePlaces, Sentences, sentence_places, sentence_units, sentences_inside
from hoptrail.types import Document, Kind, Span, Unit, Usage, content_id
from world import HashingEncoder, make_document, make_passage


def update(folder: Path, documents: list[Document]) -> bool:
    """Whether anything was written."""
    encoder = HashingEncoder()
    with writing_to(folder, encoder.identity) as writer:
        writer.put_documents(documents)
        writer.publish(Usage())
        Sentences().update(BuildContext(writer, encoder, ignore, writer.checkpoint))
        changed = writer.changed
        writer.publish(Usage())
    return changed


def test_a_sentence_is_its_span_without_white_space_under_the_title_of_its_document() -> None:
    document = make_document("Isk", "  The Isk is a river. It rises\nin hills.\n\n")
    units = list(sentence_units(document))
    assert [unit.text for unit in units] == ["The Isk is a river.", "It rises\nin hills."]
    for unit in units:
        (span,) = unit.sources
        assert document.slice(span) == unit.text
        assert (unit.kind, unit.title) == (Kind.SENTENCE, "Isk")
        assert unit.id == content_id("s", document.id, str(span.start), str(span.end))


def test_what_has_neither_letter_nor_digit_is_no_sentence() -> None:
    assert [unit.text for unit in sentence_units(make_document("Odd", "*** . Иск. 川. 7. ... ."))] == [
        "Иск.",
        "川.",
        "7.",
    ]
    assert list(sentence_units(make_document("Nothing", ""))) == []


def test_repeated_sentences_are_units_of_their_own() -> None:
    units = list(sentence_units(make_document("Echo", "It is. It is. It is.")))
    assert [unit.text for unit in units] == ["It is."] * 3
    assert len({unit.id for unit in units}) == 3


def test_only_what_is_missing_is_encoded_and_what_is_removed_goes(tmp_path: Path, documents: list[Document]) -> None:
    assert update(tmp_path, documents[:3])
    assert not update(tmp_path, documents[:3])
    assert update(tmp_path, documents)
    expected = {unit.id: unit for document in documents for unit in sentence_units(document)}
    with Snapshot.open(tmp_path) as snapshot:
        assert {unit.id: unit for unit in snapshot.units(Kind.SENTENCE)} == expected
        mirror = snapshot.search.vectors(Kind.SENTENCE)
    assert (mirror.matrix == HashingEncoder().encode([expected[name].searchable for name in mirror.ids])).all()
    with writing_to(tmp_path, HashingEncoder().identity) as writer:
        writer.remove_documents([documents[0].id])
        writer.publish(Usage())
    left = {unit.document for unit in Snapshot.open(tmp_path).units(Kind.SENTENCE)}
    assert left == {document.id for document in documents[1:]}


def test_places_rise_by_id_and_are_read_once(
    tmp_path: Path, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(units, "_ROWS", 3)
    monkeypatch.setattr(sentences, "READ", 2)
    update(tmp_path, documents)
    snapshot = Snapshot.open(tmp_path)
    places = sentence_places(snapshot)
    assert places is sentence_places(snapshot)
    assert tuple(places.ids) == snapshot.search.vectors(Kind.SENTENCE).ids
    spans = {unit.id: unit.sources[0] for unit in snapshot.units(Kind.SENTENCE)}
    stored = [(spans[name].start, spans[name].end) for name in places.ids]
    assert list(zip(places.starts.tolist(), places.ends.tolist(), strict=True)) == stored
    assert places.ids_of(np.array([2, 0], np.int32)) == [places.ids[2], places.ids[0]]


def test_overlapping_sentences_share_characters() -> None:
    spans = (Span("e", 0, 5), Span("d", 20, 30), Span("d", 0, 9), Span("d", 10, 20))
    places = SentencePlaces(zip(("s4", "s1", "s2", "s3"), spans, strict=True))
    expected: tuple[tuple[Span, list[int]], ...] = (
        (Span("d", 0, 30), [1, 2, 0]),
        (Span("d", 9, 10), []),
        (Span("d", 8, 11), [1, 2]),
        (Span("d", 12, 13), [2]),
        (Span("d", 29, 99), [0]),
        (Span("d", 30, 99), []),
        (Span("e", 4, 9), [3]),
        (Span("f", 0, 9), []),
    )
    for span, rows in expected:
        assert places.overlapping([span])[1].tolist() == rows
    which, found = places.overlapping([span for span, _ in expected])
    assert [found[which == at].tolist() for at in range(len(expected))] == [rows for _, rows in expected]
    assert not len(places.overlapping([])[1]) + len(SentencePlaces([]).overlapping([Span("d", 0, 9)])[1])


def test_a_passage_holds_its_first_sentence_whatever_stands_before_it() -> None:
    document = make_document("Isk", "\n\n The Isk is a river. It rises in hills. It is long.")
    whole = Unit("p", Kind.PASSAGE, "Isk", "", (Span(document.id, 3, len(document.text)),))
    assert list(sentences_inside(whole, document)) == list(sentence_units(document))
    assert len(list(sentences_inside(whole, document))) == 3
    first, second = (Unit("p", Kind.PASSAGE, "", "", (Span(document.id, *place),)) for place in ((3, 22), (10, 45)))
    assert [unit.text for unit in sentences_inside(first, document)] == ["The Isk is a river."]
    assert [unit.text for unit in sentences_inside(second, document)] == ["It rises in hills."]
    spans = list(document.sentences())
    for start in range(len(document.text)):
        for end in range(start + 1, len(document.text) + 1):
            wanted = [span for span in spans if span.start < end and start < span.end]
            assert list(document.sentences(Span(document.id, start, end))) == wanted


@given(
    st.sets(st.tuples(st.sampled_from(["d", "d1", "e"]), st.integers(0, 12), st.integers(1, 4)), max_size=9),
    st.lists(st.tuples(st.sampled_from(["d", "d1", "e", "x"]), st.integers(0, 14), st.integers(0, 9)), max_size=6),
)
def test_what_is_shared_is_told_of_any_spans(
    drawn: set[tuple[str, int, int]], asked: list[tuple[str, int, int]]
) -> None:
    free: dict[str, int] = {}
    stored: list[Span] = []
    for document, start, length in sorted(drawn):  # sentences do not overlap
        if start >= free.get(document, 0):
            stored.append(Span(document, start, start + length))
            free[document] = start + length
    places = SentencePlaces((f"s{at}", span) for at, span in enumerate(stored))
    spans = [Span(document, start, start + length) for document, start, length in asked]
    which, rows = places.overlapping(spans)
    expected = [
        (at, row)
        for at, span in enumerate(spans)
        for row, sentence in enumerate(stored)
        if sentence.document == span.document and sentence.start < span.end and span.start < sentence.end
    ]
    assert list(zip(which.tolist(), rows.tolist(), strict=True)) == expected


@pytest.mark.parametrize("read", [1, 2, 8192])
def test_a_sentence_belongs_to_the_passage_that_holds_all_of_it(read: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "READ", read)
    document = make_document("Isk", "The Isk is a river. It rises in hills. It is long.")
    units = sorted(sentence_units(document), key=lambda unit: unit.sources)
    places = SentencePlaces((unit.id, unit.sources[0]) for unit in units)
    in_text = [list(places.ids).index(unit.id) for unit in units]
    half = Unit("p1", Kind.PASSAGE, "", "", (Span(document.id, 0, 25),))
    rest = Unit("p2", Kind.PASSAGE, "", "", (Span(document.id, 20, 38),))
    spans = [unit.sources[0] for unit in (half, rest, make_passage(document))]
    assert places.passages(spans[:2])[in_text].tolist() == [0, 1, -1]
    assert places.passages([spans[2], spans[0]]).tolist() == [0, 0, 0]
    assert places.passages([spans[0], spans[2]])[in_text].tolist() == [0, 1, 1]
    assert places.passages([]).tolist() == [-1, -1, -1]
