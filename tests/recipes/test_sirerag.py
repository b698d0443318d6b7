"""SiReRAG: what each of its variants has in the pool (Table 5, appendix A), and that all that is retrieved is read."""

from __future__ import annotations

import pytest

from hoptrail.corpus.structure_names import (
    AGGREGATES,
    ENTITY_TREE,
    JOINT_TREE,
    PASSAGES,
    RELATEDNESS_TREE,
    SIMILARITY_TREE,
)
from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.language.tasks import Integrate, Read, Reading, Recall, Step
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Kind, Ranking
from hoptrail_papers.sirerag.sirerag import Sirerag
from hoptrail_papers.sirerag.tree_store import level_of
from recipes.chain_world import RecordingLanguage
from recipes.presets_world import build
from world import TokenHashingEncoder

QUESTION = "Who sold the Abel Forge on the river Isk to Jonas Pell?"

PASSAGE, AGGREGATE, FACT = (frozenset({kind}) for kind in (Kind.PASSAGE, Kind.AGGREGATE, Kind.FACT))
SIMILAR, RELATED, JOINT = (
    {(tree, level) for level in (2, 3, 4)} for tree in (SIMILARITY_TREE, RELATEDNESS_TREE, JOINT_TREE)
)
CLUSTERED = {(SIMILARITY_TREE, 2), *((ENTITY_TREE, level) for level in (2, 3, 4))}
"""E's tree: its second level has groups by likeness and by entities, and what is above was made of both."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(tmp_path_factory.mktemp("presets"))


def summaries(corpus: Corpus) -> dict[str, set[tuple[str, int]]]:
    """The trees and levels of each summary that is made."""
    made = set(corpus.snapshot.table.ids(Kind.SUMMARY))
    trees = (SIMILARITY_TREE, RELATEDNESS_TREE, JOINT_TREE, ENTITY_TREE)
    found: dict[str, set[tuple[str, int]]] = {}
    for tree in trees:
        for link in corpus.snapshot.links(tree):
            if link.source in made:
                found.setdefault(link.source, set()).add((tree, level_of(link.source)))
    return found


@pytest.mark.parametrize(
    ("preset", "kinds", "levels"),
    [
        ("paper", PASSAGE | AGGREGATE, SIMILAR | RELATED),
        ("a", PASSAGE | AGGREGATE, SIMILAR),
        ("b", PASSAGE | AGGREGATE | FACT, SIMILAR | RELATED),
        ("c", PASSAGE | FACT, SIMILAR | RELATED),
        ("d", PASSAGE | FACT, SIMILAR),
        ("e", PASSAGE, CLUSTERED),
        ("joint", PASSAGE | AGGREGATE, SIMILAR | RELATED | JOINT),
        ("bm25", PASSAGE | AGGREGATE, SIMILAR | RELATED),
        ("self-ask", PASSAGE | AGGREGATE, SIMILAR | RELATED),
        ("passages-bm25", PASSAGE, set()),
        ("passages-self-ask", PASSAGE, set()),
    ],
)
def test_the_pool_of_a_variant_is_what_the_paper_says(
    preset: str, kinds: frozenset[Kind], levels: set[tuple[str, int]], corpus: Corpus
) -> None:
    pool = Sirerag.presets[preset].pool
    units = list(pool.units(corpus.snapshot))
    expected = {id_ for id_, places in summaries(corpus).items() if places & levels}
    assert {unit.id for unit in units if unit.kind is Kind.SUMMARY} == expected
    assert {unit.kind for unit in units} - {Kind.SUMMARY} == kinds
    assert all(sum(unit.kind is kind for unit in units) == corpus.snapshot.count(kind) for kind in kinds)
    assert pool.size(corpus.snapshot) == len(units)
    found = Sirerag(corpus, ScriptedLanguage([]), Sirerag.presets[preset]).retrieve(QUESTION)
    assert {hit.unit.id for hit in found} <= {unit.id for unit in units}


def test_the_world_tells_the_variants_apart(corpus: Corpus) -> None:
    """Each tree has what its ablation would take away."""
    levels = {place for places in summaries(corpus).values() for place in places}
    assert {(SIMILARITY_TREE, 3), (RELATEDNESS_TREE, 3), (ENTITY_TREE, 3), (JOINT_TREE, 2)} <= levels


@pytest.mark.parametrize("preset", ["paper", "b", "d"])
def test_all_that_is_retrieved_is_read(preset: str, corpus: Corpus) -> None:
    """Whether its text stands in a unit before it or not: that is what aggregates and propositions add."""
    language = RecordingLanguage(ScriptedLanguage([Reading(None)]))
    recipe = Sirerag(corpus, language, Sirerag.presets[preset])
    found = recipe.answer(QUESTION).ranking
    (task,) = language.tasks
    assert isinstance(task, Read)
    assert task.evidence == tuple(hit.unit for hit in found)
    assert len(found) == 20
    spans = [span for unit in task.evidence for span in unit.sources]
    assert len(set(spans)) < len(spans), "several units say the same here"


@pytest.mark.parametrize("preset", ["self-ask", "passages-self-ask"])
def test_self_ask_reads_the_same_ten_units_twice(preset: str, corpus: Corpus) -> None:
    language = RecordingLanguage(ScriptedLanguage([Reading(None), Reading("Abel Hale")]))
    found = Sirerag(corpus, language, Sirerag.presets[preset]).answer(QUESTION).ranking
    first, second = language.tasks
    assert isinstance(first, Read)
    assert isinstance(second, Integrate)
    assert first.evidence == second.evidence == tuple(hit.unit for hit in found)
    assert len(found) == 10


@pytest.mark.parametrize(("scorer", "channel"), [("bm25", "keyword"), ("late-interaction", "late-interaction")])
def test_another_scorer_ranks_the_same_pool_otherwise(scorer: str, channel: str, corpus: Corpus) -> None:
    words = Corpus(corpus.snapshot, lambda: TokenHashingEncoder(dimension=256))

    def found(preset: str) -> Ranking:
        return Sirerag(words, ScriptedLanguage([]), Sirerag.presets[preset]).retrieve(QUESTION)

    full, other, passages = found("paper"), found(scorer), found(f"passages-{scorer}")
    assert {hit.channel for hit in full} == {"dense"}
    assert {hit.channel for hit in (*other, *passages)} == {channel}
    assert {hit.unit.kind for hit in other} >= {Kind.PASSAGE, Kind.AGGREGATE, Kind.SUMMARY}, "all kinds by one scorer"
    assert {hit.unit.kind for hit in passages} == {Kind.PASSAGE}
    assert Sirerag.presets[scorer].pool == Sirerag.presets["paper"].pool


def test_a_closed_book_is_not_opened(corpus: Corpus) -> None:
    language = RecordingLanguage(ScriptedLanguage([Reading("Abel Hale", (), 0.9)]))
    answer = Sirerag(corpus, language, Sirerag.presets["closed-book"]).answer(QUESTION)
    assert [type(task) for task in language.tasks] == [Recall]
    assert (answer.text, answer.ranking, answer.evidence) == ("Abel Hale", (), ())


def test_the_code_searches_with_its_instruction_and_asks_without(corpus: Corpus) -> None:
    language = RecordingLanguage(ScriptedLanguage([Reading(None)]))
    recipe = Sirerag(corpus, language, Sirerag.presets["reference"])
    asked = f"{QUESTION} Answer briefly, in as few words as possible."
    assert recipe.answer(QUESTION).ranking == Sirerag(corpus, language, Sirerag.presets["paper"]).retrieve(asked)
    (task,) = language.tasks
    assert isinstance(task, Read)
    assert task.question == QUESTION


def test_what_must_be_built_is_what_the_pool_holds() -> None:
    assert Sirerag.presets["passages-bm25"].structures == (PASSAGES,)
    assert RELATEDNESS_TREE not in Sirerag.presets["a"].structures
    assert set(Sirerag.presets["paper"].structures) == {PASSAGES, AGGREGATES, SIMILARITY_TREE, RELATEDNESS_TREE}


def test_self_ask_goes_on_from_sub_questions_whose_question_was_not_settled(corpus: Corpus) -> None:
    built = Step("Who built the Abel Forge?", "Abel Hale", ())
    language = RecordingLanguage(ScriptedLanguage([Reading(None, (built,)), Reading(None)]))
    answer = Sirerag(corpus, language, Sirerag.presets["self-ask"]).answer(QUESTION)
    task = language.tasks[1]
    assert isinstance(task, Integrate)
    assert [finding.answer for finding in task.findings] == ["Abel Hale"]
    assert [hop.answer for hop in answer.trail] == ["Abel Hale", None]
