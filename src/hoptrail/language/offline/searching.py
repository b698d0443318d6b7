"""All candidates of the evidence weighed at once by the learned scorer, paths over several pages included, without a plan.

Where the plan (see `concluding`) was followed to its end, its answer is one of the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hoptrail.language.offline.features import FEATURES
from hoptrail.language.offline.scorer import Floats, Scorer


@dataclass(frozen=True, slots=True)
class Weighed:
    """A possible answer among all: its text, where it stands, its part of all probability (0 to 1) and its lead.

    `asked` is how much of the question its sentence says with its title, joined with others, of what the last hop asks, and of
    the names, of what the last hop asks its sentence alone, and whether that is nothing.
    """

    answer: str
    at: int
    share: float
    lead: float
    asked: tuple[float, ...]


NOT_WEIGHED = Weighed("", -1, 0.0, 0.0, (0.0,) * 6)
_UNSAID = 0.01
_ASKED = tuple(FEATURES.index(name) for name in ("line with title", "joined", "last with title", "named", "last"))


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
            _asked(values[places[text]]),
        )
        for rank, text in enumerate(ranked)
    )


def _asked(row: Floats) -> tuple[float, ...]:
    asked = tuple(float(row[column]) for column in _ASKED)
    return (*asked, float(asked[-1] < _UNSAID))


def share_of(answer: str, weighed: Sequence[Weighed]) -> Weighed:
    """How an answer that comes from elsewhere was weighed."""
    return next((one for one in weighed if one.answer.lower() == answer.lower()), NOT_WEIGHED)
