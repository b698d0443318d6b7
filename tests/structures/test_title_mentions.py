"""Mentions of titles: what is found in a text, and names that follow the documents."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from unicodedata import normalize

import pytest

from hoptrail.corpus.passage_graph import NAMES
from hoptrail.documents.splitting import PassageLimits
from hoptrail.structures.sentences import Sentences
from hoptrail.structures.title_mentions import TitleMentions, title_index
from hoptrail.text.title_scanning import (
    MOST_NAMESAKES,
    can_be_found,
    first_passages,
    name_key,
    names_in,
    place_of,
    without_headings,
)
from hoptrail.types import Document, Kind, Unit
from structures.site import Site, names_of
from world import make_document, make_passage


def called_by(passages: Iterable[Unit]) -> dict[str, list[str]]:
    return without_headings(first_passages(map(place_of, passages)))


def named(site: Site) -> set[tuple[str, str]]:
    """Names, each with the text of a sentence or the title of a passage."""
    sentences, passages = site.units(Kind.SENTENCE), site.units(Kind.PASSAGE)
    texts = {id_: unit.text for id_, unit in sentences.items()} | {id_: unit.title for id_, unit in passages.items()}
    return {(key, texts[id_]) for key, id_ in names_of(site.snapshot, NAMES)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Tallow Bridge spans the harbour of Dunmere.", ["tallow bridge", "dunmere"]),
        ("the tallow bridge", []),
        ("She likes Élan and ELAN.", ["elan"]),
        ("The Game is on.", ["the game"]),
        ("The end.", []),
        ("Dunmere's harbour; Dunmere (port).", ["dunmere"]),
        ("", []),
    ],
)
def test_titles_are_found_by_their_words_begun_with_a_capital(text: str, found: list[str]) -> None:
    names = frozenset(
        filter(can_be_found, map(name_key, ["Tallow Bridge", "Dunmere", "Élan", "The Game", "Bridge", "The"]))
    )
    assert list(names_in(text, names.__contains__)) == found


def test_c8_titles_are_found_however_accents_are_stored() -> None:
    bank, letters = "Zürich Bank", "がぎ"
    for stored in (bank, normalize("NFD", bank), "Zü\u00adrich Bank"):
        assert name_key(stored) == "zurich bank"
        assert names_in(f"She works at {stored}.", [name_key(bank)].__contains__) == ("zurich bank",)
    assert name_key(letters) == name_key(normalize("NFD", letters))


def test_the_longest_of_titles_that_overlap_counts() -> None:
    names = ["grey", "grey hills", "hills"]
    assert names_in("It rises in the Grey Hills. Hills follow, and Grey ones.", names.__contains__) == (
        "grey hills",
        "hills",
        "grey",
    )


def test_a_document_is_called_by_its_title_without_parenthesis_and_stands_for_its_first_passage() -> None:
    game, film = make_document("The Game", "A game."), make_document("The Game (1997 film)", "A film.")
    called = called_by(map(make_passage, (film, game)))
    assert called == {"the game": sorted(make_passage(one).id for one in (game, film))}


def test_years_and_headings_call_nothing() -> None:
    many = [make_document("Annual report", f"Number {number}.") for number in range(MOST_NAMESAKES + 1)]
    assert called_by(map(make_passage, [*many, make_document("1984", "A year.")])) == {}


def test_names_follow_the_documents(tmp_path: Path, documents: list[Document]) -> None:
    site = Site(tmp_path)
    structures = (Sentences(), TitleMentions())
    bridge = next(document for document in documents if document.title == "Tallow Bridge")
    site.build(*structures, add=[document for document in documents if document is not bridge])
    designed = "She designed the Tallow Bridge in 1871."
    assert "tallow bridge" not in {key for key, _ in named(site)}
    site.build(*structures, add=[bridge])
    assert {("tallow bridge", designed), ("tallow bridge", "Tallow Bridge")} < named(site)
    assert ("orla finch", "It was designed by Orla Finch.") in named(site)
    before, namesake = named(site), make_document("Tallow Bridge (novel)", "A novel.")
    site.build(*structures, add=[namesake])
    assert named(site) - before == {("tallow bridge", "Tallow Bridge (novel)")}
    site.build(*structures, remove=[namesake])
    assert named(site) == before


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("Zürich Bank", "She works at Zu\u0308rich Bank."),
        ("Zürich Bank", "He left the Zü\u00adrich  BANK in May."),
        ("Bodø", "The ferry to Bodø is late."),
        ("Groß", "It belongs to GROSS and sons."),
        ("Οδυσσεύς", "A ship called Οδυσσεύς lies there."),
        ("The Who", "They heard The Who twice."),
    ],
)
def test_a_new_title_is_found_in_older_documents_however_it_is_spelt(tmp_path: Path, title: str, said: str) -> None:
    structures = (Sentences(), TitleMentions())
    older = [
        make_document("Diary", f"It rained. {said} It snowed."),
        make_document("Weather", "It rained. The bank is open."),
    ]
    site, whole = Site(tmp_path / "site"), Site(tmp_path / "whole")
    site.build(*structures, add=older)
    site.build(*structures, add=[make_document(title, "Something new.")])
    whole.build(*structures, add=[*older, make_document(title, "Something new.")])
    assert (name_key(title), normalize("NFC", said)) in {(key, normalize("NFC", text)) for key, text in named(site)}
    assert named(site) == named(whole)


def test_building_again_or_all_at_once_gives_the_same(tmp_path: Path, documents: list[Document]) -> None:
    structures = (Sentences(), TitleMentions())
    whole, grown = Site(tmp_path / "whole"), Site(tmp_path / "grown")
    whole.build(*structures, add=documents)
    for document in reversed(documents):
        grown.build(*structures, add=[document])
    assert named(grown) == named(whole) != set()
    head = grown.snapshot.commit
    grown.build(*structures)
    assert grown.snapshot.commit == head


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
