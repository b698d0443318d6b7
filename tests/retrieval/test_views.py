"""Every search in a view of some documents is that of an index of these documents alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.view import EVERYTHING, View
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.search import search_paths
from hoptrail.retrieval.units.unit_search import HybridSearchSettings, hybrid_search
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.sentences import Sentences
from hoptrail.structures.title_mentions import TitleMentions
from hoptrail.types import Document, Hit, Kind, Ranking
from hoptrail_papers.baselines.entity_graph import EntityGraph
from hoptrail_papers.chainrag.sentence_graph import SA, SentenceGraph, SentenceLinks
from hoptrail_papers.comprag.composition import CompositionSettings
from hoptrail_papers.comprag.graph import TripleGraphSettings, search_triples
from hoptrail_papers.comprag.question_triples import question_triples
from hoptrail_papers.comprag.space import TripleSpace, slot_vectors, stored_triples
from hoptrail_papers.comprag.triples import Triples, TripleSettings, slot_id
from hoptrail_papers.hirag.hierarchy import HierarchicalSearch, HierarchySettings
from hoptrail_papers.sirerag.pool_search import TreePool, search_pool
from retrieval.paths.plain import QUESTION, WordEncoder, made_documents
from structures.site import Site

STRUCTURES = (
    Extractions(),
    Sentences(),
    TitleMentions(),
    Triples(TripleSettings(lemmas=True, texts=True)),
    SentenceLinks(),
)
DOCUMENTS = made_documents(40)
SEEN = [document for number, document in enumerate(DOCUMENTS) if number % 3]


def built(folder: Path, documents: list[Document], view: View = EVERYTHING) -> Corpus:
    site = Site(folder, WordEncoder())
    site.build(*STRUCTURES, add=documents, language=OfflineLanguage())
    return Corpus(Snapshot.open(folder, view), WordEncoder)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    seen = View(documents=frozenset(document.id for document in SEEN))
    return built(tmp_path_factory.mktemp("whole"), DOCUMENTS, seen)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return built(tmp_path_factory.mktemp("alone"), SEEN)


def by_entities(corpus: Corpus) -> Ranking:
    graph = EntityGraph.of(corpus)
    return graph.passages(graph.pagerank(graph.nearest(["Amber Mill", "Copper Quay"], 3), None, 0.5), 99)


def by_triples(corpus: Corpus) -> Ranking:
    space = TripleSpace.of(corpus, CompositionSettings())
    return search_triples(space, question_triples(QUESTION), 99, TripleGraphSettings(depth=3))


def by_pages(corpus: Corpus) -> Ranking:
    search = HierarchicalSearch(corpus, HierarchySettings(pages=4))
    pages = search.pages(QUESTION)
    return (*pages.found, *(hit for page in pages.pages for hit in search_page(search, page, pages.vector)))


def search_page(search: HierarchicalSearch, page: Any, vector: Any) -> Ranking:
    return tuple(Hit(chunk.unit, chunk.score, page.name) for chunk in search.chunks(page, vector))


SEARCHES: dict[str, Callable[[Corpus], Ranking]] = {
    "paths": lambda corpus: search_paths(corpus, QUESTION, 99),
    "hybrid": lambda corpus: hybrid_search(corpus, QUESTION, 99, HybridSearchSettings()),
    "pool": lambda corpus: search_pool(corpus, QUESTION, TreePool((Kind.PASSAGE, Kind.SENTENCE)), 99, "hybrid"),
    "entities": by_entities,
    "triples": by_triples,
    "pages": by_pages,
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_view_is_searched_as_if_there_were_nothing_else(view: Corpus, alone: Corpus, name: str) -> None:
    found, expected = SEARCHES[name](view), SEARCHES[name](alone)
    assert len(expected) > 5
    assert {hit.unit for hit in found} == {hit.unit for hit in expected}
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=1e-5)
    by_unit, expected_by_unit = (
        {(hit.unit.id, hit.channel): hit.score for hit in ranking} for ranking in (found, expected)
    )
    assert by_unit == pytest.approx(expected_by_unit, abs=1e-5)


def test_slots_that_only_hidden_documents_gave_their_vectors_have_them_still(view: Corpus, alone: Corpus) -> None:
    """A slot is stored once, for the first of its triples, which may be hidden."""
    triples = stored_triples(view.snapshot)
    texts = sorted({slot for slots in triples.slots for slot in slots})
    assert len(view.snapshot.table.stored(Kind.SLOT, [slot_id(text) for text in texts])) < len(texts)
    assert np.allclose(slot_vectors(view, texts), slot_vectors(alone, texts), atol=1e-6)
    assert slot_vectors(view, []).shape == (0, view.encoder.identity.dimension)


@pytest.mark.parametrize("method", ["text", "concatenation"])
@pytest.mark.parametrize("lemmatise", [False, True])
def test_a_view_composes_its_triples_as_if_there_were_no_others(
    view: Corpus, alone: Corpus, method: Any, lemmatise: bool
) -> None:
    settings = CompositionSettings(method, lemmatise=lemmatise)
    found, expected = (TripleSpace.of(corpus, settings) for corpus in (view, alone))
    assert found.triples.slots == expected.triples.slots
    assert np.allclose(found.matrix, expected.matrix, atol=1e-5)
    assert np.allclose(found.relations(np.array([2, 0])), expected.relations(np.array([2, 0])), atol=1e-5)


def test_sentences_of_a_view_have_the_neighbours_in_their_passage_that_they_would_have_alone(
    view: Corpus, alone: Corpus
) -> None:
    found, expected = SentenceGraph.of(view.snapshot, (SA,)), SentenceGraph.of(alone.snapshot, (SA,))
    assert list(found.ids) == list(expected.ids)
    neighbours = [expected.neighbours([name]) for name in expected.ids]
    assert any(neighbours)
    assert [found.neighbours([name]) for name in found.ids] == neighbours
