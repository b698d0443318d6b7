"""Yes or no, STR-EM, Disambig-F1, ROUGE-L and DR: by hand, and against a second implementation."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from hoptrail.errors import UsageError
from hoptrail.evaluation.long_answers import (
    Disambiguation,
    disambiguation_f1,
    disambiguation_rouge,
    rouge_l,
    string_em,
    yes_no_accuracy,
)

READINGS = (
    Disambiguation("Which river flows through Wrenmouth?", ("the Isk", "River Isk")),
    Disambiguation("Which river flows through Lindeth?", ("Arrow",)),
)


@pytest.mark.parametrize(
    ("prediction", "gold", "value"),
    [
        ("Yes.", "yes", 1),
        ("No, it is not.", "no", 1),
        ("Not yes", "yes", 0),
        ("Norway", "no", 0),
        ("", "no", 0),
        (None, "no", 0),
    ],
)
def test_yes_and_no(prediction: str | None, gold: str, value: float) -> None:
    assert yes_no_accuracy(prediction, gold) == value


def test_string_em() -> None:
    assert string_em("The Isk flows through Wrenmouth, the Arrow through Lindeth.", READINGS) == 1.0
    assert string_em("It is the Isk.", READINGS) == 0.5
    assert string_em("The risk of arrowroot.", READINGS) == string_em(None, READINGS) == 0.0


def test_disambiguation_f1_reads_every_question_from_the_answer_alone() -> None:
    def read(question: str, text: str) -> str | None:
        assert text == "long"
        return "the river Isk" if "Wrenmouth" in question else None

    assert disambiguation_f1("long", READINGS, read) == pytest.approx(1.0 / 2)
    assert disambiguation_f1(None, READINGS, read) == 0.0
    assert disambiguation_rouge(0.25, 0.64) == pytest.approx(0.4)


def test_rouge_l_by_hand() -> None:
    assert rouge_l("police killed the gunman", ["gunman was killed by police"]) == pytest.approx(2 * 1 / (3 + 5))
    assert rouge_l("police killed the gunman", ["x", "the police killed a gunman"]) == 1.0
    assert rouge_l(None, ["x"]) == rouge_l("", [""]) == 0.0


def test_rouge_l_against_all_subsequences() -> None:
    draw = random.Random(0)
    for _ in range(60):
        one, other = (draw.choices("wxyz", k=draw.randint(1, 7)) for _ in range(2))
        subsequences = {part for size in range(1, len(one) + 1) for part in combinations(one, size)}
        common = max((len(part) for part in subsequences if _is_subsequence(part, other)), default=0)
        expected = 2 * common / (len(one) + len(other))
        assert rouge_l(" ".join(one), [" ".join(other)]) == pytest.approx(expected)


def _is_subsequence(part: tuple[str, ...], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(word in rest for word in part)


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(UsageError, match="yes or no"):
        yes_no_accuracy("yes", "perhaps")
    with pytest.raises(UsageError, match="at least one reading"):
        string_em("x", ())
    with pytest.raises(UsageError, match="at least one reference"):
        rouge_l("x", [])
