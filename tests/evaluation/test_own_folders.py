"""Folders of own documents: valid ones, and everything that can be wrong with one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluation.bench import WriteLines
from hoptrail.errors import DataError
from hoptrail.evaluation.datasets import Question, load_dataset

COST = {
    "id": "n1",
    "question": "what does the pump cost",
    "type": "one-hop",
    "answers": ["212 GBP"],
    "items": [],
    "documents": ["parts/pump.md"],
    "shows": ["Unit cost: 212 GBP"],
}
LIST = {"id": "n2", "question": "List all suppliers", "type": "list", "items": [["Halden", "HR"], ["Forth"]]}
UNKNOWN = {"id": "n3", "question": "Who earns what?", "type": "unanswerable", "answers": [], "shows": []}


@pytest.fixture
def notes(tmp_path: Path, write_lines: WriteLines) -> Path:
    folder = tmp_path / "notes"
    (folder / "documents" / "parts").mkdir(parents=True)
    (folder / "documents" / "parts" / "pump.md").write_text("Unit cost: 212 GBP\n", encoding="utf-8")
    (folder / "documents" / "stock.csv").write_text("part,stock\npump,3\n", encoding="utf-8")
    write_lines("notes/questions.jsonl", [COST, LIST, UNKNOWN])
    return folder


def test_questions_of_every_kind(notes: Path) -> None:
    data = load_dataset(notes)
    assert data.questions == (
        Question(
            "n1",
            "what does the pump cost",
            ("212 GBP",),
            "one-hop",
            supporting=("parts/pump.md",),
            shows=("Unit cost: 212 GBP",),
        ),
        Question("n2", "List all suppliers", (), "list", items=(("Halden", "HR"), ("Forth",))),
        Question("n3", "Who earns what?", (), "unanswerable"),
    )
    assert (data.name, data.corpus, data.passages, data.rule) == ("notes", notes / "documents", 2, None)
    assert [question.unanswerable for question in data.questions] == [False, False, True]


def test_further_passages_settle_too(notes: Path, write_lines: WriteLines) -> None:
    several = {"id": "n1", "document": "stock.csv", "shows": ["pump,3", "3"]}
    single = {"id": "n1", "document": "stock.csv", "shows": "part,stock"}
    write_lines("notes/also.jsonl", [several, single])
    assert load_dataset(notes).questions[0].shows == ("Unit cost: 212 GBP", "pump,3", "3", "part,stock")


def test_another_questions_file_may_leave_out_questions_of_further_passages(
    notes: Path, write_lines: WriteLines
) -> None:
    write_lines("notes/also.jsonl", [{"id": "n1", "document": "stock.csv", "shows": ["pump,3"]}])
    other = write_lines("other.jsonl", [LIST])
    assert [question.id for question in load_dataset(notes, other).questions] == ["n2"]


def test_a_folder_with_a_corpus_is_a_data_set(notes: Path, write_lines: WriteLines) -> None:
    write_lines("notes/corpus.jsonl", [{"id": "p", "title": "Pump", "text": "Pumps pump."}])
    write_lines("notes/questions.jsonl", [{"id": "q", "question": "What pumps?", "answers": ["pumps"]}])
    assert load_dataset(notes).rule is not None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (COST | {"id": ""}, "id and question must not be empty"),
        (COST | {"type": None}, "type: Input should be a valid string"),
        (COST | {"answers": []}, "question n1 has neither answers nor items"),
        (COST | {"answers": [" "]}, "question n1 has an empty answer"),
        (COST | {"items": [[]]}, "question n1 has an empty answer, item"),
        (COST | {"items": ["pump"]}, "items.0: Input should be a valid tuple"),
        (COST | {"shows": [""]}, "question n1 has an empty answer, item or string"),
        (COST | {"documents": ["pump.md"]}, "question n1 names pump.md, which"),
        (UNKNOWN | {"answers": ["nothing"]}, "question n3 is unanswerable, so"),
    ],
)
def test_a_question_not_as_documented_is_named(
    notes: Path, write_lines: WriteLines, row: dict[str, Any], message: str
) -> None:
    path = write_lines("notes/questions.jsonl", [LIST, row])
    with pytest.raises(DataError) as caught:
        load_dataset(notes)
    assert str(caught.value).startswith(f"{path}, line 2: {message}")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "n9", "document": "stock.csv", "shows": "pump"}, "there is no question n9"),
        ({"id": "n1", "document": "none.csv", "shows": "pump"}, "there is no document none.csv"),
        ({"id": "n1", "shows": "pump"}, "document: Field required"),
    ],
)
def test_a_further_passage_not_as_documented_is_named(
    notes: Path, write_lines: WriteLines, row: dict[str, Any], message: str
) -> None:
    path = write_lines("notes/also.jsonl", [row])
    with pytest.raises(DataError, match=f"{path}, line 1: {message}"):
        load_dataset(notes)


def test_missing_files_are_reported(tmp_path: Path, write_lines: WriteLines) -> None:
    with pytest.raises(DataError, match=r"has neither corpus\.jsonl of a data set nor a folder documents/"):
        load_dataset(tmp_path)
    (tmp_path / "documents").mkdir()
    with pytest.raises(DataError, match="documents holds no files"):
        load_dataset(tmp_path)
    (tmp_path / "documents" / "a.md").write_text("A.", encoding="utf-8")
    with pytest.raises(DataError, match=r"has none of questions\.dev\.jsonl"):
        load_dataset(tmp_path)
    write_lines("questions.jsonl", [])
    with pytest.raises(DataError, match="holds no questions"):
        load_dataset(tmp_path)
