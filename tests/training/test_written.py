"""Written questions become examples on the texts that the reader will see: with the quote, and near it without."""

from __future__ import annotations

import json

import pytest
from training.examples import Example, Verdict
from training.written import FOLDER, written

ROTA = """# Rota

| Day | Keeper | Lamp oil |
|---|---|---|
| Monday | Ida Berg | 4 l |
| Tuesday | Bo Marsh | 6 l |

Dogs stay outside. In frost the keeper
sleeps in the tower.
"""
ROWS = (
    ("Who has the light on Tuesdays?", "span", "Bo Marsh", "| Tuesday | Bo Marsh | 6 l |"),
    ("where does the keeper sleep when it freezes", "span", "in the tower", "sleeps in the tower."),
    ("May I bring my dog in?", "no", "", "Dogs stay outside. In frost the keeper"),
    ("How much oil goes on Sundays?", "none", "", "| Tuesday | Bo Marsh | 6 l |"),
    ("Who brings the oil?", "span", "Cy Lunt", "Cy Lunt brings the oil."),
)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    world = tmp_path_factory.mktemp("written") / "light"
    documents = world / "documents"
    documents.mkdir(parents=True)
    (documents / "rota.md").write_text(ROTA, encoding="utf-8")
    (documents / "frost.txt").write_text("Oil and frost: on Tuesdays the keeper warms the lamp.\n", encoding="utf-8")
    keys = ("question", "kind", "answer", "quote")
    rows = [json.dumps({"file": "rota.md"} | dict(zip(keys, row, strict=True))) for row in ROWS]
    (world / "questions.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return list(written(world.parent))


def of(examples: list[Example], question: str) -> Example:
    return next(one for one in examples if one.question == question)


def test_an_answer_stands_where_its_quote_does(examples: list[Example]) -> None:
    row, line = of(examples, ROWS[0][0]), of(examples, ROWS[1][0])
    assert (row.answered, row.helps, row.answer, line.answer) == (True, True, "Bo Marsh", "in the tower")
    assert row.text[: row.start].endswith("Day: Tuesday; Keeper: ")


def test_rules_and_missing_answers_are_learned_too(examples: list[Example]) -> None:
    rule, missing = of(examples, ROWS[2][0]), of(examples, ROWS[3][0])
    assert (rule.verdict, rule.answered) == (Verdict.NO, None)
    assert (missing.answered, missing.helps) == (False, None)


def test_a_text_that_does_not_answer_stands_beside(examples: list[Example]) -> None:
    beside = [one for one in examples if one.question == ROWS[0][0]][1:]
    assert [one.answered for one in beside] == [False]
    assert "warms the lamp" in beside[0].text


def test_a_quote_that_no_text_has_makes_no_example(examples: list[Example]) -> None:
    assert all(one.question != ROWS[4][0] for one in examples)


@pytest.mark.parametrize("world", sorted(path.name for path in FOLDER.iterdir()))
def test_every_answer_stands_in_its_quote_and_every_quote_in_its_file(world: str) -> None:
    documents = FOLDER / world / "documents"
    lines = (FOLDER / world / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {path.name: path.read_text(encoding="utf-8") for path in documents.iterdir()}
    rows = [json.loads(line) for line in lines]
    assert all(row["answer"] in row["quote"] and row["quote"] in texts[row["file"]] for row in rows)
    assert {row["kind"] for row in rows} == {"span", "yes", "no", "none"}
