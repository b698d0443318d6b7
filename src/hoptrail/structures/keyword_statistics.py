"""BM25 over texts held in memory: what each word of each text is worth, as one sparse matrix.

score(q, u) = sum over the words w of q of  idf(w) · tf / (tf + k1 · (1 - b + b · |u| / avg|u|))
with k1 = 1.2, b = 0.75 and Lucene's idf: what the keyword index of the store has, up to the factor k1 + 1. For texts that the
store keeps no common statistics of, and for scores of many texts at once. Cuts words in languages with spaces only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.store.layout import STOP_WORDS
from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Kind


class KeywordStatistics:
    """Rows are those of `texts`, columns are words in alphabetical order."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self._size = len(texts)
        words = keyword_words(texts)
        self._index: Any = None
        if any(words):
            self._index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
            self._index.index(words, show_progress=False)

    def scores(self, question: str) -> NDArray[np.float32]:
        """The score of every text, 0 where it shares no word with the question: shape (texts,)."""
        (words,) = keyword_words([question]) or [[]]
        known = [word for word in words if self._index is not None and word in self._index.vocab_dict]
        if not known:
            return np.zeros(self._size, dtype=np.float32)
        found: NDArray[np.float32] = self._index.get_scores(known)
        return found

    @cached_property
    def matrix(self) -> Any:
        """What each word is worth in each text: a SciPy CSR matrix of shape (texts, words), float64."""
        from scipy.sparse import csc_matrix, csr_matrix

        if self._index is None:
            return csr_matrix((self._size, 0))
        vocabulary: dict[str, int] = self._index.vocab_dict
        parts = self._index.scores
        shape = (self._size, len(parts["indptr"]) - 1)
        columns = csc_matrix((parts["data"].astype(np.float64), parts["indices"], parts["indptr"]), shape=shape)
        order = [vocabulary[word] for word in sorted(vocabulary) if vocabulary[word] < shape[1]]
        return columns[:, order].tocsr()  # the library numbers words as a hash falls, which differs from run to run


def passage_keywords(snapshot: Snapshot) -> KeywordStatistics:
    """Those of all passages, title and text, by rising id; made once a snapshot."""

    def make() -> KeywordStatistics:
        units = sorted((unit.id, unit.searchable) for unit in snapshot.units(Kind.PASSAGE))
        return KeywordStatistics([text for _, text in units])

    return snapshot.derived("keywords of passages", make)


def keyword_words(texts: Sequence[str]) -> list[list[str]]:
    """Words of two characters and more, lower-cased, without accents and stop words, text by text."""
    import bm25s

    plain = [_without_accents(text) for text in texts]
    tokens = bm25s.tokenize(plain, stopwords=list(STOP_WORDS), return_ids=False, show_progress=False)
    return [list(row) for row in tokens]


def _without_accents(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
