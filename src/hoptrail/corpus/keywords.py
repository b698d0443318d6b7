"""Ranking by BM25, exactly: postings of the question's words from rows of the database, scored with NumPy.

score(q, u) = sum over the words w of q of  idf(w) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · |u| / avg|u|))
each as often as it stands in q, with k1 = 1.2, b = .75 and idf(w) = ln(1 + (N - df + .5) / (df + .5)), over all units of a kind
that count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import apsw
import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.database import Database
from hoptrail.corpus.numbers import NONE, Numbers, rows_of
from hoptrail.corpus.segments import Family, Segment, Segments
from hoptrail.corpus.texts import Texts
from hoptrail.corpus.vectors import Ranked, best
from hoptrail.corpus.words import keyword_words
from hoptrail.types import Kind

K1 = 1.2
B = 0.75


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows of a segment that have a word, rising, and how often each has it."""

    rows: NDArray[np.int32]
    often: NDArray[np.uint16]

    def counting(self, alive: NDArray[np.bool_] | None) -> Postings:
        """Those of rows that count."""
        if alive is None:
            return self
        kept = alive[self.rows]
        return Postings(self.rows[kept], self.often[kept])


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Of all units of a kind: how many there are, and how many words they have together."""

    units: int
    words: int


class Keywords:
    """The keyword index of a snapshot."""

    def __init__(self, database: Database, segments: Segments, texts: Texts) -> None:
        self._database = database
        self._segments = segments
        self._texts = texts

    def search(self, kind: Kind, question: str, limit: int) -> Ranked:
        """The `limit` units with the highest scores, of those that share a word with the question."""
        numbers, scores = [NONE], [np.zeros(0)]
        for segment, [found] in self._scores(kind, [question]):
            rows = np.flatnonzero(found)
            numbers.append(segment.arrays["numbers"][rows])
            scores.append(found[rows])
        return best(self._texts, np.concatenate(numbers), np.concatenate(scores), limit)

    def scores(self, kind: Kind, questions: Sequence[str], numbers: Numbers) -> NDArray[np.float64]:
        """What `search` gives some units as score for each question, 0 to those that share no word, in the same order: shape
        (questions, units).
        """
        scores = np.zeros((len(questions), len(numbers)))
        for segment, found in self._scores(kind, questions):
            rows = rows_of(numbers, segment.arrays["numbers"])
            here = rows >= 0
            scores[:, here] += found[:, rows[here]]  # what is gone has 0
        return scores

    def frequencies(self, kind: Kind, words: Sequence[str]) -> NDArray[np.int64]:
        """How many units have each word, in the form that `keyword_words` gives it."""
        found: Counter[str] = Counter()
        for word, _, df, _ in self._postings(self._segments.of(Family.KEYWORDS, kind), tuple(sorted(set(words)))):
            found[word] += df
        return np.array([found[word] for word in words], dtype=np.int64)

    def counts(self, kind: Kind) -> WordCounts:
        """What scores are normed by."""
        parts = self._segments.of(Family.KEYWORDS, kind)
        units, words = sum(map(len, parts)), 0
        for part in parts:
            lengths = part.arrays["lengths"]
            words += int((lengths if part.alive is None else lengths[part.alive]).sum(dtype=np.int64))
        return WordCounts(units, words)

    def _scores(self, kind: Kind, questions: Sequence[str]) -> Iterator[tuple[Segment, NDArray[np.float64]]]:
        """The scores of all rows of each segment: shape (questions, rows)."""
        parts = self._segments.of(Family.KEYWORDS, kind)
        asked = [Counter(keyword_words(question)) for question in questions]
        words = set[str]().union(*asked)
        if not parts or not words:
            return
        counts = self.counts(kind)
        constant, slope = K1 * (1 - B), K1 * B * counts.units / max(counts.words, 1)
        found = {part.number: np.zeros((len(questions), part.rows)) for part in parts}
        lengths = {part.number: part.arrays["lengths"] for part in parts}
        postings = self._postings(parts, tuple(sorted(words)))
        with_word: Counter[str] = Counter()
        for word, _, df, _ in postings:
            with_word[word] += df
        for word, number, _, posting in postings:
            rarity = np.log(1 + (counts.units - with_word[word] + 0.5) / (with_word[word] + 0.5))
            damping = constant + slope * lengths[number][posting.rows]
            for row, often in enumerate(counter[word] for counter in asked):
                if often:
                    worth = rarity * often * (K1 + 1) * posting.often / (posting.often + damping)
                    found[number][row, posting.rows] += worth
        for part in parts:
            yield part, found[part.number]

    def _postings(self, parts: Sequence[Segment], words: tuple[str, ...]) -> list[tuple[str, int, int, Postings]]:
        """Words with the number of a segment that has them, how many of its rows do, and these."""
        if not parts or not words:
            return []
        numbers = np.array([part.number for part in parts], np.int64)
        rows = self._database.rows(
            "SELECT p.term, p.segment, p.docs, p.tfs FROM carray(?) c CROSS JOIN carray(?) w CROSS JOIN postings p "
            "ON p.segment = c.value AND p.term = w.value",
            *(apsw.carray(numbers), apsw.carray(words)),
        )
        alive = {part.number: part.alive for part in parts}
        found = [(term, segment, posting(docs, tfs).counting(alive[segment])) for term, segment, docs, tfs in rows]
        return [(term, segment, len(counted.rows), counted) for term, segment, counted in found]


def posting(docs: bytes, tfs: bytes) -> Postings:
    return Postings(np.frombuffer(docs, np.int32), np.frombuffer(tfs, np.uint16))
