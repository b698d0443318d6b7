"""Indexes as every format wrote them still open. `formats/N.zip` is an index of `world.FACTS` made when format N was current."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hoptrail.store.head import FORMAT
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import writing_to
from hoptrail.types import Kind, Link, Usage
from world import FACTS, HashingEncoder, make_document, make_passage

FORMATS = Path(__file__).parent / "formats"


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_an_index_of_this_format_opens_and_goes_on(number: int, tmp_path: Path, encoder: HashingEncoder) -> None:
    with zipfile.ZipFile(FORMATS / f"{number}.zip") as archive:
        archive.extractall(tmp_path)
    snapshot = Snapshot.open(tmp_path)
    documents = [make_document(title, text) for title, text in FACTS.items()]
    assert {document.id: document for document in snapshot.documents()} == {
        document.id: document for document in documents
    }
    units = [make_passage(document) for document in documents]
    assert {unit.id: unit for unit in snapshot.units(Kind.PASSAGE)} == {unit.id: unit for unit in units}
    assert [unit.title for unit, _ in snapshot.search_keywords("freezes", 5)] == ["Dunmere"]
    assert list(snapshot.links()) == [Link(units[0].id, units[1].id, "SS", 0.5)]
    assert snapshot.head.spent == Usage(calls=1)
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.remove_documents([documents[0].id])
        writer.publish(Usage())
    assert len(Snapshot.open(tmp_path).entries) == len(FACTS) - 1
