"""What titles call."""

from __future__ import annotations

from pathlib import Path

from hoptrail.documents.splitting import PassageLimits
from hoptrail.structures.title_scanning import MOST_NAMESAKES, first_passages, place_of, title_index, without_headings
from hoptrail.types import Document, Kind
from structures.site import Site
from world import make_document


def test_titles_of_an_index_call_the_first_passage_of_each_document(tmp_path: Path, documents: list[Document]) -> None:
    more = [make_document("Isk (river)", "One. " * 40), make_document("1984", "A year."), make_document("", "None.")]
    many = [make_document("History", f"Page {number}. " * 30) for number in range(MOST_NAMESAKES + 1)]
    site = Site(tmp_path, limits=PassageLimits(words=20, short_document_words=0))
    site.build(add=[*documents, *more, *many])
    snapshot = site.snapshot
    names = title_index(snapshot)
    passages = list(snapshot.units(Kind.PASSAGE))
    assert len(passages) > len(snapshot.register)
    assert names == first_passages(map(place_of, passages))
    assert "history" in names
    assert names.keys() - without_headings(names).keys() == {"history"}
