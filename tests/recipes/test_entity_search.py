"""HippoRAG, GraphRAG and LightRAG: what entities lead to that no likeness finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import Failure, ScriptedLanguage
from hoptrail.language.tasks import Assess, Read, Reading
from hoptrail.recipes.catalogue import open_recipe
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.unit_search import dense_search
from hoptrail.types import Kind, Ranking
from hoptrail_papers.baselines.entity_graph import EntityGraph, EntityGraphSettings
from hoptrail_papers.baselines.graphrag import Graphrag, GraphragSettings
from hoptrail_papers.baselines.hipporag import Hipporag, HipporagSettings
from hoptrail_papers.baselines.lightrag import Lightrag, LightragSettings, keywords
from recipes.chain_world import RecordingLanguage, Script
from recipes.entity_world import QUESTION, build, titles

DESIGNER = "Who designed the Tallow Bridge?"
TWO_HOPS = ["Guild Roll", "Parish Book", "Pilot Guide"]
"""From the bridge to its designer, to the town, to the river."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(tmp_path_factory.mktemp("entities"))


def retrieved(name: str, corpus: Corpus, question: str = DESIGNER) -> Ranking:
    return open_recipe(name, corpus, OfflineLanguage(), RecipeSettings()).retrieve(question)


# --- HippoRAG


@pytest.mark.parametrize("preset", ["one", "no-passages"])
def test_the_walk_reaches_passages_that_share_no_word_with_the_question(preset: str, corpus: Corpus) -> None:
    likeness = {hit.unit.title: hit.score for hit in dense_search(corpus, DESIGNER, 10)}
    assert likeness["Parish Book"] == pytest.approx(likeness["Mill"], abs=1e-4)
    assert titles(retrieved(f"hipporag:{preset}", corpus))[:3] == TWO_HOPS


def test_passages_like_the_question_are_home_too_where_they_are_nodes(corpus: Corpus) -> None:
    """Town Talk shares words with the question and no entity with what it leads to."""
    assert "Town Talk" not in titles(retrieved("hipporag:no-passages", corpus, QUESTION))
    found = titles(retrieved("hipporag", corpus, QUESTION))
    assert found[0] == "Guild Roll"
    assert "Town Talk" in found


def test_an_entity_of_few_passages_weighs_more(corpus: Corpus) -> None:
    """Orla Finch is named in two passages, Milo Fen in one."""
    graph = EntityGraph.of(corpus)
    spread = {name: int(graph.passage_counts[number]) for number, name in enumerate(graph.names)}
    assert (spread["orla finch"], spread["milo fen"]) == (2, 1)
    found = retrieved("hipporag:no-passages", corpus, "What do Orla Finch and Milo Fen have in common?")
    assert titles(found)[0] == "Town Talk"


def test_the_second_version_starts_from_the_triples_nearest_to_the_question(corpus: Corpus) -> None:
    settings = HipporagSettings(start="triples", facts=1, passage_weight=0)
    found = Hipporag(corpus, OfflineLanguage(), settings).retrieve("Who sells Green Apples?")
    assert titles(found) == ["Fair", "Mill"], "one fact, its passage, and what its entities lead to; no passage is home"
    weak = Hipporag(corpus, OfflineLanguage(), replace(settings, passage_weight=0.05)).retrieve(
        "Who sells Green Apples?"
    )
    assert titles(weak)[:2] == ["Fair", "Mill"]
    assert len(weak) > len(found), "with passages as home, all that are like the question have a little"


def test_recognition_leaves_out_facts_and_is_paid_for(corpus: Corpus) -> None:
    settings = HipporagSettings(start="triples", facts=2, recognition=0.5, passage_weight=0)
    asked = "Which designer is it?"
    both = dense_search(corpus, asked, 2, (Kind.TRIPLE,))
    script: Script = [(Assess, 0.2), (Assess, 0.9), (Read, Reading(None))]
    language = RecordingLanguage(ScriptedLanguage(script))
    answer = Hipporag(corpus, language, settings).answer(asked)
    assert [task.evidence for task in language.tasks if isinstance(task, Assess)] == [(hit.unit,) for hit in both]
    assert answer.usage.calls == 3
    kept = Hipporag(corpus, ScriptedLanguage([(Assess, 0.9), (Assess, 0.2)]), settings).retrieve(asked)
    assert titles(kept) != titles(answer.ranking)


def test_where_no_fact_is_recognised_dense_search_stands_in(corpus: Corpus) -> None:
    language = ScriptedLanguage([(Assess, 0.0)] * 5)
    found = Hipporag(corpus, language, HipporagSettings(start="triples", recognition=0.5)).retrieve(DESIGNER)
    assert found == dense_search(corpus, DESIGNER, 20)
    assert retrieved("hipporag:one", corpus, "who was it") == dense_search(corpus, "who was it", 20)


def test_a_fact_that_cannot_be_judged_is_kept(corpus: Corpus) -> None:
    settings = HipporagSettings(start="triples", facts=2, recognition=0.5)
    failing = ScriptedLanguage([(Assess, Failure("overloaded"))] * 2)
    unjudged = Hipporag(corpus, OfflineLanguage(), replace(settings, recognition=0.0)).retrieve(DESIGNER)
    assert Hipporag(corpus, failing, settings).retrieve(DESIGNER) == unjudged


# --- the graph


@pytest.mark.parametrize("passages", [True, False])
def test_names_that_are_alike_are_joined_where_asked(corpus: Corpus, passages: bool) -> None:
    """Dame Orla Finch sang, and no triple says that she is Orla Finch."""

    def worth(synonym_k: int, synonyms: float = 0.8) -> float:
        graph = EntityGraph.of(corpus, EntityGraphSettings(passages, synonyms, synonym_k))
        ranks = graph.pagerank({graph.names.index("orla finch"): 1.0}, None, 0.5)
        return float(ranks[graph.triples.passage_ids.index(passage_called("Ballad", corpus))])

    assert worth(0) == 0
    assert worth(1) > 0
    assert worth(1, synonyms=0.9) == 0, "their cosine is 0.82"


def passage_called(title: str, corpus: Corpus) -> str:
    return next(unit.id for unit in corpus.snapshot.units(Kind.PASSAGE) if unit.title == title)


def test_the_graph_is_made_once_a_snapshot_and_setting(corpus: Corpus) -> None:
    assert EntityGraph.of(corpus) is EntityGraph.of(corpus, EntityGraphSettings())
    assert EntityGraph.of(corpus) is not EntityGraph.of(corpus, EntityGraphSettings(passages=False))


def test_likeness_of_passages_is_scaled_between_the_least_and_the_highest(corpus: Corpus) -> None:
    likeness = EntityGraph.of(corpus).passage_likeness(DESIGNER)
    assert (likeness.min(), likeness.max()) == (0, 1)
    best = EntityGraph.of(corpus).triples.passage_ids[int(np.argmax(likeness))]
    assert best == dense_search(corpus, DESIGNER, 1)[0].unit.id


# --- GraphRAG


def test_facts_about_neighbours_bring_their_passages(corpus: Corpus) -> None:
    settings = GraphragSettings(entities=1, facts_read=0)
    assert titles(Graphrag(corpus, OfflineLanguage(), settings).retrieve(DESIGNER)) == TWO_HOPS[:2]
    alone = replace(settings, neighbour_weight=0.0)
    assert titles(Graphrag(corpus, OfflineLanguage(), alone).retrieve(DESIGNER)) == TWO_HOPS[:1]


def test_facts_are_handed_over_beside_passages(corpus: Corpus) -> None:
    language = RecordingLanguage(ScriptedLanguage([(Read, Reading(None))]))
    Graphrag(corpus, language, GraphragSettings(entities=1, facts_read=1)).answer(DESIGNER)
    (task,) = language.tasks
    assert isinstance(task, Read)
    assert {unit.kind for unit in task.evidence} == {Kind.PASSAGE}, "the sentence of a fact is in the passage before it"


# --- LightRAG


def test_names_are_low_and_relations_high_keywords() -> None:
    names, topics = keywords("Which harbour town was designed by the maker of the Tallow Bridge?")
    assert names == ("Tallow Bridge",)
    assert "designed by" in " ".join(topics)
    assert "Tallow Bridge" not in topics
    assert keywords("") == ((), ())


def test_each_level_finds_what_the_other_does_not_and_they_take_turns(corpus: Corpus) -> None:
    low, high = (titles(retrieved(f"lightrag:{level}", corpus, QUESTION)) for level in ("local", "global"))
    assert (low[0], high[0]) == ("Guild Roll", "Town Talk")
    assert "Town Talk" not in low
    assert titles(retrieved("lightrag", corpus, QUESTION))[:2] == ["Guild Roll", "Town Talk"]
    assert {"Mill", "Gallery"} <= set(titles(retrieved("lightrag:mix", corpus, QUESTION)))


def test_least_cosine_keeps_out_what_is_not_meant(corpus: Corpus) -> None:
    asked = "What did Orla Finch praise?"
    strict = Lightrag(corpus, OfflineLanguage(), LightragSettings(levels=("local",), least=0.9))
    loose = Lightrag(corpus, OfflineLanguage(), LightragSettings(levels=("local",), least=0.8))
    assert set(titles(strict.retrieve(asked))) == {"Guild Roll", "Parish Book"}
    assert set(titles(loose.retrieve(asked))) == {"Guild Roll", "Parish Book", "Ballad"}


@pytest.mark.parametrize("settings", [{"levels": ()}, {"least": 0.0}, {"k": 0}])
def test_impossible_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|lie above 0"):
        LightragSettings(**settings)  # type: ignore[arg-type]
