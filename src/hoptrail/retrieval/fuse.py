"""Making one ranking of several: by rank (reciprocal rank fusion) or by score (convex combination)."""

from __future__ import annotations

from collections.abc import Sequence

from hoptrail.retrieval.ranking import ranked
from hoptrail.types import Hit, Ranking, Unit

CHANNEL = "fused"


def reciprocal_rank_fusion(rankings: Sequence[Ranking], limit: int, constant: float) -> Ranking:
    """score(u) = sum over rankings of 1 / (constant + rank of u), ranks from 1 (Cormack, Clarke and Büttcher 2009)."""
    scores: dict[str, float] = {}
    units: dict[str, Unit] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            units[hit.unit.id] = hit.unit
            scores[hit.unit.id] = scores.get(hit.unit.id, 0.0) + 1 / (constant + rank)
    return ranked((Hit(unit, scores[name], CHANNEL) for name, unit in units.items()), limit)


def convex_fusion(rankings: Sequence[Ranking], weights: Sequence[float], limit: int) -> Ranking:
    """score(u) = sum over rankings of weight · the score of u scaled to 0..1 within that ranking (Bruch et al. 2023).

    A unit that a ranking does not hold gets 0 from it, as its last one does.
    """
    scores: dict[str, float] = {}
    units: dict[str, Unit] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for hit, scaled in zip(ranking, scaled_scores(ranking), strict=True):
            units[hit.unit.id] = hit.unit
            scores[hit.unit.id] = scores.get(hit.unit.id, 0.0) + weight * scaled
    return ranked((Hit(unit, scores[name], CHANNEL) for name, unit in units.items()), limit)


def scaled_scores(ranking: Ranking) -> list[float]:
    """Scores of one ranking moved and stretched to 0..1; all 1 where they are equal."""
    if not ranking:
        return []
    highest, lowest = ranking[0].score, ranking[-1].score
    if highest == lowest:
        return [1.0] * len(ranking)
    return [(hit.score - lowest) / (highest - lowest) for hit in ranking]


def interleave(rankings: Sequence[Ranking], limit: int) -> Ranking:
    """Round robin: every ranking's first, then every ranking's second, without repeats; scores fall from 1 by position."""
    units: dict[str, tuple[Unit, str]] = {}
    for position in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if position < len(ranking):
                hit = ranking[position]
                units.setdefault(hit.unit.id, (hit.unit, hit.channel))
    chosen = list(units.values())[:limit]
    return tuple(Hit(unit, 1 / position, channel) for position, (unit, channel) in enumerate(chosen, start=1))
