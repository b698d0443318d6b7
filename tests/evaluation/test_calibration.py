"""Calibrated confidences: the fit by hand, its monotonicity, its gain, and its cross-validation."""

from __future__ import annotations

import random

import pytest

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import Share
from hoptrail.evaluation.calibration import ConfidenceMap, Source, fit_map, held_out, quality_of, together
from hoptrail.evaluation.risk_coverage import Judged, brier_score, sure_answers


def answers(confidence: float, right: int, wrong: int) -> list[Judged]:
    return [Judged(confidence, correct=True)] * right + [Judged(confidence, correct=False)] * wrong


def overconfident(name: str, seed: int, n: int = 400) -> Source:
    """Answers that are right half as often as their confidence."""
    chance = random.Random(seed)
    raw = [chance.random() for _ in range(n)]
    return Source(name, n + 100, tuple(Judged(answer, correct=chance.random() < answer / 2) for answer in raw))


def knots_of(judged: list[Judged]) -> list[float]:
    """The raw and calibrated confidences of all knots, in order."""
    return [value for knot in fit_map(judged).knots for value in knot]


# --- the fit


def test_groups_that_rise_are_kept_as_they_are() -> None:
    """With one right and one wrong answer added to each: 6 of 22 and 19 of 22."""
    assert knots_of([*answers(0.9, 18, 2), *answers(0.2, 5, 15)]) == pytest.approx([0.2, 6 / 22, 0.9, 19 / 22])


def test_groups_that_fall_are_pooled() -> None:
    """The second is right less often than the first, so they are pooled: 9 + 6 right of 44."""
    judged = [*answers(0.2, 8, 12), *answers(0.4, 5, 15), *answers(0.8, 15, 5)]
    assert knots_of(judged) == pytest.approx([0.3, 15 / 44, 0.8, 16 / 22])


def test_pooling_goes_back_as_far_as_it_must() -> None:
    """The third falls below the first two pooled."""
    judged = [*answers(0.1, 9, 11), *answers(0.2, 10, 10), *answers(0.3, 0, 20)]
    assert knots_of(judged) == pytest.approx([0.2, 22 / 66])


def test_few_answers_form_one_group_and_equal_confidences_stay_together() -> None:
    few = [*answers(0.5, 1, 18), *answers(0.6, 30, 0), *answers(0.7, 5, 0)]
    assert knots_of(few) == pytest.approx([(0.5 * 19 + 0.6 * 30 + 0.7 * 5) / 54, 37 / 56])


def test_a_lucky_streak_is_not_certainty() -> None:
    assert fit_map(answers(0.9, 20, 0)).of(0.9) == 21 / 22
    assert fit_map(answers(0.1, 0, 20)).of(0.1) == 1 / 22


def test_a_fit_needs_answers() -> None:
    with pytest.raises(UsageError, match="at least one answer"):
        fit_map([])


@pytest.mark.parametrize("seed", range(5))
def test_the_map_never_falls(seed: int) -> None:
    chance = random.Random(seed)
    judged = [Judged(round(chance.random(), 2), correct=chance.random() < 0.5) for _ in range(300)]
    fitted = fit_map(judged)
    values = [fitted.of(raw / 100) for raw in range(-5, 106)]
    assert values == sorted(values)
    assert all(0 < value < 1 for value in values)
    assert fit_map(judged[::-1]) == fitted, "the order of answers does not matter"


# --- the map


@pytest.mark.parametrize(
    ("raw", "calibrated"), [(0.0, 0.1), (0.2, 0.1), (0.3, 0.3), (0.4, 0.5), (0.6, 0.5), (0.8, 0.5), (1.0, 0.5)]
)
def test_a_map_is_linear_between_knots_and_constant_beyond(raw: float, calibrated: float) -> None:
    assert ConfidenceMap(((0.2, 0.1), (0.4, 0.5), (0.8, 0.5))).of(raw) == pytest.approx(calibrated)


# --- held out


def test_a_folder_is_calibrated_by_the_others_alone() -> None:
    sources = [Source("a", 30, tuple(answers(0.9, 0, 20))), Source("b", 30, tuple(answers(0.9, 20, 0)))]
    first, second = held_out(sources)
    assert {answer.confidence for answer in first.judged} == {21 / 22}
    assert {answer.confidence for answer in second.judged} == {1 / 22}
    assert [answer.correct for answer in first.judged] == [False] * 20
    assert (first.name, first.questions) == ("a", 30)


def test_cross_validation_needs_two_sources() -> None:
    with pytest.raises(UsageError, match="at least two folders"):
        held_out([overconfident("a", 1), Source("b", 10, ())])


def test_calibrated_confidences_agree_with_accuracy() -> None:
    raw = [overconfident(name, seed) for seed, name in enumerate("abc")]
    before, after = quality_of(together("all", raw)), quality_of(together("all", held_out(raw)))
    assert before.brier is not None
    assert after.brier is not None
    assert after.brier < before.brier - 0.03
    assert after.calibration_error < 0.08 < before.calibration_error
    assert (after.answers, after.questions) == (1200, 1500)


# --- what confidences are worth


def test_quality_by_hand() -> None:
    judged = [*answers(0.5, 1, 1), *answers(0.4, 1, 0), *answers(0.9, 1, 0)]
    assert brier_score(judged) == pytest.approx((0.25 + 0.25 + 0.36 + 0.01) / 4)
    assert sure_answers(judged) == Share(2, 3)
    quality = quality_of(Source("a", 6, tuple(judged)))
    assert (quality.sure, quality.coverage, quality.right) == (Share(2, 3), 0.5, 0.75)


def test_a_source_without_answers_has_no_quality() -> None:
    quality = quality_of(Source("a", 6, ()))
    assert (quality.right, quality.brier, quality.area_under_risk, quality.sure, quality.coverage) == (*[None] * 4, 0.0)
    assert sure_answers(answers(0.49, 1, 1)) is None
    with pytest.raises(UsageError, match="at least one answer"):
        brier_score([])
