"""Path search: the passages that together may answer a question of several hops, without a language model.

Candidates are found directly, along shared names and by bridged queries (`candidates.py`), described by features (`features.py`)
and ordered by a scorer trained on training questions (`scoring.py`) and by paths that follow the question's plan (`planned.py`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hoptrail.corpus.structure_names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.models.encoder import Encoder
from hoptrail.models.tracing import traced_search
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.candidates import AS_TRAINED, CandidateSettings, find_candidates
from hoptrail.retrieval.paths.features import CandidateFeatures
from hoptrail.retrieval.paths.graph import PassageGraph
from hoptrail.retrieval.paths.planned import on_planned_paths
from hoptrail.retrieval.paths.queries import PathQueries
from hoptrail.retrieval.paths.question_scores import QuestionScores
from hoptrail.retrieval.paths.scoring import Judged, PathScorer, in_order, stored_scorer
from hoptrail.types import Hit, Kind, Ranking

STRUCTURES = (PASSAGES, SENTENCES, EXTRACTIONS, MENTIONS)
"""The structures that must have been built."""
DIRECT = "direct"
BRIDGE = "bridge"
"""Channels of hits: found by the question itself, or reached by a name."""
PLANNED = 1.5
"""Weight in the log-odds of the share of planned paths: between 1 and 2 the development questions hardly change."""


@traced_search
def search_paths(corpus: Corpus, question: str, limit: int, settings: CandidateSettings = AS_TRAINED) -> Ranking:
    """The `limit` passages most likely to be evidence; scores are 1 / position. Raises: NotBuilt: a structure is missing."""
    described = describe(corpus, question, settings)
    if described is None:
        return ()
    judged = judge(described, stored_scorer(), corpus.encoder)
    order = in_order(described, judged, settings.sure)[:limit]
    bridged = _bridged(described, judged, settings.least_link)
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


def _bridged(described: CandidateFeatures, judged: Judged, least_link: float) -> set[int]:
    """The places of candidates that a name joins to one with a higher direct score. Names in the question do not count."""
    pairs = judged.pairs
    direct = described.candidates.direct[described.candidates.rows]
    asked = np.isin(pairs.names, list(described.scores.asked))
    onward = (direct[pairs.first] > direct[pairs.second]) & (judged.paired >= least_link) & ~asked
    return set(pairs.second[onward].tolist())
