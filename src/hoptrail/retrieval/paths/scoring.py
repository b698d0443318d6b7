"""The learned order of a question's candidates, in three stages.

    passage    the probability that a candidate is evidence, from its own features
    pair       the probability that two candidates sharing a name are both evidence, for the best of the first stage
    linked     the first stage again, with features from the pairs

The trees are in `weights/paths.npz`, trained by `benchmarks/train_paths.py` on training questions only. They are evaluated with
NumPy alone and without walking them (Lucchese et al. 2015, QuickScorer): every node whose test fails clears the leaves of its
left side in a bit mask, and the lowest remaining bit is the leaf reached. A value is looked up once among all thresholds of its
feature, and finds there what the nodes with lower thresholds leave of every tree. The values of all masks are tabulated.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.searching import top_rows
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.paths.features import PAIR_FEATURES, PASSAGE_FEATURES, CandidateFeatures, Numbers, Pairs

MOST_LEAVES = 8  # of a tree: those that remain are the bits of one byte
_BLOCK = 128  # rows evaluated at a time, so that their masks stay in the cache
_LOWEST_BIT = np.array([next((bit for bit in range(8) if mask >> bit & 1), 0) for mask in range(256)], dtype=np.uint8)


@dataclass(frozen=True)
class BoostedTrees:
    """Trees whose leaves add up to log-odds. A tree has MOST_LEAVES - 1 nodes, padded with nodes that never fail.

    `features`, `thresholds`, `masks`: (trees, MOST_LEAVES - 1). A value above its threshold fails; `masks` has a bit for each
    leaf that then remains. `leaves`: (trees, MOST_LEAVES). `names` are the features in the order of columns.
    """

    names: tuple[str, ...]
    features: NDArray[np.int16]
    thresholds: FloatMatrix
    masks: NDArray[np.uint8]
    leaves: FloatMatrix

    def log_odds(self, values: FloatMatrix) -> FloatMatrix:
        """The log-odds of each row of `values`: shape (rows,). Raises: ValueError: there are not as many columns as `names`."""
        if values.shape[1] != len(self.names):
            raise ValueError(f"these trees read {len(self.names)} features, not {values.shape[1]}: train them again")
        parts = [self._block(values[start : start + _BLOCK]) for start in range(0, len(values), _BLOCK)]
        return np.concatenate([np.zeros(0, dtype=np.float32), *parts])

    def probabilities(self, values: FloatMatrix) -> FloatMatrix:
        """The probability of each row: shape (rows,)."""
        return (1 / (1 + np.exp(-self.log_odds(values)))).astype(np.float32)

    def _block(self, values: FloatMatrix) -> FloatMatrix:
        remaining = np.full((len(values), len(self.leaves)), 255, dtype=np.uint8)
        for feature, thresholds, left in self._left_by_feature:
            remaining &= np.take(left, np.searchsorted(thresholds, values[:, feature]), axis=0)
        first_of_tree = np.arange(len(self.leaves), dtype=np.intp) * 256
        reached = np.take(self._values, remaining + first_of_tree, mode="clip")
        total: FloatMatrix = reached.sum(axis=1, dtype=np.float64).astype(np.float32)
        return total

    @cached_property
    def _values(self) -> FloatMatrix:
        """The leaf that each mask reaches, 256 values a tree."""
        return self.leaves[:, _LOWEST_BIT].ravel()

    @cached_property
    def _left_by_feature(self) -> list[tuple[int, FloatMatrix, NDArray[np.uint8]]]:
        """For each feature its thresholds in rising order, and the leaves left of every tree above each number of them.

        The last has shape (thresholds + 1, trees).
        """
        found = []
        for feature in range(len(self.names)):
            trees, nodes = np.nonzero((self.features == feature) & (self.masks != 255))
            thresholds = np.unique(self.thresholds[trees, nodes])
            left = np.full((len(thresholds) + 1, len(self.leaves)), 255, dtype=np.uint8)
            failed_above = np.searchsorted(thresholds, self.thresholds[trees, nodes]) + 1
            np.bitwise_and.at(left, (failed_above, trees), self.masks[trees, nodes])
            found.append((feature, thresholds, np.bitwise_and.accumulate(left, axis=0)))
        return found

    @classmethod
    def from_arrays(cls, prefix: str, stored: dict[str, NDArray[np.generic]], names: Sequence[str]) -> BoostedTrees:
        """The trees stored under a prefix. Raises: ValueError: they were trained on features other than `names`."""
        trained = tuple(str(name) for name in stored[f"{prefix}.names"])
        if trained != tuple(names):
            raise ValueError(
                f"the trees {prefix!r} were trained on other features: run benchmarks/train_paths.py again"
            )
        parts = {part: stored[f"{prefix}.{part}"] for part in ("features", "thresholds", "masks", "leaves")}
        return cls(trained, **parts)  # type: ignore[arg-type]


PAIRED = 40  # candidates among which pairs are made
DIRECT = 1.0
"""Weight in the log-odds of the direct score as a share of the best: without pages (news sentences) names link less."""

LINKED_FEATURES = (
    *PASSAGE_FEATURES,
    *(f"{way} {what}" for way in ("in", "out") for what in ("best", "sum", "weighed", "partner")),
    "in over two", "out over two", "first score", "first rank", "first share",
)  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """`paired` is the probability of each pair."""

    scores: FloatMatrix
    pairs: Pairs
    paired: FloatMatrix


@dataclass(frozen=True)
class PathScorer:
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


def in_order(described: CandidateFeatures, judged: Judged, leading: int) -> list[int]:
    """Places of the candidates, best first: the `leading` best by score, then the direct order and the scores in turn.

    Alternating helps questions with parallel facts instead of a chain: it keeps what they find directly.
    """
    rows = described.candidates.rows
    by_score = np.lexsort((rows, -judged.scores)).tolist()
    direct = np.lexsort((rows, -described.candidates.direct[rows])).tolist()
    order: list[int] = by_score[:leading]
    for best_first in cycle([iter(direct), iter(by_score)]):
        place = next((place for place in best_first if place not in order), None)
        if place is None:
            break
        order.append(place)
    return order


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
        best, partners = _highest(own, paired, size), first[partner]
        columns += [best, np.bincount(own, paired, size).astype(np.float32)]
        columns += [_highest(own, paired * np.maximum(partners, 1e-6), size), _highest(own, partners, size)]
        over_two.append(_highest(own, paired * best[partner], size))
    ranks = np.empty(size, dtype=np.float32)
    ranks[np.argsort(-first, kind="stable")] = np.log1p(np.arange(size))
    columns += [*over_two, first, ranks, first / max(float(first.max(initial=0)), 1e-9)]
    return np.concatenate([described.passages, np.stack(columns, axis=1)], axis=1).astype(np.float32)


@cache
def stored_scorer() -> PathScorer:
    return read_scorer((files("hoptrail.retrieval") / "weights" / "paths.npz").read_bytes())


def read_scorer(content: bytes) -> PathScorer:
    """The scorer written by `benchmarks/train_paths.py`. Raises: ValueError: it was trained on other features."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        stored = dict(file)
    return PathScorer(
        BoostedTrees.from_arrays("passage", stored, PASSAGE_FEATURES),
        BoostedTrees.from_arrays("pair", stored, PAIR_FEATURES),
        BoostedTrees.from_arrays("linked", stored, LINKED_FEATURES),
    )


def _highest(rows: Numbers, values: FloatMatrix, size: int) -> FloatMatrix:
    """The highest value of each of `size` rows, at least 0: shape (size,). `rows` and `values` belong together."""
    best = np.zeros(size, dtype=np.float32)
    np.maximum.at(best, rows, values.astype(np.float32))
    return best
