"""Choices for the ranker: the statement of the quote, and close ones that cannot settle the question as well."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from training.statements import choices_in_paragraphs, choices_of

from world import HashingEncoder

RULES = """# Rules

Dogs stay outside the tower. The keeper sleeps in the tower when it freezes.

| Day | Keeper |
|---|---|
| Monday | Ida Berg |
| Tuesday | Bo Marsh |
| Friday | Bo Marsh |
"""


def test_each_question_has_its_statement_and_the_closest_others(tmp_path: Path) -> None:
    world = tmp_path / "light"
    (world / "documents").mkdir(parents=True)
    (world / "documents" / "rules.md").write_text(RULES, encoding="utf-8")
    keys = ("question", "kind", "answer", "quote", "file")
    rows = (
        ("Who keeps the light on Tuesday?", "span", "Bo Marsh", "| Tuesday | Bo Marsh |", "rules.md"),
        ("Where are the dogs?", "none", "", "Dogs stay outside the tower.", "rules.md"),
        ("Who sings?", "span", "Cy", "Cy sings.", "rules.md"),
    )
    lines = [json.dumps(dict(zip(keys, row, strict=True))) for row in rows]
    (world / "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    keeper, dogs = choices_of(world)

    assert keeper.settling is not None
    assert "Tuesday" in keeper.settling
    assert any("Monday" in one for one in keeper.others)
    assert not any("Marsh" in one for one in keeper.others)  # who keeps it on Friday may settle the question as well
    assert dogs.settling is None
    assert "Dogs stay outside" in dogs.others[0]


def test_sentences_of_other_paragraphs_are_among_the_others(tmp_path: Path) -> None:
    texts = ["The pier was built in 1871. It is long.", "The pier of Skarn was painted. Nobody knows when."]
    row = {"source": "squad", "question": "When was the pier built?", "text": texts[0], "answer": "1871", "start": 22}
    other = {"source": "squad", "question": "What was painted?", "text": texts[1], "answer": "The pier", "start": 0}
    (tmp_path / "reading_train").mkdir()
    with gzip.open(tmp_path / "reading_train" / "spans.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in (row, other))

    built = next(one for one in choices_in_paragraphs(HashingEncoder(), 0, tmp_path) if one.question == row["question"])

    assert built.settling == "The pier was built in 1871."
    assert set(built.others) == {"It is long.", "The pier of Skarn was painted.", "Nobody knows when."}
