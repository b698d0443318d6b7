"""BM25 over texts held in memory: what each word of each text is worth, as one sparse matrix.

score(q, u) = sum over the words w of q of  idf(w) · tf / (tf + k1 · (1 - b + b · |u| / avg|u|))
with k1 = 1.2, b = 0.75 and Lucene's idf: what the keyword index of the corpus has, up to the factor k1 + 1. For texts that the
index keeps no common statistics of, and for scores of many texts at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.keywords import K1, B
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.words import keyword_words
from hoptrail.execution.executor import batched
from hoptrail.types import Kind

READ = 4096
"""Passages read at a time."""


@dataclass(frozen=True)
class KeywordStatistics:
    """Of numbered texts. Each word of each text takes 12 bytes, twice once it is asked."""

    words: Mapping[str, int]
    """The column of each word."""
    matrix: Any
    """What each word is worth in each text: a SciPy CSR matrix of shape (texts, words), columns in alphabetical order."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> KeywordStatistics:
        """Of a stream of texts, of which only numbers are kept."""
        from scipy.sparse import csr_matrix

        numbers: dict[str, int] = {}  # as they come
        flat, lengths = array("i"), array("q")
        for text in texts:
            words = keyword_words(text)
            flat.extend(numbers.setdefault(word, len(numbers)) for word in words)
            lengths.append(len(words))
        in_order = sorted(numbers)
        ranks = np.empty(len(in_order), dtype=np.int32)
        ranks[[numbers[word] for word in in_order]] = np.arange(len(in_order))
        sizes = np.array(lengths, dtype=np.int64)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        pairs, often = np.unique(owners << 32 | ranks[np.array(flat, dtype=np.int32)], return_counts=True)
        counted = (
            often.astype(np.float64),
            pairs & 0xFFFFFFFF,
            np.searchsorted(pairs, np.arange(len(sizes) + 1) << 32),
        )
        counts = csr_matrix(counted, shape=(len(sizes), len(in_order)))
        counts.data = _worth(counts, sizes)
        return cls({word: column for column, word in enumerate(in_order)}, counts)

    @cached_property
    def by_word(self) -> Any:
        """The same matrix of shape (words, texts)."""
        return self.matrix.T.tocsr()

    def scores(self, question: str) -> NDArray[np.float32]:
        """The score of every text, 0 where it shares no word with the question: shape (texts,)."""
        scores = np.zeros(self.matrix.shape[0])
        for column in [self.words[word] for word in keyword_words(question) if word in self.words]:
            here = slice(*self.by_word.indptr[column : column + 2])
            scores[self.by_word.indices[here]] += self.by_word.data[here]
        return scores.astype(np.float32)


def _worth(counts: Any, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """What words are worth in texts, from how often they come (shape (texts, words)), and how many words each text has in all."""
    with_word = np.bincount(counts.indices, minlength=counts.shape[1])
    rarity = np.log(1 + (len(sizes) - with_word + 0.5) / (with_word + 0.5))
    damping = K1 * (1 - B + B * sizes / max(sizes.mean(), 1e-9)) if len(sizes) else sizes
    often = counts.data
    worth: NDArray[np.float64] = rarity[counts.indices] * (often / (often + np.repeat(damping, np.diff(counts.indptr))))
    return worth


def passage_keywords(snapshot: Snapshot) -> KeywordStatistics:
    """Those of all passages, title and text, by rising id."""
    ids = sorted(snapshot.table.ids(Kind.PASSAGE))
    units = (sorted(snapshot.units(Kind.PASSAGE, some), key=lambda unit: unit.id) for some in batched(ids, READ))
    return KeywordStatistics.of(unit.searchable for some in units for unit in some)
