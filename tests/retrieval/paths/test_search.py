"""Path search in a small world: queries, the graph of names, candidates and their features, paths to a hit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.train_paths import written

from hoptrail.corpus.passage_graph import Lists
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import MENTIONS
from hoptrail.errors import IndexUnavailable, NotBuilt, UsageError
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.candidates import Bridge, CandidateSettings, choose_bridges
from hoptrail.retrieval.paths.features import PAIR_FEATURES, PASSAGE_FEATURES
from hoptrail.retrieval.paths.queries import PassageGraph, PathQueries, names_asked, stretches
from hoptrail.retrieval.paths.scoring import (
    LINKED_FEATURES,
    best_places,
    in_order,
    linked_features,
    read_scorer,
    stored_scorer,
)
from hoptrail.retrieval.paths.search import BRIDGE, DIRECT, describe, search_paths
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.sentences import Sentences
from hoptrail.structures.title_mentions import TitleMentions
from hoptrail.types import Document
from retrieval.paths.plain import QUESTION as MADE_QUESTION
from retrieval.paths.plain import Made
from structures.site import Site
from world import FACTS, HashingEncoder, make_document

QUESTION = "Which river flows through the birthplace of the designer of the Tallow Bridge?"
STRUCTURES = (Extractions(), Sentences(), TitleMentions())


def opened(folder: Path, documents: list[Document], *, complete: bool = True) -> Corpus:
    site = Site(folder)
    site.build(*(STRUCTURES if complete else ()), add=documents, language=OfflineLanguage())
    return Corpus(site.snapshot, HashingEncoder)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    documents = [make_document(title, text) for title, text in FACTS.items()]
    return opened(tmp_path_factory.mktemp("paths"), documents)


@pytest.fixture(scope="module")
def graph(corpus: Corpus) -> PassageGraph:
    return PassageGraph.of(corpus.snapshot)


def test_a_question_is_asked_whole_by_steps_and_by_stretches() -> None:
    queries = PathQueries.of(
        QUESTION, ["Who designed the Tallow Bridge?", "Where was #1 born?", "Which river is in #2?"]
    )
    assert queries.texts == (
        QUESTION,
        "Who designed the Tallow Bridge?",
        "Where was born?",
        "Which river is in ?",
    )
    assert queries.edges == ((1, 2), (2, 3))
    assert (queries.self_contained, queries.referring) == ((1,), (2, 3))
    assert queries.bridged(2, "orla finch") == "Where was orla finch born?"
    assert queries.bridged(0, "orla finch") == f"{QUESTION} orla finch"


def test_one_step_is_no_decomposition_and_false_references_lead_nowhere() -> None:
    assert PathQueries.of("Who is Orla Finch?", ["Who is Orla Finch?"]).texts == ("Who is Orla Finch?",)
    assert PathQueries.of("Odd?", ["What is #9?", "What is #2?"]).edges == ()


@pytest.mark.parametrize(
    ("question", "found"),
    [
        (
            "Which firm built the iron quay in Dunmere, and which painter drew the frozen harbour?",
            ("Which firm built the iron quay in Dunmere", "and painter drew the frozen harbour"),
        ),
        ("Who designed the Tallow Bridge?", ()),
        ("", ()),
        ("?!", ()),
    ],
)
def test_stretches_lie_between_punctuation_and_conjunctions(question: str, found: tuple[str, ...]) -> None:
    assert stretches(question) == found


def test_lists_give_what_was_entered_once() -> None:
    lists = Lists.of(np.array([2, 0, 2, 2], np.int32), np.array([7, 1, 3, 7], np.int32), 4)
    assert [lists.at(row).tolist() for row in range(4)] == [[1], [], [3, 7], []]
    places, values = lists.of_all(np.array([2, 1, 0]))
    assert (places.tolist(), values.tolist()) == ([0, 0, 2], [3, 7, 1])
    nothing = Lists.of(np.zeros(0, np.int32), np.zeros(0, np.int32), 2)
    assert nothing.of_all(np.array([0, 1]))[1].tolist() == []


def test_passages_are_joined_by_the_names_in_their_sentences(graph: PassageGraph) -> None:
    title = {unit.title: row for row, unit in graph.passages(range(graph.size)).items()}
    wrenmouth = graph.number("wrenmouth")
    assert graph.owners.at(wrenmouth).tolist() == [title["Wrenmouth"]]
    assert {unit.title for unit in graph.passages(graph.namers.at(wrenmouth)).values()} >= {"Orla Finch", "Wrenmouth"}
    assert graph.number("1871") == -1
    assert graph.number("nobody") == -1
    for sentence, passage in enumerate(graph.passage_of):
        assert graph.texts(np.array([sentence]))[0] in graph.passages([passage])[passage].text
    isk = graph.sentences.at(title["Isk"])
    first = graph.texts(isk[graph.positions[isk] == 0])
    assert first == ["The Isk is a river."]


def test_a_name_has_the_passages_that_mention_it_and_those_called_it_and_an_unknown_one_has_none(
    graph: PassageGraph,
) -> None:
    def having(name: str) -> set[str]:
        return {unit.title for unit in graph.passages(graph.passages_with(graph.number(name))).values()}

    assert having("isk") == {"Isk", "Wrenmouth"}
    assert having("orla finch") == {"Orla Finch", "Tallow Bridge"}
    assert having("nobody") == having("") == set()


def test_a_question_names_what_some_passage_names(graph: PassageGraph) -> None:
    names = {graph.name(number) for number in names_asked("Did Orla Finch of Nowhere see Dunmere?", graph)}
    assert names == {"orla finch", "dunmere"}


def test_features_are_finite_and_as_many_as_their_names(corpus: Corpus) -> None:
    for question in (QUESTION, "Dunmere?", "???", "川"):
        described = describe(corpus, question, CandidateSettings())
        assert described is not None
        first = described.passages[:, 0]
        pairs = described.pairs(best_places(first), first)
        linked = linked_features(described, first, pairs, pairs.values[:, 0])
        assert described.passages.shape == (len(described.candidates.rows), len(PASSAGE_FEATURES))
        assert pairs.values.shape == (len(pairs.first), len(PAIR_FEATURES))
        assert linked.shape == (len(first), len(LINKED_FEATURES))
        for values in (described.passages, pairs.values, linked):
            assert np.isfinite(values).all()
        assert (pairs.first != pairs.second).all()


def test_a_pair_is_joined_by_the_name_that_calls_the_second(corpus: Corpus) -> None:
    described = describe(corpus, QUESTION, CandidateSettings())
    assert described is not None
    first = described.passages[:, 0]
    pairs, graph = described.pairs(best_places(first), first), described.scores.graph
    titles = [unit.title for unit in graph.passages(described.candidates.rows).values()]
    joined = {
        (titles[a], titles[b]): graph.name(name)
        for a, b, name in zip(pairs.first, pairs.second, pairs.names, strict=True)
    }
    assert joined["Orla Finch", "Wrenmouth"] == "wrenmouth"
    assert ("Lindeth", "Dunmere") not in joined


def test_a_passage_that_the_question_does_not_name_is_reached_by_names(corpus: Corpus) -> None:
    found = search_paths(corpus, QUESTION, 4)
    channels = {hit.unit.title: hit.channel for hit in found}
    assert {"Tallow Bridge", "Orla Finch", "Wrenmouth"} <= set(channels)
    assert set(channels.values()) == {BRIDGE, DIRECT}
    assert channels["Tallow Bridge"] == DIRECT, "the question names it"


def test_scores_fall_and_the_same_question_gives_the_same(corpus: Corpus) -> None:
    ranking = search_paths(corpus, QUESTION, 6)
    scores = [hit.score for hit in ranking]
    assert scores == sorted(set(scores), reverse=True)
    assert len({hit.unit.id for hit in ranking}) == len(ranking)
    assert ranking == search_paths(corpus, QUESTION, 6)
    assert ranking[:2] == search_paths(corpus, QUESTION, 2)


def test_after_the_leading_ones_the_direct_order_takes_turns(corpus: Corpus) -> None:
    described = describe(corpus, QUESTION, CandidateSettings())
    assert described is not None
    judged = stored_scorer().judge(described)
    by_score = in_order(described, judged, len(judged.scores))
    assert [judged.scores[place] for place in by_score] == sorted(judged.scores, reverse=True)
    direct = described.candidates.direct[described.candidates.rows]
    hedged = in_order(described, judged, 1)
    assert hedged[0] == by_score[0]
    assert direct[hedged[1]] == max(direct[place] for place in by_score[1:])
    assert sorted(hedged) == sorted(by_score)


def test_least_link_is_kept(corpus: Corpus) -> None:
    unlinked = search_paths(corpus, QUESTION, 6, CandidateSettings(least_link=1))
    assert {hit.channel for hit in unlinked} == {DIRECT}


def test_a_hit_is_a_bridge_if_a_likely_name_that_was_not_asked_for_joins_it_to_one_found_better(made: Made) -> None:
    described = describe(made.corpus, MADE_QUESTION, CandidateSettings())
    assert described is not None
    judged, rows = stored_scorer().judge(described), described.candidates.rows
    direct, asked = described.candidates.direct[rows], described.scores.asked
    pairs = zip(judged.pairs.first, judged.pairs.second, judged.pairs.names, judged.paired.tolist(), strict=True)
    onward = [(int(b), name, likely) for a, b, name, likely in pairs if direct[a] > direct[b]]
    assert {name in asked for _, name, _ in onward} == {True, False}
    likely = sorted(likely for _, name, likely in onward if name not in asked)
    for least in (likely[0], likely[len(likely) // 2], likely[-1]):
        expected = {b for b, name, likely in onward if name not in asked and likely >= least}
        found = search_paths(made.corpus, MADE_QUESTION, 999, CandidateSettings(least_link=least))
        units = described.scores.graph.passages(rows)
        bridged = {units[int(rows[place])].id for place in expected}
        assert {hit.unit.id for hit in found if hit.channel == BRIDGE} == bridged


def test_names_of_a_single_passage_and_of_little_promise_bridge_nothing() -> None:
    bridges = [
        Bridge(number, text, 1, promise)
        for number, (text, promise) in enumerate(zip("abcd", (1, 0.9, 0.8, 0.7), strict=True))
    ]
    having = {"a": 1, "b": 2, "c": 3, "d": 2}
    assert [bridge.text for bridge in choose_bridges(bridges, having, 3)] == ["b", "c", "d"]
    assert [bridge.text for bridge in choose_bridges(bridges, having, 1)] == ["b"]
    assert [bridge.text for bridge in choose_bridges(bridges, {**having, "a": 2}, 4)] == ["a", "b", "c"]
    assert choose_bridges(bridges, dict.fromkeys("abcd", 1), 4) == ()


def test_every_bridge_leads_to_a_further_passage(corpus: Corpus) -> None:
    described = describe(corpus, QUESTION, CandidateSettings())
    assert described is not None
    bridges, graph = described.candidates.bridges, described.scores.graph
    assert "dunmere" in {bridge.text for bridge in bridges}
    assert all(len(graph.passages_with(bridge.name)) > 1 for bridge in bridges)


def test_without_bridges_nothing_is_asked_twice(corpus: Corpus) -> None:
    settings = CandidateSettings(bridges=0)
    assert len(search_paths(corpus, QUESTION, 3, settings)) == 3


def test_nothing_is_found_in_nothing_and_missing_structures_are_named(
    tmp_path: Path, documents: list[Document]
) -> None:
    site = Site(tmp_path / "emptied")
    site.build(*STRUCTURES, add=documents, language=OfflineLanguage())
    site.build(*STRUCTURES, remove=documents, language=OfflineLanguage())
    assert search_paths(Corpus(site.snapshot, HashingEncoder), QUESTION, 5) == ()
    with pytest.raises(IndexUnavailable, match="mentions"):
        search_paths(opened(tmp_path / "bare", documents, complete=False), QUESTION, 5)


def test_documents_without_title_or_sentence_do_no_harm(tmp_path: Path, documents: list[Document]) -> None:
    odd = [
        make_document("", "Orla Finch kept bees. The Isk is cold."),
        make_document("Wrenmouth (song)", "***"),
        make_document("***", "Dunmere is far."),
        make_document("1871", "A year."),
    ]
    corpus = opened(tmp_path, [*documents, *odd])
    for question in (QUESTION, "Who kept bees in 1871?", "Wrenmouth"):
        ranking = search_paths(corpus, question, 20)
        assert len({hit.unit.id for hit in ranking}) == len(ranking) > 1
    only_odd = opened(tmp_path / "odd", odd[1:2] + odd[3:])
    assert [hit.unit.title for hit in search_paths(only_odd, "Which year?", 5)]


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(UsageError, match="candidates"):
        CandidateSettings(candidates=0)
    with pytest.raises(UsageError, match="least_link"):
        CandidateSettings(least_link=2)


def test_the_scorer_in_the_package_survives_writing() -> None:
    scorer = stored_scorer()
    content = written(scorer)
    values = np.random.default_rng(1).random((20, len(PAIR_FEATURES))).astype(np.float32)
    assert read_scorer(content).pair.log_odds(values).tolist() == scorer.pair.log_odds(values).tolist()


def test_names_of_an_earlier_version_are_asked_to_be_built_again(corpus: Corpus) -> None:
    with Snapshot.open(corpus.snapshot.folder) as snapshot:
        snapshot.head = replace(snapshot.head, structures={**snapshot.head.structures, MENTIONS: "1"})
        with pytest.raises(NotBuilt, match="hoptrail index"):
            PassageGraph.of(snapshot)
