from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from hoptrail.language.offline.features import FEATURES
from hoptrail.language.offline.scorer import JUDGED, read_scorer, stored_scorer, write_scorer
from hoptrail.language.offline.searching import weigh

WEIGHTS = files("hoptrail.language.offline") / "weights" / "scorer.json"


def test_stored_weights_are_small_and_survive_writing_and_reading() -> None:
    text = WEIGHTS.read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    assert write_scorer(read_scorer(text)) == text


def test_weights_for_other_features_are_refused() -> None:
    text = write_scorer(stored_scorer()).replace('"fit"', '"fits"')
    with pytest.raises(ValueError, match="train_offline"):
        read_scorer(text)


def test_shares_add_up_over_places_and_the_lead_is_over_the_next_text() -> None:
    values = np.random.default_rng(5).normal(size=(4, len(FEATURES)))
    weighed = weigh(("Arden", "Foss", "arden", "Linn"), values, stored_scorer())
    assert sum(one.share for one in weighed) == pytest.approx(1)
    assert len(weighed) == 3
    assert weighed[0].share >= weighed[1].share >= weighed[2].share
    assert weighed[0].lead == pytest.approx(weighed[0].share - weighed[1].share)
    assert weigh((), np.zeros((0, len(FEATURES))), stored_scorer()) == ()


def test_confidence_rises_with_the_share_of_the_winner() -> None:
    scorer = stored_scorer()
    little, much = (tuple(share if name == "share" else 0.0 for name in JUDGED) for share in (0.1, 0.9))
    assert 0 < scorer.judge(little) < scorer.judge(much) < 1
