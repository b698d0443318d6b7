"""Sides of comparisons: what the reader learns to read for each, and from which statements."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from training.compared import learned, of_passages, of_row, of_steps
from training.question_rows import compared
from training.sources import MultiHop

ROW: dict[str, Any] = {
    "pieces": [
        {"title": "Boats", "headings": "Moored", "lines": ["Gull; built 1901; of Ida Berg", "Tern; built 1912"]},
        {"title": "Owners", "headings": "", "lines": ["Ida Berg was born in 1850.", "Bo Marsh came in 1862."]},
    ],
    "question": "Which has the older owner, {{Gull}} or {{Tern}}?",
    "rule": "less",
    "sides": [{"lines": ["0.0", "1.0"], "value": "1850"}, {"lines": []}],
}


def passage(title: str, text: str) -> dict[str, Any]:
    return {"title": title, "text": text, "sentences": [text]}


def test_each_side_has_its_own_question_and_statements() -> None:
    gull, tern = of_row(ROW)
    assert (gull.question, tern.question) == ("Which has the older owner, Gull?", "Which has the older owner, Tern?")
    assert gull.text == ("Boats\nMoored\nGull; built 1901; of Ida Berg", "Owners\nIda Berg was born in 1850.")
    assert tern.text is None
    assert tern.others[0] == "Owners\nIda Berg was born in 1850."  # the other side's comes first
    answers = [one for one in gull.examples(random.Random(1)) if one.answered]
    assert [(one.answer, one.before) for one in answers] == [("1850", "Boats\nMoored\nGull; built 1901; of Ida Berg")]
    assert not any(one.answered for one in tern.examples(random.Random(1)))
    assert tern.ranked(random.Random(1))[0] == ("", "Owners\nIda Berg was born in 1850.")


def test_steps_with_answers_lead_from_a_side_to_its_value() -> None:
    passages = {
        "g": passage("Gull (boat)", "Gull is a boat drawn by Ida Berg."),
        "t": passage("Tern", "Tern is a boat drawn by Bo Marsh."),
        "i": passage("Ida Berg", "Ida Berg (1850 to 1900) drew boats."),
        "b": passage("Bo Marsh", "Bo Marsh (1862 to 1920) drew boats."),
    }
    steps = [
        {"question": "Who drew Gull?", "answer": "Ida Berg"},
        {"question": "Who drew Tern?", "answer": "Bo Marsh"},
        {"question": "When was Ida Berg born?", "answer": "1850"},
        {"question": "When was Bo Marsh born?", "answer": "1862"},
    ]
    row = {
        "question": "Whose designer is older, Gull or Tern?",
        "type": "bridge_comparison",
        "supporting": list(passages),
        "supporting_sentences": [(one, 0) for one in passages],
        "decomposition": steps,
    }
    gull, tern = of_steps(MultiHop("made", (row,), passages))
    assert (gull.question, gull.value, tern.value) == ("Whose designer is older, Gull?", "1850", "1862")
    assert gull.text is not None
    assert [text.partition("\n")[0] for text in gull.text] == ["Gull (boat)", "Ida Berg"]


def test_what_passages_state_in_a_fixed_form_is_asked_of_a_side() -> None:
    passages = {
        "g": passage("Gull (film)", "Gull is a 1934 Danish film directed by Ida Berg."),
        "i": passage("Ida Berg", "Ida Berg (3 May 1850 – 9 June 1921) was a Danish director."),
    }
    sides = [side for seed in range(20) for side in of_passages(MultiHop("made", (), passages), seed)]
    assert all(side.text is not None and side.value in side.text[1] for side in sides)
    led = {side.value for side in sides if side.text and side.text[0]}
    assert led == {"3 May 1850", "9 June 1921", "Danish"}
    assert {side.value for side in sides} - led == {"3 May 1850 – 9 June 1921", "1934"}
    assert any(side.question == "Which film whose director is younger, Gull?" for side in sides)


def test_the_rows_are_as_their_format_says() -> None:
    sides = learned()
    assert len(sides) > 6000
    assert all(one.text is None or one.value in one.text[1] for one in sides)
    assert sum(one.text is None for one in sides) > 500


def test_the_tagger_learns_both_sides_one_and_none(tmp_path: Path) -> None:
    for name in ("2wiki_train", "hotpotqa_train"):
        (tmp_path / name).mkdir()
        rows = {"corpus": [{"id": "g", **passage("Gull", "A boat.")}, {"id": "t", **passage("Tern", "A boat.")}]}
        rows["questions"] = [{"question": "Are Gull and Tern boats?", "type": "comparison", "supporting": ["g", "t"]}]
        for file, lines in rows.items():
            (tmp_path / name / f"{file}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    found = compared(tmp_path)
    assert {len(one.sides) for one in found if one.sides is not None} >= {0, 1, 2}
    assert all(one.text for one in found if one.sides is None)
    told = [one for one in found if one.message == "Are Gull and Tern boats?"]
    assert {tuple(one.message[slice(*side)] for side in one.sides or ()) for one in told} == {("Gull", "Tern")}
    assert any(one.message == "Are Tern and Gull boats?" for one in found)  # other titles in their places
