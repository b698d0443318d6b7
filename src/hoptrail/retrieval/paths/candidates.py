"""The candidates for a question's path: found directly, one or two names away, or by a bridged query.

1. Score every query against all passages (`queries.py`).
2. Twice, follow names from the best passages to passages with that title or that mention the name; a common name leads only to
   the passages nearest to the question.
3. Take names from sentences of the best passages that are near a step to which another step refers. Put each that some further
   passage has into that other step, and add the best passages for it among those that have the name.

Nothing here is learned; the numbers were set by hand on training and development questions. `features.py` describes the
candidates, `scoring.py` orders them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.searching import Matrix, top_rows
from hoptrail.models.encoder import Encoder, FloatMatrix
from hoptrail.retrieval.paths.queries import PathQueries, QuestionScores, best_column
from hoptrail.setting_limits import AtLeast0, AtLeast1, Limited, Share
from hoptrail.text.title_scanning import name_key

Places = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class CandidateSettings(Limited):
    """How many candidates there are, how widely they are searched, and what the scorer, trained with these values, decides."""

    read: AtLeast1 = 8000  # passages whose sentences are compared with the queries: the best by words and by vectors
    candidates: AtLeast1 = 120
    first_sources: AtLeast1 = 14  # passages whose names are followed in the first round
    second_sources: AtLeast0 = 16  # and in the second round
    bridges: AtLeast0 = 12  # most names put into a step, over all steps; 0: no bridged queries
    rare: AtLeast0 = 40  # a name in at most this many passages leads to all of them
    common: AtLeast0 = 600  # one in at most this many leads to the few nearest to the question, a commoner one nowhere
    leading: AtLeast0 = 5  # first hits, by the learned order alone; then it alternates with that of the direct search
    least_link: Share = 0.1  # least probability that two passages are evidence, for the second to be reached by a name


AS_TRAINED = CandidateSettings()

STRETCH = 0.6  # weight of the best stretch relative to the whole question
NAMED = 0.5  # bonus if the question names the passage's title; half of it if four or more passages have that title
MEETING_POINTS = 5  # passages to which a common name leads from one source
BRIDGED_FROM = 12
"""Passages whose names are bridged; of their names at least the CONSIDERED most promising are looked up."""
CONSIDERED = 40
LEAST_PROMISE = 0.75
"""Least promise of a bridge relative to the best: each costs an encoded text, and lesser ones reach nothing more."""
BRIDGED_TO = 6
"""Passages reached by one bridge, among the MOST_BRIDGED with its name that are nearest to the question."""
MOST_BRIDGED = 400


@dataclass(frozen=True, slots=True)
class Bridge:
    """A name put into a step (0: appended to the question), and its promise: 0 to about 1.5."""

    name: int
    text: str
    step: int
    promise: float


@dataclass(frozen=True, slots=True)
class Source:
    """A passage whose names are followed. `row` is -1 for one of another part of the corpus, whose `promise` does not change."""

    row: int
    names: Places  # those that this part of the corpus has too
    title: int
    vector: FloatMatrix
    cosine: float  # with the question
    promise: float


@dataclass(frozen=True)
class Candidates:
    """`rows` are passages, best first by `promise`; `direct` (n) and `shares` (n x k) cover all passages.

    Row i of `bridge_vectors` belongs to `bridges[i]`.
    """

    rows: NDArray[np.intp]
    promise: FloatMatrix
    direct: FloatMatrix
    shares: FloatMatrix
    bridges: tuple[Bridge, ...]
    bridge_vectors: FloatMatrix


def find_candidates(scores: QuestionScores, encoder: Encoder, settings: CandidateSettings) -> Candidates:
    walk = Walk(scores, settings)
    walk.expand_best()
    promising = promising_bridges(walk)
    having = {bridge.text: len(scores.graph.passages_with(bridge.name)) for bridge in promising}
    bridges = choose_bridges(promising, having, settings.bridges)
    vectors = bridge_vectors(bridges, scores.queries, encoder)
    walk.add_bridged(bridges, vectors)
    rows = np.array(walk.best(settings.candidates), dtype=np.intp)
    scores.read(rows)
    return Candidates(rows, walk.promise[rows], walk.direct, walk.shares, bridges, vectors)


def bridge_vectors(bridges: Sequence[Bridge], queries: PathQueries, encoder: Encoder) -> FloatMatrix:
    """The vectors of bridged queries: shape (len(bridges), dimension)."""
    texts = [queries.bridged(bridge.step, bridge.text) for bridge in bridges]
    return encoder.encode(texts) if texts else np.zeros((0, encoder.identity.dimension), dtype=np.float32)


class Walk:
    """The promise of every passage: -1 until it is reached, directly at first, then raised by every better way to it."""

    def __init__(self, scores: QuestionScores, settings: CandidateSettings) -> None:
        self.scores, self.settings, self.near = scores, settings, scores.near
        self.shares = scores.shares()
        self.direct = _direct_scores(scores.queries, self.shares)
        self.asked = np.zeros(len(scores.graph.keys), dtype=bool)
        self.asked[list(scores.asked)] = True
        seeds = _seeds(scores, self.shares, self.direct)
        self.promise = np.full(len(seeds), -1, dtype=np.float32)
        rows = top_rows(seeds, 40)
        self.promise[rows] = seeds[rows]

    def best(self, count: int) -> list[int]:
        """The most promising passages reached so far, best first."""
        reached = np.flatnonzero(self.promise > 0)
        rows: list[int] = reached[top_rows(self.promise[reached], count)].tolist()
        return rows

    def expand_best(self) -> None:
        """Follow the names of the best passages, twice."""
        first = self.best(self.settings.first_sources)
        self.follow(self.sources(first))
        second = self.best(self.settings.first_sources + self.settings.second_sources)
        self.follow(self.sources([row for row in second if row not in set(first)]))

    def sources(self, rows: Sequence[int]) -> list[Source]:
        graph, cosines = self.scores.graph, self.scores.passages[:, 0]
        vectors, names, titles = graph.passage_vectors[np.array(rows, np.intp)], graph.named_by, graph.titles
        return [
            Source(row, names.at(row), int(titles[row]), vector, float(cosines[row]), float(self.promise[row]))
            for row, vector in zip(rows, vectors, strict=True)
        ]

    def follow(self, sources: Sequence[Source]) -> None:
        """Reach passages that share a name with the sources, in order: one source may raise the promise of the next."""
        if not sources:
            return
        of_source, targets, weights = self._links(sources)
        bounds = np.searchsorted(of_source, np.arange(len(sources) + 1))
        cosines = self.scores.passages[:, 0]
        near = _RowVectors(self.scores.graph.passage_vectors, targets)
        for source, start, end in zip(sources, bounds, bounds[1:], strict=False):
            reached = targets[start:end]
            between = near.to(reached, source.vector)
            # The cosine of the question with the sum of two vectors of length 1, without adding them up.
            both = (cosines[reached] + np.float32(source.cosine)) / np.sqrt(np.maximum(2 + 2 * between, 1e-9))
            fit = 0.5 + 0.4 * both + 0.6 * self.near[reached]
            promise = source.promise if source.row < 0 else float(self.promise[source.row])
            np.maximum.at(self.promise, reached, min(promise, 1.3) * weights[start:end] * fit)

    def _links(self, sources: Sequence[Source]) -> tuple[Places, Places, FloatMatrix]:
        """Links to passages that share a name with a source: the source's place, rising, the passage, and the link's weight.

        A passage with the name as its title weighs most, unless that is the source's own title: a namesake is no next step.
        """
        graph, names = self.scores.graph, np.concatenate([source.names for source in sources])
        of_name = np.repeat(np.arange(len(sources)), [len(source.names) for source in sources])
        titles = np.array([source.title for source in sources])[of_name]
        counts, asked = graph.namers.counts(names), self.asked[names]
        at, owners = graph.owners.of_all(names)
        parts = [(of_name[at], owners, np.where(names[at] == titles[at], 0.6, 1.0))]
        rare = np.flatnonzero(counts <= self.settings.rare)
        at, namers = graph.namers.of_all(names[rare])
        worth = np.where(asked[rare], 0.75, 0.95 - 0.05 * np.log1p(counts[rare]))
        parts.append((of_name[rare[at]], namers, worth[at]))
        for place in np.flatnonzero((counts > self.settings.rare) & ~asked & (counts <= self.settings.common)):
            passages = graph.namers.at(names[place])
            nearest = passages[top_rows(self.near[passages], MEETING_POINTS)]
            parts.append((np.full(len(nearest), of_name[place]), nearest, np.full(len(nearest), 0.72)))
        of_source, targets, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        kept = np.flatnonzero(targets != np.array([source.row for source in sources])[of_source])
        kept = kept[np.argsort(of_source[kept], kind="stable")]
        return of_source[kept], targets[kept], weights[kept].astype(np.float32)

    def add_bridged(self, bridges: Sequence[Bridge], vectors: FloatMatrix) -> None:
        """Reach the passages that have a bridge's name and are nearest to its query, whose vector is in `vectors`."""
        if not bridges:
            return
        graph = self.scores.graph
        having = [graph.passages_with(bridge.name) for bridge in bridges]
        named = [rows[top_rows(self.near[rows], MOST_BRIDGED)] for rows in having]
        cosines = _RowVectors(graph.passage_vectors, np.concatenate(named))
        pairs = zip(named, vectors, strict=True)
        nearest = [rows[top_rows(cosines.to(rows, vector), BRIDGED_TO)] for rows, vector in pairs]
        _, inside = graph.sentences.of_all(np.concatenate(nearest))
        sentences = _RowVectors(graph.sentence_vectors, inside)
        for bridge, rows, vector in zip(bridges, nearest, vectors, strict=True):
            for row, cosine in zip(rows.tolist(), cosines.to(rows, vector).tolist(), strict=True):
                own = sentences.to(graph.sentences.at(row), vector)
                highest = max(cosine, float(own.max(initial=-1)))
                promise = min(bridge.promise, 0.9) * (0.3 + 0.7 * highest)
                self.promise[row] = max(float(self.promise[row]), promise)


class _RowVectors:
    def __init__(self, vectors: Matrix, rows: Places) -> None:
        self._rows = np.unique(rows)
        self._vectors = vectors[self._rows]

    def to(self, rows: Places, vector: FloatMatrix) -> FloatMatrix:
        """The cosines of `rows`, which must be among the fetched ones, with `vector`."""
        cosines: FloatMatrix = self._vectors[np.searchsorted(self._rows, rows)] @ vector
        return cosines


def _direct_scores(queries: PathQueries, shares: FloatMatrix) -> FloatMatrix:
    """Each passage's score for the whole question mixed with that for its best stretch: shape (n,)."""
    stretches = shares[:, len(queries.steps) + 1 :]
    best = best_column(stretches) if stretches.shape[1] else shares[:, 0]
    mixed: FloatMatrix = ((shares[:, 0] + STRETCH * best) / (1 + STRETCH)).astype(np.float32)
    return mixed


def _seeds(scores: QuestionScores, shares: FloatMatrix, direct: FloatMatrix) -> FloatMatrix:
    bonus = np.zeros(len(direct), dtype=np.float32)
    for name in scores.asked:
        owners = scores.graph.owners.at(name)
        bonus[owners] = np.maximum(bonus[owners], NAMED if len(owners) < 4 else NAMED / 2)
    steps = 0.9 * best_column(shares[:, 1:]) if shares.shape[1] > 1 else np.zeros(len(shares), dtype=np.float32)
    seeds: FloatMatrix = (np.maximum(direct, steps) + bonus).astype(np.float32)
    return seeds


def choose_bridges(bridges: Sequence[Bridge], having: Mapping[str, int], most: int) -> tuple[Bridge, ...]:
    """The best of `bridges`, best first. A name that only one passage has (by `having`) leads nowhere."""
    leading = [bridge for bridge in bridges if having[bridge.text] > 1][:most]
    return tuple(bridge for bridge in leading if bridge.promise >= LEAST_PROMISE * leading[0].promise)


def promising_bridges(walk: Walk) -> tuple[Bridge, ...]:
    """Names of the best passages, each with a step to put it into, best first."""
    scores, rows = walk.scores, np.array(walk.best(BRIDGED_FROM), dtype=np.intp)
    if not len(rows):
        return ()
    scores.read(rows)
    places, occurrences, near, weights = _names_onward(scores, rows)
    likely = np.minimum(walk.promise[rows].astype(np.float64), 1.4) / float(walk.promise[rows[0]])
    names, which = np.unique(occurrences, return_inverse=True)
    texts, words = list(map(scores.graph.name, names)), set(name_key(scores.queries.question).split())
    # A name that the question already has bridges nothing.
    free = [at for at, text in enumerate(texts) if names[at] not in scores.asked and not words.issuperset(text.split())]
    promises: dict[tuple[int, int], float] = {}
    for before, step in scores.queries.edges or ((0, 0),):
        best = np.zeros(len(names))
        np.maximum.at(best, which, likely[places] * weights * np.maximum(near[:, before].astype(np.float64), 0.0))
        for place in free:
            pair = int(names[place]), step
            promises[pair] = max(promises.get(pair, 0.0), float(best[place]))
    chosen = sorted(promises, key=lambda pair: (-promises[pair], pair))[: max(CONSIDERED, walk.settings.bridges)]
    return tuple(Bridge(name, scores.graph.name(name), step, promises[name, step]) for name, step in chosen)


def _names_onward(scores: QuestionScores, rows: Places) -> tuple[Places, Places, FloatMatrix, FloatMatrix]:
    """Occurrences of names in the passages of `rows`, as arrays of one length: the passage's place in `rows`, the name, the
    cosines of its sentence with every query, and a weight. A passage's title counts as being in its best sentence.
    """
    graph = scores.graph
    of_sentence, sentences = graph.sentences.of_all(rows)
    at, names = graph.names_in.of_all(sentences)
    own = np.flatnonzero(graph.titles[rows] >= 0)
    titles = graph.titles[rows]
    return (
        np.concatenate([of_sentence[at], own]),
        np.concatenate([names, titles[own]]).astype(np.intp),
        np.concatenate([(graph.sentence_vectors[sentences] @ scores.vectors.T)[at], scores.sentences[rows[own]]]),
        np.concatenate([np.where(names == titles[of_sentence[at]], 0.7, 1.0), np.full(len(own), 0.8)]),
    )
