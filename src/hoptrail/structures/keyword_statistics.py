"""BM25 over texts held in memory: what each word of each text is worth, as one sparse matrix.

score(q, u) = sum over the words w of q of  idf(w) · tf / (tf + k1 · (1 - b + b · |u| / avg|u|))
with k1 = 1.2, b = 0.75 and Lucene's idf: what the keyword index of the store has, up to the factor k1 + 1. For texts that the
store keeps no common statistics of, and for scores of many texts at once. Cuts words in languages with spaces only.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.words import STOP_WORDS
from hoptrail.executing.executor import batched
from hoptrail.structures.sparse import Growing
from hoptrail.types import Kind

K1 = 1.2
B = 0.75

READ = 4096
"""Texts whose words are counted at a time."""

_OTHER = re.compile(r"[^\x00-\x7f]")


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
        numbers: dict[str, int] = {}  # as they come
        counted, lengths = Growing(), array("q")
        for some in batched(texts, READ):
            counts = _Counted.of(keyword_words(some), numbers)
            counted.add(counts.sizes, counts.words, counts.counts.astype(np.float64))
            lengths.extend(counts.lengths.tolist())
        found = counted.matrix(len(numbers))
        del counted
        in_order = sorted(numbers)
        ranks = np.empty(len(in_order), dtype=np.int32)
        ranks[[numbers[word] for word in in_order]] = np.arange(len(in_order))
        matrix = _worth(found, ranks, np.array(lengths, dtype=np.float64))
        return cls({word: column for column, word in enumerate(in_order)}, matrix)

    @cached_property
    def by_word(self) -> Any:
        """The same matrix of shape (words, texts)."""
        return self.matrix.T.tocsr()

    def scores(self, question: str) -> NDArray[np.float32]:
        """The score of every text, 0 where it shares no word with the question: shape (texts,)."""
        scores = np.zeros(self.matrix.shape[0])
        for words in keyword_words([question]):
            for column in [self.words[word] for word in words if word in self.words]:
                texts, worth = self._of(column)
                scores[texts] += worth
        return scores.astype(np.float32)

    def _of(self, column: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The texts that have a word, and what it is worth in each."""
        here = slice(*self.by_word.indptr[column : column + 2])
        return self.by_word.indices[here], self.by_word.data[here]


def _worth(counts: Any, ranks: Rows, lengths: NDArray[np.float64]) -> Any:
    """What words are worth in texts, from how often they come (shape (texts, words)), and how many words each text has in all.

    `ranks` are the columns to be.
    """
    from scipy.sparse import csr_matrix

    with_word = np.bincount(counts.indices, minlength=len(ranks))
    rarity = np.log(1 + (len(lengths) - with_word + 0.5) / (with_word + 0.5))
    damping = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9)) if len(lengths) else lengths
    often = counts.data
    worth = rarity[counts.indices] * (often / (often + np.repeat(damping, np.diff(counts.indptr))))
    found = csr_matrix((worth, ranks[counts.indices], counts.indptr), shape=counts.shape)
    found.sort_indices()
    return found


@dataclass(frozen=True, slots=True)
class _Counted:
    """Words of some texts: how many words each text has, how many different ones (`sizes`), these and how often they come."""

    lengths: NDArray[np.int64]
    sizes: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], numbers: dict[str, int]) -> _Counted:
        """`numbers` are those of the words known so far, and get those of the others."""
        lengths = np.array([len(words) for words in texts])
        flat = np.array([numbers.setdefault(word, len(numbers)) for words in texts for word in words], dtype=np.int64)
        owners = np.repeat(np.arange(len(texts)), lengths)
        pairs, counts = np.unique(owners << 32 | flat, return_counts=True)
        sizes = np.bincount(pairs >> 32, minlength=len(texts))
        return cls(lengths, sizes, (pairs & 0xFFFFFFFF).astype(np.int32), counts.astype(np.int32))


def passage_keywords(snapshot: Snapshot) -> KeywordStatistics:
    """Those of all passages, title and text, by rising id; made once a snapshot."""
    return snapshot.derived("keywords of passages", lambda: _of_passages(snapshot))


def _of_passages(snapshot: Snapshot) -> KeywordStatistics:
    ids = sorted(snapshot.table.ids(Kind.PASSAGE))
    units = (sorted(snapshot.units(Kind.PASSAGE, some), key=lambda unit: unit.id) for some in batched(ids, READ))
    return KeywordStatistics.of(unit.searchable for some in units for unit in some)


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
