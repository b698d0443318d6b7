"""What a writer keeps of passages' entities and facts, and what goes with units, links and kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import REMADE, Writer, writing_to
from hoptrail.types import Document, Extraction, Fact, Kind, Link, Span, Triple, Unit, Usage
from world import HashingEncoder, make_document, make_passage


@pytest.fixture
def writer(tmp_path: Path, encoder: HashingEncoder) -> Iterator[Writer]:
    with writing_to(tmp_path, encoder.identity) as opened:
        yield opened


def extraction_of(document: Document) -> Extraction:
    facts = tuple(
        Fact(document.slice(span).strip(), (document.title, "Größe 火"), span) for span in document.sentences()
    )
    return Extraction((document.title, "Größe 火"), facts)


def put(writer: Writer, units: list[Unit]) -> None:
    writer.put_units(units, HashingEncoder().encode([unit.searchable for unit in units]))


def unit(name: str, kind: Kind, *documents: Document) -> Unit:
    return Unit(name, kind, name, f"text of {name}", tuple(Span(document.id, 0, 5) for document in documents))


def put_passages(writer: Writer, documents: list[Document], *names: str) -> None:
    """Documents with their passages, and further passages of the first with these ids."""
    writer.put_documents(documents)
    put(writer, [*map(make_passage, documents), *(unit(name, Kind.PASSAGE, documents[0]) for name in names)])


def links(writer: Writer) -> set[tuple[str, str, str]]:
    return {(link.source, link.target, link.kind) for link in writer.snapshot().links()}


def test_extractions_are_read_back_as_they_were_put(tmp_path: Path, documents: list[Document]) -> None:
    found = {make_passage(document).id: extraction_of(document) for document in documents}
    stated = Fact("a does b", (), Span("d", 0, 8), Triple("a", "does", "b"))
    found["nothing"] = Extraction((), ())
    found["no entity"] = Extraction((), (Fact("It rains.", (), Span("d", 3, 12)), stated))
    with writing_to(tmp_path, HashingEncoder().identity) as writer:
        put_passages(writer, documents, "nothing", "no entity")
        writer.put_extractions(found)
        writer.publish(Usage())
    snapshot = Snapshot.open(tmp_path)
    assert dict(snapshot.extractions()) == found
    assert set(snapshot.table.extracted()) == set(found)
    assert dict(snapshot.extractions(["nothing", "unknown"])) == {"nothing": Extraction((), ())}


def test_what_was_found_in_a_passage_that_is_not_stored_is_refused(writer: Writer, documents: list[Document]) -> None:
    put_passages(writer, documents, "p1")
    with pytest.raises(KeyError, match="not stored"):
        writer.put_extractions({"p1": Extraction((), ()), "p2": Extraction((), ())})
    assert list(writer.snapshot().extractions()) == []


def test_what_was_found_in_a_passage_that_is_put_again_stays(writer: Writer, documents: list[Document]) -> None:
    put_passages(writer, documents, "p1")
    writer.put_extractions({"p1": Extraction(("a",), ())})
    put_passages(writer, documents, "p1")
    assert dict(writer.snapshot().extractions()) == {"p1": Extraction(("a",), ())}


def test_putting_again_replaces_and_putting_nothing_writes_nothing(writer: Writer, documents: list[Document]) -> None:
    put_passages(writer, documents, "p1", "p2")
    writer.put_extractions({"p1": Extraction(("a",), ()), "p2": Extraction(("b",), ())})
    writer.put_extractions({"p1": Extraction(("c",), ())})
    found = {"p1": Extraction(("c",), ()), "p2": Extraction(("b",), ())}
    assert dict(writer.snapshot().extractions()) == found
    assert dict(writer.snapshot().extractions(["p2", "absent"])) == {"p2": found["p2"]}
    writer.checkpoint()
    before = writer.head
    writer.put_extractions({})
    writer.checkpoint()
    assert writer.head == before
    assert dict(writer.snapshot().extractions()) == {"p1": Extraction(("c",), ()), "p2": Extraction(("b",), ())}


def test_an_index_without_extractions_has_none(writer: Writer) -> None:
    assert list(writer.snapshot().extractions()) == []
    assert set(writer.snapshot().table.extracted()) == set()
    writer.drop_extractions()
    writer.links.drop("SS")
    writer.links.remove("SS", ["a"])
    writer.remove_units(Kind.FACT, ["f"])


def test_dropped_extractions_are_gone_and_units_are_not(writer: Writer, documents: list[Document]) -> None:
    put_passages(writer, documents, "p1")
    writer.put_extractions({"p1": Extraction(("a",), ())})
    writer.drop_extractions()
    assert set(writer.snapshot().table.extracted()) == set()
    assert writer.snapshot().count(Kind.PASSAGE) == len(documents) + 1


def test_a_removed_unit_takes_its_extraction_and_its_links_at_both_ends(
    writer: Writer, documents: list[Document]
) -> None:
    passages = [make_passage(document) for document in documents[:3]]
    first, second, third = (passage.id for passage in passages)
    writer.put_documents(documents)
    put(writer, passages)
    writer.put_extractions({name: Extraction(("a",), ()) for name in (first, second)})
    writer.links.put([Link(first, second, "SS", 1.0), Link(third, first, "SA", 1.0), Link(second, third, "SS", 0.5)])
    writer.remove_units(Kind.PASSAGE, [first])
    snapshot = writer.snapshot()
    assert {found.id for found in snapshot.units(Kind.PASSAGE)} == {second, third}
    assert set(snapshot.table.extracted()) == {second}
    assert links(writer) == {(second, third, "SS")}


def test_links_are_removed_by_kind_and_source_alone(writer: Writer) -> None:
    writer.links.put([Link("a", "b", "tree", 1.0), Link("a", "b", "SS", 1.0), Link("b", "a", "tree", 1.0)])
    writer.links.remove("tree", ["a"])
    assert links(writer) == {("a", "b", "SS"), ("b", "a", "tree")}
    writer.links.drop("tree")
    assert links(writer) == {("a", "b", "SS")}


def test_a_kind_that_is_dropped_leaves_its_links_to_its_structure(writer: Writer, documents: list[Document]) -> None:
    writer.put_documents(documents)
    put(writer, [unit("a1", Kind.AGGREGATE, documents[0]), unit("a2", Kind.AGGREGATE, documents[1])])
    put(writer, [unit("f1", Kind.FACT, documents[0])])
    writer.links.put([Link("s1", "a1", "tree", 1.0)])
    writer.drop_units(Kind.AGGREGATE)
    assert (writer.snapshot().count(Kind.AGGREGATE), writer.snapshot().count(Kind.FACT)) == (0, 1)
    assert links(writer) == {("s1", "a1", "tree")}


@pytest.mark.parametrize("kind", sorted(set(Kind) - {Kind.PASSAGE}))
def test_only_what_is_made_again_keeps_its_links_when_a_document_goes(writer: Writer, kind: Kind) -> None:
    gone, staying = make_document("Gone", "It goes."), make_document("Staying", "It stays.")
    passages = [make_passage(gone), make_passage(staying)]
    writer.put_documents([gone, staying])
    put(writer, passages)
    put(writer, [unit("both", kind, staying, gone), unit("other", kind, staying)])
    writer.put_extractions({passage.id: extraction_of(gone) for passage in passages})
    writer.links.put([Link("up", "both", "tree", 1.0), Link("both", "other", "tree", 1.0)])
    writer.links.put([Link("up", passages[0].id, "tree", 1.0), Link("up", passages[1].id, "tree", 1.0)])
    writer.remove_documents([gone.id])
    snapshot = writer.snapshot()
    assert {found.id for found in snapshot.units(kind)} == {"other"}
    assert set(snapshot.table.extracted()) == {passages[1].id}
    kept = {("up", "both", "tree"), ("both", "other", "tree")} if kind in REMADE else set()
    assert links(writer) == kept | {("up", passages[1].id, "tree")}
