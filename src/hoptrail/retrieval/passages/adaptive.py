"""Adaptive reranking: an expensive scorer reads a first stage's best and, in turn, the neighbours of what it found good.

SUNAR, section "Neighborhood aware retrieval" (NAR), after graph-based adaptive reranking (MacAvaney et al. 2022, GAR). In the
paper's letters: R the pool of the first stage, F the frontier, G `neighbours`, c `budget`, b `batch`. The printed algorithm is
mended as GAR has it: a batch leaves both pools and never exceeds what is left of the budget; two empty pools end the loop.

Works on ids alone: where rankings, graphs, scores and penalties come from, and what the ids name, is the caller's affair. A
frontier of several graphs or kinds is one `neighbours` function that knows them all.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Neighbours = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
"""The ids next to each id of a batch, nearest first; one that has none may be missing."""

Scorer = Callable[[Sequence[str]], Sequence[float]]
"""A score between 0 and 1 for each id of a batch; ids come once."""

Penalty = Callable[[Sequence[str]], Sequence[float]]
"""What each score of a batch is divided by; the ids come by falling score."""


@dataclass(frozen=True, slots=True)
class AdaptiveSettings:
    """At most `budget` ids are scored, `batch` at a time.

    Neighbours of an id wait in the frontier with its `penalised` score (as the text says: rescoring comes before lookup) or with
    the `raw` one (as the released code does). With `backfill`, what is left of the first stage follows what was scored.
    """

    budget: int = 100  # c
    batch: int = 16  # b
    frontier_score: Literal["penalised", "raw"] = "penalised"
    backfill: bool = True

    def __post_init__(self) -> None:
        if min(self.budget, self.batch) < 1:
            raise ValueError("budget and batch are at least 1")


@dataclass(frozen=True, slots=True)
class Placed:
    """An id in the new order. `score` is penalised; below 0, where no score is, for what was not read but filled in behind."""

    id: str
    score: float


def no_neighbours(_: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Without a graph nothing but the first stage is reranked."""
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
) -> tuple[Placed, ...]:
    """Ids by falling score, equal scores by rising id: those scored, then with `backfill` the unread rest of `first`.

    `first` maps the ids of the first stage to their scores there, which decide in which order they are read.

    Raises:
        ValueError: a score lies outside 0 to 1, where dividing it could promote, or a penalty is not above 0.
    """
    search = _Search(dict(first), neighbours, settings)
    while batch := search.next_batch():
        search.enter(batch, score, penalty)
    return _placed(search, settings)


@dataclass(slots=True)
class _Search:
    """The two pools and what has been scored: `first` is R, `frontier` F, both from id to priority."""

    first: dict[str, float]
    neighbours: Neighbours
    settings: AdaptiveSettings
    frontier: dict[str, float] = field(default_factory=dict)
    scored: dict[str, float] = field(default_factory=dict)
    least: float = math.inf  # of the scores whose neighbours went to the frontier
    turn: int = 0

    @property
    def left(self) -> int:
        return self.settings.budget - len(self.scored)

    def next_batch(self) -> list[str]:
        """The best of the pool whose turn it is, of the other where that is empty; nothing when all is done."""
        pools = (self.first, self.frontier) if self.turn % 2 == 0 else (self.frontier, self.first)
        if not pools[0]:
            self.turn += 1
        pool = pools[0] or pools[1]
        size = min(self.settings.batch, self.left)
        return heapq.nsmallest(size, pool, key=lambda name: (-pool[name], name))

    def enter(self, batch: Sequence[str], score: Scorer, penalty: Penalty) -> None:
        """Score a batch, take it out of both pools, and let its neighbours into the frontier."""
        raw = dict(zip(batch, score(batch), strict=True))
        if not all(0 <= value <= 1 for value in raw.values()):
            raise ValueError(f"scores lie between 0 and 1, which {min(raw.values())} to {max(raw.values())} do not")
        by_score = sorted(batch, key=lambda name: (-raw[name], name))
        penalties = dict(zip(by_score, penalty(by_score), strict=True))
        if not all(value > 0 for value in penalties.values()):
            raise ValueError(f"a penalty is above 0, which {min(penalties.values())} is not")
        penalised = {name: raw[name] / penalties[name] for name in by_score}
        self.scored |= penalised
        for name in batch:
            self.first.pop(name, None)
            self.frontier.pop(name, None)
        if self.left > 0:
            self._look_around(raw if self.settings.frontier_score == "raw" else penalised)
        self.turn += 1

    def _look_around(self, priorities: Mapping[str, float]) -> None:
        """Neighbours wait with the priority of the best that they are next to.

        Those of an id worse than all before are let in only while there are fewer waiting than can still be scored.
        """
        best_first = sorted(priorities, key=lambda name: (-priorities[name], name))
        around = self.neighbours(best_first)
        for name in best_first:
            priority = priorities[name]
            if len(self.frontier) >= self.left and priority < self.least:
                continue
            for neighbour in around.get(name, ()):
                if neighbour not in self.scored and priority > self.frontier.get(neighbour, -math.inf):
                    self.frontier[neighbour] = priority
                    self.least = min(self.least, priority)


def _placed(search: _Search, settings: AdaptiveSettings) -> tuple[Placed, ...]:
    scored = sorted(search.scored, key=lambda name: (-search.scored[name], name))
    placed = [Placed(name, search.scored[name]) for name in scored]
    if not settings.backfill:
        return tuple(placed)
    rest = sorted(search.first, key=lambda name: (-search.first[name], name))
    return (*placed, *(Placed(name, -float(rank)) for rank, name in enumerate(rest, start=1)))
