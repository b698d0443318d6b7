"""What is counted of names and words: against the graph of all passages, and after every change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hoptrail.corpus.terms import Term
from hoptrail.errors import UsageError
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.retrieval.passage_graph import PassageGraph
from hoptrail.store.scratch import Scratch
from hoptrail.structures.called import HeldNames, TitleScanner, name_key, possible_names
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.keyword_statistics import (
    KeywordStatistics,
    PartialKeywords,
    WordCounts,
    keyword_words,
    passage_keywords,
)
from hoptrail.structures.mentions import MentionSettings, TitleMentions
from hoptrail.structures.passage_places import PassagePlaces
from hoptrail.structures.sentences import Sentences
from hoptrail.structures.terms import (
    ALL_WORDS,
    MOST_NAMERS,
    Occurrences,
    name_term,
    name_terms,
    word_term,
)
from hoptrail.structures.titled import Titled
from hoptrail.text.mentions import Shape, figure_shape, find_mentions
from hoptrail.types import Document, Kind, Span, Unit
from structures.site import Site
from world import make_document, make_passage

LARGE = (Extractions(), Sentences(), TitleMentions(MentionSettings(terms_above=0)))


def built(folder: Path, documents: list[Document]) -> Site:
    site = Site(folder)
    site.build(*LARGE, add=documents, language=OfflineLanguage())
    return site


def terms(site: Site) -> dict[str, Term]:
    return {term.id: term for term in site.snapshot.terms()}


def test_terms_are_what_the_graph_of_all_passages_has(tmp_path: Path, documents: list[Document]) -> None:
    site = built(tmp_path, [*documents, make_document("Tallow Bridge (novel)", "Orla Finch reads it in Lindeth.")])
    graph, found = PassageGraph.of(site.snapshot), terms(site)
    ids = [unit.id for unit in graph.passages]
    wanted = set()
    for number, name in enumerate(graph.names):
        owners, namers = graph.owners.at(number).tolist(), graph.namers.at(number).tolist()
        if owners or namers:
            wanted.add(name_term(name))
            expected = (len(namers), tuple(ids[row] for row in owners), tuple(ids[row] for row in namers))
            term = found[name_term(name)]
            assert (term.passages, term.owners, term.namers) == expected
    keywords = passage_keywords(site.snapshot)
    words = {id_ for id_ in found if id_.startswith(word_term(""))}
    assert words
    assert {id_: found[id_].passages for id_ in words} == {
        id_: keywords.frequency(id_.removeprefix(word_term(""))) for id_ in words
    }
    assert set(found) == wanted | words | {ALL_WORDS}


def test_terms_follow_the_documents_and_are_written_once(tmp_path: Path, documents: list[Document]) -> None:
    whole, grown = built(tmp_path / "whole", documents), Site(tmp_path / "grown")
    extra = make_document("Grey Hills", "Orla Finch walked in the Grey Hills.")
    for document in [extra, *reversed(documents)]:
        grown.build(*LARGE, add=[document], language=OfflineLanguage())
    assert terms(grown) != terms(whole)
    grown.build(*LARGE, remove=[extra], language=OfflineLanguage())
    assert terms(grown) == terms(whole)
    head = grown.snapshot.commit
    grown.build(*LARGE, language=OfflineLanguage())
    assert grown.snapshot.commit == head


def test_a_small_corpus_has_no_terms_and_one_that_shrinks_loses_them(tmp_path: Path, documents: list[Document]) -> None:
    site = built(tmp_path, documents)
    assert terms(site)
    site.build(Extractions(), Sentences(), TitleMentions(MentionSettings(len(documents))), language=OfflineLanguage())
    assert not site.snapshot.has_terms
    assert terms(site) == {}
    with pytest.raises(UsageError):
        MentionSettings(-1)


def test_a_name_that_many_have_is_counted_and_not_listed() -> None:
    room = Scratch()
    titles = [("one", "p009"), ("one", "p008"), ("unsaid", "p001"), *(("heading", f"p{n:03}") for n in range(21))]
    with room.sorting() as pairs:
        found = Occurrences(pairs)
        for number in range(MOST_NAMERS + 1):
            found.add(["many"], f"p{number:03}")
            found.add(["few"], f"p{number % 3:03}")
        found.add(["one"], "p000")
        found.add(["lost"], "")
        found.add_called(key for key, _ in titles)
        by_id = {term.id: term for term in name_terms(found, Titled.of(titles, room))}
    assert by_id == {
        "name:many": Term("name:many", MOST_NAMERS + 1),
        "name:few": Term("name:few", 3, (), ("p000", "p001", "p002")),
        "name:one": Term("name:one", 1, ("p008", "p009"), ("p000",)),
        "name:unsaid": Term("name:unsaid", 0, ("p001",), ()),
    }


def test_each_name_is_counted_by_the_passages_that_say_it() -> None:
    room = Scratch()
    with room.sorting() as pairs:
        found = Occurrences(pairs)
        for number in range(200):
            found.add([f"name {number % 17}", "élan"], f"p{number % 7}")
        counted = list(name_terms(found, Titled.of([("élan", "p1"), ("name 3", "p2")], room)))
    assert len(counted) == 18
    by_id = {term.id: term for term in counted}
    assert {term.passages for term in counted} == {7}
    assert by_id["name:élan"].owners == ("p1",)
    assert by_id["name:name 3"].owners == ("p2",)


def test_a_sentence_lies_in_the_passage_that_holds_all_of_it() -> None:
    def unit(kind: Kind, document: str, start: int, end: int) -> Unit:
        return Unit(f"{document}{start}", kind, "", "", (Span(document, start, end),))

    passages = [("p2", Span("d1", 300, 400)), ("p1", Span("d1", 2, 300)), ("p3", Span("d2", 0, 9))]
    cases = {
        ("d1", 2, 300): "p1",
        ("d1", 1, 3): "",
        ("d1", 310, 400): "p2",
        ("d1", 290, 310): "",
        ("d2", 3, 9): "p3",
        ("d", 0, 1): "",
        ("d3", 0, 1): "",
    }
    places = PassagePlaces(passages, Scratch())
    assert {case: places.holding(unit(Kind.SENTENCE, *case)) for case in cases} == cases
    assert list(places.firsts()) == ["p1", "p3"]
    assert list(places.batches(2)) == [["p1", "p2"], ["p3"]]
    assert PassagePlaces([], Scratch()).holding(unit(Kind.SENTENCE, "d1", 0, 1)) == ""


TEXTS = [
    "The river Isk flows, and the river Arrow.",
    "Élan rises in the hills.",
    "",
    "A mill by the river: river, river.",
]


def test_scores_of_some_texts_are_those_they_have_among_all() -> None:
    whole = KeywordStatistics.of(TEXTS)
    total = sum(map(len, keyword_words(TEXTS)))
    words = {"river": whole.frequency("river")}  # what one text alone has is not counted
    some = PartialKeywords([TEXTS[3], TEXTS[1], TEXTS[2]], WordCounts(len(TEXTS), total, words))
    for question in ("Which river flows past the mill?", "river river hills", "elan", "nothing", "", "the"):
        assert np.allclose(some.scores(question), whole.scores(question)[[3, 1, 2]], atol=1e-6), question
    assert [some.frequency(word) for word in ("river", "mill", "hills", "nothing")] == [2, 1, 1, 0]


def test_all_that_a_scanner_can_find_is_possible() -> None:
    text = "Did Élan of the Grey Hills see 12 Monkeys (1995 film), or the Tallow Bridge?"
    names = ["Grey Hills", "Élan", "12 Monkeys", "Tallow Bridge", "Élan of the Grey Hills"]
    assert set(TitleScanner(HeldNames(map(name_key, names))).find(text)) <= possible_names(text)
    assert "the tallow bridge" not in possible_names(text)
    assert possible_names("") == set()


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("4 May 1871", Shape.DATE),
        ("1871", Shape.DATE),
        ("1,200", Shape.NUMBER),
        ("Mill 1871", None),
        ("Orla Finch", None),
        ("", None),
    ],
)
def test_a_figure_is_all_of_its_text(text: str, shape: Shape | None) -> None:
    assert figure_shape(text) is shape
    assert {mention.shape for mention in find_mentions(text) if mention.text == text} - {Shape.NAME} == {shape} - {None}


def test_the_first_passage_of_the_document_is_what_a_term_leads_to(tmp_path: Path) -> None:
    document = make_document("Isk", "The Isk is a river.")
    site = built(tmp_path, [document])
    assert terms(site)[name_term("isk")].owners == (make_passage(document).id,)
