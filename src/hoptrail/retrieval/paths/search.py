"""Path search: the passages that together may answer a question of several hops, without a language model.

Candidates are found directly, along shared names and by bridged queries (`candidates.py`), described in numbers
(`features.py`) and put in order by a scorer learned on training questions (`scoring.py`). A path leads from a passage
that the question itself finds to each hit, name by name: it is what a reader can follow, not what the score was made from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hoptrail.errors import UsageError
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.candidates import Candidates, CandidateSettings, QuestionScores, find_candidates
from hoptrail.retrieval.paths.features import Described
from hoptrail.retrieval.paths.graph import PassageGraph
from hoptrail.retrieval.paths.queries import PathQueries
from hoptrail.retrieval.paths.scoring import Judged, in_order, stored_scorer
from hoptrail.structures.structure_names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.types import Hit, Kind, Ranking, Span, Unit

STRUCTURES = (PASSAGES, SENTENCES, EXTRACTIONS, MENTIONS)
"""What must have been built."""
DIRECT = "direct"
BRIDGE = "bridge"
"""The channels of hits: found by the question itself, or reached by a name."""


@dataclass(frozen=True, slots=True)
class PathSettings:
    """What is searched, how it is ordered, and which paths are told."""

    candidates: CandidateSettings = field(default_factory=CandidateSettings)
    sure: int = 5
    """Hits that the learned order has to itself; after them it takes turns with what the question finds directly."""
    most_hops: int = 4
    """Passages of the longest path that is told."""
    least_link: float = 0.1
    """How likely two passages must both be evidence, 0 to 1, for a path to lead from one to the other."""

    def __post_init__(self) -> None:
        if self.most_hops < 1 or self.sure < 0 or not 0 <= self.least_link <= 1:
            raise UsageError(
                f"most_hops is at least 1, sure at least 0 and least_link between 0 and 1, not {self.most_hops}, "
                f"{self.sure} and {self.least_link}"
            )


@dataclass(frozen=True, slots=True)
class Crossing:
    """From one passage of a path to the next: by a name, which stands in a sentence of the first (`None` for its title)."""

    name: str
    sentence: Span | None


@dataclass(frozen=True, slots=True)
class EvidencePath:
    """A hit with the passages that lead to it, itself last, and the crossings between them: one fewer.

    `likelihood` is how likely the scorer thinks the hit is evidence, 0 to 1.
    """

    hit: Hit
    likelihood: float
    passages: tuple[Unit, ...]
    crossings: tuple[Crossing, ...]


def search_paths(
    corpus: Corpus, question: str, limit: int, settings: PathSettings | None = None, steps: Sequence[str] | None = None
) -> Ranking:
    """The `limit` passages most likely to be evidence; scores fall from 1 by position.

    `steps` is a decomposition of the question, in which `#1` stands for the answer of the first; None has the rules make one.

    Raises:
        NotBuilt: the structures of `STRUCTURES` are not built.
    """
    return tuple(path.hit for path in find_paths(corpus, question, limit, settings, steps))


def find_paths(
    corpus: Corpus, question: str, limit: int, settings: PathSettings | None = None, steps: Sequence[str] | None = None
) -> tuple[EvidencePath, ...]:
    """The same hits, each with its path.

    Raises:
        NotBuilt: as `search_paths`.
    """
    settings = settings or PathSettings()
    described = describe(corpus, question, settings.candidates, steps)
    if described is None:
        return ()
    judged = stored_scorer().judge(described)
    order = in_order(described, judged, settings.sure)[:limit]
    leading = _Leading(described, judged, settings)
    return tuple(leading.path(place, 1 / position) for position, place in enumerate(order, start=1))


def describe(
    corpus: Corpus,
    question: str,
    settings: CandidateSettings,
    steps: Sequence[str] | None = None,
) -> Described | None:
    """The candidates for a question in numbers; None in an index without passages."""
    snapshot, queries = corpus.snapshot, PathQueries.of(question, steps)
    if not snapshot.count(Kind.PASSAGE):
        return None
    vectors = corpus.quick_encoder.encode(queries.texts)
    scores = QuestionScores.of(PassageGraph.of(snapshot), snapshot.keywords, queries, vectors)
    candidates = find_candidates(scores, corpus.quick_encoder, settings)
    return Described(scores, candidates) if len(candidates.rows) else None


class _Leading:
    """What leads to each candidate: its likeliest pair from a candidate that the question finds more directly."""

    def __init__(self, described: Described, judged: Judged, settings: PathSettings) -> None:
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
