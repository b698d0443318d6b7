"""Scoring a file of answers from any system."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from hoptrail.errors import DataError
from hoptrail.evaluation.answer_scores import MISSED, AnswerScore, Rule
from hoptrail.evaluation.predictions import ScoreSummary, score_predictions, summarise_scores

WriteLines = Callable[[str, Iterable[object]], Path]


def test_lines_are_scored_in_order_and_other_keys_ignored(write_lines: WriteLines) -> None:
    path = write_lines(
        "predictions.jsonl",
        [
            {"prediction": "the Harbour", "answers": ["harbour"], "id": 7, "musique": {"em": 0}},
            "",
            {"prediction": None, "answers": ["harbour"]},
            {"prediction": "Old Harbour", "answers": ["Port", "Harbour"]},
        ],
    )

    scores = score_predictions(path, Rule.MUSIQUE)

    assert scores == [AnswerScore(1, 1, 1, 1), MISSED, AnswerScore(0, 2 / 3, 0.5, 1)]
    assert summarise_scores(scores) == ScoreSummary(3, 1 / 3, (1 + 2 / 3) / 3, 0.5, 2 / 3)


def test_the_given_rule_is_used(write_lines: WriteLines) -> None:
    path = write_lines("predictions.jsonl", [{"prediction": "yes, both", "answers": ["yes"]}])

    by_rule = {rule: (scores[0].em, scores[0].f1) for rule in Rule if (scores := score_predictions(path, rule))}

    overlap = pytest.approx(2 / 3)
    assert by_rule == {
        Rule.HOTPOTQA: (0, 0),
        Rule.TWO_WIKI: (0, 0),
        Rule.MUSIQUE: (0, overlap),
        Rule.COVER: (1, overlap),
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"answers": ["a"]}, 'no "prediction"'),
        ({"prediction": 7, "answers": ["a"]}, '"prediction" must be a text or null, not 7'),
        ({"prediction": ["a"], "answers": ["a"]}, '"prediction" must be a text or null'),
        ({"prediction": "a", "answer": "a"}, 'give "answers", not "answer": a list of texts'),
        ({"prediction": "a"}, 'give "answers": a list of texts'),
        ({"prediction": "a", "answers": "a"}, '"answers" must be a list of at least one text'),
        ({"prediction": "a", "answers": []}, '"answers" must be a list of at least one text'),
        ({"prediction": None, "answers": []}, '"answers" must be a list of at least one text'),
        ({"prediction": "a", "answers": ["a", 3]}, '"answers" must be a list of at least one text'),
        ({"prediction": "a", "answers": None}, '"answers" must be a list of at least one text'),
        ('{"prediction": "a", ', "not JSON"),
    ],
)
def test_a_line_that_is_not_as_documented_is_named(write_lines: WriteLines, line: object, message: str) -> None:
    path = write_lines("predictions.jsonl", [{"prediction": "a", "answers": ["a"]}, line])

    with pytest.raises(DataError) as caught:
        score_predictions(path, Rule.HOTPOTQA)

    assert str(caught.value).startswith(f"{path}, line 2: {message}")


def test_a_file_without_predictions_is_refused(write_lines: WriteLines) -> None:
    with pytest.raises(DataError, match="holds no predictions"):
        score_predictions(write_lines("predictions.jsonl", ["", ""]), Rule.HOTPOTQA)


def test_a_lone_surrogate_is_scored_like_any_character(write_lines: WriteLines) -> None:
    path = write_lines("predictions.jsonl", [r'{"prediction": "\ud83d", "answers": ["\ud83d"]}'])

    assert score_predictions(path, Rule.HOTPOTQA)[0].em == 1
