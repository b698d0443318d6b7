"""The candidates for a question's path: found directly, one or two names away, or by a bridged query.

1. Score every query (`queries.py`) against all passages by words, by the passage's vector and by its sentences.
2. Twice, follow names from the best passages to passages with that title or that mention the name; a common name leads only to
   the passages nearest to the question.
3. Take names from sentences of the best passages that are near a step to which another step refers. Put each into that other
   step, and add the best passages for it among those that have the name.

Nothing here is learned; the numbers were set by hand on training and development questions. `features.py` describes the
candidates, `scoring.py` orders them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.keywords import Keywords
from hoptrail.corpus.searching import Matrix, top_rows
from hoptrail.models.encoder import Encoder, FloatMatrix
from hoptrail.retrieval.paths.graph import PassageGraph
from hoptrail.retrieval.paths.queries import PathQueries
from hoptrail.setting_limits import AtLeast0, AtLeast1, Limited
from hoptrail.structures.title_scanning import name_key
from hoptrail.text.mentions import find_names
from hoptrail.types import Kind

Places = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class CandidateSettings(Limited):
    """How many candidates there are, and how widely they are searched. The scorer was trained with these values."""

    read: AtLeast1 = 8000
    """Passages whose sentences are compared with the queries: the best by words and by their vectors."""
    candidates: AtLeast1 = 120
    first_sources: AtLeast1 = 14
    """Passages whose names are followed in the first round."""
    second_sources: AtLeast0 = 16
    """Passages whose names are followed in the second round."""
    bridges: AtLeast0 = 12
    """Names put into a step, over all steps; 0: no bridged queries."""
    rare: AtLeast0 = 40
    """A name in at most this many passages leads to all of them."""
    common: AtLeast0 = 600
    """A name in at most this many passages leads to the few nearest to the question, a commoner one nowhere."""


KEYWORDS, PASSAGES, SENTENCES = 0.4, 0.3, 0.3
"""Weights in a query's score of a passage: by words, by its vector, by its best sentence, each as a share of the best."""
STRETCH = 0.6
"""Weight of the best stretch relative to the whole question."""
NAMED = 0.5
"""Bonus if the question names the passage's title; half of it if four or more passages have that title."""
MEETING_POINTS = 5
BRIDGED_FROM = 12
BRIDGED_TO = 6
MOST_BRIDGED = 400


@dataclass(frozen=True)
class QuestionScores:
    """The scores of all passages (n) for all queries; columns are `queries.texts` (k)."""

    graph: PassageGraph
    queries: PathQueries
    vectors: FloatMatrix
    """k x dimension."""
    keywords: FloatMatrix
    """n x k, shares of the best."""
    passages: FloatMatrix
    """n x k, cosines."""
    sentences: FloatMatrix
    """n x k, the cosine of each passage's best sentence; -1 for passages whose sentences were not read."""
    asked: frozenset[int]
    """The names in the question."""
    document_frequencies: NDArray[np.int64]
    """For the question's words."""
    corpus_size: int
    """The passages that words are counted in: all shards of a corpus, of which this may be a part."""

    @classmethod
    def of(
        cls, graph: PassageGraph, keywords: Keywords, queries: PathQueries, vectors: FloatMatrix, read: int
    ) -> QuestionScores:
        """The scores of `queries`; `vectors` are those of their texts, `read` is the setting."""
        bm25 = keywords.scores(Kind.PASSAGE, queries.texts, graph.passage_numbers).astype(np.float32)
        scores = cls(
            graph,
            queries,
            vectors,
            np.stack([as_shares(scores) for scores in bm25], axis=1),
            graph.passage_vectors @ vectors.T,
            np.full((graph.size, len(vectors)), -1, dtype=np.float32),
            names_asked(queries.question, graph),
            keywords.frequencies(Kind.PASSAGE, queries.words),
            keywords.sizes(Kind.PASSAGE)[0],
        )
        promising = best_column(KEYWORDS * scores.keywords + PASSAGES * scores.passages)
        scores.read(np.sort(top_rows(promising, read)))
        return scores

    def read(self, rows: NDArray[np.integer]) -> None:
        """Compare the sentences of passages with the queries, unless that was done."""
        unread = rows[(self.sentences[rows] == -1).all(axis=1)]
        self.sentences[unread] = self.graph.best_sentences(unread, self.vectors)

    def cosines(self, sentences: NDArray[np.integer]) -> FloatMatrix:
        """The cosines of these sentences with all queries: shape (sentences, k)."""
        cosines: FloatMatrix = self.graph.sentence_vectors[sentences] @ self.vectors.T
        return cosines

    @cached_property
    def words_asked(self) -> frozenset[str]:
        """All words of the question, normalised like names."""
        return frozenset(name_key(self.queries.question).split())

    @cached_property
    def near(self) -> FloatMatrix:
        """The highest cosine of each passage or its sentences with any query: shape (n,)."""
        return best_column(np.maximum(self.sentences, self.passages))

    def shares(self) -> FloatMatrix:
        """The score of every passage for every query, 0 to 1: n x k."""
        passages = np.stack([as_shares(column) for column in self.passages.T], axis=1)
        sentences = np.stack([as_shares(column) for column in self.sentences.T], axis=1)
        mixed: FloatMatrix = KEYWORDS * self.keywords + PASSAGES * passages + SENTENCES * sentences
        return mixed


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
    names: Places
    """Those that this part of the corpus has too."""
    title: int
    vector: FloatMatrix
    cosine: float
    """With the question."""
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
    """The candidates for a question's path."""
    shares = scores.shares()
    direct = direct_scores(scores.queries, shares)
    walk = Walk(scores, settings, _seeds(scores, shares, direct))
    walk.expand_best()
    bridges = find_bridges(walk)
    vectors = bridge_vectors(bridges, scores.queries, encoder)
    walk.add_bridged(bridges, vectors)
    rows = np.array(walk.best(settings.candidates), dtype=np.intp)
    scores.read(rows)
    return Candidates(rows, walk.promise[rows], direct, shares, bridges, vectors)


def begin_walk(scores: QuestionScores, settings: CandidateSettings) -> Walk:
    """A walk that has only reached the passages found directly."""
    shares = scores.shares()
    return Walk(scores, settings, _seeds(scores, shares, direct_scores(scores.queries, shares)))


def bridge_vectors(bridges: Sequence[Bridge], queries: PathQueries, encoder: Encoder) -> FloatMatrix:
    """The vectors of bridged queries: shape (len(bridges), dimension)."""
    texts = [queries.bridged(bridge.step, bridge.text) for bridge in bridges]
    return encoder.encode(texts) if texts else np.zeros((0, encoder.identity.dimension), dtype=np.float32)


def names_asked(question: str, graph: PassageGraph) -> frozenset[int]:
    """The numbers of the names in a question that some passage has."""
    spelt_as_names = {name_key(mention.text) for mention in find_names(question)}
    numbers = map(graph.number, spelt_as_names.union(graph.titles_in(question)))
    return frozenset(number for number in numbers if number >= 0)


class Walk:
    """The promise of every passage: -1 until it is reached, then raised by every better way to it."""

    def __init__(self, scores: QuestionScores, settings: CandidateSettings, seeds: FloatMatrix) -> None:
        self.scores, self.settings = scores, settings
        self.near = scores.near
        self.asked = np.zeros(len(scores.graph.counts), dtype=bool)
        self.asked[list(scores.asked)] = True
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
        """Passages as sources."""
        graph, cosines = self.scores.graph, self.scores.passages[:, 0]
        vectors = graph.passage_vectors[np.array(rows, np.intp)]
        return [
            Source(
                *(row, graph.named_by.at(row), int(graph.titles[row]), vector),
                *(float(cosines[row]), float(self.promise[row])),
            )
            for row, vector in zip(rows, vectors, strict=True)
        ]

    def follow(self, sources: Sequence[Source]) -> None:
        """Reach passages that share a name with the sources, in order: one source may raise the promise of the next."""
        links = [self._linked(source) for source in sources]
        if not links:
            return
        cosines = self.scores.passages[:, 0]
        near = _RowVectors(self.scores.graph.passage_vectors, np.concatenate([targets for targets, _ in links]))
        for source, (targets, weights) in zip(sources, links, strict=True):
            between = near.to(targets, source.vector)
            # The cosine of the question with the sum of two vectors of length 1, without adding them up.
            both = (cosines[targets] + np.float32(source.cosine)) / np.sqrt(np.maximum(2 + 2 * between, 1e-9))
            fit = 0.5 + 0.4 * both + 0.6 * self.near[targets]
            promise = source.promise if source.row < 0 else float(self.promise[source.row])
            np.maximum.at(self.promise, targets, min(promise, 1.3) * weights * fit)

    def _linked(self, source: Source) -> tuple[Rows, FloatMatrix]:
        """Passages that share a name with `source`, and the weight of each link.

        A passage with the name as its title weighs most, unless that is the source's own title: a namesake is no next step.
        """
        graph, names = self.scores.graph, source.names
        asked = self.asked[names]
        counts = graph.counts[names]
        at, owners = graph.owners.of_all(names)
        rare = counts <= self.settings.rare
        at_rare, namers = graph.namers.of_all(names[rare])
        worth = np.where(asked[rare], 0.75, 0.95 - 0.05 * np.log1p(counts[rare]))
        parts = [(owners, np.where(names[at] == source.title, 0.6, 1.0)), (namers, worth[at_rare])]
        for name in names[~rare & ~asked & (counts <= self.settings.common)]:
            passages = graph.namers.at(name)
            nearest = passages[top_rows(self.near[passages], MEETING_POINTS)]
            parts.append((nearest, np.full(len(nearest), 0.72)))
        targets = np.concatenate([rows for rows, _ in parts])
        weights = np.concatenate([values for _, values in parts]).astype(np.float32)
        others = targets != source.row
        return targets[others], weights[others]

    def add_bridged(self, bridges: Sequence[Bridge], vectors: FloatMatrix) -> None:
        """Reach the passages that have a bridge's name and are nearest to its query, whose vector is in `vectors`."""
        if not bridges:
            return
        named = [self._passages_with(bridge.name) for bridge in bridges]
        cosines = _RowVectors(self.scores.graph.passage_vectors, np.concatenate(named))
        nearest = [
            rows[top_rows(cosines.to(rows, vector), BRIDGED_TO)] for rows, vector in zip(named, vectors, strict=True)
        ]
        _, inside = self.scores.graph.sentences.of_all(np.concatenate(nearest))
        sentences = _RowVectors(self.scores.graph.sentence_vectors, inside)
        for bridge, rows, vector in zip(bridges, nearest, vectors, strict=True):
            for row, cosine in zip(rows.tolist(), cosines.to(rows, vector).tolist(), strict=True):
                own = sentences.to(self.scores.graph.sentences.at(row), vector)
                highest = max(cosine, float(own.max(initial=-1)))
                promise = min(bridge.promise, 0.9) * (0.3 + 0.7 * highest)
                self.promise[row] = max(float(self.promise[row]), promise)

    def _passages_with(self, name: int) -> Places:
        """The passages with a name; if there are too many, those nearest to the question."""
        graph = self.scores.graph
        rows = np.union1d(graph.namers.at(name), graph.owners.at(name))
        return rows[top_rows(self.near[rows], MOST_BRIDGED)]


class _RowVectors:
    def __init__(self, vectors: Matrix, rows: Places) -> None:
        self._rows = np.unique(rows)
        self._vectors = vectors[self._rows]

    def to(self, rows: Places, vector: FloatMatrix) -> FloatMatrix:
        """The cosines of `rows`, which must be among the fetched ones, with `vector`."""
        cosines: FloatMatrix = self._vectors[np.searchsorted(self._rows, rows)] @ vector
        return cosines


def direct_scores(queries: PathQueries, shares: FloatMatrix) -> FloatMatrix:
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


def find_bridges(walk: Walk) -> tuple[Bridge, ...]:
    """The most promising names to bridge by, each with the step to put it into."""
    scores = walk.scores
    rows = np.array(walk.best(BRIDGED_FROM), dtype=np.intp)
    if not len(rows):
        return ()
    scores.read(rows)
    places, occurrences, near, weights = _names_onward(scores, rows)
    likely = np.minimum(walk.promise[rows].astype(np.float64), 1.4) / float(walk.promise[rows[0]])
    names, which = np.unique(occurrences, return_inverse=True)
    free = [place for place, name in enumerate(names.tolist()) if not _is_asked(scores, name)]
    promises: dict[tuple[int, int], float] = {}
    for before, step in scores.queries.edges or ((0, 0),):
        best = np.zeros(len(names))
        np.maximum.at(best, which, likely[places] * weights * np.maximum(near[:, before].astype(np.float64), 0.0))
        for place in free:
            pair = int(names[place]), step
            promises[pair] = max(promises.get(pair, 0.0), float(best[place]))
    chosen = sorted(promises, key=lambda pair: (-promises[pair], pair))[: walk.settings.bridges]
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
        np.concatenate([scores.cosines(sentences)[at], scores.sentences[rows[own]]]),
        np.concatenate([np.where(names == titles[of_sentence[at]], 0.7, 1.0), np.full(len(own), 0.8)]),
    )


def _is_asked(scores: QuestionScores, name: int) -> bool:
    """Whether the question already has the name, so that it bridges nothing."""
    return name in scores.asked or set(scores.graph.name(name).split()) <= scores.words_asked


def best_column(scores: FloatMatrix) -> FloatMatrix:
    """The highest value of each row of at least one column: a quarter of the time of `max(axis=1)` where columns are few."""
    best: FloatMatrix = reduce(np.maximum, scores.T)
    return best


def as_shares(scores: FloatMatrix) -> FloatMatrix:
    """Scores divided by the highest. Negative scores count as 0; all are 0 if none is positive."""
    best = float(scores.max(initial=0))
    positive: FloatMatrix = np.maximum(scores, 0).astype(np.float32)
    return positive / best if best > 0 else positive
