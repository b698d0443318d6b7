"""Answer scores: a table of values by the official rules, and a second implementation of the rules."""

from __future__ import annotations

import itertools
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.bench import WriteLines
from hoptrail.errors import DataError, UsageError
from hoptrail.evaluation.answer_scores import (
    MISSED,
    AnswerScore,
    Rule,
    Share,
    mean,
    mean_interval,
    mean_score,
    normalise,
    score_answer,
    score_predictions,
)

PERFECT = AnswerScore(1.0, 1.0, 1.0, 1.0)
ALL_RULES = list(Rule)
OFFICIAL_RULES = [Rule.HOTPOTQA, Rule.TWO_WIKI, Rule.MUSIQUE]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the A-Team", "ateam"),
        ("6 a.m.", "6 am"),
        ("1989–1990", "1989–1990"),
        ("1989-1990", "19891990"),
        ("A", ""),
        ("The An A", ""),
        ("“quoted”", "“quoted”"),
        ("it's", "its"),
        ("  many \t spaces\u00a0here ", "many spaces here"),
        ("Theatre and another anthem", "theatre and another anthem"),
        ("a\u0301", "\u0301"),  # a combining accent ends the word, so the letter before it is an article
        ("ÀÉÎ", "àéî"),
        ("vitamin-a", "vitamina"),
        ("plan a", "plan"),
        ("", ""),
    ],
)
def test_normalisation(text: str, expected: str) -> None:
    assert normalise(text) == expected


HALF = AnswerScore(0.0, 2 / 3, 1.0, 0.5)
VECTORS: list[tuple[str, list[str], dict[Rule, AnswerScore]]] = [
    # One gold answer, plain agreement and plain overlap: all official rules alike.
    ("ateam", ["the A-Team"], dict.fromkeys(ALL_RULES, PERFECT)),
    ("Lindqvist", ["Maja Lindqvist"], dict.fromkeys(ALL_RULES, HALF)),
    ("Lindqvist Maja", ["Maja Lindqvist"], dict.fromkeys(ALL_RULES, AnswerScore(0.0, 1.0, 1.0, 1.0))),
    ("1989-1990", ["1989–1990"], dict.fromkeys(ALL_RULES, MISSED)),
    # Repeated tokens count as often as both sides have them.
    ("duran duran", ["duran duran duran"], dict.fromkeys(ALL_RULES, AnswerScore(0.0, 0.8, 1.0, 2 / 3))),
    # Further words around the answer: cover match holds.
    (
        "It was Maja Lindqvist, probably",
        ["Maja Lindqvist"],
        dict.fromkeys(OFFICIAL_RULES, AnswerScore(0.0, 4 / 7, 0.4, 1.0))
        | {Rule.COVER: AnswerScore(1.0, 4 / 7, 0.4, 1.0)},
    ),
    # Yes and no: HotpotQA and 2Wiki give no credit for overlap, MuSiQue does.
    (
        "yes, both",
        ["yes"],
        {
            Rule.HOTPOTQA: MISSED,
            Rule.TWO_WIKI: MISSED,
            Rule.MUSIQUE: AnswerScore(0.0, 2 / 3, 0.5, 1.0),
            Rule.COVER: AnswerScore(1.0, 2 / 3, 0.5, 1.0),
        },
    ),
    (
        "no",
        ["no country for old men"],
        {
            Rule.HOTPOTQA: MISSED,
            Rule.TWO_WIKI: MISSED,
            Rule.MUSIQUE: AnswerScore(0.0, 1 / 3, 1.0, 0.2),
            Rule.COVER: AnswerScore(0.0, 1 / 3, 1.0, 0.2),
        },
    ),
    ("YES!", ["yes"], dict.fromkeys(ALL_RULES, PERFECT)),
    ("noanswer", ["noanswer"], dict.fromkeys(ALL_RULES, PERFECT)),
    # "no" inside other words is no cover.
    ("Norway, not known", ["no"], dict.fromkeys(ALL_RULES, MISSED)),
    # Aliases: HotpotQA sees the first only.
    ("NYC", ["New York City", "NYC"], dict.fromkeys(ALL_RULES, PERFECT) | {Rule.HOTPOTQA: MISSED}),
    # Each value is the best on its own: precision from the first alias, recall from the second.
    (
        "red green",
        ["red green blue black", "red"],
        {
            Rule.HOTPOTQA: AnswerScore(0.0, 2 / 3, 1.0, 0.5),
            Rule.TWO_WIKI: AnswerScore(0.0, 2 / 3, 1.0, 1.0),
            Rule.MUSIQUE: AnswerScore(0.0, 2 / 3, 1.0, 1.0),
            Rule.COVER: AnswerScore(1.0, 2 / 3, 1.0, 1.0),
        },
    ),
    # The yes/no rule holds per alias: one that is not yes or no can still overlap.
    (
        "yes sir",
        ["yes", "yes sir no sir"],
        {
            Rule.HOTPOTQA: MISSED,
            Rule.TWO_WIKI: AnswerScore(0.0, 2 / 3, 1.0, 0.5),
            Rule.MUSIQUE: AnswerScore(0.0, 2 / 3, 1.0, 1.0),
            Rule.COVER: AnswerScore(1.0, 2 / 3, 1.0, 1.0),
        },
    ),
    # Both sides normalise to nothing.
    (
        "the",
        ["A"],
        {
            Rule.HOTPOTQA: AnswerScore(1.0, 0.0, 0.0, 0.0),
            Rule.TWO_WIKI: AnswerScore(1.0, 0.0, 0.0, 0.0),
            Rule.MUSIQUE: PERFECT,
            Rule.COVER: PERFECT,
        },
    ),
    # One side does.
    ("", ["Oslo"], dict.fromkeys(ALL_RULES, MISSED)),
    ("Oslo", ["!"], dict.fromkeys(ALL_RULES, MISSED)),
]


@pytest.mark.parametrize(
    ("prediction", "answers", "rule", "expected"),
    [(prediction, answers, rule, by_rule[rule]) for prediction, answers, by_rule in VECTORS for rule in ALL_RULES],
)
def test_each_rule(prediction: str, answers: list[str], rule: Rule, expected: AnswerScore) -> None:
    score = score_answer(prediction, answers, rule)

    assert (score.em, score.precision, score.recall) == (expected.em, expected.precision, expected.recall)
    assert score.f1 == pytest.approx(expected.f1, abs=1e-15)


@pytest.mark.parametrize("rule", ALL_RULES)
def test_an_abstention_scores_zero_and_nothing_is_scored_without_a_gold_answer(rule: Rule) -> None:
    assert score_answer(None, ["the"], rule) == MISSED, "even if the gold answer is empty"
    with pytest.raises(UsageError, match="gold answer"):
        score_answer(None, [], rule)


@pytest.mark.parametrize(
    ("prediction", "answer", "covered"),
    [
        ("the city of new york, usa", "New York", True),
        ("new old york", "New York", False),
        ("york new", "New York", False),
        ("New Yorker", "New York", False),
        ("new new york", "New York", True),
        ("york", "New York", False),
        ("anything", "the", False),
    ],
)
def test_cover_needs_the_gold_tokens_next_to_each_other(prediction: str, answer: str, covered: bool) -> None:
    assert score_answer(prediction, [answer], Rule.COVER).em == covered


# The rules once more, character by character and pair by pair, without regular expressions, counters or a shared table.


def reference_words(text: str) -> list[str]:
    letters = "".join(character for character in text.lower() if character not in string.punctuation)
    runs = ["".join(run) for _, run in itertools.groupby(letters, key=lambda character: character.isalnum())]
    return "".join(" " if run in ("a", "an", "the") else run for run in runs).split()


def reference_overlap(predicted: list[str], gold: list[str]) -> tuple[float, float, float]:
    remaining = list(gold)
    shared = 0
    for word in predicted:
        if word in remaining:
            remaining.remove(word)
            shared += 1
    if not shared:
        return (0.0, 0.0, 0.0)
    precision, recall = shared / len(predicted), shared / len(gold)
    return ((2 * precision * recall) / (precision + recall), precision, recall)


def reference_pair(prediction: str, gold: str, rule: Rule) -> tuple[float, float, float, float]:
    predicted, wanted = reference_words(prediction), reference_words(gold)
    equal = predicted == wanted
    if rule is Rule.COVER:
        padded = f" {' '.join(predicted)} "
        matched = f" {' '.join(wanted)} " in padded if wanted else equal
    else:
        matched = equal
    if rule in (Rule.HOTPOTQA, Rule.TWO_WIKI):
        if not equal and any(side in (["yes"], ["no"], ["noanswer"]) for side in (predicted, wanted)):
            return (float(matched), 0.0, 0.0, 0.0)
    elif not predicted or not wanted:
        return (float(matched), float(equal), float(equal), float(equal))
    return (float(matched), *reference_overlap(predicted, wanted))


def reference_score(prediction: str, answers: list[str], rule: Rule) -> AnswerScore:
    golds = [answers[0]] if rule is Rule.HOTPOTQA else answers
    columns = list(zip(*(reference_pair(prediction, gold, rule) for gold in golds), strict=True))
    return AnswerScore(*(max(column) for column in columns))


WORDS = st.sampled_from([
    "yes", "no", "noanswer", "not", "Norway", "the", "A", "an", "The-", "red", "Red", "green", "green!", "6", "a.m.",
    "–", "", " ",
])  # fmt: skip
ANSWERS = st.lists(WORDS, max_size=5).map(" ".join) | st.text("aAnthe -'yno.6é–“\u0301İ\u00a0", max_size=12)


@pytest.mark.parametrize("rule", ALL_RULES)
@given(prediction=ANSWERS, answers=st.lists(ANSWERS, min_size=1, max_size=4))
def test_equal_to_a_second_implementation_of_the_rules(rule: Rule, prediction: str, answers: list[str]) -> None:
    assert score_answer(prediction, answers, rule) == reference_score(prediction, answers, rule)


def test_means_are_unrounded_and_count_missing_answers() -> None:
    scores = [PERFECT, MISSED, AnswerScore(0.0, 1 / 3, 1.0, 0.2)]

    assert mean_score(scores) == AnswerScore(1 / 3, (1 + 1 / 3) / 3, 2 / 3, 1.2 / 3)


def test_a_mean_does_not_depend_on_the_order() -> None:
    values = [0.1, 1e-17, 0.7, 1 / 3, 0.1]
    assert {mean(order) for order in itertools.permutations(values)} == {mean(values)}
    assert mean_score([]) == MISSED


def test_an_interval_is_the_same_for_the_same_seed() -> None:
    values = np.random.default_rng(1).random(50).tolist()

    assert mean_interval(values, seed=7) == mean_interval(values, seed=7)
    assert mean_interval(values, seed=7) != mean_interval(values, seed=8)


def test_the_width_of_an_interval_agrees_with_theory() -> None:
    interval = mean_interval([1.0] * 300 + [0.0] * 700, seed=7)

    # The normal approximation: 0.3 -+ 1.96 * sqrt(0.3 * 0.7 / 1000) = 0.2716 to 0.3284.
    assert interval.low == pytest.approx(0.2716, abs=0.0025)
    assert interval.high == pytest.approx(0.3284, abs=0.0025)


def test_an_interval_covers_the_true_mean_at_its_level() -> None:
    samples = np.random.default_rng(3).random((60, 80)) < 0.4
    intervals = [mean_interval(sample.astype(float).tolist(), seed=number) for number, sample in enumerate(samples)]

    covered = sum(interval.low <= 0.4 <= interval.high for interval in intervals)

    # 57 of 60 expected; with a coverage of 95 %, fewer than 51 has a chance of about 1 in 1,000.
    assert covered >= 51


def test_an_interval_of_equal_values_is_a_point_and_of_nothing_is_refused() -> None:
    interval = mean_interval([0.5, 0.5, 0.5], seed=0)

    assert (interval.low, interval.high) == (0.5, 0.5)
    with pytest.raises(UsageError, match="at least one value"):
        mean_interval([], seed=0)


# --- shares


def test_wilsons_interval_by_hand() -> None:
    """Of 8 among 10: (8 + z²/2 ± z √(8·2/10 + z²/4)) / (10 + z²) with z = 1.95996."""
    found = Share(8, 10).interval
    assert (found.low, found.high) == pytest.approx((0.49016, 0.94332), abs=1e-5)


@pytest.mark.parametrize(("count", "low", "high"), [(0, 0.0, 0.2775), (10, 0.7225, 1.0)])
def test_a_share_of_none_or_all_is_not_certain(count: int, low: float, high: float) -> None:
    found = Share(count, 10).interval
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)
    with pytest.raises(UsageError, match="at least one"):
        _ = Share(0, 0).interval


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
    assert mean_score(scores) == AnswerScore(1 / 3, (1 + 2 / 3) / 3, 0.5, 2 / 3)


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
        ({"answers": ["a"]}, "prediction: Field required"),
        ({"prediction": 7, "answers": ["a"]}, "prediction: Input should be a valid string"),
        ({"prediction": "a", "answer": "a"}, "answers: Field required"),
        ({"prediction": "a", "answers": "a"}, "answers: Input should be a valid tuple"),
        ({"prediction": None, "answers": []}, "answers: give at least one text"),
        ({"prediction": "a", "answers": ["a", 3]}, "answers.1: Input should be a valid string"),
        ('{"prediction": "a", ', "not JSON"),
    ],
)
def test_a_line_that_is_not_as_documented_is_named(write_lines: WriteLines, line: object, message: str) -> None:
    path = write_lines("predictions.jsonl", [{"prediction": "a", "answers": ["a"]}, line])

    with pytest.raises(DataError) as caught:
        score_predictions(path, Rule.HOTPOTQA)

    assert str(caught.value).startswith(f"{path}, line 2: {message}")
    assert "null (an abstention)" in str(caught.value) or message == "not JSON", "says what to give"


def test_a_file_without_predictions_is_refused(write_lines: WriteLines) -> None:
    with pytest.raises(DataError, match="holds no predictions"):
        score_predictions(write_lines("predictions.jsonl", ["", ""]), Rule.HOTPOTQA)


def test_a_lone_surrogate_is_scored_like_any_character(write_lines: WriteLines) -> None:
    path = write_lines("predictions.jsonl", [r'{"prediction": "\ud83d", "answers": ["\ud83d"]}'])

    assert score_predictions(path, Rule.HOTPOTQA)[0].em == 1
