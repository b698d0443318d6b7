"""The keyword index of passages: exact ranking by BM25 over postings in the database, and writing these.

score(q, u) = sum over the words w of q, with repeats, of  idf(w) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · |u| / avg|u|))
with k1 = 1.2, b = .75 and idf(w) = ln(1 + (N - df + .5) / (df + .5)), over all live passages.

The arrays of a segment are `numbers`, of its units, and `lengths`, their numbers of words. Its postings are rows of the
database (`schema.py`), which refer to units by their rows in the segment. Removing a unit rewrites the postings of its words.

Words are runs of letters and digits, lower-cased, with accents and ligatures folded, without STOP_WORDS and words of more than 40
characters. There is no stemming: it gained nothing on the development questions, and works for English only. Scripts without
spaces between words are cut into pairs of neighbouring characters, because finding words there would require a dictionary.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, reduce
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import NONE, Numbers, Places, Rows, numbers_of, rows_of
from hoptrail.corpus.database import Database
from hoptrail.corpus.segments import Family, Segment, SegmentWriter, live_column
from hoptrail.corpus.units import Found, NumberedUnits
from hoptrail.text.words import LETTERS, unspaced_pieces
from hoptrail.types import Kind

K1 = 1.2
B = 0.75

LONGEST = 40

STOP_WORDS = frozenset(
    (  # noqa: SIM905 - a list of eighty quoted words reads worse
        "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to "
        "was will with who whom whose what which when where why how do does did were been being has have had i you he she we us "
        "our his her him its from s"
    ).split()
)
"""Lucene's English list, question words, auxiliaries and pronouns: words of questions that do not distinguish passages."""

_PLAIN = re.compile(r"[a-z0-9]+")
_WORD = re.compile(LETTERS)
_FOLDED = str.maketrans("øđðłħıŋŧ", "oddlhint", "\u00ad") | str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"})
"""Letters that Unicode does not decompose and an English keyboard lacks."""


def keyword_words(text: str) -> list[str]:
    """The words of a text in order, with repeats."""
    lower = text.lower()
    if text.isascii():
        return [word for word in _PLAIN.findall(lower) if word not in STOP_WORDS and len(word) <= LONGEST]
    cut = (piece for word in _WORD.findall(lower) for piece in unspaced_pieces(word))
    # Folding comes after stop words: `à` becomes `a`, but is not a stop word.
    words = [word for word in cut if word not in STOP_WORDS and len(word) <= LONGEST]
    return [word if word.isascii() else _folded(word) for word in words]


def _folded(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).translate(_FOLDED)


Postings = tuple[str, Segment, NDArray[np.int32], NDArray[np.uint16]]
"""A word, a segment, the live rows of it that contain the word, sorted, and how often each does."""


class WordCounts(Protocol):
    """What BM25 asks of a whole corpus, of which an index may be a part."""

    def sizes(self) -> tuple[int, int]:
        """The number of passages, and of their words."""

    def frequencies(self, words: Sequence[str]) -> NDArray[np.int64]:
        """How many passages contain each word, as `keyword_words` writes it."""


class Keywords:
    """The keyword index of a snapshot. Satisfies `WordCounts`."""

    whole: WordCounts | None = None  # the counts of the corpus that this is a part of; None: this is all of it

    def __init__(self, database: Database, segments: Sequence[Segment], numbered: NumberedUnits) -> None:
        self._database = database
        self._segments = segments
        self._numbered = numbered

    def as_part_of(self, whole: WordCounts) -> Keywords:
        """The same keyword index, with scores by the counts of a larger corpus."""
        part = copy(self)
        part.whole = whole
        return part

    def search(self, question: str, limit: int) -> Found:
        """The `limit` passages with the highest scores, of those that share a word with the question."""
        numbers, scores = [NONE], [np.zeros(0)]
        for segment, [row_scores] in self._scores([question]):
            rows = np.flatnonzero(row_scores)
            numbers.append(segment.arrays["numbers"][rows])
            scores.append(row_scores[rows])
        return self._numbered.best(np.concatenate(numbers), np.concatenate(scores), limit)

    def scores(self, questions: Sequence[str], numbers: Numbers) -> NDArray[np.float64]:
        """The scores of `search` for each question and each passage, which must be sorted: shape (questions, passages)."""
        scores = np.zeros((len(questions), len(numbers)))
        for segment, row_scores in self._scores(questions):
            rows = np.flatnonzero(row_scores.any(axis=0))  # without removed ones
            places = rows_of(segment.arrays["numbers"][rows], numbers)
            here = places >= 0
            scores[:, places[here]] = row_scores[:, rows[here]]
        return scores

    def sizes(self) -> tuple[int, int]:
        return self._own_sizes if self.whole is None else self.whole.sizes()

    @cached_property
    def _own_sizes(self) -> tuple[int, int]:
        lengths = live_column(self._segments, "lengths")
        return len(lengths), int(lengths.sum(dtype=np.int64))

    def frequencies(self, words: Sequence[str]) -> NDArray[np.int64]:
        if self.whole is not None:
            return self.whole.frequencies(words)
        df = _counted(self._postings(tuple(sorted(set(words)))))
        return np.array([df[word] for word in words], dtype=np.int64)

    def documents_with(self, words: Sequence[str]) -> Numbers:
        """The documents whose passages contain all of these words, as `keyword_words` writes them; by number, sorted."""
        found: dict[str, list[Numbers]] = {word: [NONE] for word in words}
        for word, segment, rows, _ in self._postings(tuple(found)):
            found[word].append(segment.arrays["numbers"][rows])
        documents = [np.unique(self._numbered.origins_of(np.concatenate(units)).documents) for units in found.values()]
        return reduce(np.intersect1d, documents) if documents else NONE

    def _scores(self, questions: Sequence[str]) -> Iterator[tuple[Segment, NDArray[np.float64]]]:
        """The scores of all rows of each segment: shape (questions, rows)."""
        queries = [Counter(keyword_words(question)) for question in questions]
        terms = tuple(sorted(set[str]().union(*queries)))
        if not self._segments or not terms:
            return
        units, total = self.sizes()
        constant, slope = K1 * (1 - B), K1 * B * units / max(total, 1)
        scores = {segment.number: np.zeros((len(questions), segment.rows)) for segment in self._segments}
        found = self._postings(terms)
        if self.whole is None:
            df = _counted(found)
        else:
            df = Counter(dict(zip(terms, self.whole.frequencies(terms).tolist(), strict=True)))
        for word, segment, rows, counts in found:
            idf = np.log(1 + (units - df[word] + 0.5) / (df[word] + 0.5))
            damping = constant + slope * segment.arrays["lengths"][rows]
            for repeats in {query[word] for query in queries} - {0}:
                score = idf * repeats * (K1 + 1) * counts / (counts + damping)
                for row, query in enumerate(queries):
                    if query[word] == repeats:
                        scores[segment.number][row, rows] += score
        for segment in self._segments:
            yield segment, scores[segment.number]

    def _postings(self, words: tuple[str, ...]) -> list[Postings]:
        segments = {segment.number: segment for segment in self._segments}
        tables = "carray(?) c CROSS JOIN carray(?) w CROSS JOIN postings t ON t.segment = c.value AND t.term = w.value"
        found: list[Postings] = []
        for number, word, docs, tfs in self._database.checked("postings", tables, list(segments), words):
            rows, counts, alive = np.frombuffer(docs, np.int32), np.frombuffer(tfs, np.uint16), segments[number].alive
            if alive is not None:
                rows, counts = rows[alive[rows]], counts[alive[rows]]
            found.append((word, segments[number], rows, counts))
        return found


def _counted(found: Iterable[Postings]) -> Counter[str]:
    df: Counter[str] = Counter()
    for word, _, rows, _ in found:
        df[word] += len(rows)
    return df


_MOST = np.iinfo(np.uint16).max

_Written = dict[str, tuple["array[int]", "array[int]"]]
"""The rows of a segment that contain each word, rising, and how often each does."""


def _no_postings() -> _Written:
    return defaultdict(lambda: (array("i"), array("H")))


class PostingWriter:
    def __init__(self, segments: SegmentWriter) -> None:
        self._segments = segments
        self._database: Database = segments.database

    def put(self, texts: Mapping[int, str]) -> None:
        """Add passages, given by number with their texts, as a segment."""
        if not texts:
            return
        postings, lengths = _no_postings(), list[int]()
        for row, (_, text) in enumerate(sorted(texts.items())):
            words = keyword_words(text)
            lengths.append(len(words))
            for word, count in Counter(words).items():
                rows, counts = postings[word]
                rows.append(row)
                counts.append(min(count, _MOST))
        self._add(numbers_of(sorted(texts)), numbers_of(lengths), postings)

    def remove(self, texts: Mapping[int, str]) -> None:
        """Remove passages, given by number with the text that they had."""
        words = {number: keyword_words(text) for number, text in texts.items()}
        for segment in self._segments.of(Family.KEYWORDS, Kind.PASSAGE):
            numbers = segment.arrays["numbers"]
            rows = segment.live(np.flatnonzero(np.isin(numbers, numbers_of(list(words)))))
            terms = {term for number in numbers[rows].tolist() for term in words[number]}
            if len(rows):
                self._remove_rows(segment, tuple(sorted(terms)), rows)
                self._segments.mark_gone(segment, rows)

    def merge(self) -> None:
        while due := self._segments.due(Family.KEYWORDS, Kind.PASSAGE):
            postings, places, first = _no_postings(), dict[int, Rows](), 0
            for part in due:
                places[part.number] = np.zeros(part.rows, np.int32)
                places[part.number][part.live_rows()] = np.arange(first, first + len(part))
                first += len(part)
            tables = "carray(?) c CROSS JOIN postings t ON t.segment = c.value"
            for number, word, docs, tfs in self._database.checked("postings", tables, list(places)):
                rows, counts = postings[word]
                rows.frombytes(places[number][np.frombuffer(docs, np.int32)].tobytes())
                counts.frombytes(tfs)
            self._add(live_column(due, "numbers"), live_column(due, "lengths"), postings)
            self._segments.drop(due)

    def _add(self, numbers: Numbers, lengths: Numbers, postings: _Written) -> None:
        segment = self._segments.add(Family.KEYWORDS, Kind.PASSAGE, {"numbers": numbers, "lengths": lengths})
        rows = ((segment, word, bytes(docs), bytes(tfs)) for word, (docs, tfs) in sorted(postings.items()))
        self._database.insert("postings", rows)

    def _remove_rows(self, segment: Segment, terms: tuple[str, ...], gone: Places) -> None:
        """Remove rows of a segment from the postings of these terms, and terms that no other row has."""
        tables = "carray(?) c CROSS JOIN postings t ON t.segment = ? AND t.term = c.value"
        after = []
        for number, term, docs, tfs in self._database.checked("postings", tables, terms, segment.number):
            rows = np.frombuffer(docs, np.int32)
            kept = ~np.isin(rows, gone)
            after.append((number, term, rows[kept].tobytes(), np.frombuffer(tfs, np.uint16)[kept].tobytes()))
        change = "docs = ?3, tfs = ?4, checksum = row_checksum(?1, ?2, ?3, ?4)"
        self._database.run_each(f"UPDATE postings SET {change} WHERE segment = ?1 AND term = ?2", after)
        emptied = "DELETE FROM postings WHERE segment = ? AND term = ? AND docs = x''"
        self._database.run_each(emptied, [(number, term) for number, term, docs, _ in after if not docs])
