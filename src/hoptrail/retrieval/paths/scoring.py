"""The learned order of a question's candidates, in three stages.

    passage    the probability that a candidate is evidence, from its own features
    pair       the probability that two candidates sharing a name are both evidence, for the best of the first stage
    linked     the first stage again, with features from the pairs

The trees are in `weights/paths.npz`, trained by `benchmarks/train_paths.py` on training questions only.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from hoptrail.corpus.searching import top_rows
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.paths.boosted_trees import BoostedTrees
from hoptrail.retrieval.paths.features import PAIR_FEATURES, PASSAGE_FEATURES, CandidateFeatures, Numbers, Pairs

PAIRED = 40
"""Candidates among which pairs are made."""
DIRECT = 1.0
"""Weight in the log-odds of the direct score as a share of the best: without pages (news sentences) names link less."""

LINKED_FEATURES = (
    *PASSAGE_FEATURES,
    *(f"{way} {what}" for way in ("in", "out") for what in ("best", "sum", "weighed", "partner")),
    "in over two", "out over two", "first score", "first rank", "first share",
)  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """The score of each candidate, the pairs, and the probability of each pair (`paired`)."""

    scores: FloatMatrix
    pairs: Pairs
    paired: FloatMatrix


@dataclass(frozen=True)
class PathScorer:
    """The trees of the three stages."""

    passage: BoostedTrees
    pair: BoostedTrees
    linked: BoostedTrees

    def judge(self, described: CandidateFeatures) -> Judged:
        """Score all candidates: log-odds plus DIRECT times the direct score as a share of the best."""
        first = self.passage.probabilities(described.passages)
        pairs = described.pairs(best_places(first), first)
        paired = self.pair.probabilities(pairs.values)
        log_odds = self.linked.log_odds(linked_features(described, first, pairs, paired))
        return Judged(log_odds + DIRECT * direct_share(described), pairs, paired)


def in_order(described: CandidateFeatures, judged: Judged, sure: int) -> list[int]:
    """Places of the candidates, best first: the `sure` best by score, then alternating between the direct order and the scores.

    Alternating helps questions with parallel facts instead of a chain: it keeps what they find directly.
    """
    rows = described.candidates.rows
    by_score = np.lexsort((rows, -judged.scores)).tolist()
    direct = np.lexsort((rows, -described.candidates.direct[rows])).tolist()
    first, rest = by_score[:sure], by_score[sure:]
    others = [place for place in direct if place not in first]
    return [*first, *_in_turns(others, rest)]


def best_places(first: FloatMatrix) -> Numbers:
    """Places of the candidates among which pairs are made, in rising order."""
    return np.array(sorted(top_rows(first, PAIRED)), dtype=np.intp)


def direct_share(described: CandidateFeatures) -> FloatMatrix:
    """The direct score of each candidate as a share of the best."""
    direct = described.passages[:, PASSAGE_FEATURES.index("direct")]
    share: FloatMatrix = direct / max(float(direct.max(initial=0)), 1e-6)
    return share


def linked_features(described: CandidateFeatures, first: FloatMatrix, pairs: Pairs, paired: FloatMatrix) -> FloatMatrix:
    """Shape (candidates, len(LINKED_FEATURES)); `first` are the first stage's probabilities, `paired` the pairs'."""
    size = len(first)
    columns: list[FloatMatrix] = []
    over_two = []
    for own, partner in ((pairs.second, pairs.first), (pairs.first, pairs.second)):
        best = _highest(own, paired, size)
        columns += [
            best,
            np.bincount(own, paired, size).astype(np.float32),
            _highest(own, paired * np.maximum(first[partner], 1e-6), size),
            _highest(own, first[partner], size),
        ]
        over_two.append(_highest(own, paired * best[partner], size))
    ranks = np.empty(size, dtype=np.float32)
    ranks[np.argsort(-first, kind="stable")] = np.log1p(np.arange(size))
    columns += [*over_two, first, ranks, first / max(float(first.max(initial=0)), 1e-9)]
    return np.concatenate([described.passages, np.stack(columns, axis=1)], axis=1).astype(np.float32)


@cache
def stored_scorer() -> PathScorer:
    """The scorer shipped with the package."""
    return read_scorer((files("hoptrail.retrieval") / "weights" / "paths.npz").read_bytes())


def read_scorer(content: bytes) -> PathScorer:
    """The scorer written by `benchmarks/train_paths.py`.

    Raises:
        ValueError: it was trained on other features.
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        stored = dict(file)
    return PathScorer(
        BoostedTrees.from_arrays("passage", stored, PASSAGE_FEATURES),
        BoostedTrees.from_arrays("pair", stored, PAIR_FEATURES),
        BoostedTrees.from_arrays("linked", stored, LINKED_FEATURES),
    )


def _in_turns(*orders: Sequence[int]) -> Iterator[int]:
    """Round robin over the orders, without repeats."""
    seen: set[int] = set()
    queues = [iter(order) for order in orders]
    for _ in orders[0]:
        for queue in queues:
            place = next((place for place in queue if place not in seen), None)
            if place is not None:
                seen.add(place)
                yield place


def _highest(rows: Numbers, values: FloatMatrix, size: int) -> FloatMatrix:
    """The highest value of each of `size` rows, at least 0: shape (size,). `rows` and `values` belong together."""
    best = np.zeros(size, dtype=np.float32)
    np.maximum.at(best, rows, values.astype(np.float32))
    return best
