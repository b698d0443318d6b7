"""Retrieved passages in the order in which a reading finds them helpful.

A cross-encoder over the candidates of a cheaper search (Nogueira & Cho 2019, "Passage Re-ranking with BERT"), with their rank
there as prior. It judges each passage by itself, which is right for a plain question: one passage states its answer.
"""

from __future__ import annotations

import math

from hoptrail.language.meter import Meter
from hoptrail.types import Ranking

_LATER = 1.5  # log odds that a passage loses for each doubling of its rank


def reranked(question: str, found: Ranking, meter: Meter, most: int) -> Ranking:
    """The first `most` hits, the most helpful first, then the rest; as found if the language does not judge passages."""
    first = found[:most]
    scores = meter.judge_passages(question, tuple(hit.unit for hit in first))
    if not scores:
        return found
    places = sorted(range(len(first)), key=lambda place: _LATER * math.log2(1 + place) - scores[place])
    return (*(first[place] for place in places), *found[most:])
