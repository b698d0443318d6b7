"""BM25 over texts in memory: the weights of words in texts, by word.

score(q, u) = sum over the words w of q of  idf(w) · tf / (tf + k1 · (1 - b + b · |u| / avg|u|))
with k1 = 1.2, b = 0.75 and Lucene's idf: as the keyword index of the corpus, except for the factor k1 + 1. For sets of texts
without statistics in the index.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows, bounds_of, paired, unpaired
from hoptrail.corpus.keywords import K1, B
from hoptrail.corpus.words import keyword_words


@dataclass(frozen=True)
class KeywordStatistics:
    """BM25 statistics of `size` numbered texts. Word number i has `weights[starts[i]:starts[i + 1]]` in these `texts`, 12 bytes
    each.
    """

    numbers: Mapping[str, int]
    starts: NDArray[np.intp]
    texts: Rows
    weights: NDArray[np.float64]
    size: int

    @classmethod
    def of(cls, texts: Iterable[str]) -> KeywordStatistics:
        """The statistics of a stream of texts, which are not kept."""
        numbers: dict[str, int] = {}
        flat, lengths = array("i"), array("q")
        for text in texts:
            words = keyword_words(text)
            flat.extend(numbers.setdefault(word, len(numbers)) for word in words)
            lengths.append(len(words))
        sizes = np.array(lengths, dtype=np.int64)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        pairs, tf = np.unique(paired(np.array(flat, dtype=np.int32), owners), return_counts=True)
        starts, rows = bounds_of(pairs, len(numbers)), unpaired(pairs)[1]
        df = np.diff(starts)
        idf = np.log(1 + (len(sizes) - df + 0.5) / (df + 0.5))
        damping = K1 * (1 - B + B * sizes / max(sizes.mean(), 1e-9)) if len(sizes) else sizes
        return cls(numbers, starts, rows, np.repeat(idf, df) * (tf / (tf + damping[rows])), len(sizes))

    def scores(self, question: str) -> NDArray[np.float32]:
        """The score of every text, 0 where it shares no word with the question: shape (texts,)."""
        scores = np.zeros(self.size)
        for number in [self.numbers[word] for word in keyword_words(question) if word in self.numbers]:
            here = slice(*self.starts[number : number + 2])
            scores[self.texts[here]] += self.weights[here]
        return scores.astype(np.float32)
