"""Path search: the passages that together may answer a question of several hops, without a language model.

Candidates are found directly, along shared names and by bridged queries (`candidates.py`), described by features (`features.py`)
and ordered by a scorer trained on training questions (`scoring.py`). A path leads from a passage that the question itself finds
to each hit, name by name. It explains a hit to a reader; the score is not computed from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hoptrail.errors import UsageError
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.candidates import Candidates, CandidateSettings, QuestionScores, find_candidates
from hoptrail.retrieval.paths.features import CandidateFeatures
from hoptrail.retrieval.paths.graph import PassageGraph
from hoptrail.retrieval.paths.queries import PathQueries
from hoptrail.retrieval.paths.scoring import Judged, in_order, stored_scorer
from hoptrail.structures.structure_names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.types import Hit, Kind, Ranking, Span, Unit

STRUCTURES = (PASSAGES, SENTENCES, EXTRACTIONS, MENTIONS)
"""The structures that must have been built."""
DIRECT = "direct"
BRIDGE = "bridge"
"""Channels of hits: found by the question itself, or reached by a name."""


@dataclass(frozen=True, slots=True)
class PathSettings:
    """How candidates are found and ordered, and which paths lead to them."""

    candidates: CandidateSettings = field(default_factory=CandidateSettings)
    sure: int = 5
    """The first hits, by the learned order alone; after them it alternates with the order of the direct search."""
    most_hops: int = 4
    """Passages of the longest path."""
    least_link: float = 0.1
    """Least probability, 0 to 1, that two passages are both evidence for a path to lead from one to the other."""

    def __post_init__(self) -> None:
        if self.most_hops < 1 or self.sure < 0 or not 0 <= self.least_link <= 1:
            raise UsageError(
                f"most_hops is at least 1, sure at least 0 and least_link between 0 and 1, not {self.most_hops}, "
                f"{self.sure} and {self.least_link}"
            )


@dataclass(frozen=True, slots=True)
class Crossing:
    """The step from one passage of a path to the next: a name, and the sentence of the first that has it (None: its title)."""

    name: str
    sentence: Span | None


@dataclass(frozen=True, slots=True)
class EvidencePath:
    """A hit with the passages that lead to it (itself last) and the crossings between them.

    `likelihood` is the scorer's probability that the hit is evidence.
    """

    hit: Hit
    likelihood: float
    passages: tuple[Unit, ...]
    crossings: tuple[Crossing, ...]


def search_paths(
    corpus: Corpus, question: str, limit: int, settings: PathSettings | None = None, steps: Sequence[str] | None = None
) -> Ranking:
    """The `limit` passages most likely to be evidence; scores are 1 / position.

    `steps` is a decomposition of the question, with `#1` for the answer of the first step; without it rules make one.

    Raises:
        NotBuilt: the structures in `STRUCTURES` are not built.
    """
    return tuple(path.hit for path in find_paths(corpus, question, limit, settings, steps))


def find_paths(
    corpus: Corpus, question: str, limit: int, settings: PathSettings | None = None, steps: Sequence[str] | None = None
) -> tuple[EvidencePath, ...]:
    """The hits of `search_paths`, each with its path.

    Raises:
        NotBuilt: the structures in `STRUCTURES` are not built.
    """
    settings = settings or PathSettings()
    described = describe(corpus, question, settings.candidates, steps)
    if described is None:
        return ()
    judged = stored_scorer().judge(described)
    order = in_order(described, judged, settings.sure)[:limit]
    finder = _PathFinder(described, judged, settings)
    return tuple(finder.path(place, 1 / position) for position, place in enumerate(order, start=1))


def describe(
    corpus: Corpus, question: str, settings: CandidateSettings, steps: Sequence[str] | None = None
) -> CandidateFeatures | None:
    """The candidates for a question as features; None in an index without passages."""
    snapshot, queries = corpus.snapshot, PathQueries.of(question, steps)
    if not snapshot.count(Kind.PASSAGE):
        return None
    vectors = corpus.quick_encoder.encode(queries.texts)
    scores = QuestionScores.of(PassageGraph.of(snapshot), snapshot.keywords, queries, vectors)
    candidates = find_candidates(scores, corpus.quick_encoder, settings)
    return CandidateFeatures(scores, candidates) if len(candidates.rows) else None


class _PathFinder:
    """Follows from each candidate its likeliest pair back to a candidate with a higher direct score, and so on."""

    def __init__(self, described: CandidateFeatures, judged: Judged, settings: PathSettings) -> None:
        self.graph: PassageGraph = described.scores.graph
        self.candidates: Candidates = described.candidates
        self.judged, self.settings = judged, settings
        direct = self.candidates.direct[self.candidates.rows]
        pairs, likely = judged.pairs, judged.paired
        asked = np.isin(pairs.names, list(described.scores.asked))
        self.best: dict[int, int] = {}
        onward = (direct[pairs.first] > direct[pairs.second]) & (likely >= settings.least_link) & ~asked
        for pair in sorted(np.flatnonzero(onward), key=lambda pair: (-likely[pair], pair)):
            self.best.setdefault(int(pairs.second[pair]), int(pair))

    def path(self, place: int, score: float) -> EvidencePath:
        """The path to the candidate at `place`, whose hit gets `score`."""
        pairs, steps, at = self.judged.pairs, [place], place
        crossings: list[Crossing] = []
        while at in self.best and len(steps) < self.settings.most_hops:
            pair = self.best[at]
            crossings.append(self._crossing(int(pairs.names[pair]), int(pairs.sentences[pair])))
            at = int(pairs.first[pair])
            steps.append(at)
        passages = tuple(self.graph.passages[self.candidates.rows[step]] for step in reversed(steps))
        channel = BRIDGE if crossings else DIRECT
        likelihood = 1 / (1 + math.exp(-float(self.judged.scores[place])))
        return EvidencePath(Hit(passages[-1], score, channel), likelihood, passages, tuple(reversed(crossings)))

    def _crossing(self, name: int, sentence: int) -> Crossing:
        if name not in self.graph.names_in.at(sentence):
            return Crossing(self.graph.names[name], None)
        passage = self.graph.passages[self.graph.passage_of[sentence]].sources[0]
        start, end = self.graph.spans[sentence]
        return Crossing(self.graph.names[name], Span(passage.document, passage.start + start, passage.start + end))
