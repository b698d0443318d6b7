"""All candidates of the evidence weighed at once by the learned scorer, paths over several pages included, without a plan.

Where the plan (see `concluding`) was followed to its end, its answer is one of the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hoptrail.language.offline.features import CALIBRATED, FEATURES
from hoptrail.language.offline.scorer import Floats, Scorer


@dataclass(frozen=True, slots=True)
class Weighed:
    """A possible answer among all: its text, where it stands, its part of all probability (0 to 1) and its lead.

    `seen` are the features of its best place that `CALIBRATED` names, all 0 where it was not among the candidates.
    """

    answer: str
    at: int
    share: float
    lead: float
    seen: tuple[float, ...]


_COLUMNS = tuple(FEATURES.index(name) for name in CALIBRATED)
NOT_WEIGHED = Weighed("", -1, 0.0, 0.0, (0.0,) * len(CALIBRATED))


def weigh(texts: Sequence[str], values: Floats, scorer: Scorer) -> tuple[Weighed, ...]:
    """Every text with its share over all places where it stands, the largest first. `values` are n candidates x features."""
    if not texts:
        return ()
    scores = scorer.score(values)
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    totals: dict[str, float] = {}
    places: dict[str, int] = {}
    for at, text in enumerate(text.lower() for text in texts):
        totals[text] = totals.get(text, 0.0) + float(shares[at])
        places[text] = at if text not in places or scores[at] > scores[places[text]] else places[text]
    ranked = sorted(totals, key=lambda text: (-totals[text], text))
    top = [totals[text] for text in ranked[:2]] + [0.0]
    return tuple(
        Weighed(
            texts[places[text]],
            places[text],
            totals[text],
            totals[text] - (top[1] if rank == 0 else top[0]),
            tuple(float(values[places[text]][column]) for column in _COLUMNS),
        )
        for rank, text in enumerate(ranked)
    )


def share_of(answer: str, weighed: Sequence[Weighed]) -> Weighed:
    """How an answer that comes from elsewhere was weighed."""
    return next((one for one in weighed if one.answer.lower() == answer.lower()), NOT_WEIGHED)
