"""Adaptive reranking: an expensive scorer alternates between a first stage's best and the neighbours of what it scored high.

SUNAR, section "Neighborhood aware retrieval" (NAR), after graph-based adaptive reranking (MacAvaney et al. 2022, GAR). In the
paper's letters: R the pool of the first stage, F the frontier, G `neighbours`, c `budget`, b `batch`. The printed algorithm is
corrected to match GAR: a batch leaves both pools and never exceeds the remaining budget, and two empty pools end the loop.

Scores come from cosine and BM25 (`hybrid`, almost free), or from a reranker, which needs a budget; neighbours from the links of a
structure.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from hoptrail.corpus.columns import rows_of
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.models.rerankers import Reranker, open_reranker
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import best_first
from hoptrail.setting_limits import AtLeast1, Limited
from hoptrail.types import Hit, Kind, Unit

Neighbours = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
"""The neighbours of each id of a batch, nearest first; an id without any may be missing."""

Scorer = Callable[[Sequence[str]], Sequence[float]]  # a score between 0 and 1 for each id of a batch; no id comes twice

Penalty = Callable[[Sequence[str]], Sequence[float]]
"""The divisor of each score of a batch; the ids come by falling score."""


@dataclass(frozen=True, slots=True)
class AdaptiveSettings(Limited):
    """At most `budget` ids are scored, `batch` at a time.

    Neighbours of an id enter the frontier with its `penalised` score (the paper's text: rescoring precedes lookup) or its `raw`
    score (the released code). With `backfill`, the unscored rest of the first stage follows the scored ids.
    """

    budget: AtLeast1 = 100  # c
    batch: AtLeast1 = 16  # b
    frontier_score: Literal["penalised", "raw"] = "penalised"
    backfill: bool = True


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
) -> dict[str, float]:
    """The scored ids by falling score, equal scores by rising id, then with `backfill` the unscored rest of `first`.

    Scores are penalised, or negative for backfilled ids, which were not scored. `first` maps the ids of the first stage to their
    scores there, which set the order in which they are scored.

    Raises: ValueError: a score is outside 0 to 1 (dividing a negative score would raise it), or a penalty is not above 0.
    """
    waiting, frontier, scored = dict(first), dict[str, float](), dict[str, float]()
    turns = deque([waiting, frontier])
    least = math.inf  # lowest score whose neighbours entered the frontier
    while any(turns) and (room := settings.budget - len(scored)) > 0:
        if not turns[0]:
            turns.rotate()
        batch = list(best_first(turns[0], min(settings.batch, room)))
        raw, penalised = _scores(batch, score, penalty)
        scored |= penalised
        for name in batch:
            waiting.pop(name, None)
            frontier.pop(name, None)
        turns.rotate()
        room -= len(batch)
        priorities = best_first(raw if settings.frontier_score == "raw" else penalised)
        following = neighbours(list(priorities)) if room else {}
        for name, priority in priorities.items():
            if len(frontier) >= room and priority < least:
                continue
            for neighbour in following.get(name, ()):
                if neighbour not in scored and priority > frontier.get(neighbour, -math.inf):
                    frontier[neighbour] = priority
                    least = min(least, priority)
    rest = best_first(waiting) if settings.backfill else {}
    return best_first(scored) | {name: -float(rank) for rank, name in enumerate(rest, start=1)}


def _scores(batch: Sequence[str], score: Scorer, penalty: Penalty) -> tuple[dict[str, float], dict[str, float]]:
    """The scores of a batch, by falling score, and the same divided by their penalties."""
    raw = best_first(dict(zip(batch, score(batch), strict=True)))
    if not all(0 <= value <= 1 for value in raw.values()):
        raise ValueError(f"scores must lie between 0 and 1, not {min(raw.values())} to {max(raw.values())}")
    penalties = penalty(list(raw))
    if not all(value > 0 for value in penalties):
        raise ValueError(f"a penalty must be above 0, not {min(penalties)}")
    return raw, {name: value / divisor for (name, value), divisor in zip(raw.items(), penalties, strict=True)}


HYBRID = "hybrid"

Scoring = Callable[[str], Scorer]  # scores of passages for a question


def _hybrid_scorer(corpus: Corpus, question: str) -> Scorer:
    """The mean of the cosine (negative: 0) and the BM25 score as a share of the best in the corpus."""
    snapshot = corpus.snapshot
    vector = corpus.encoder.encode([question])
    passages = snapshot.numbered.origins(Kind.PASSAGE).numbers
    [scores] = snapshot.keywords.scores([question], passages)
    all_shares = scores / (float(scores.max(initial=0)) or 1.0)

    def score(names: Sequence[str]) -> list[float]:
        cosines = dict(snapshot.search.nearest(Kind.PASSAGE, vector, len(names), among=names)[0])
        shares = all_shares[rows_of(snapshot.numbered.numbers(names), passages)].tolist()
        return [(min(max(cosines[name], 0.0), 1.0) + share) / 2 for name, share in zip(names, shares, strict=True)]

    return score


def _reranking_scorer(reranker: Reranker, snapshot: Snapshot, question: str) -> Scorer:
    """A reranker's scores (logits or shares, depending on the model) through the logistic function."""

    def score(names: Sequence[str]) -> list[float]:
        units = passages_by_id(snapshot, names)
        hits = tuple(Hit(units[name], 0.0, "") for name in names)
        scores = {hit.unit.id: logistic(hit.score) for hit in reranker.rerank(question, hits, len(hits))}
        return [scores[name] for name in names]

    return score


def open_scoring(name: str, corpus: Corpus) -> Scoring:
    """The scoring called `name`: `hybrid`, or that of a reranker. Raises: UsageError, ModelUnavailable: see `open_reranker`."""
    if name == HYBRID:
        return partial(_hybrid_scorer, corpus)
    return partial(_reranking_scorer, open_reranker(name, corpus.encoder), corpus.snapshot)


def passages_by_id(snapshot: Snapshot, names: Sequence[str]) -> Mapping[str, Unit]:
    return {unit.id: unit for unit in snapshot.units(Kind.PASSAGE, set(names))}


def logistic(score: float) -> float:
    """The logistic function, computed without overflow."""
    return 1 / (1 + math.exp(-score)) if score >= 0 else math.exp(score) / (1 + math.exp(score))


def stored_neighbours(
    snapshot: Snapshot, structure: str, names: Sequence[str], most: int
) -> Mapping[str, Sequence[str]]:
    """At most `most` neighbours of each passage by the links of a structure, nearest first, equally near ones by rising id."""
    links = [link for link in snapshot.graph.leaving(names, structure) if link.source != link.target]
    passages = snapshot.table.stored(Kind.PASSAGE, {link.target for link in links})
    neighbours: dict[str, list[str]] = {name: [] for name in names}
    for link in sorted(links, key=lambda link: (-link.weight, link.target)):
        if link.target in passages and len(neighbours[link.source]) < most:
            neighbours[link.source].append(link.target)
    return neighbours
