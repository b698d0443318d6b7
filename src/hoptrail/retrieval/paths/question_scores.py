"""How every passage of a corpus scores for each query of a question: by words, by its vector, and by its sentences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.keywords import Keywords
from hoptrail.corpus.searching import top_rows
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.paths.graph import PassageGraph
from hoptrail.retrieval.paths.queries import PathQueries
from hoptrail.text.mentions import find_names
from hoptrail.text.title_scanning import name_key

KEYWORDS, PASSAGES, SENTENCES = 0.4, 0.3, 0.3
"""Weights in a query's score of a passage: by words, by its vector, by its best sentence, each as a share of the best."""


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
        bm25 = keywords.scores(queries.texts, graph.passage_numbers).astype(np.float32)
        scores = cls(
            graph,
            queries,
            vectors,
            shares_of_columns(bm25.T),
            graph.passage_vectors @ vectors.T,
            np.full((graph.size, len(vectors)), -1, dtype=np.float32, order="F"),
            names_asked(queries.question, graph),
            keywords.frequencies(queries.words),
            keywords.sizes()[0],
        )
        promising = best_column(KEYWORDS * scores.keywords + PASSAGES * scores.passages)
        scores.read(np.sort(top_rows(promising, read)))
        return scores

    def read(self, rows: NDArray[np.integer]) -> None:
        """Compare the sentences of passages with the queries, unless that was done."""
        unread = rows[(self.sentences[rows] == -1).all(axis=1)]
        self.sentences[unread] = self.graph.best_sentences(unread, self.vectors)

    @cached_property
    def near(self) -> FloatMatrix:
        """The highest cosine of each passage or its sentences with any query: shape (n,)."""
        return best_column(np.maximum(self.sentences, self.passages))

    def shares(self) -> FloatMatrix:
        """The score of every passage for every query, 0 to 1: n x k."""
        passages, sentences = shares_of_columns(self.passages), shares_of_columns(self.sentences)
        mixed: FloatMatrix = KEYWORDS * self.keywords + PASSAGES * passages + SENTENCES * sentences
        return mixed


def names_asked(question: str, graph: PassageGraph) -> frozenset[int]:
    """The numbers of the names in a question that some passage has."""
    spelt_as_names = {name_key(mention.text) for mention in find_names(question)}
    numbers = map(graph.number, spelt_as_names.union(graph.titles_in(question)))
    return frozenset(number for number in numbers if number >= 0)


def best_column(scores: FloatMatrix) -> FloatMatrix:
    """The highest value of each row of at least one column: a quarter of the time of `max(axis=1)` where columns are few."""
    best: FloatMatrix = reduce(np.maximum, scores.T)
    return best


def shares_of_columns(scores: FloatMatrix) -> FloatMatrix:
    """`as_shares` of each column; columns of the result are contiguous."""
    shares = np.empty(scores.shape, np.float32, order="F")
    for place, column in enumerate(scores.T):
        shares[:, place] = as_shares(column)
    return shares


def as_shares(scores: FloatMatrix) -> FloatMatrix:
    """Scores divided by the highest. Negative scores count as 0; all are 0 if none is positive."""
    best = float(scores.max(initial=0))
    positive: FloatMatrix = np.maximum(scores, 0).astype(np.float32)
    return positive / best if best > 0 else positive
