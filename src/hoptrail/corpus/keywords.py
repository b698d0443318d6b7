"""The keyword index: ranking by BM25, exactly, from postings that are rows of the database, and writing these.

score(q, u) = sum over the words w of q of  idf(w) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · |u| / avg|u|))
each as often as it stands in q, with k1 = 1.2, b = .75 and idf(w) = ln(1 + (N - df + .5) / (df + .5)), over all units of a kind
that count.

A segment's arrays are `numbers`, of its units, rising, and `lengths`, how many words each has. Its postings are rows of the
database (`schema.py`), which name units by their place in the segment. Removing a unit rewrites the rows of its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import apsw
import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import NONE, Numbers, numbers_of, rows_of
from hoptrail.corpus.connection import Row
from hoptrail.corpus.database import Database
from hoptrail.corpus.segments import Family, Segment, Segments, SegmentWriter
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

    def _scores(self, kind: Kind, questions: Sequence[str]) -> Iterator[tuple[Segment, NDArray[np.float64]]]:
        """The scores of all rows of each segment: shape (questions, rows)."""
        parts = self._segments.of(Family.KEYWORDS, kind)
        asked = [Counter(keyword_words(question)) for question in questions]
        words = set[str]().union(*asked)
        if not parts or not words:
            return
        units = sum(map(len, parts))
        held = sum(int(part.arrays["lengths"][part.living()].sum(dtype=np.int64)) for part in parts)
        constant, slope = K1 * (1 - B), K1 * B * units / max(held, 1)
        found = {part.number: np.zeros((len(questions), part.rows)) for part in parts}
        lengths = {part.number: part.arrays["lengths"] for part in parts}
        postings = self._postings(parts, tuple(sorted(words)))
        with_word: Counter[str] = Counter()
        for word, _, df, _ in postings:
            with_word[word] += df
        for word, number, _, posting in postings:
            rarity = np.log(1 + (units - with_word[word] + 0.5) / (with_word[word] + 0.5))
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


_INSERT = "INSERT INTO postings (segment, term, df, docs, tfs) VALUES (?, ?, ?, ?, ?)"
_MOST = np.iinfo(np.uint16).max


class PostingWriter:
    """The keyword index of a transaction."""

    def __init__(self, segments: SegmentWriter) -> None:
        self._segments = segments
        self._database: Database = segments.database
        self._waiting: dict[str, dict[int, list[str]]] = {}
        """By kind and number the words of units that have no segment yet."""

    def add(self, kind: str, number: int, text: str) -> None:
        """A unit for the next segment."""
        self._waiting.setdefault(kind, {})[number] = keyword_words(text)

    def flush(self) -> None:
        """Make segments of what waits."""
        for kind, waiting in sorted(self._waiting.items()):
            units = dict(sorted(waiting.items()))
            terms = sorted({word for words in units.values() for word in words})
            places = {term: place for place, term in enumerate(terms)}
            flat = np.array([places[word] for words in units.values() for word in words], np.int64)
            lengths = np.array([len(words) for words in units.values()], np.int64)
            owners = np.repeat(np.arange(len(units)), lengths)
            keys, often = np.unique(flat << 32 | owners, return_counts=True)
            self._store(kind, np.array(list(units)), lengths, terms, keys, often)
        self._waiting.clear()

    def remove(self, segments: Sequence[Segment], texts: Mapping[int, str]) -> None:
        """Take units out, by number, with the text that they had."""
        words = {number: keyword_words(text) for number, text in texts.items()}
        for segment in segments:
            numbers = segment.arrays["numbers"]
            here = segment.counting(np.flatnonzero(np.isin(numbers, numbers_of(list(words)))))
            gone = {term for number in numbers[here].tolist() for term in words[number]}
            if len(here):
                self._rewrite(segment, tuple(sorted(gone)), here)
                self._segments.mark_gone(segment, here)

    def merge(self, kind: str, segments: Sequence[Segment]) -> None:
        """Make one segment of several, without what is gone."""
        living = [segment.living() for segment in segments]
        numbers = np.concatenate([one.arrays["numbers"][rows] for one, rows in zip(segments, living, strict=True)])
        lengths = np.concatenate([one.arrays["lengths"][rows] for one, rows in zip(segments, living, strict=True)])
        order = np.argsort(numbers, kind="stable")
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        places, before = {}, 0
        for segment, rows in zip(segments, living, strict=True):
            place = np.zeros(segment.rows, np.int64)
            place[rows] = ranks[before : before + len(rows)]
            places[segment.number] = place
            before += len(rows)
        new = self._segments.add(Family.KEYWORDS, kind, len(numbers), _arrays(numbers[order], lengths[order]))
        if new:
            self._database.run_each(_INSERT, self._merged(new, places))
        self.drop(segments)

    def drop(self, segments: Iterable[Segment]) -> None:
        """Segments that are no more, with their postings."""
        for segment in segments:
            self._database.run("DELETE FROM postings WHERE segment = ?", segment.number)
            self._segments.drop([segment])

    def _merged(self, new: int, places: Mapping[int, NDArray[np.int64]]) -> list[tuple[apsw.SQLiteValue, ...]]:
        found = self._database.rows(
            "SELECT p.term, p.segment, p.docs, p.tfs FROM carray(?) c CROSS JOIN postings p ON p.segment = c.value "
            "ORDER BY p.term, p.segment",
            apsw.carray(np.array(list(places), np.int64)),
        )
        return [_merged_row(new, term, rows, places) for term, rows in groupby(found, key=lambda row: str(row[0]))]

    def _store(
        self,
        kind: str,
        numbers: NDArray[np.int64],
        lengths: NDArray[np.int64],
        terms: Sequence[str],
        keys: NDArray[np.int64],
        often: NDArray[np.int64],
    ) -> None:
        """A segment from pairs of a term and a row (`keys`, rising), and how often each is."""
        segment = self._segments.add(Family.KEYWORDS, kind, len(numbers), _arrays(numbers, lengths))
        starts = np.searchsorted(keys, np.arange(len(terms) + 1) << 32)
        docs = (keys & 0xFFFFFFFF).astype(np.int32)
        tfs = np.minimum(often, _MOST).astype(np.uint16)

        def rows() -> Iterator[tuple[apsw.SQLiteValue, ...]]:
            for term, first, last in zip(terms, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
                yield segment, term, last - first, docs[first:last].tobytes(), tfs[first:last].tobytes()

        self._database.run_each(_INSERT, rows())

    def _rewrite(self, segment: Segment, terms: tuple[str, ...], gone: NDArray[np.intp]) -> None:
        """Take rows of a segment out of the postings of some terms; a term that nothing else has goes."""
        if not terms:
            return
        found = self._database.rows(
            "SELECT p.term, p.docs, p.tfs FROM carray(?) c CROSS JOIN postings p ON p.segment = ? AND p.term = c.value",
            *(apsw.carray(terms), segment.number),
        )
        left = [(term, _without(posting(docs, tfs), gone)) for term, docs, tfs in found]
        self._database.run_each(
            "UPDATE postings SET df = ?, docs = ?, tfs = ? WHERE segment = ? AND term = ?",
            [
                (len(kept.rows), kept.rows.tobytes(), kept.often.tobytes(), segment.number, term)
                for term, kept in left
                if len(kept.rows)
            ],
        )
        self._database.run_each(
            "DELETE FROM postings WHERE segment = ? AND term = ?",
            [(segment.number, term) for term, kept in left if not len(kept.rows)],
        )


def _arrays(numbers: NDArray[np.integer], lengths: NDArray[np.integer]) -> Mapping[str, NDArray[np.int32]]:
    return {"numbers": numbers_of(numbers), "lengths": numbers_of(lengths)}


def _without(found: Postings, gone: NDArray[np.intp]) -> Postings:
    kept = ~np.isin(found.rows, gone)
    return Postings(found.rows[kept], found.often[kept])


def _merged_row(
    new: int, term: str, rows: Iterable[Row], places: Mapping[int, NDArray[np.int64]]
) -> tuple[apsw.SQLiteValue, ...]:
    parts = [(places[segment], posting(docs, tfs)) for _, segment, docs, tfs in rows]
    docs = np.concatenate([place[part.rows] for place, part in parts]).astype(np.int32)
    tfs = np.concatenate([part.often for _, part in parts])
    order = np.argsort(docs, kind="stable")
    return new, term, len(docs), docs[order].tobytes(), tfs[order].tobytes()
