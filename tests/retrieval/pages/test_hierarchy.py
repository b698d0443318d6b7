"""Pages by title, then chunks by dense similarity: order, ties, cutting at whole sentences, and what is cached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hoptrail.documents.blocks import Piece
from hoptrail.documents.splitting import PassageLimits
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.catalogue import StructureSettings
from hoptrail.types import BlockKind, Document, Kind
from hoptrail_papers.hirag.hierarchy import (
    CACHED_PAGES,
    Chunk,
    HierarchicalSearch,
    HierarchySettings,
    Title,
    cut_passage,
)
from hoptrail_papers.hirag.profiles import Profiles, ProfileSettings
from pieces import document_of, unit_of
from structures.site import Site
from world import make_document, make_passage

PIECES = tuple(
    Piece(BlockKind.PARAGRAPH, text)
    for text in ("It has four sails.", "Ida Voss owns it.", "Wheat and barley are ground.")
)
LONG = "The Kestrel Mill grinds barley. A heron nests on its high roof. Jonas Pell owns this mill. It has four sails."


@pytest.fixture
def site(tmp_path: Path, documents: list[Document]) -> Site:
    site = Site(tmp_path, limits=PassageLimits(12, 0))
    song = make_document("Isk (song)", "Isk is a song by Jonas Pell.")
    site.build(
        add=[*documents, song, make_document("Kestrel Mill", LONG), make_document("Kestrel Mill", "Another mill.")]
    )
    return site


def opened(site: Site, **settings: Any) -> HierarchicalSearch:
    return HierarchicalSearch(Corpus(site.snapshot, lambda: site.encoder), HierarchySettings(**settings))


def titles(search: HierarchicalSearch, asked: str) -> list[str]:
    return [page.name for page in search.pages(asked).pages]


def page_of(site: Site, name: str) -> Title:
    documents = tuple(sorted(entry.id for entry in site.snapshot.register.entries if entry.title == name))
    return Title(name, documents)


def chunks_of(search: HierarchicalSearch, page: Title, asked: str) -> list[Chunk]:
    return search.chunks(page, search.pages(asked).vector)


@pytest.mark.parametrize("search", ["none", "keyword", "hybrid"])
def test_the_page_that_is_named_comes_first(site: Site, search: str) -> None:
    assert titles(opened(site, search=search), "Who owns the Kestrel Mill?")[0] == "Kestrel Mill"
    assert titles(opened(site, search="none"), "Who owns the Kestrel Mill?") == ["Kestrel Mill"]
    assert len(titles(opened(site, search=search, pages=1), "Is the Kestrel Mill by the Isk?")) == 1


def test_searching_finds_what_is_not_named_and_orders_what_ties(site: Site) -> None:
    assert titles(opened(site), "Whose harbour freezes in winter?")[0] == "Dunmere"
    assert titles(opened(site, search="none"), "Whose harbour freezes in winter?") == []
    song = opened(site).pages("Is Isk a song by Jonas Pell?")
    river = opened(site).pages("Isk is a river that rises in the Grey Hills?")
    assert (song.ambiguous, river.ambiguous) == (("Isk",), ("Isk",))
    assert song.pages[0].name == "Isk (song)"
    assert river.pages[0].name == "Isk"
    assert opened(site, most_equal=2).pages("How long is the Isk?").ambiguous == ()


def test_a_misspelt_name_leads_to_its_page(site: Site) -> None:
    assert titles(opened(site, search="none"), "Where was Orla Fynch born?") == ["Orla Finch"]
    assert titles(opened(site, search="none", least_similarity=1), "Where was Orla Fynch born?") == []


def test_the_whole_question_can_be_compared_with_titles(site: Site) -> None:
    by_question = opened(site, search="none", names="question")
    assert titles(by_question, "Orla Finch?") == ["Orla Finch"]
    assert titles(by_question, "Where in the world was Orla Finch born?") == []


def test_chunks_of_a_page_are_its_passages_by_similarity(site: Site) -> None:
    page = page_of(site, "Kestrel Mill")
    assert len(page.documents) == 2
    chunks = chunks_of(opened(site), page, "Jonas Pell owns this mill.")
    stored = {unit.id for unit in site.units(Kind.PASSAGE).values() if unit.title == "Kestrel Mill"}
    assert {chunk.unit.id for chunk in chunks} == stored
    assert "Jonas Pell" in chunks[0].unit.text
    assert [chunk.score for chunk in chunks] == sorted((chunk.score for chunk in chunks), reverse=True)
    assert all(chunk.unit is chunk.passage for chunk in chunks)


@pytest.mark.parametrize("limit", [{"chunk_characters": 40}, {"chunk_words": 7}])
def test_passages_are_cut_at_whole_sentences(site: Site, limit: dict[str, int]) -> None:
    page = page_of(site, "Kestrel Mill")
    texts = {document.id: document.text for document in site.snapshot.documents()}
    chunks = chunks_of(opened(site, **limit), page, "Jonas Pell owns this mill.")
    assert sorted(chunk.unit.text for chunk in chunks) == sorted(
        [*LONG.replace(". ", ".\n").split("\n"), "Another mill."]
    )
    assert chunks[0].unit.text == "Jonas Pell owns this mill."
    for chunk in chunks:
        (span,) = chunk.unit.sources
        assert texts[span.document][span.start : span.end] == chunk.unit.text
        assert chunk.passage.sources[0].covers(span)


def test_lines_of_profiles_from_a_file_are_no_part_of_chunks_where_they_are_apart(site: Site, tmp_path: Path) -> None:
    text = "Harrow Mill is of stone. Ida Voss owns it.\nOpened: 1820\nOwner: Ida Voss"
    mill = make_document("Harrow Mill", text)
    profiles = tmp_path / "profiles.jsonl"
    profiles.write_text(json.dumps({"title": "Harrow Mill", "profile": [["Opened", "1820"], ["Owner", "Ida Voss"]]}))
    settings = ProfileSettings(from_file=str(profiles))
    other = make_document(
        "Harrow Mill", "Another Harrow Mill, far away, grinds barley and rye all year round for the town."
    )
    site.build(Profiles(settings), add=[mill, other])
    corpus = Corpus(site.snapshot, lambda: site.encoder, StructureSettings(profiles=settings))

    def read(*, profile_lines: bool) -> str:
        search = HierarchicalSearch(corpus, HierarchySettings(chunk_words=50, profile_lines=profile_lines))
        return " ".join(chunk.unit.text for chunk in chunks_of(search, page_of(site, "Harrow Mill"), "Who owns it?"))

    assert "Opened: 1820" in read(profile_lines=True)
    apart = read(profile_lines=False)
    assert "Ida Voss owns it." in apart
    assert "1820" not in apart
    assert "Owner:" not in apart
    assert "for the town." in apart, "lines of one document cut nothing off another one of the page"


def test_a_chunk_may_have_as_many_characters_and_words_as_the_limit() -> None:
    document = make_document("Mill", "It has four. It has five. It has eight.")

    def cut(**limit: Any) -> list[str]:
        chunks = cut_passage(make_passage(document), document.sentences(), HierarchySettings(**limit))
        return [chunk.text for chunk in chunks]

    assert cut(chunk_characters=25) == cut(chunk_words=6) == ["It has four. It has five.", "It has eight."]
    assert cut(chunk_characters=24) == cut(chunk_words=5) == ["It has four.", "It has five.", "It has eight."]


def test_a_chunk_has_the_blocks_and_the_sentences_within_it() -> None:
    unit, document = unit_of("Mill", *PIECES), document_of("Mill", PIECES)
    chunks = list(cut_passage(unit, document.sentences(), HierarchySettings(chunk_words=5)))
    assert [chunk.text for chunk in chunks] == [
        "It has four sails.",
        "Ida Voss owns it.",
        "Wheat and barley are ground.",
    ]
    for chunk in chunks:
        (span,) = chunk.sources
        overlapping = [block for block in unit.blocks if block.start < span.end and span.start < block.end]
        assert list(chunk.blocks) == overlapping
        assert 0 < len(overlapping) < len(unit.blocks)
        assert chunk.sentence_ends[-1] == len(chunk.text)


def test_equally_near_chunks_come_by_id_and_pages_of_one_name_by_document(tmp_path: Path) -> None:
    site = Site(tmp_path)
    texts = ["Same words here. Same words here.", "Words here same. Here same words."]
    site.build(add=[make_document("Twin", text) for text in texts])
    chunks = chunks_of(opened(site, chunk_words=3), page_of(site, "Twin"), "same words")
    assert len(chunks) == 4
    assert [chunk.unit.id for chunk in chunks] == sorted(chunk.unit.id for chunk in chunks)
    untitled = [make_document("", f"Quernstone {letter}.") for letter in "abcd"]
    site.build(add=untitled)
    found = [page.documents for page in opened(site).pages("quernstone").pages if page.name == ""]
    assert found == sorted((document.id,) for document in untitled)


def test_a_page_found_by_several_passages_counts_as_its_best(tmp_path: Path) -> None:
    """Its worse passage comes after it in the ranking, and must not pull the page behind others."""
    site = Site(tmp_path, limits=PassageLimits(6, 0))
    good, poor = "Quernstone quernstone quernstone quernstone.", "One quernstone lies in a field."
    site.build(
        add=[make_document("Best", f"{good} {poor}"), make_document("Other", "A quernstone, a quernstone, mill.")]
    )
    pages = opened(site, search="keyword").pages("quernstone")
    assert [hit.unit.title for hit in pages.found] == ["Best", "Other", "Best"]
    assert [page.name for page in pages.pages] == ["Best", "Other"]


def test_limits_hold_but_no_sentence_is_cut() -> None:
    document = make_document("Mill", LONG)
    for limit in (1, 30, 60, 1000):
        settings = HierarchySettings(chunk_characters=limit)
        chunks = list(cut_passage(make_passage(document), document.sentences(), settings))
        assert " ".join(chunk.text for chunk in chunks) == LONG
        assert all(len(chunk.text) <= limit or chunk.text.count(".") == 1 for chunk in chunks)
    assert chunks == [make_passage(document)], "what fits is the passage itself"


def test_chunks_are_encoded_once(site: Site) -> None:
    search = opened(site, chunk_characters=40)
    page = page_of(site, "Kestrel Mill")
    chunks_of(search, page, "Who?")
    encoded = len(site.encoder.texts)
    chunks_of(search, page, "Where?")
    assert set(site.encoder.texts[encoded:]) == {"Where?"}
    assert CACHED_PAGES > 1


def test_of_a_page_without_a_title_all_passages_are_read(site: Site) -> None:
    ferry, market = "A ferry crosses the Sound of Ommer twice.", "The market of Ommer sells amber and rope."
    untitled = make_document("", f"{ferry} {market}")
    site.build(add=[untitled])
    search = opened(site, chunk_words=7)
    page = Title("", (untitled.id,))
    assert {chunk.passage.text for chunk in chunks_of(search, page, "What is there?")} == {ferry, market}


def test_a_page_without_passages_has_no_chunks(site: Site) -> None:
    for settings in ({}, {"chunk_words": 5}):
        assert chunks_of(opened(site, **settings), Title("Gone", ("d-gone",)), "Who?") == []


@pytest.mark.parametrize(
    "wrong", [{"least_similarity": 2}, {"most_equal": 0}, {"pages": 0}, {"chunk_words": -1}, {"chunk_characters": -1}]
)
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"between|at least"):
        HierarchySettings(**wrong)


def test_a_page_of_namesakes_does_not_make_its_primary_title_ambiguous(
    tmp_path: Path, documents: list[Document]
) -> None:
    """Nothing is then enriched, and the page of that title is read at once."""
    site = Site(tmp_path)
    site.build(add=[*documents, make_document("Dunmere (disambiguation)", "Dunmere: a port. Dunmere: a barge.")])
    pages = opened(site).pages("What is Dunmere?")
    assert (pages.ambiguous, pages.pages[0].name) == ((), "Dunmere")


def test_what_was_found_of_a_page_without_a_title_is_read(site: Site) -> None:
    untitled = make_document("", "A ferry crosses the Sound of Ommer twice a day.")
    site.build(add=[untitled, make_document("", "Another note without a title.")])
    search = opened(site)
    pages = search.pages("Which ferry crosses the Sound of Ommer?")
    (page,) = (page for page in pages.pages if page.documents == (untitled.id,))
    assert page.name == ""
    assert [chunk.unit.text for chunk in search.chunks(page, pages.vector)] == [untitled.text]


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("Who directed The Godfather with Al Pacino?", ["The Godfather", "Al Pacino"]),
        ("Did Al Pacino play in The Godfather?", ["The Godfather", "Al Pacino"]),
        ("Is Zodiac older than Memoir?", ["Zodiac", "Memoir"]),
        ("Is Memoir older than Zodiac?", ["Memoir", "Zodiac"]),
    ],
)
def test_of_several_named_pages_the_longest_name_comes_first(tmp_path: Path, asked: str, wanted: list[str]) -> None:
    """Of equally long ones the first in the question, whatever the alphabet says."""
    site = Site(tmp_path)
    names = ["Al Pacino", "The Godfather", "Memoir", "Zodiac"]
    site.build(add=[make_document(name, f"{name} is something.") for name in names])
    assert titles(opened(site, search="none", least_similarity=0.9), asked) == wanted
