"""The neighbours of passages, found when they are asked for: the nearest by their vectors, or the best by their words.

SUNAR (neighborhood aware retrieval) links each passage to its k nearest by a similarity that complements the first stage:

    dense-neighbours    by cosine of the vectors, for a first stage by keywords
    bm25-neighbours     by BM25 with a passage's heaviest words as the query, for a dense first stage

A passage is not its own neighbour, and neighbours by BM25 share a word. Scores are compared to five decimals; ties go to the
lower id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest

import numpy as np

from hoptrail.corpus.columns import rows_of
from hoptrail.corpus.keywords import K1
from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.corpus.vectors import Matrix, best
from hoptrail.corpus.words import keyword_words
from hoptrail.structures.vector_cells import DECIMALS
from hoptrail.types import Kind

DENSE_NEIGHBOURS = "dense-neighbours"
BM25_NEIGHBOURS = "bm25-neighbours"
"""Channels of hits found as neighbours."""

WORDS = 25
"""Words of a passage's query. On the development questions of three data sets, queries of 25 words link more passages that belong
together than queries of all words, and they cost less in a large corpus.
"""


def dense_neighbours(snapshot: Snapshot, names: Sequence[str], most: int) -> Mapping[str, Sequence[str]]:
    """The `most` nearest others of each passage by cosine, nearest first. Passages without a vector are left out."""
    matrix, numbers = _matrix(snapshot), snapshot.texts.numbers(names)
    rows = rows_of(numbers, matrix.numbers)
    names = [name for name, row in zip(names, rows.tolist(), strict=True) if row >= 0]
    rows = rows[rows >= 0]
    scores = np.rint((matrix @ matrix[rows].T).T * np.float32(DECIMALS))
    scores[np.arange(len(rows)), rows] = -np.inf
    ranked = (best(snapshot.texts, matrix.numbers, row, min(most, len(matrix) - 1)) for row in scores)
    return {name: snapshot.texts.ids(found.numbers) for name, found in zip(names, ranked, strict=True)}


def bm25_neighbours(snapshot: Snapshot, names: Sequence[str], most: int) -> Mapping[str, Sequence[str]]:
    """The `most` best others of each passage by BM25 without its factor k1 + 1, best first."""
    around = {}
    for name, words in _heaviest_words(snapshot, names):
        numbers, scores = snapshot.keywords.matches(Kind.PASSAGE, words)
        other = numbers != snapshot.texts.numbers([name])[0]
        found = best(snapshot.texts, numbers[other], np.rint(scores[other] / (K1 + 1) * DECIMALS), most)
        around[name] = snapshot.texts.ids(found.numbers)
    return around


def _heaviest_words(snapshot: Snapshot, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The WORDS words of each passage that add most to its own score; ties go to the lower word."""
    counts = {unit.id: Counter(keyword_words(unit.searchable)) for unit in snapshot.units(Kind.PASSAGE, names)}
    weights = snapshot.keywords.weights(Kind.PASSAGE, list(counts.values()))
    for name, weight in zip(counts, weights, strict=True):
        yield name, nsmallest(WORDS, weight, key=lambda word: (-weight[word], word))


@cached_per_snapshot
def _matrix(snapshot: Snapshot) -> Matrix:
    return snapshot.vectors.matrix(Kind.PASSAGE)
