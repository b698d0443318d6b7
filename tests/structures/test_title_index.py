"""What titles call."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hoptrail.documents.splitting import PassageLimits
from hoptrail.structures.title_scanning import (
    MOST_NAMESAKES,
    NameSet,
    TitleIndex,
    TitleScanner,
    first_passages,
    place_of,
    title_index,
    without_headings,
)
from hoptrail.types import Document, Kind
from structures.site import Site
from world import make_document

KEYS = st.sampled_from(["grey", "grey hills", "hills", "the", "élan", "isk ferry", "isk", " ".join(["long"] * 12)])


@given(st.lists(KEYS, max_size=60))
def test_titles_are_found_as_names_in_memory_are(keys: list[str]) -> None:
    named: dict[str, list[str]] = {}
    for number, key in enumerate(keys):
        named.setdefault(key, []).append(f"p{number:02}")
    called = {key: sorted(found) for key, found in named.items() if len(found) <= MOST_NAMESAKES}
    names = TitleIndex(named)
    for key in (*named, "other", "grey hill", ""):
        assert names.lookup_all(key) == sorted(named.get(key, []))
        assert names.lookup(key) == called.get(key, [])
    text = "The Grey Hills rise. Élan came by Isk Ferry, and by Isk, and over Hills. " + "Long " * 14
    assert names.scanner.find(text) == TitleScanner(NameSet(called)).find(text)


def test_titles_of_an_index_call_the_first_passage_of_each_document(tmp_path: Path, documents: list[Document]) -> None:
    more = [make_document("Isk (river)", "One. " * 40), make_document("1984", "A year."), make_document("", "None.")]
    many = [make_document("History", f"Page {number}. " * 30) for number in range(MOST_NAMESAKES + 1)]
    site = Site(tmp_path, limits=PassageLimits(words=20, short_document_words=0))
    site.build(add=[*documents, *more, *many])
    snapshot = site.snapshot
    names = title_index(snapshot)
    passages = list(snapshot.units(Kind.PASSAGE))
    assert len(passages) > len(snapshot.register)
    for key, found in first_passages(map(place_of, passages)).items():
        assert names.lookup_all(key) == found
    called = without_headings(first_passages(map(place_of, passages)))
    assert "history" not in called
    assert {key: names.lookup(key) for key in [*first_passages(map(place_of, passages)), "1984", ""]} == {
        key: called.get(key, []) for key in [*first_passages(map(place_of, passages)), "1984", ""]
    }
