"""BM25 over texts held in memory: what each word of each text is worth, as one sparse matrix.

score(q, u) = sum over the words w of q of  idf(w) · tf / (tf + k1 · (1 - b + b · |u| / avg|u|))
with k1 = 1.2, b = 0.75 and Lucene's idf: what the keyword index of the store has, up to the factor k1 + 1. For texts that the
store keeps no common statistics of, and for scores of many texts at once. Cuts words in languages with spaces only.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hoptrail.store.layout import STOP_WORDS
from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Kind

K1 = 1.2
B = 0.75


_OTHER = re.compile(r"[^\x00-\x7f]")


class Keywords(Protocol):
    def scores(self, question: str) -> NDArray[np.float32]:
        """The score of every text, 0 where it shares no word with the question: shape (texts,)."""
        ...

    def frequency(self, word: str) -> int:
        """How many texts of the corpus have a word."""
        ...


class KeywordStatistics:
    """Rows are those of `texts`, columns are words in alphabetical order."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self._size = len(texts)
        words = keyword_words(texts)
        self._index: Any = None
        if any(words):
            self._index = bm25s.BM25(k1=K1, b=B, method="lucene")
            self._index.index(words, show_progress=False)

    def scores(self, question: str) -> NDArray[np.float32]:
        """The score of every text, 0 where it shares no word with the question: shape (texts,)."""
        (words,) = keyword_words([question]) or [[]]
        known = [word for word in words if self._index is not None and word in self._index.vocab_dict]
        if not known:
            return np.zeros(self._size, dtype=np.float32)
        found: NDArray[np.float32] = self._index.get_scores(known)
        return found

    def frequency(self, word: str) -> int:
        """How many texts have a word."""
        return int(np.count_nonzero(self.scores(word)))

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


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Of a whole corpus: how many texts it has, how many words they have together, how many of them have a word.

    `texts_with` knows the words that were looked for, but for those that no text has or one alone.
    """

    texts: int
    words: int
    texts_with: Mapping[str, int]


class PartialKeywords:
    """The same scores for some texts of a corpus, from what is counted in all of it."""

    def __init__(self, texts: Sequence[str], corpus: WordCounts) -> None:
        self._counts = [Counter(words) for words in keyword_words(texts)]
        self._corpus = corpus
        lengths = np.array([found.total() for found in self._counts], dtype=np.float64)
        self._damping = K1 * (1 - B + B * lengths * corpus.texts / max(corpus.words, 1))

    def scores(self, question: str) -> NDArray[np.float32]:
        (words,) = keyword_words([question]) or [[]]
        scores = np.zeros(len(self._counts))
        for word in words:
            found = np.array([counts[word] for counts in self._counts], dtype=np.float64)
            texts = self.frequency(word)
            idf = np.log(1 + (self._corpus.texts - texts + 0.5) / (texts + 0.5))
            scores += idf * found / np.maximum(found + self._damping, 1e-9)
        return scores.astype(np.float32)

    def frequency(self, word: str) -> int:
        return self._corpus.texts_with.get(word) or sum(word in counts for counts in self._counts)


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
    return _OTHER.sub(_unless_accent, unicodedata.normalize("NFKD", text))


def _unless_accent(match: re.Match[str]) -> str:
    return "" if unicodedata.combining(match.group()) else match.group()
