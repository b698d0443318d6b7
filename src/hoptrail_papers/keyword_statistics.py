"""BM25 over texts in memory, as one sparse matrix of the weights of words in texts.

score(q, u) = sum over the words w of q of  idf(w) · tf / (tf + k1 · (1 - b + b · |u| / avg|u|))
with k1 = 1.2, b = 0.75 and Lucene's idf: as the keyword index of the corpus, except for the factor k1 + 1. For sets of texts
without statistics in the index, and for the scores of many texts at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.keywords import K1, B, keyword_words


@dataclass(frozen=True)
class KeywordStatistics:
    """BM25 statistics of numbered texts. Each word of each text takes 12 bytes, and as many again after the first query."""

    words: Mapping[str, int]  # the column of each word
    matrix: Any
    """The weight of each word in each text: a SciPy CSR matrix of shape (texts, words), columns in alphabetical order."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> KeywordStatistics:
        """The statistics of a stream of texts, which are not kept."""
        from scipy.sparse import csr_matrix

        numbers: dict[str, int] = {}  # in the order of their first occurrence
        flat, lengths = array("i"), array("q")
        for text in texts:
            words = keyword_words(text)
            flat.extend(numbers.setdefault(word, len(numbers)) for word in words)
            lengths.append(len(words))
        in_order = sorted(numbers)
        ranks = np.empty(len(in_order), dtype=np.int32)
        ranks[[numbers[word] for word in in_order]] = np.arange(len(in_order))
        sizes = np.array(lengths, dtype=np.int64)
        begins = np.concatenate([[0], np.cumsum(sizes)])
        columns = ranks[np.array(flat, dtype=np.int32)]
        matrix = csr_matrix((np.ones(len(flat)), columns, begins), shape=(len(sizes), len(in_order)))
        matrix.sum_duplicates()
        df = np.bincount(matrix.indices, minlength=len(in_order))
        idf = np.log(1 + (len(sizes) - df + 0.5) / (df + 0.5))
        damping = K1 * (1 - B + B * sizes / max(sizes.mean(), 1e-9)) if len(sizes) else sizes
        tf = matrix.data
        matrix.data = idf[matrix.indices] * (tf / (tf + np.repeat(damping, np.diff(matrix.indptr))))
        return cls({word: column for column, word in enumerate(in_order)}, matrix)

    @cached_property
    def by_word(self) -> Any:
        """The transposed matrix: shape (words, texts)."""
        return self.matrix.T.tocsr()

    def scores(self, question: str) -> NDArray[np.float32]:
        """The score of every text, 0 where it shares no word with the question: shape (texts,)."""
        scores = np.zeros(self.matrix.shape[0])
        for column in [self.words[word] for word in keyword_words(question) if word in self.words]:
            here = slice(*self.by_word.indptr[column : column + 2])
            scores[self.by_word.indices[here]] += self.by_word.data[here]
        return scores.astype(np.float32)
