"""Features of the candidates for a question's path: of each passage, and of each pair of passages that shares a name.

The learned scorer sees only these numbers, so it cannot learn a data set's wording. A pair leads from a passage to a possible
next one by a name: the title of the second, the title of the first, or a name in both; if there are several, the most
informative. Coverage is the share of the question's words in a text, compared by stem and weighted by Lucene's idf.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import ranges
from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail.retrieval.paths.candidates import Candidates
from hoptrail.retrieval.paths.queries import QuestionScores
from hoptrail.text.normal_forms import composed
from hoptrail.text.words import places_of_stems, stem

PASSAGE_FEATURES = (
    "words", "cosine", "sentence cosine", "direct", "direct rank", "promise", "step words", "step cosine",
    "step sentence cosine", "step", "standing step", "referring step", "standing sentence cosine", "named", "coverage",
    "relation coverage", "sentences", "named elsewhere", "bridged", "bridged share", "promise share",
)  # fmt: skip
REPEATED = ("direct", "step", "standing step", "referring step", "relation coverage", "promise")
"""Passage features that a pair's features repeat for both passages."""
PAIR_FEATURES = (
    "called", "named by", "position", "first sentence cosine", "coverage", "gain over first", "gain over second",
    "passage coverage", "passage gain over first", "passage gain over second", "relation coverage", "cosine of both",
    "cosine between", "cosine of both sentences", "steps", "step sentences", "residual cosine", "bridged", "promise",
    "bridged gain", "sharing", "first score", "second score", "first rank", "second rank",
    *(f"first {name}" for name in REPEATED), *(f"second {name}" for name in REPEATED),
)  # fmt: skip

COMMON = 60  # a name in more passages joins two candidates only if it is the title of one of them or bridges a step

Numbers = NDArray[np.intp]


@dataclass(frozen=True)
class Pairs:
    """Pairs of candidates (places in `Candidates.rows`) with the name that joins them; `values`: (pairs, len(PAIR_FEATURES))."""

    first: Numbers
    second: Numbers
    names: Numbers
    values: FloatMatrix


@dataclass(frozen=True)
class _Joins:
    """Occurrences of names in candidates.

    `sentences` are places in `CandidateFeatures.sentences`, `positions` are within the passage; `called` says whether the name
    is the candidate's title.
    """

    names: Numbers
    candidates: Numbers
    sentences: Numbers
    positions: Numbers
    called: NDArray[np.bool_]


class CandidateFeatures:
    def __init__(self, scores: QuestionScores, candidates: Candidates) -> None:
        self.scores, self.candidates = scores, candidates
        graph, rows = scores.graph, candidates.rows
        self.of_sentence, self.sentences = graph.sentences.of_all(rows)
        self.starts = np.searchsorted(self.of_sentence, np.arange(len(rows) + 1))
        self.vectors = graph.sentence_vectors[self.sentences]
        self.cosines = self.vectors @ scores.vectors.T
        self.nearest: FloatMatrix = self.cosines.max(axis=1, initial=-1)
        """The cosine of each sentence with its nearest query."""
        self.coverage = _Coverage(scores, candidates.rows, self.sentences, self.of_sentence)

    @cached_property
    def passages(self) -> FloatMatrix:
        """Shape (candidates, len(PASSAGE_FEATURES))."""
        scores, found = self.scores, self.candidates
        rows, queries = found.rows, scores.queries
        steps = list(range(1, len(queries.texts)))
        standing, referring = list(queries.self_contained), list(queries.referring)
        ranks = _ranks(found.direct, rows)
        titles = scores.graph.titles[rows]
        named = np.isin(titles, list(scores.asked))
        namers = np.where(titles >= 0, scores.graph.namers.counts(titles), 0)
        bridged = self.bridged_best
        columns = [
            scores.keywords[rows, 0], scores.passages[rows, 0], scores.sentences[rows, 0], found.direct[rows],
            np.log1p(ranks), found.promise, _best(scores.keywords[rows], steps), _best(scores.passages[rows], steps),
            _best(scores.sentences[rows], steps), _best(found.shares[rows], steps), _best(found.shares[rows], standing),
            _best(found.shares[rows], referring), _best(scores.sentences[rows], standing), named,
            self.highest(_weighted(self.coverage.sentences, self.coverage.weights)),
            self.highest(_weighted(self.coverage.said, self.coverage.relation)), np.diff(self.starts), np.log1p(namers), bridged,
            bridged / max(float(bridged.max(initial=0)), 1e-6), found.promise / max(float(found.promise.max(initial=0)), 1e-6),
        ]  # fmt: skip
        return np.stack([np.asarray(column, dtype=np.float32) for column in columns], axis=1)

    def pairs(self, chosen: Numbers, scored: FloatMatrix) -> Pairs:
        """The pairs among the candidates at places `chosen`; `scored` are the first stage's scores of all candidates."""
        joins = self._joins(chosen)
        x, y = self._pair_up(joins)
        first, second, names = joins.candidates[x], joins.candidates[y], joins.names[x]
        sharing = np.bincount(joins.names, minlength=1)[names] if len(names) else names
        bridged, shared = self._bridged_columns(names, second), np.asarray(sharing, dtype=np.float32)[:, None]
        parts = self._pair_columns(joins, x, y), bridged, shared, self._repeated_columns(first, second, scored)
        return Pairs(first, second, names, np.concatenate(parts, axis=1))

    def highest(self, values: FloatMatrix) -> FloatMatrix:
        """The highest value among each candidate's sentences, 0 without sentences."""
        best = np.zeros(len(self.starts) - 1, dtype=np.float32)
        some = np.diff(self.starts) > 0
        if some.any():
            best[some] = np.maximum.reduceat(values, self.starts[:-1][some])
        return best

    @cached_property
    def bridged(self) -> FloatMatrix:
        """The cosine of each candidate, or of its best sentence if higher, with each bridged query: (candidates, bridges)."""
        vectors = self.candidates.bridge_vectors
        passages = self.scores.graph.passage_vectors[self.candidates.rows] @ vectors.T
        sentences = [self.highest(column) for column in (self.vectors @ vectors.T).T]
        return np.maximum(passages, np.stack(sentences, axis=1)) if sentences else passages

    @cached_property
    def bridged_best(self) -> FloatMatrix:
        """The highest of `bridged` over the bridges whose name the candidate has, 0 if it has none."""
        graph, best = self.scores.graph, np.zeros(len(self.candidates.rows), dtype=np.float32)
        for column, bridge in zip(self.bridged.T, self.candidates.bridges, strict=True):
            has = np.isin(self.candidates.rows, graph.passages_with(bridge.name))
            best = np.where(has, np.maximum(best, column), best)
        return best

    def _joins(self, chosen: Numbers) -> _Joins:
        """One occurrence for each candidate and name, ordered by name: in the sentence nearest to a query, or as its title."""
        graph = self.scores.graph
        inside = np.flatnonzero(np.isin(self.of_sentence, chosen))
        at, names = graph.names_in.of_all(self.sentences[inside])
        places = inside[at]
        own = chosen[graph.titles[self.candidates.rows[chosen]] >= 0]
        titles = graph.titles[self.candidates.rows[own]].astype(np.intp)
        all_names = np.concatenate([names.astype(np.intp), titles])
        candidates = np.concatenate([self.of_sentence[places], own])
        sentences = np.concatenate([places, self.leads[own]])
        order = np.lexsort((np.r_[-self.nearest[places], np.full(len(own), 2.0)], candidates, all_names))
        keys = all_names[order] * (len(self.candidates.rows) + 1) + candidates[order]
        _, firsts = np.unique(keys, return_index=True)
        positions = np.concatenate([graph.positions[self.sentences[places]], np.full(len(own), 999)])[order]
        kept = order[firsts]
        first_positions = np.minimum.reduceat(positions, firsts) if len(firsts) else positions
        called = graph.titles[self.candidates.rows[candidates[kept]]] == all_names[kept]
        first_positions = np.where(first_positions == 999, -1, first_positions)
        return _Joins(all_names[kept], candidates[kept], sentences[kept], first_positions.astype(np.intp), called)

    @cached_property
    def leads(self) -> Numbers:
        """The sentence of each candidate that is nearest to a query (without sentences: a neighbouring candidate's)."""
        last, bounds = max(len(self.nearest) - 1, 0), zip(self.starts, self.starts[1:], strict=False)
        places = [
            start + int(np.argmax(self.nearest[start:end])) if end > start else min(start, last)
            for start, end in bounds
        ]
        return np.array(places, dtype=np.intp)

    def _pair_up(self, joins: _Joins) -> tuple[Numbers, Numbers]:
        """Ordered pairs of occurrences of one name, for two candidates the most informative: two arrays of places in `joins`.

        The title of the second counts most, then the title of the first; a name that is the title of both joins nothing. After
        that, a rare or bridged name counts more than others, and one that the question has counts less.
        """
        starts = np.searchsorted(joins.names, joins.names)
        x, y = ranges(starts, np.searchsorted(joins.names, joins.names, "right") - starts)
        counts = self.scores.graph.namers.counts(joins.names)
        bridged = np.isin(joins.names, [bridge.name for bridge in self.candidates.bridges])
        common = (counts > COMMON) & ~bridged
        one, other = joins.called[x], joins.called[y]
        kept = (x != y) & ~(one & other) & (one | other | ~common[x])
        x, y, one, other = x[kept], y[kept], one[kept], other[kept]
        asked = np.isin(joins.names, list(self.scores.asked))
        worth = np.log((self.scores.corpus_size + 1) / (1 + counts)) / 10 - 1.5 * asked + 0.8 * bridged
        worth = worth[x] + np.where(other, 2, np.where(one, 1, 0))
        keys = joins.candidates[x] * (int(joins.candidates.max(initial=0)) + 1) + joins.candidates[y]
        order = np.lexsort((x, -worth, keys))
        best = order[np.unique(keys[order], return_index=True)[1]]
        return x[best], y[best]

    def _pair_columns(self, joins: _Joins, x: Numbers, y: Numbers) -> FloatMatrix:
        graph, cover = self.scores.graph, self.coverage
        first, second, a = joins.candidates[x], joins.candidates[y], joins.sentences[x]
        b = np.where(joins.called[y], self.leads[second], joins.sentences[y])
        question = self.scores.vectors[0]
        one, other = (graph.passage_vectors[self.candidates.rows[side]] for side in (first, second))
        residual = unit_length(question - (one @ question)[:, None] * one)
        pair, pair_first, pair_second = cover.jointly(cover.sentences, a, b)
        whole, whole_first, whole_second = cover.jointly(cover.passages, first, second)
        columns = [
            joins.called[y], np.log1p(graph.namers.counts(joins.names[x])), joins.positions[x], self.cosines[a, 0],
            pair, pair - pair_first, pair - pair_second, whole, whole - whole_first, whole - whole_second,
            _weighted(cover.said[a] | cover.said[b], cover.relation), unit_length(one + other) @ question,
            (one * other).sum(axis=1), unit_length(self.vectors[a] + self.vectors[b]) @ question,
            *self._step_columns(first, second, a, b), (residual * other).sum(axis=1),
        ]  # fmt: skip
        return np.stack([np.asarray(column, dtype=np.float32) for column in columns], axis=1)

    def _step_columns(self, first: Numbers, second: Numbers, a: Numbers, b: Numbers) -> tuple[FloatMatrix, FloatMatrix]:
        """How well the first answers a step and the second a step that refers to it: by passages, by sentences."""
        shares = self.candidates.shares[self.candidates.rows]
        passages = sentences = np.zeros(len(first), dtype=np.float32)
        for before, step in self.scores.queries.edges:
            passages = np.maximum(passages, shares[first, before] + shares[second, step])
            sentences = np.maximum(sentences, self.cosines[a, before] + self.cosines[b, step])
        return passages, sentences

    def _bridged_columns(self, names: Numbers, second: Numbers) -> FloatMatrix:
        """For the joining name's bridged query nearest to the second: cosine, promise, and gain over the bare step."""
        values = np.zeros((len(names), 3), dtype=np.float32)
        cosines = self.scores.sentences[self.candidates.rows]
        for column, bridge in zip(self.bridged.T, self.candidates.bridges, strict=True):
            near = column[second]
            better = (names == bridge.name) & (near > values[:, 0])
            gain = near - cosines[second, bridge.step]
            values[better] = np.stack([near, np.full(len(near), bridge.promise), gain], axis=1)[better]
        return values

    def _repeated_columns(self, first: Numbers, second: Numbers, scored: FloatMatrix) -> FloatMatrix:
        ranks = np.empty(len(scored), dtype=np.float32)
        ranks[np.argsort(-scored, kind="stable")] = np.log1p(np.arange(len(scored)))
        own = self.passages[:, [PASSAGE_FEATURES.index(name) for name in REPEATED]]
        four = np.stack([scored[first], scored[second], ranks[first], ranks[second]], axis=1)
        return np.concatenate([four, own[first], own[second]], axis=1).astype(np.float32)


class _Coverage:
    """Which of the question's words each text has; columns are words.

    `said`: sentences; `sentences`: sentences with the passage's title; `passages`: candidates with their title. The `weights` of
    the words sum to 1; so do those of `relation`, which leave out words of names.
    """

    def __init__(
        self, scores: QuestionScores, rows: Numbers, sentences: NDArray[np.int32], of_sentence: Numbers
    ) -> None:
        graph, queries = scores.graph, scores.queries
        stems = {stem(word): place for place, word in reversed(list(enumerate(queries.words)))}
        frequencies = scores.document_frequencies[list(stems.values())] if stems else np.zeros(0)
        idf = np.log(1 + (scores.corpus_size - frequencies + 0.5) / (frequencies + 0.5))
        in_names = {stem(word) for name in scores.asked for word in graph.name(name).split()}
        relation = np.where([key in in_names for key in stems], 0.0, idf)
        self.weights = (idf / max(idf.sum(), 1e-6)).astype(np.float32)
        self.relation = (relation / max(relation.sum(), 1e-6)).astype(np.float32)
        units = graph.passages(rows.tolist())
        titles = _stems_in([units[row].title for row in rows.tolist()], list(stems))
        self.said = _stems_in(graph.texts(sentences), list(stems))
        self.sentences = self.said | titles[of_sentence]
        self.passages = titles.copy()
        np.logical_or.at(self.passages, of_sentence, self.said)

    def jointly(self, said: NDArray[np.bool_], first: Numbers, second: Numbers) -> tuple[FloatMatrix, ...]:
        """The coverage of the rows `first` and `second` of `said` together, pair by pair, and of each alone."""
        alone = _weighted(said, self.weights)
        return _weighted(said[first] | said[second], self.weights), alone[first], alone[second]


def _stems_in(texts: list[str], stems: list[str]) -> NDArray[np.bool_]:
    """Whether each text has each stem: shape (texts, stems)."""
    said = np.zeros((len(texts), len(stems)), dtype=bool)
    column_of = {key: column for column, key in enumerate(stems)}
    lower = [composed(text).lower() for text in texts]
    begins = np.cumsum([0, *(len(text) + 1 for text in lower)])
    found = list(places_of_stems("\n".join(lower), stems))
    rows = np.searchsorted(begins, [place for place, _ in found], side="right") - 1
    said[rows, [column_of[key] for _, key in found]] = True
    return said


def _weighted(said: NDArray[np.bool_], weights: FloatMatrix) -> FloatMatrix:
    # Some processors' kernels set floating-point flags for lanes that the product does not use.
    with np.errstate(invalid="ignore"):
        shares: FloatMatrix = said.astype(np.float32) @ weights
    return shares


def _ranks(scores: FloatMatrix, rows: Numbers) -> Numbers:
    """The positions of some rows when all are ordered by falling score, equal ones by row."""
    order = np.sort(-scores)  # a tenth of the time of sorting the rows
    ranks = np.searchsorted(order, -scores[rows])
    equal = np.searchsorted(order, -scores[rows], side="right") - ranks > 1
    for place in np.flatnonzero(equal).tolist():
        ranks[place] += np.count_nonzero(scores[: rows[place]] == scores[rows[place]])
    return ranks


def _best(values: FloatMatrix, columns: list[int]) -> FloatMatrix:
    """The highest of some columns in each row, 0 without columns."""
    return values[:, columns].max(axis=1) if columns else np.zeros(len(values), dtype=np.float32)
