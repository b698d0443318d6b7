"""Making one ranking of several: by rank (reciprocal rank fusion) or by score (convex combination)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hoptrail.retrieval.ranking import ranked
from hoptrail.types import Hit, Ranking, Unit

CHANNEL = "fused"


def reciprocal_rank_fusion(rankings: Sequence[Ranking], limit: int, constant: float) -> Ranking:
    """By `reciprocal_ranks`."""
    return _fused(rankings, reciprocal_ranks(map(_scores, rankings), constant), limit)


def convex_fusion(rankings: Sequence[Ranking], weights: Sequence[float], limit: int, depth: int) -> Ranking:
    """By `convex_scores`."""
    return _fused(rankings, convex_scores(list(map(_scores, rankings)), weights, depth), limit)


def reciprocal_ranks(rankings: Iterable[Mapping[str, float]], constant: float) -> dict[str, float]:
    """score(u) = sum over rankings of 1 / (constant + rank of u), ranks from 1 (Cormack, Clarke and Büttcher 2009).

    A ranking is here the scores of units by id, in its order.
    """
    fused: dict[str, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, start=1):
            fused[name] = fused.get(name, 0.0) + 1 / (constant + rank)
    return fused


def convex_scores(rankings: Sequence[Mapping[str, float]], weights: Sequence[float], depth: int) -> dict[str, float]:
    """score(u) = sum over rankings of weight · (score of u / highest score), after Bruch, Gai and Ingber 2023.

    Scores are shares of the best, so 0 keeps its meaning; scaling to 0..1 between best and worst was worse on the development
    questions. `depth` units were asked for. A unit that a ranking of so many does not hold gets the share of its last, which is
    the most it can have; one that a shorter ranking does not hold was not found by it, and gets nothing.
    """
    shares = [_shares(ranking) for ranking in rankings]
    lowest = [min(share.values(), default=0.0) if len(share) >= depth else 0.0 for share in shares]
    parts = list(zip(weights, shares, lowest, strict=True))
    names = dict.fromkeys(name for ranking in rankings for name in ranking)
    return {name: sum(weight * share.get(name, last) for weight, share, last in parts) for name in names}


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
    return _shares(_scores(ranking))


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


def _shares(scores: Mapping[str, float]) -> dict[str, float]:
    best = next(iter(scores.values()), 0.0)
    return {name: max(score, 0.0) / best if best > 0 else 0.0 for name, score in scores.items()}


def _scores(ranking: Ranking) -> dict[str, float]:
    return {hit.unit.id: hit.score for hit in ranking}


def _fused(rankings: Sequence[Ranking], scores: Mapping[str, float], limit: int) -> Ranking:
    units = {hit.unit.id: hit.unit for ranking in rankings for hit in ranking}
    return ranked((Hit(unit, scores[name], CHANNEL) for name, unit in units.items()), limit)
