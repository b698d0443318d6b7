"""Path search: the passages that together may answer a question of several hops, without a language model.

Candidates are found directly, along shared names and by bridged queries (`candidates.py`), described by features (`features.py`)
and ordered by a scorer trained on training questions (`scoring.py`) and by paths that follow the question's plan.

A planned path has for each step a passage, and the answer to the step that the trained reader finds in the passage's two
nearest sentences. The steps are asked of the candidates one after another. A step that refers to earlier ones is asked once for
each of the likeliest answers found there: the third step of a chain is asked about what the second one found, where a bridged
query fills in a single step. A path weighs more the nearer its passages are to what is asked of them, and the surer the reader
is of its answers. A candidate gets the share of the weight of all paths that is on paths through it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import islice
from operator import attrgetter

import numpy as np

from hoptrail.corpus.structure_names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.models.encoder import Encoder, FloatMatrix
from hoptrail.models.reader import TextReader, ToRead, installed_reader
from hoptrail.models.tracing import traced_search
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.candidates import AS_TRAINED, CandidateSettings, find_candidates
from hoptrail.retrieval.paths.features import CandidateFeatures
from hoptrail.retrieval.paths.queries import PassageGraph, PathQueries, QuestionScores
from hoptrail.retrieval.paths.scoring import Judged, PathScorer, in_order, stored_scorer
from hoptrail.text.normal_forms import same_words, squeeze
from hoptrail.text.title_scanning import name_key
from hoptrail.types import Hit, Kind, Ranking

STRUCTURES = (PASSAGES, SENTENCES, EXTRACTIONS, MENTIONS)  # the structures that must have been built
DIRECT = "direct"
BRIDGE = "bridge"
"""Channels of hits: found by the question itself, or reached by a name."""
PLANNED = 2.0
"""Weight in the log-odds of the share of planned paths: between 1.5 and 3 the development questions hardly change."""
_NEARER = 0.06  # the cosine that makes a path e times as likely; an answer that its passage lacks costs as much
_SURER = 2.0  # the reader's margin that does, where the reader is unsure
_WIDTH = 6
"""Texts that a step is asked as, passages for each of them, and answers of each passage. A third more gain nothing."""
_READ = 2  # sentences of a passage: with one fewer sides of comparisons are found, with all fewer chains


@traced_search
def search_paths(corpus: Corpus, question: str, limit: int, settings: CandidateSettings = AS_TRAINED) -> Ranking:
    """The `limit` passages most likely to be evidence; scores are 1 / position. Raises: NotBuilt: a structure is missing."""
    described = describe(corpus, question, settings)
    if described is None:
        return ()
    judged = judge(described, stored_scorer(), corpus.encoder, installed_reader())
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


def judge(described: CandidateFeatures, scorer: PathScorer, encoder: Encoder, reader: TextReader) -> Judged:
    """What the scorer says of candidates and pairs, with PLANNED for each candidate's share of the planned paths."""
    judged = scorer.judge(described)
    return replace(judged, scores=judged.scores + PLANNED * on_planned_paths(described, encoder, reader))


# --- paths that follow the plan


@dataclass(frozen=True, slots=True)
class _Path:
    """The places of the candidates for the steps so far, and the answers found there; empty: none, or no step asks for one."""

    log_weight: float = 0.0
    places: tuple[int, ...] = ()
    answers: tuple[str, ...] = ()


def on_planned_paths(described: CandidateFeatures, encoder: Encoder, reader: TextReader) -> FloatMatrix:
    """The share of the planned paths that goes through each candidate; 0 if no step refers to an earlier one."""
    shares = np.zeros(len(described.candidates.rows), dtype=np.float32)
    if not described.scores.queries.edges:
        return shares
    plan, paths = _Plan(described, encoder, reader), [_Path()]
    for step in range(1, len(described.scores.queries.steps) + 1):
        paths = nlargest(_WIDTH**2, plan.extended(paths, step), attrgetter("log_weight"))
    weights = np.exp([path.log_weight - paths[0].log_weight for path in paths])
    for path, weight in zip(paths, weights / weights.sum(), strict=True):
        shares[list(set(path.places))] += weight
    return shares


class _Plan:
    def __init__(self, described: CandidateFeatures, encoder: Encoder, reader: TextReader) -> None:
        self._described, self._encoder, self._reader = described, encoder, reader
        self._graph, self._queries = described.scores.graph, described.scores.queries
        self._passages = self._graph.passage_vectors[described.candidates.rows]
        self._asked = set(map(self._graph.name, described.scores.asked))

    def extended(self, paths: Sequence[_Path], step: int) -> list[_Path]:
        """Paths, best first, with the nearest candidates for one step more, and their likeliest answers."""
        earlier = [before for before, at in self._queries.edges if at == step and before < step]
        filled: defaultdict[tuple[str, ...], list[_Path]] = defaultdict(list)
        for path in paths:
            filled[tuple(path.answers[before - 1] for before in earlier)].append(path)
        asked = list(filled)[:_WIDTH]
        texts = [self._queries.filled(step, dict(zip(earlier, answers, strict=True))) for answers in asked]
        vectors = self._encoder.encode(texts) if earlier else self._described.scores.vectors[step : step + 1]
        is_asked_for = step in {before for before, _ in self._queries.edges}
        further: list[_Path] = []
        for filling, text, vector in zip(asked, texts, vectors, strict=True):
            sentences = self._described.vectors @ vector
            near = self._nearness(filling, vector, sentences)
            for place in np.argsort(-near, kind="stable")[:_WIDTH].tolist():
                answers = self._answers(text, place, sentences) if is_asked_for else []
                for path in filled[filling][:_WIDTH]:
                    weight, places = path.log_weight + float(near[place]), (*path.places, place)
                    new = [answer for answer in answers if answer[1] not in path.answers] or [(-1.0, "")]
                    further += [_Path(weight + more, places, (*path.answers, answer)) for more, answer in new]
        return further

    def _nearness(self, answers: Sequence[str], vector: FloatMatrix, sentences: FloatMatrix) -> FloatMatrix:
        """The log weight of each candidate for a step in which `answers` stand, from its cosine and its best sentence's."""
        near: FloatMatrix = (self._passages @ vector + self._described.highest(sentences)) / (2 * _NEARER)
        for answer in answers:
            near -= ~np.isin(self._described.candidates.rows, self._graph.passages_with(self._graph.number(answer)))
        return near

    def _answers(self, text: str, place: int, sentences: FloatMatrix) -> list[tuple[float, str]]:
        """What the nearest sentences of a candidate answer, as keys of names, likeliest first, with log weights; nothing that
        the question names.
        """
        row, start, end = self._described.candidates.rows[place], *self._described.starts[place : place + 2]
        title = self._graph.passages([row])[int(row)].title
        said = self._graph.texts(self._described.sentences[start:end])
        by_nearness = np.argsort(-sentences[start:end], kind="stable").tolist()
        nearest = list(islice((at for at in by_nearness if not same_words(said[at], title)), _READ))
        if not nearest:
            return []
        read = f"{title}\n{squeeze(' '.join(said[at] for at in sorted(nearest)))}"
        (reading,) = self._reader.read([ToRead(text, read)])
        answers: dict[str, float] = {}
        for answer in reading.answers:  # the likeliest first
            words, sure = read[answer.start : answer.end], -float(np.logaddexp(0, -answer.margin / _SURER))
            if "\n" not in words:  # half a title is none
                answers.setdefault(name_key(words), sure)
        return [(sure, key) for key, sure in answers.items() if key and key not in self._asked]
