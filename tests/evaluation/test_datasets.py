"""Evaluation folders: a small valid one, and everything that can be wrong with one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.bench import WriteLines
from hoptrail.errors import DataError, UsageError
from hoptrail.evaluation.answer_scores import MISSED, AnswerScore, Rule
from hoptrail.evaluation.datasets import GoldStep, Question, load_dataset, score_question

CORPUS = [
    {"id": "p1", "title": "Harbour", "text": "The harbour was built by Maja Lindqvist."},
    {"id": "p2", "title": "Maja Lindqvist", "text": "Maja Lindqvist was born in Visby.", "sentences": ["..."]},
    {"id": "p3", "title": "Visby", "text": "Visby is a town."},
]
FULL = {
    "id": "q1",
    "question": "Where was the builder of the harbour born?",
    "answers": ["Visby", "Wisby"],
    "type": "bridge",
    "supporting": ["p1", "p2"],
    "supporting_sentences": [["p1", 0], ["p2", 0]],
    "decomposition": [
        {"question": "Who built the harbour?", "answer": "Maja Lindqvist", "supporting": "p1"},
        {"question": "Where was #1 born?", "answer": None, "supporting": None},
        {"question": "Where is #2?", "answer": "", "supporting": ""},
    ],
    "candidates": ["p3", "p2", "p1"],
    "setting": "distractor",
}
LEAN = {"id": "q2", "question": "Is Visby a town?", "answers": ["yes"]}


@pytest.fixture
def world(write_lines: WriteLines) -> Path:
    write_lines("world/corpus.jsonl", CORPUS)
    return write_lines("world/questions.jsonl", [FULL, LEAN]).parent


def test_a_full_and_a_lean_question(world: Path) -> None:
    dataset = load_dataset(world)

    full = Question(
        id="q1",
        question="Where was the builder of the harbour born?",
        answers=("Visby", "Wisby"),
        type="bridge",
        supporting=("p1", "p2"),
        supporting_sentences=(("p1", 0), ("p2", 0)),
        decomposition=(
            GoldStep("Who built the harbour?", "Maja Lindqvist", "p1"),
            GoldStep("Where was #1 born?", None, None),
            GoldStep("Where is #2?", "", ""),
        ),
        candidates=("p3", "p2", "p1"),
    )
    assert dataset.questions == (full, Question("q2", "Is Visby a town?", ("yes",)))
    assert (dataset.name, dataset.corpus, dataset.passages) == ("world", world / "corpus.jsonl", 3)
    assert dataset.rule is Rule.HOTPOTQA


def test_a_lone_surrogate_is_kept(world: Path, write_lines: WriteLines) -> None:
    write_lines("world/questions.jsonl", [LEAN | {"question": "What is \ud83d?"}])

    assert load_dataset(world).questions[0].question == "What is \ud83d?"


def test_hops_are_distinct_supporting_passages(world: Path) -> None:
    assert [question.hops for question in load_dataset(world).questions] == [2, 0]
    assert Question("q", "?", ("a",), supporting=("p1", "p1", "p2")).hops == 2


def test_the_development_questions_come_first_then_the_explicit_file(world: Path, write_lines: WriteLines) -> None:
    write_lines("world/questions.dev.jsonl", [{**LEAN, "id": "development"}])
    explicit = write_lines("elsewhere.jsonl", [{**LEAN, "id": "explicit"}])

    assert [question.id for question in load_dataset(world).questions] == ["development"]
    assert [question.id for question in load_dataset(world, questions=explicit).questions] == ["explicit"]


def test_gzipped_files_are_read(tmp_path: Path) -> None:
    for name, rows in (("corpus.jsonl.gz", CORPUS), ("questions.dev.jsonl.gz", [FULL])):
        (tmp_path / name).write_bytes(gzip.compress("\n".join(json.dumps(row) for row in rows).encode()))

    dataset = load_dataset(tmp_path)

    assert dataset.corpus == tmp_path / "corpus.jsonl.gz"
    assert (dataset.passages, len(dataset.questions)) == (3, 1)


@pytest.mark.parametrize(
    ("limit", "expected"), [(1, ["q1"]), (2, ["q1", "q2"]), (100, ["q1", "q2"]), (None, ["q1", "q2"])]
)
def test_a_limit_keeps_the_first(world: Path, limit: int | None, expected: list[str]) -> None:
    assert [question.id for question in load_dataset(world, limit=limit).questions] == expected


def test_a_limit_below_one_is_refused(world: Path) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        load_dataset(world, limit=0)


def test_questions_beyond_the_limit_are_checked(world: Path, write_lines: WriteLines) -> None:
    write_lines("world/questions.jsonl", [LEAN, LEAN])

    with pytest.raises(DataError, match="occurs twice"):
        load_dataset(world, limit=1)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("hotpotqa", Rule.HOTPOTQA),
        ("2wiki", Rule.TWO_WIKI),
        ("2wiki_context", Rule.TWO_WIKI),
        ("musique", Rule.MUSIQUE),
        ("musique_train", Rule.MUSIQUE),
        ("multihoprag", Rule.HOTPOTQA),
        ("my musique", Rule.HOTPOTQA),
    ],
)
def test_the_rule_follows_the_folders_name(
    write_lines: WriteLines, monkeypatch: pytest.MonkeyPatch, name: str, rule: Rule
) -> None:
    write_lines(f"{name}/corpus.jsonl", CORPUS)
    folder = write_lines(f"{name}/questions.jsonl", [FULL]).parent

    assert load_dataset(folder).rule is rule
    monkeypatch.chdir(folder)
    assert (load_dataset(Path()).rule, load_dataset(Path()).name) == (rule, name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": 7}, "id: Input should be a valid string"),
        ({"id": ""}, "id and question must not be empty"),
        ({"question": " "}, "id and question must not be empty"),
        ({"question": None}, "question: Input should be a valid string"),
        ({"answers": []}, "question q1 has no answers"),
        ({"answers": "Visby"}, "answers: Input should be a valid tuple"),
        ({"answers": [True]}, "answers.0: Input should be a valid string"),
        ({"supporting": None}, "supporting: Input should be a valid tuple"),
        ({"supporting": ["p9"]}, "question q1 names passage p9, which"),
        ({"candidates": ["p9"]}, "question q1 names passage p9, which"),
        ({"supporting_sentences": [["p9", 0]]}, "question q1 names passage p9, which"),
        ({"supporting_sentences": [["p1"]]}, "supporting_sentences.0"),
        ({"supporting_sentences": [["p1", "first"]]}, "supporting_sentences.0.1: Input should be a valid integer"),
        ({"decomposition": [{"question": "?", "supporting": "p9"}]}, "question q1 names passage p9, which"),
        ({"decomposition": [{"answer": "no question"}]}, "decomposition.0.question: Field required"),
    ],
)
def test_a_question_not_as_documented_is_named(
    world: Path, write_lines: WriteLines, change: dict[str, Any], message: str
) -> None:
    path = write_lines("world/questions.jsonl", [LEAN, "", FULL | change])

    with pytest.raises(DataError) as caught:
        load_dataset(world)

    assert str(caught.value).startswith(f"{path}, line 3: {message}")


@pytest.mark.parametrize("key", ["id", "question", "answers"])
def test_a_question_needs_its_keys(world: Path, write_lines: WriteLines, key: str) -> None:
    write_lines("world/questions.jsonl", [{name: value for name, value in FULL.items() if name != key}])

    with pytest.raises(DataError, match=f"line 1: {key}: Field required"):
        load_dataset(world)


def test_a_repeated_question_is_refused(world: Path, write_lines: WriteLines) -> None:
    write_lines("world/questions.jsonl", [LEAN, FULL, LEAN])

    with pytest.raises(DataError, match="line 3: question id q2 occurs twice"):
        load_dataset(world)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*CORPUS, CORPUS[0]], "line 4: passage id p1 occurs twice"),
        ([*CORPUS, {"title": "no id"}], "line 4: a passage needs an id .*, not None"),
        ([*CORPUS, {"id": 7}], "line 4: a passage needs an id .*, not 7"),
        ([*CORPUS, "{"], "line 4: not JSON"),
        ([], "holds no passages"),
    ],
)
def test_a_corpus_not_as_documented_is_named(
    world: Path, write_lines: WriteLines, rows: list[object], message: str
) -> None:
    write_lines("world/corpus.jsonl", rows)

    with pytest.raises(DataError, match=rf"corpus\.jsonl.* {message}"):
        load_dataset(world)


def test_missing_files_are_named(tmp_path: Path, write_lines: WriteLines) -> None:
    with pytest.raises(DataError, match="none is not a folder"):
        load_dataset(tmp_path / "none")
    write_lines("corpus.jsonl", CORPUS)
    with pytest.raises(DataError, match=r"has none of questions\.dev\.jsonl"):
        load_dataset(tmp_path)
    with pytest.raises(DataError, match=r"mine\.jsonl cannot be read"):
        load_dataset(tmp_path, questions=tmp_path / "mine.jsonl")
    write_lines("questions.jsonl", [])
    with pytest.raises(DataError, match="holds no questions"):
        load_dataset(tmp_path)


def test_abstaining_is_right_only_for_unanswerable_questions() -> None:
    null = Question("q", "Which letter?", ("Insufficient information.",), type="null_query")
    plain = Question("q", "Which letter?", ("Insufficient information.",), type="inference_query")
    perfect = AnswerScore(1, 1, 1, 1)

    assert score_question(null, None, Rule.HOTPOTQA) == perfect
    assert score_question(plain, None, Rule.HOTPOTQA) == MISSED
    assert score_question(null, "insufficient information", Rule.HOTPOTQA) == perfect
    assert score_question(null, "the letter B", Rule.HOTPOTQA) == MISSED
    assert (null.unanswerable, plain.unanswerable) == (True, False)
