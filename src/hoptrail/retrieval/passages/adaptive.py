"""Adaptive reranking: an expensive scorer alternates between a first stage's best and the neighbours of what it scored high.

SUNAR, section "Neighborhood aware retrieval" (NAR), after graph-based adaptive reranking (MacAvaney et al. 2022, GAR). In the
paper's letters: R the pool of the first stage, F the frontier, G `neighbours`, c `budget`, b `batch`. The printed algorithm is
corrected to match GAR: a batch leaves both pools and never exceeds the remaining budget, and two empty pools end the loop.

Works on ids alone; the caller supplies rankings, graphs, scores and penalties. To walk several graphs, pass one `neighbours`
function that combines them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Neighbours = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
"""The neighbours of each id of a batch, nearest first; an id without any may be missing."""

Scorer = Callable[[Sequence[str]], Sequence[float]]
"""A score between 0 and 1 for each id of a batch; no id comes twice."""

Penalty = Callable[[Sequence[str]], Sequence[float]]
"""The divisor of each score of a batch; the ids come by falling score."""


@dataclass(frozen=True, slots=True)
class AdaptiveSettings:
    """At most `budget` ids are scored, `batch` at a time.

    Neighbours of an id enter the frontier with its `penalised` score (the paper's text: rescoring precedes lookup) or its `raw`
    score (the released code). With `backfill`, the unscored rest of the first stage follows the scored ids.
    """

    budget: int = 100  # c
    batch: int = 16  # b
    frontier_score: Literal["penalised", "raw"] = "penalised"
    backfill: bool = True

    def __post_init__(self) -> None:
        if min(self.budget, self.batch) < 1:
            raise ValueError("budget and batch are at least 1")


@dataclass(frozen=True, slots=True)
class Reranked:
    """An id in the new order. `score` is penalised, or negative for a backfilled id, which was not scored."""

    id: str
    score: float


def no_neighbours(_: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Rerank only the first stage."""
    return {}


def no_penalty(batch: Sequence[str]) -> Sequence[float]:
    """Vanilla NAR."""
    return [1.0] * len(batch)


def rerank_adaptively(
    first: Mapping[str, float],
    neighbours: Neighbours,
    score: Scorer,
    settings: AdaptiveSettings,
    penalty: Penalty = no_penalty,
) -> tuple[Reranked, ...]:
    """The scored ids by falling score, equal scores by rising id, then with `backfill` the unscored rest of `first`.

    `first` maps the ids of the first stage to their scores there, which set the order in which they are scored.

    Raises:
        ValueError: a score is outside 0 to 1 (dividing a negative score would raise it), or a penalty is not above 0.
    """
    search = _Search(dict(first), neighbours, settings)
    while batch := search.next_batch():
        search.score_batch(batch, score, penalty)
    return _in_order(search, settings)


@dataclass(slots=True)
class _Search:
    """The two pools (`first` is R, `frontier` is F, both id -> priority) and the scored ids."""

    first: dict[str, float]
    neighbours: Neighbours
    settings: AdaptiveSettings
    frontier: dict[str, float] = field(default_factory=dict)
    scored: dict[str, float] = field(default_factory=dict)
    least: float = math.inf  # lowest score whose neighbours entered the frontier
    turn: int = 0

    @property
    def remaining(self) -> int:
        return self.settings.budget - len(self.scored)

    def next_batch(self) -> list[str]:
        """The best of the pool whose turn it is, or of the other if that is empty; nothing at the end."""
        pools = (self.first, self.frontier) if self.turn % 2 == 0 else (self.frontier, self.first)
        if not pools[0]:
            self.turn += 1
        pool = pools[0] or pools[1]
        size = min(self.settings.batch, self.remaining)
        return heapq.nsmallest(size, pool, key=lambda name: (-pool[name], name))

    def score_batch(self, batch: Sequence[str], score: Scorer, penalty: Penalty) -> None:
        """Score a batch, remove it from both pools, and add its neighbours to the frontier."""
        raw = dict(zip(batch, score(batch), strict=True))
        if not all(0 <= value <= 1 for value in raw.values()):
            raise ValueError(f"scores must lie between 0 and 1, not {min(raw.values())} to {max(raw.values())}")
        by_score = sorted(batch, key=lambda name: (-raw[name], name))
        penalties = dict(zip(by_score, penalty(by_score), strict=True))
        if not all(value > 0 for value in penalties.values()):
            raise ValueError(f"a penalty must be above 0, not {min(penalties.values())}")
        penalised = {name: raw[name] / penalties[name] for name in by_score}
        self.scored |= penalised
        for name in batch:
            self.first.pop(name, None)
            self.frontier.pop(name, None)
        if self.remaining > 0:
            self._extend_frontier(raw if self.settings.frontier_score == "raw" else penalised)
        self.turn += 1

    def _extend_frontier(self, priorities: Mapping[str, float]) -> None:
        """Add neighbours with the priority of the best id they are next to.

        Skip an id worse than all before if the frontier already fills the remaining budget.
        """
        best_first = sorted(priorities, key=lambda name: (-priorities[name], name))
        neighbours = self.neighbours(best_first)
        for name in best_first:
            priority = priorities[name]
            if len(self.frontier) >= self.remaining and priority < self.least:
                continue
            for neighbour in neighbours.get(name, ()):
                if neighbour not in self.scored and priority > self.frontier.get(neighbour, -math.inf):
                    self.frontier[neighbour] = priority
                    self.least = min(self.least, priority)


def _in_order(search: _Search, settings: AdaptiveSettings) -> tuple[Reranked, ...]:
    by_score = sorted(search.scored, key=lambda name: (-search.scored[name], name))
    scored = tuple(Reranked(name, search.scored[name]) for name in by_score)
    if not settings.backfill:
        return scored
    rest = sorted(search.first, key=lambda name: (-search.first[name], name))
    return (*scored, *(Reranked(name, -float(rank)) for rank, name in enumerate(rest, start=1)))
