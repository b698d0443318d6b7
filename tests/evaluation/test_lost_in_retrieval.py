"""The probe on a chain of four sub-questions, with values worked out by hand from the words shared with the passages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from evaluation.bench import Bench
from evaluation.oracle_world import CHAIN, LENGTHS, LONGER, PASSAGES
from hoptrail import Index
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import Rule
from hoptrail.evaluation.datasets import Dataset, GoldStep, Question, load_dataset
from hoptrail.evaluation.runner import Contexts, open_performers
from hoptrail.index.indexing import Watcher, update_index
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.passages import Passages
from hoptrail_papers.chainrag.lost_in_retrieval import (
    LATER,
    ORIGINAL,
    REWRITTEN,
    LostInRetrieval,
    SubQuestionWording,
    label,
    probe_lost_in_retrieval,
    recall_in_own_contexts,
)
from world import HashingEncoder

Names = Mapping[str, list[str]]


@pytest.fixture(scope="module")
def probe_index(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Names]:
    folder, encoder = tmp_path_factory.mktemp("probe"), HashingEncoder()
    rows = ({"id": name, "title": title, "text": text} for name, (title, text) in PASSAGES.items())
    source = folder / "corpus.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    update_index(folder / "index", [source], encoder, [Passages(PassageLimits())], Watcher())
    corpus = Corpus(Snapshot.open(folder / "index"), lambda: encoder)
    return corpus, {entry.id: [entry.sources[0].rpartition("#")[2]] for entry in corpus.snapshot.register.entries}


def dataset(*questions: Question) -> Dataset:
    return Dataset("tiny", Path("corpus.jsonl"), len(PASSAGES), questions, Rule.MUSIQUE)


def rows(result: LostInRetrieval, retriever: str) -> dict[tuple[int | None, SubQuestionWording], tuple[int, float]]:
    """Rows by place (None: the later ones together) and wording, regardless of named titles."""
    return {
        (None if row.place == LATER else int(row.place), row.wording): (row.questions, row.recall)
        for row in result.rows
        if row.retriever == retriever and row.named is None
    }


def test_a_sub_question_without_its_name_is_lost_and_with_it_is_found(probe_index: tuple[Corpus, Names]) -> None:
    result = probe_lost_in_retrieval(probe_index[0], dataset(CHAIN), probe_index[1], k=1)
    keyword = rows(result, "hybrid")
    assert keyword[1, SubQuestionWording.STAND_ALONE] == (1, 1.0)
    assert keyword[2, SubQuestionWording.COMPLETED] == (1, 1.0)
    assert keyword[3, SubQuestionWording.REMOVED] == (1, 0.0)  # the song asks it in the same words
    assert {wording for number, wording in keyword if number == 4} == {
        SubQuestionWording.REMOVED,
        SubQuestionWording.POINTED,
        SubQuestionWording.COMPLETED,
    }


def test_later_places_are_also_summarised_together(probe_index: tuple[Corpus, Names]) -> None:
    result = rows(probe_lost_in_retrieval(probe_index[0], dataset(CHAIN, CHAIN), probe_index[1]), "dense")
    for wording in (SubQuestionWording.REMOVED, SubQuestionWording.POINTED, SubQuestionWording.COMPLETED):
        single = [result[number, wording] for number in (2, 3, 4)]
        questions, recall = result[None, wording]
        assert questions == 6
        assert recall == pytest.approx(sum(recall for _, recall in single) / 3)
    assert (None, SubQuestionWording.STAND_ALONE) not in result


def test_independent_sub_questions_stand_alone_at_any_place(probe_index: tuple[Corpus, Names]) -> None:
    result = rows(probe_lost_in_retrieval(probe_index[0], dataset(LENGTHS), probe_index[1], k=1), "dense")
    assert set(result) == {
        (1, SubQuestionWording.STAND_ALONE),
        (2, SubQuestionWording.STAND_ALONE),
        (None, SubQuestionWording.STAND_ALONE),
    }


def test_places_are_split_by_whether_the_gold_title_is_named(probe_index: tuple[Corpus, Names]) -> None:
    unnamed = GoldStep("Who says so of #3?", "the song", "song")
    question = replace(CHAIN, decomposition=(*CHAIN.decomposition, unnamed), supporting=(*CHAIN.supporting, "song"))
    result = probe_lost_in_retrieval(probe_index[0], dataset(question), probe_index[1])
    counts = {
        label(row): row.questions
        for row in result.rows
        if row.retriever == "dense" and row.wording is SubQuestionWording.COMPLETED
    }
    assert (counts["later"], counts["later, title named"], counts["later, title not named"]) == (4, 3, 1)
    assert [row.named for row in result.rows if row.place == "1" and row.retriever == "dense"] == [None, True]


def test_more_passages_never_find_less(probe_index: tuple[Corpus, Names]) -> None:
    shallow = probe_lost_in_retrieval(probe_index[0], dataset(CHAIN), probe_index[1], k=1)
    deep = probe_lost_in_retrieval(probe_index[0], dataset(CHAIN), probe_index[1], k=len(PASSAGES))
    assert all(one.recall <= other.recall for one, other in zip(shallow.rows, deep.rows, strict=True))
    assert {row.recall for row in deep.rows if row.retriever == "dense"} == {1.0}


def test_questions_without_a_decomposition_are_counted_and_skipped(probe_index: tuple[Corpus, Names]) -> None:
    result = probe_lost_in_retrieval(probe_index[0], dataset(LONGER, CHAIN), probe_index[1])
    assert (result.questions, result.of) == (1, 2)
    with pytest.raises(UsageError, match="tiny has no question with a decomposition"):
        probe_lost_in_retrieval(probe_index[0], dataset(LONGER), probe_index[1])
    with pytest.raises(UsageError, match="at 1 or more passages, not 0"):
        probe_lost_in_retrieval(probe_index[0], dataset(CHAIN), probe_index[1], k=0)


def test_a_step_that_is_only_a_reference_is_allowed(probe_index: tuple[Corpus, Names]) -> None:
    bare = replace(CHAIN, decomposition=(CHAIN.decomposition[0], replace(CHAIN.decomposition[1], question="#1")))
    result = rows(probe_lost_in_retrieval(probe_index[0], dataset(bare), probe_index[1], k=1), "hybrid")
    assert result[2, SubQuestionWording.COMPLETED] == (1, 1.0)


def test_the_json_names_retriever_place_and_wording(probe_index: tuple[Corpus, Names]) -> None:
    content = json.loads(json.dumps(probe_lost_in_retrieval(probe_index[0], dataset(CHAIN), probe_index[1]).to_json()))
    assert {key: content[key] for key in ("data", "k", "questions", "of")} == {
        "data": "tiny",
        "k": 2,
        "questions": 1,
        "of": 1,
    }
    assert set(content["retrievers"]) == {"dense", "hybrid"}
    places = {"1", "1, title named", "2", "3", "4", "later", "later, title named"}
    assert set(content["retrievers"]["dense"]) == places
    assert set(content["retrievers"]["dense"]["2"]) == {"removed", "pointed", "completed"}
    assert content["retrievers"]["dense"]["1"]["stand-alone"]["questions"] == 1
    assert 0 <= content["retrievers"]["dense"]["1"]["stand-alone"]["recall@2"] <= 1


def test_a_languages_sub_questions_are_searched_for_in_their_own_passages(tmp_path: Path) -> None:
    """The second names nobody as decomposed, and Orla Finch as rewritten; questions that stay whole are left out."""
    bench = Bench(tmp_path)
    passages = PASSAGES | {"stranger": ("A person", "Nobody knows where this person was born.")}
    bench.write(
        "corpus.jsonl", [{"id": name, "title": title, "text": text} for name, (title, text) in passages.items()]
    )
    chain = replace(CHAIN, candidates=tuple(name for name in passages if name != "song"))
    bench.write("questions.jsonl", [asdict(chain), asdict(replace(LONGER, candidates=("river", "arrow")))])
    index = Index(bench.work / "index")
    index.encoder = bench.encoder
    contexts = Contexts(load_dataset(bench.data), (ORIGINAL, REWRITTEN), index, bench.work, Watcher())
    found = recall_in_own_contexts(contexts, open_performers("oracle", index), k=1)
    assert (found.questions, found.of) == (1, 2)
    assert found.first == found.rewritten == 25, "one of four gold passages"
    assert found.original == 0
    whole = replace(contexts, dataset=replace(contexts.dataset, questions=contexts.dataset.questions[1:]))
    with pytest.raises(UsageError, match="no question of tiny was decomposed"):
        recall_in_own_contexts(whole, open_performers("oracle", index))
