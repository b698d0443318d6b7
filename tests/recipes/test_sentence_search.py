"""What ChainRAG finds for one sub-question: where it starts, how far it widens, over which graph."""

from __future__ import annotations

import pytest

from hoptrail.language.tasks import Assess, Decompose, Decomposition, Read, Reading
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.unit_search import dense_search
from hoptrail.structures.catalogue import StructureSettings
from hoptrail.types import Hit, Kind, Ranking
from hoptrail_papers.chainrag.chainrag import ChainragSettings, SentenceSearch, SentenceSearchSettings
from hoptrail_papers.chainrag.sentence_graph import SentenceGraphSettings
from recipes.chain_world import (
    OWNER,
    Script,
    build,
    chainrag,
    check_answer,
    reading,
    tasks_of,
    texts,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(tmp_path_factory.mktemp("graph"))


OPENED = "The last dance is opened by Jonas Pell."


def test_links_of_an_entity_find_what_dense_search_does_not(corpus: Corpus) -> None:
    script: Script = [(Decompose, Decomposition(())), (Assess, 0.0), (Read, reading("the last dance", OPENED))]
    answer = chainrag(corpus, script, links=("EC",), context_k=1, expansions=1).answer(OWNER)
    (hop,) = answer.trail
    assert OPENED in texts(hop)
    assert answer.text == "the last dance"
    check_answer(answer, corpus)
    as_many = dense_search(corpus, OWNER, len(hop.hits), (Kind.SENTENCE,))
    assert OPENED not in [hit.unit.text for hit in as_many]
    other = chainrag(corpus, [*script[:2], (Read, Reading(None))], links=("SA",), context_k=1, expansions=1)
    assert OPENED not in texts(other.answer(OWNER).trail.hops[0])


@pytest.mark.parametrize("expansions", [0, 1, 2])
def test_evidence_widens_at_most_so_often(corpus: Corpus, expansions: int) -> None:
    settings = ChainragSettings(decompose=False)
    script: Script = [*[(Assess, 0.0)] * expansions, (Read, Reading(None))]
    recipe = chainrag(corpus, script, settings, expansions=expansions, expansion_k=1)
    (hop,) = recipe.answer(OWNER).trail
    assert len(tasks_of(recipe)) == len(script)
    assert len(hop.hits) == 2 + expansions
    assert [hit.score for hit in hop.hits] == sorted((hit.score for hit in hop.hits), reverse=True)


def test_evidence_that_is_full_is_not_widened(corpus: Corpus) -> None:
    settings = ChainragSettings(decompose=False, evidence_tokens=5)
    recipe = chainrag(corpus, [(Read, Reading(None))], settings)
    recipe.answer(OWNER)
    (task,) = tasks_of(recipe)
    assert isinstance(task, Read)
    assert len(task.evidence) == 1


def test_a_walk_that_finds_no_neighbour_ends(corpus: Corpus) -> None:
    """Nothing is linked to anything by an entity that is named once: the second step has nowhere to start from."""
    settings = ChainragSettings(decompose=False)
    script: Script = [(Assess, 0.0), (Read, Reading(None))]
    recipe = chainrag(corpus, script, settings, links=("EC",), context_k=1, expansions=5)
    recipe.answer("A dance is a row of steps ?")
    assert [type(task) for task in tasks_of(recipe)] == [Assess, Read]


def test_with_passages_nothing_widens(corpus: Corpus) -> None:
    recipe = chainrag(corpus, [(Read, Reading(None))], ChainragSettings(decompose=False), unit="passage")
    assert {hit.unit.kind for hit in recipe.answer(OWNER).ranking} == {Kind.PASSAGE}
    assert recipe.settings.structures == ("passages",)
    assert recipe.settings.pool.kinds == (Kind.PASSAGE,)


def test_a_graph_of_one_question_knows_nothing_beyond_its_candidates(corpus: Corpus) -> None:
    script: Script = [*[(Assess, 0.0)] * 3, (Read, Reading(None))]
    settings = ChainragSettings(decompose=False)
    narrow = chainrag(corpus, script, settings, per_question=True, candidates=2, expansions=3, expansion_k=50)
    ranking = narrow.retrieve(OWNER)
    documents = {hit.unit.document for hit in dense_search(corpus, OWNER, 2)}
    assert ranking
    assert {hit.unit.document for hit in ranking} <= documents
    wide = chainrag(corpus, script, settings, expansions=3, expansion_k=50).retrieve(OWNER)
    assert not {hit.unit.document for hit in wide} <= documents


def test_a_graph_of_one_question_is_made_by_the_settings_of_the_sentence_graph(corpus: Corpus) -> None:
    settings = SentenceSearchSettings(links=("SS",), per_question=True, candidates=9)

    def most(neighbours: int) -> int:
        structures = StructureSettings(sentence_graph=SentenceGraphSettings(neighbours=neighbours))
        search = SentenceSearch.open(Corpus(corpus.snapshot, lambda: corpus.encoder, structures), OWNER, settings, None)
        assert search.graph is not None
        assert search.within is not None
        return max(len(search.graph.neighbours([id_])) for id_ in search.within)

    assert most(1) == 1
    assert most(10) > 1


class ReversingReranker:
    """A reranker that likes best what came last."""

    name = "backwards"

    def rerank(self, question: str, hits: Ranking, limit: int) -> Ranking:  # noqa: ARG002
        turned = reversed(hits)
        return tuple(Hit(hit.unit, -float(place), self.name) for place, hit in enumerate(turned))[:limit]


def test_a_reranker_orders_the_candidates_before_context_and_seeds_are_taken(corpus: Corpus) -> None:
    settings = SentenceSearchSettings(prefilter=5, context_k=3, seed_k=2)
    candidates = [hit.unit.id for hit in dense_search(corpus, OWNER, 5, (Kind.SENTENCE,))]
    found = SentenceSearch.open(corpus, OWNER, settings, ReversingReranker()).begin(OWNER)
    assert [hit.unit.id for hit in found.hits] == candidates[:1:-1]
    assert found.frontier == tuple(candidates[:2:-1])


@pytest.mark.parametrize(
    "wrong",
    [{"context_k": 0}, {"seed_k": 0}, {"expansion_k": 0}, {"expansions": -1}, {"candidates": 0}, {"prefilter": 6}],
)
def test_impossible_searches_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least"):
        SentenceSearchSettings(**wrong)  # type: ignore[arg-type]
