"""Path search: the passages that together may answer a question of several hops, without a language model.

Candidates are found directly, along shared names and by bridged queries (`candidates.py`), described by features (`features.py`)
and ordered by a scorer trained on training questions (`scoring.py`) and by paths that follow the question's plan.

A planned path has for each step a passage, and the name in it that answers the step. The steps are asked of the candidates one
after another. A step that refers to earlier ones is asked once for each of the likeliest names found there: the third step of a
chain is asked about what the second one found, where a bridged query fills in a single step. A path weighs more the nearer its
passages are to what is asked of them, and its names to the nearest sentence. A candidate gets the share of the weight of all
paths that is on paths through it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from operator import attrgetter

import numpy as np

from hoptrail.corpus.structure_names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.models.encoder import Encoder, FloatMatrix
from hoptrail.models.tracing import traced_search
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.candidates import AS_TRAINED, CandidateSettings, find_candidates
from hoptrail.retrieval.paths.features import CandidateFeatures
from hoptrail.retrieval.paths.queries import PassageGraph, PathQueries, QuestionScores
from hoptrail.retrieval.paths.scoring import Judged, PathScorer, in_order, stored_scorer
from hoptrail.types import Hit, Kind, Ranking

STRUCTURES = (PASSAGES, SENTENCES, EXTRACTIONS, MENTIONS)  # the structures that must have been built
DIRECT = "direct"
BRIDGE = "bridge"
"""Channels of hits: found by the question itself, or reached by a name."""
PLANNED = 1.5
"""Weight in the log-odds of the share of planned paths: between 1 and 2 the development questions hardly change."""
_NEARER = 0.06  # the cosine that makes a path e times as likely; a name that its passage lacks costs as much
_WIDTH = 6
"""Texts that a step is asked as, passages for each of them, and names of each passage. Twice as many gain nothing."""


@traced_search
def search_paths(corpus: Corpus, question: str, limit: int, settings: CandidateSettings = AS_TRAINED) -> Ranking:
    """The `limit` passages most likely to be evidence; scores are 1 / position. Raises: NotBuilt: a structure is missing."""
    described = describe(corpus, question, settings)
    if described is None:
        return ()
    judged = judge(described, stored_scorer(), corpus.encoder)
    order = in_order(described, judged, settings.leading)[:limit]
    # Bridged are those that a name joins to one with a higher direct score. Names in the question do not count.
    pairs, direct = judged.pairs, described.candidates.direct[described.candidates.rows]
    asked = np.isin(pairs.names, list(described.scores.asked))
    onward = (direct[pairs.first] > direct[pairs.second]) & (judged.paired >= settings.least_link) & ~asked
    bridged = set(pairs.second[onward].tolist())
    rows = described.candidates.rows[order].tolist()
    units = described.scores.graph.passages(rows)
    return tuple(
        Hit(units[row], 1 / position, BRIDGE if place in bridged else DIRECT)
        for position, (place, row) in enumerate(zip(order, rows, strict=True), start=1)
    )


def describe(corpus: Corpus, question: str, settings: CandidateSettings) -> CandidateFeatures | None:
    """The candidates for a question as features; None in an index without passages."""
    snapshot, queries = corpus.snapshot, PathQueries.of(question)
    if not snapshot.count(Kind.PASSAGE):
        return None
    vectors = corpus.encoder.encode(queries.texts)
    scores = QuestionScores.of(PassageGraph.of(snapshot), snapshot.keywords, queries, vectors, settings.read)
    candidates = find_candidates(scores, corpus.encoder, settings)
    return CandidateFeatures(scores, candidates) if len(candidates.rows) else None


def judge(described: CandidateFeatures, scorer: PathScorer, encoder: Encoder) -> Judged:
    """What the scorer says of candidates and pairs, with PLANNED for each candidate's share of the planned paths."""
    judged = scorer.judge(described)
    return replace(judged, scores=judged.scores + PLANNED * on_planned_paths(described, encoder))


# --- paths that follow the plan


@dataclass(frozen=True, slots=True)
class _Path:
    """The places of the candidates for the steps so far, and the names found there; -1: no new name, or no step asks for one."""

    log_weight: float = 0.0
    places: tuple[int, ...] = ()
    names: tuple[int, ...] = ()


def on_planned_paths(described: CandidateFeatures, encoder: Encoder) -> FloatMatrix:
    """The share of the planned paths that goes through each candidate; 0 if no step refers to an earlier one."""
    shares = np.zeros(len(described.candidates.rows), dtype=np.float32)
    if not described.scores.queries.edges:
        return shares
    plan, paths = _Plan(described, encoder), [_Path()]
    for step in range(1, len(described.scores.queries.steps) + 1):
        paths = nlargest(_WIDTH**2, plan.extended(paths, step), attrgetter("log_weight"))
    weights = np.exp([path.log_weight - paths[0].log_weight for path in paths])
    for path, weight in zip(paths, weights / weights.sum(), strict=True):
        shares[list(set(path.places))] += weight
    return shares


class _Plan:
    def __init__(self, described: CandidateFeatures, encoder: Encoder) -> None:
        self._described, self._encoder = described, encoder
        self._graph, self._queries = described.scores.graph, described.scores.queries
        self._passages = self._graph.passage_vectors[described.candidates.rows]
        self._of_name, self._names = self._graph.names_in.of_all(described.sentences)

    def extended(self, paths: Sequence[_Path], step: int) -> list[_Path]:
        """Paths, best first, with the nearest candidates for one step more, and their likeliest names."""
        earlier = [before for before, at in self._queries.edges if at == step and before < step]
        filled: defaultdict[tuple[int, ...], list[_Path]] = defaultdict(list)
        for path in paths:
            filled[tuple(path.names[before - 1] for before in earlier)].append(path)
        asked = list(filled)[:_WIDTH]
        spelt = [[self._graph.name(name) if name >= 0 else "" for name in names] for names in asked]
        texts = [self._queries.filled(step, dict(zip(earlier, names, strict=True))) for names in spelt]
        vectors = self._encoder.encode(texts) if earlier else self._described.scores.vectors[step : step + 1]
        is_asked_for = step in {before for before, _ in self._queries.edges}
        further: list[_Path] = []
        for names, vector in zip(asked, vectors, strict=True):
            sentences = self._described.vectors @ vector
            near = self._nearness(names, vector, sentences)
            for place in np.argsort(-near, kind="stable")[:_WIDTH].tolist():
                answers = self._answers(place, sentences) if is_asked_for else ()
                for path in filled[names][:_WIDTH]:
                    weight, places = path.log_weight + float(near[place]), (*path.places, place)
                    new = [answer for answer in answers if answer[1] not in path.names][:_WIDTH] or [(-1.0, -1)]
                    further += [_Path(weight + more, places, (*path.names, name)) for more, name in new]
        return further

    def _nearness(self, names: Sequence[int], vector: FloatMatrix, sentences: FloatMatrix) -> FloatMatrix:
        """The log weight of each candidate for a step in which `names` stand, from its cosine and its best sentence's."""
        near: FloatMatrix = (self._passages @ vector + self._described.highest(sentences)) / (2 * _NEARER)
        for name in names:
            near -= ~np.isin(self._described.candidates.rows, self._graph.passages_with(name))
        return near

    def _answers(self, place: int, sentences: FloatMatrix) -> list[tuple[float, int]]:
        """The names of a candidate that the question does not have, with their log weights from the sentences' cosines."""
        start, end = self._described.starts[place : place + 2]
        inside = slice(*np.searchsorted(self._of_name, (start, end)))
        below_best = (sentences[self._of_name[inside]] - sentences[start:end].max(initial=-1)) / _NEARER
        title = int(self._graph.titles[self._described.candidates.rows[place]])
        weights = {title: -1.0} if title >= 0 else {}  # less than a name in the best sentence
        for name, weight in zip(self._names[inside].tolist(), below_best.tolist(), strict=True):
            weights[name] = max(weights.get(name, weight), weight)
        return sorted([(weights[name], name) for name in weights.keys() - self._described.scores.asked], reverse=True)
