"""Making one ranking of several: by rank (reciprocal rank fusion) or by score (convex combination)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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


def convex_fusion(rankings: Sequence[Ranking], weights: Sequence[float], limit: int, depth: int) -> Ranking:
    """score(u) = sum over rankings of weight · (score of u / highest score), after Bruch, Gai and Ingber 2023.

    Scores are shares of the best, so 0 keeps its meaning; scaling to 0..1 between best and worst was worse on the development
    questions. `depth` hits were asked for. A unit that a ranking of so many does not hold gets the share of its last hit, which
    is the most it can have; one that a shorter ranking does not hold was not found by it, and gets nothing.
    """
    shares = [shares_of_best(ranking) for ranking in rankings]
    units = {hit.unit.id: hit.unit for ranking in rankings for hit in ranking}
    lowest = [min(share.values(), default=0.0) if len(share) >= depth else 0.0 for share in shares]
    scores = {
        name: sum(weight * share.get(name, last) for weight, share, last in zip(weights, shares, lowest, strict=True))
        for name in units
    }
    return ranked((Hit(unit, scores[name], CHANNEL) for name, unit in units.items()), limit)


def keeping_ahead(fused: Ranking, ranking: Ranking, kept: int, ahead: int) -> Ranking:
    """`fused` with the first `kept` hits of `ranking` among its first `ahead`: what was fused with it puts them in another order,
    but takes no more than the places that are left of so many. Scores behind these are scaled to theirs at most.
    """
    safe = {hit.unit.id for hit in ranking[:kept]}
    others = [hit.unit.id for hit in fused if hit.unit.id not in safe]
    first = safe.union(others[: ahead - len(safe)])
    before = tuple(hit for hit in fused if hit.unit.id in first)
    behind = tuple(hit for hit in fused if hit.unit.id not in first)
    if not before or not behind or behind[0].score <= before[-1].score:
        return (*before, *behind)
    lowest, scale = before[-1].score, before[-1].score / behind[0].score
    return (*before, *(replace(hit, score=min(lowest, hit.score * scale)) for hit in behind))


def shares_of_best(ranking: Ranking) -> dict[str, float]:
    """Each unit's score divided by the highest; negative ones count as 0, and all as 0 where the highest is not positive."""
    best = ranking[0].score if ranking else 0.0
    return {hit.unit.id: max(hit.score, 0.0) / best if best > 0 else 0.0 for hit in ranking}


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
