"""The units to rank; order hits, fuse rankings (by rank, by score or interleaved), pack the best hits into a token budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TypeVar

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.types import Hit, Kind, Ranking, Span, Unit

Key = TypeVar("Key", int, str)


@dataclass(frozen=True, slots=True)
class Pool:
    """A flat pool: units of these `kinds`, which are ranked as one list."""

    kinds: tuple[Kind, ...]

    def units(self, snapshot: Snapshot) -> Iterator[Unit]:
        """All units of the pool, in no particular order."""
        for kind in self.kinds:
            yield from snapshot.units(kind)

    def size(self, snapshot: Snapshot) -> int:
        return sum(snapshot.count(kind) for kind in self.kinds)


def ranked(hits: Iterable[Hit], limit: int | None = None) -> Ranking:
    """Hits in ranking order, at most `limit`; NaN counts as the lowest score."""
    order = sorted(hits, key=lambda hit: (math.inf if math.isnan(hit.score) else -hit.score, hit.unit.id))
    return tuple(order[:limit])


def ranked_units(snapshot: Snapshot, kind: Kind, scores: Mapping[str, float], channel: str) -> Ranking:
    """The units of a kind that have a score, by id, as hits."""
    return ranked(Hit(unit, scores[unit.id], channel) for unit in snapshot.units(kind, scores.keys()))


def best_first(scores: Mapping[Key, float], limit: int | None = None) -> dict[Key, float]:
    """Scores in descending order, equal ones in ascending order of key; at most `limit`."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit])


CHANNEL = "fused"


def reciprocal_ranks(rankings: Iterable[Mapping[str, float]], constant: float = 60.0) -> dict[str, float]:
    """score(u) = sum over rankings of 1 / (constant + rank of u), ranks from 1 (Cormack, Clarke and Büttcher 2009, whose results
    hardly depend on the constant).

    A ranking maps unit ids to scores, in ranking order.
    """
    fused: dict[str, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, start=1):
            fused[name] = fused.get(name, 0.0) + 1 / (constant + rank)
    return fused


def convex_scores(rankings: Sequence[Mapping[str, float]], weights: Sequence[float], depth: int) -> dict[str, float]:
    """score(u) = sum over rankings of weight · (score of u / highest score), after Bruch, Gai and Ingber 2023.

    Dividing by the highest score keeps the meaning of 0; scaling between worst and best to 0..1 did worse on the development
    questions. `depth` is the number of units requested. A unit missing from a ranking of that length gets the ranking's lowest
    share, the most it can have; a unit missing from a shorter ranking was not found at all and gets 0.
    """
    shares = [shares_of_best(ranking) for ranking in rankings]
    lowest = [min(share.values(), default=0.0) if len(share) >= depth else 0.0 for share in shares]
    parts = list(zip(weights, shares, lowest, strict=True))
    names = dict.fromkeys(name for ranking in rankings for name in ranking)
    return {name: sum(weight * share.get(name, last) for weight, share, last in parts) for name in names}


def without_repeats(hits: Iterable[Hit]) -> Ranking:
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.unit.id, hit)
    return tuple(first.values())


def interleave(rankings: Sequence[Ranking], limit: int) -> Ranking:
    """Round robin: every ranking's first, then every ranking's second, without repeats. Scores are 1 / position."""
    turns = chain.from_iterable(zip_longest(*rankings))
    return by_position(without_repeats(hit for hit in turns if hit)[:limit])


def by_position(hits: Iterable[Hit]) -> Ranking:
    """The hits in this order, with scores 1 / position."""
    return tuple(replace(hit, score=1 / position) for position, hit in enumerate(hits, start=1))


def shares_of_best(scores: Mapping[str, float]) -> dict[str, float]:
    """Each score of a ranking divided by the first. Negative scores count as 0; all are 0 if the first is not positive."""
    best = next(iter(scores.values()), 0.0)
    return {name: max(score, 0.0) / best if best > 0 else 0.0 for name, score in scores.items()}


def scores_of(ranking: Ranking) -> dict[str, float]:
    """The scores of a ranking by unit id, in its order."""
    return {hit.unit.id: hit.score for hit in ranking}


def rescored(rankings: Sequence[Ranking], scores: Mapping[str, float], limit: int) -> Ranking:
    """The `limit` best units of several rankings by new scores."""
    units = {hit.unit.id: hit.unit for ranking in rankings for hit in ranking}
    return ranked((Hit(unit, scores[name], CHANNEL) for name, unit in units.items()), limit)


PARTIAL_KINDS = {Kind.SUMMARY, Kind.TRIPLE}  # kinds of units that say little of what they were made from


def pack(ranking: Ranking, tokens: int, *, repeats: bool = False) -> Ranking:
    """Take hits in rank order until the budget is spent.

    Skips hits that do not fit and, unless `repeats`, hits whose sources are all covered by earlier ones. Summaries and triples
    cover nothing. The first hit is always taken, so that something is read.
    """
    packed: list[Hit] = []
    covered: list[Span] = []
    remaining = tokens
    for hit in ranking:
        cost = estimated_tokens(hit.unit.searchable)
        is_repeat = all(any(span.covers(source) for span in covered) for source in hit.unit.sources)
        if (is_repeat and not repeats) or (packed and cost > remaining):
            continue
        packed.append(hit)
        if hit.unit.kind not in PARTIAL_KINDS:
            covered += hit.unit.sources
        remaining -= cost
    return tuple(packed)
