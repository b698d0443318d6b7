"""What is written comes back as it was, and is found by id, title, source and document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from corpus.worlds import add, indexed, made, sentence_of, vectors_of
from hoptrail.corpus.head import Head
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.types import Block, BlockKind, Cell, Document, Extraction, Fact, Kind, Span, Triple, Unit, Usage
from world import make_passage


def table() -> Document:
    text = "Rivers\n\nIsk\t90\nArrow\t40\n"
    blocks = (
        Block(BlockKind.HEADING, 0, 8, level=1, place="line 1"),
        Block(BlockKind.ROW, 8, 15, ("Rivers",), cells=(Cell("river", 8, 11), Cell("km", 12, 14)), date="2020-01"),
        Block(BlockKind.ROW, 15, len(text), ("Rivers",), cells=(Cell("river", 15, 20), Cell("km", 21, 23))),
    )
    return Document(
        "d1", "Rivers", text, (8, 15, len(text)), ("/a.md", "/b.md"), ("a note",), blocks, "2021", "file name"
    )


def test_documents_and_units_come_back_as_they_were(tmp_path: Path) -> None:
    document, plain = table(), make_passage(made(1)[0])
    row = Span("d1", 15, len(document.text))
    passage = Unit("p1", Kind.PASSAGE, "Rivers", document.slice(row), (row,), document.blocks_within(row))
    summary = Unit("s1", Kind.SUMMARY, "", "Two rivers.", (row, plain.sources[0], Span("d1", 0, 8)))
    units = [passage, plain, summary]
    dated = replace(passage, blocks=tuple(replace(block, date=document.date) for block in passage.blocks))
    assert document.date
    with writing_to(tmp_path) as writer:
        writer.put_documents([document, *made(1)])
        numbers = writer.put_units(units, vectors_of([plain] * 3))
        writer.commit()
    with Snapshot.open(tmp_path) as snapshot:
        assert list(snapshot.register.read()) == [document, *made(1)]
        assert list(snapshot.register.read(["d1", "unknown"])) == [document]
        assert snapshot.numbered.units(numbers[::-1]) == [summary, plain, dated], (
            "as asked: with the date of the document"
        )
        assert passage.blocks[0].cells
        assert snapshot.numbered.ids(numbers) == ["p1", plain.id, "s1"]
        assert snapshot.numbered.numbers(["s1", "unknown", "p1"]).tolist() == [numbers[2], 0, numbers[0]]
        assert snapshot.numbered.within(["d1"]).tolist() == [numbers[0], numbers[2]]
        assert snapshot.numbered.within([plain.document]).tolist() == numbers[1:].tolist()
        assert snapshot.numbered.count() == {Kind.PASSAGE: 2, Kind.SUMMARY: 1}
        assert list(snapshot.units(Kind.PASSAGE)) == [dated, plain]
        origins = snapshot.numbered.origins(Kind.PASSAGE)
        assert (origins.starts.tolist(), origins.ends.tolist()) == ([15, 0], [len(document.text), len(plain.text)])
        assert snapshot.register.ids(origins.documents) == ["d1", plain.document]


def test_documents_are_found_by_title_and_source(tmp_path: Path) -> None:
    indexed(tmp_path, [table(), *made(3)])
    with Snapshot.open(tmp_path) as snapshot:
        documents = snapshot.register
        assert [entry.id for entry in documents.titled(["Rivers"])] == ["d1"]
        assert [(entry.id, entry.sources) for entry in documents.at(["/b.md", "/none"])] == [("d1", ("/a.md", "/b.md"))]
        assert len(list(documents.sources_under("/world/Title 0 "))) == 3
        assert [entry.title for entry in documents.of([table().id])] == ["Rivers"]
        assert len(documents.entries) == len(documents) == 4
        assert documents.titled([]) == documents.at([]) == documents.of([]) == []


def test_a_document_that_comes_again_has_the_new_sources(tmp_path: Path) -> None:
    indexed(tmp_path, [table()])
    with writing_to(tmp_path) as writer:
        writer.put_documents([replace(table(), sources=("/c.md",))])
        writer.commit()
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.register.entries[0].sources == ("/c.md",)
        assert not snapshot.register.at(["/a.md"])


def test_what_was_found_in_units(tmp_path: Path) -> None:
    fact = Fact("Isk is long", ("Isk",), Span("d1", 8, 15), Triple("Isk", "is", "long"))
    found = Extraction(("Isk", "Wrenmouth"), (fact, replace(fact, triple=None)))
    with writing_to(tmp_path) as writer:
        first, second = add(writer, made(2))
        passages = [make_passage(document).id for document in made(2)]
        writer.put_extractions(dict(zip(passages, (found, Extraction((), ())), strict=True)))
        writer.commit()
        assert [(number, kept) for number, _, kept in writer.snapshot().numbered.extractions()] == [
            (first, found),
            (second, Extraction((), ())),
        ]
        writer.remove_rows(writer.snapshot().numbered.numbers([make_passage(made(2)[0]).id]))
        assert [number for number, *_ in writer.snapshot().numbered.extractions()] == [second]


def test_a_unit_of_an_id_that_is_there_replaces_it_and_keeps_its_links(tmp_path: Path) -> None:
    document = made(1)[0]
    with writing_to(tmp_path) as writer:
        add(writer, [document])
        before = writer.put_units([sentence_of(document)], vectors_of([sentence_of(document)]))
        after = writer.put_units([replace(sentence_of(document), text="other")], vectors_of([sentence_of(document)]))
        assert after.tolist() == before.tolist()
        writer.commit()
    with Snapshot.open(tmp_path) as snapshot:
        assert [unit.text for unit in snapshot.units(Kind.SENTENCE)] == ["other"]


def test_units_need_their_documents_and_vectors_of_one_length(tmp_path: Path) -> None:
    with writing_to(tmp_path) as writer:
        units = [make_passage(document) for document in made(2)]
        with pytest.raises(KeyError, match="not stored"):
            writer.put_units(units, vectors_of(units))
        add(writer, made(2)[:1])
        writer.put_documents(made(2))
        with pytest.raises(ValueError, match="do not all have 4 numbers"):
            writer.put_units(units[1:], vectors_of(units[1:], 4))


def test_what_an_index_says_of_itself(tmp_path: Path) -> None:
    head = Head(
        EncoderIdentity("hashing", "abc", 8),
        structures={"mentions": "1"},
        unfinished={"tree": "2"},
        languages={"tree": "chat"},
        settled={"tree": "x"},
        spent=Usage(1, 2, 3, 0.5),
    )
    with writing_to(tmp_path) as writer:
        writer.commit(head)
        writer.commit()
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.head == replace(head, commit=2)
        assert snapshot.commit == 2
