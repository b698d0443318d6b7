"""What path search compares: a question as several queries, passages linked by the names that their sentences share, and how
every passage scores for each query, by words, by its vector, and by its sentences.

The queries are the whole question, its steps, and stretches of its wording. Steps come from a decomposition, given or made by
rule; `#1` in a step stands for the answer of step 1. Stretches are the parts between punctuation and conjunctions: they find
evidence for parallel facts and need no grammar. A bridged query is a step with a name in place of its reference. The rules read
English; in other languages only the whole question remains.

A name is an entity of the stored extractions, or a title that a sentence mentions (`structures/title_mentions.py`). Spellings
that differ only in case, accents and punctuation are one name; dates and numbers are not names. Names and vectors are
memory-mapped from the commit, and texts are read on demand. They do not depend on a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows
from hoptrail.corpus.keywords import Keywords, keyword_words
from hoptrail.corpus.names import NameList
from hoptrail.corpus.passage_graph import MADE_BY, NAMES, make_graph, stored_graph
from hoptrail.corpus.searching import top_rows
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import MENTIONS
from hoptrail.errors import NotBuilt
from hoptrail.language.offline.settings import QUESTION_CHARACTERS
from hoptrail.language.questions.plans import make_plan
from hoptrail.models.encoder import FloatMatrix
from hoptrail.text.mentions import find_names
from hoptrail.text.title_scanning import can_be_found, name_key, names_in
from hoptrail.types import Kind, Unit

MOST_STEPS = MOST_STRETCHES = 6  # each costs an encoded text
LEAST_WORDS = 3  # content words that a stretch needs; a shorter one is joined to the next

_REFERENCE = re.compile(r"#(\d{1,2})\b")
_BORDER = re.compile(r"[,;:.?!]\s|\s(?:and|while|that|which|who|whose|where|when|as)\s")
_BY_WORDS, _BY_VECTOR, _BY_SENTENCE = 0.4, 0.3, 0.3
"""Weights in a query's score of a passage: by words, by its vector, by its best sentence, each as a share of the best."""


@dataclass(frozen=True, slots=True)
class PathQueries:
    """`texts`: the question, its steps without references, its stretches; at least the question.

    `steps` keep their references. `edges` are pairs (i, j) where step j refers to step i; steps count from 1, which is also
    their place in `texts`. A question of one step has no steps.
    """

    question: str
    steps: tuple[str, ...]
    stretches: tuple[str, ...]
    words: tuple[str, ...]  # the content words of the question, without repeats

    @classmethod
    def of(cls, question: str, steps: Sequence[str] | None = None) -> PathQueries:
        """The queries of a question; without `steps` rules decompose it."""
        if steps is None:
            steps = make_plan(question, MOST_STEPS, QUESTION_CHARACTERS).searched
        several = tuple(steps[:MOST_STEPS]) if len(steps) > 1 else ()
        return cls(question, several, stretches(question), tuple(dict.fromkeys(_words(question))))

    @property
    def texts(self) -> tuple[str, ...]:
        steps = (self.filled(step, {}) for step in range(1, len(self.steps) + 1))
        return (self.question, *steps, *self.stretches)

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """A pair for each reference, without those to a step that does not exist or to the step itself."""
        pairs = ((int(number), at) for at, step in enumerate(self.steps, 1) for number in _REFERENCE.findall(step))
        return tuple(pair for pair in pairs if 1 <= pair[0] <= len(self.steps) and pair[0] != pair[1])

    @property
    def self_contained(self) -> tuple[int, ...]:
        """Places in `texts` of stretches and of steps without a reference."""
        steps = [at for at, step in enumerate(self.steps, 1) if not _REFERENCE.search(step)]
        return (*steps, *range(len(self.steps) + 1, len(self.texts)))

    @property
    def referring(self) -> tuple[int, ...]:
        """Places in `texts` of steps with a reference."""
        return tuple(at for at, step in enumerate(self.steps, 1) if _REFERENCE.search(step))

    def filled(self, step: int, names: Mapping[int, str], other: str = " ") -> str:
        """Step `step` with names for its references to the steps in `names`, and `other` for its other references."""
        return " ".join(_REFERENCE.sub(lambda found: names.get(int(found[1]), other), self.steps[step - 1]).split())

    def bridged(self, step: int, name: str) -> str:
        """Step `step` with `name` for its reference; step 0 is the question with the name appended."""
        if step == 0:
            return f"{self.question} {name}"
        return self.filled(step, {}, name)


def stretches(question: str) -> tuple[str, ...]:
    """The stretches of a question; none if the question is a single stretch."""
    parts = [part.strip(" ,;:.?!") for part in _BORDER.split(question)]
    counts = [len(_words(part)) for part in parts]
    complete: list[str] = []
    open_part, open_words = "", 0
    for part, count in zip(parts, counts, strict=True):
        open_part, open_words = f"{open_part} {part}".strip(), open_words + count
        if open_words >= LEAST_WORDS:
            complete.append(open_part)
            open_part, open_words = "", 0
    if complete and open_part:
        complete[-1] = f"{complete[-1]} {open_part}"
    return tuple(complete[:MOST_STRETCHES]) if len(complete) > 1 else ()


def _words(text: str) -> list[str]:
    """Content words: no stop words and no single letters."""
    return [word for word in keyword_words(text) if len(word) > 1]


# --- the graph


class PassageGraph:
    """The arrays of `GraphArrays`, with the vectors, texts and names that belong to them. Use `of`."""

    def __init__(self, snapshot: Snapshot) -> None:
        arrays = stored_graph(snapshot) or make_graph(snapshot)
        self.passage_numbers, self.size = arrays.numbers, len(arrays.numbers)
        self.titles, self.owners = arrays.titles, arrays.owners
        self.namers, self.named_by = arrays.namers, arrays.named_by
        self.passage_of, self.spans, self.positions = arrays.passage_of, arrays.spans, arrays.positions
        self.sentences, self.names_in = arrays.sentences, arrays.names_in
        self.passage_vectors = snapshot.search.matrix(Kind.PASSAGE)
        self.sentence_vectors = snapshot.search.matrix(Kind.SENTENCE)
        self.keys: NameList = snapshot.names.of(NAMES)
        """The names, in alphabetical order."""
        self._texts, self._read = snapshot.numbered, dict[int, Unit]()

    @classmethod
    def of(cls, snapshot: Snapshot) -> PassageGraph:
        """The graph of a snapshot, made once. Raises: NotBuilt: there are no sentences, or no names (by an earlier version)."""
        if snapshot.head.structures.get(MENTIONS, MADE_BY) != MADE_BY:
            raise NotBuilt(
                f"the structure `mentions` of {snapshot.folder} was built by an earlier version of hoptrail. Run `hoptrail index "
                f"--index {snapshot.folder} --for trail` once: nothing is encoded again."
            )
        if snapshot.count(Kind.PASSAGE) and not snapshot.count(Kind.SENTENCE):
            raise NotBuilt(
                f"the index at {snapshot.folder} has no sentences, which path search needs. Build the structures "
                "`sentences`, `extractions` and `mentions` first."
            )
        return snapshot.derived(cls.__name__, lambda: cls(snapshot))

    def number(self, name: str) -> int:
        """The number of the name with this key, -1 if no passage mentions it or has it as title."""
        number = self.keys.row(name)
        return number if number >= 0 and (self.namers.counts(number) or self.owners.counts(number)) else -1

    def name(self, number: int) -> str:
        return self.keys[int(number)].decode(errors="surrogatepass")

    def passages_with(self, name: int) -> Rows:
        """The passages that mention a name or have it as title, rising; none for -1."""
        if name < 0:
            return np.zeros(0, np.int32)
        return np.union1d(self.namers.at(name), self.owners.at(name))

    def passages(self, rows: Iterable[int]) -> dict[int, Unit]:
        """Several passages by row, each read once; reading them together costs less than one by one."""
        wanted = list(map(int, rows))
        if missing := [row for row in wanted if row not in self._read]:
            self._read |= zip(missing, self._texts.units(self.passage_numbers[missing]), strict=True)
        return {row: self._read[row] for row in wanted}

    def texts(self, sentences: NDArray[np.integer]) -> list[str]:
        passages, spans = self.passage_of[sentences].tolist(), self.spans[sentences].tolist()
        text_of = {row: unit.text for row, unit in self.passages(set(passages)).items()}
        return [text_of[row][start:end] for row, (start, end) in zip(passages, spans, strict=True)]

    def best_sentences(self, rows: NDArray[np.integer], vectors: FloatMatrix) -> FloatMatrix:
        """The highest cosine of a sentence of each passage with each vector, -1 without any: shape (len(rows), len(vectors))."""
        of_passage, sentences = self.sentences.of_all(rows)
        cosines = self.sentence_vectors.products(sentences, vectors.T)
        best = np.full((len(rows), len(vectors)), -1, dtype=np.float32)
        filled, starts = np.unique(of_passage, return_index=True)
        if len(filled):
            best[filled] = np.maximum.reduceat(cosines, starts, axis=0)
        return best


# --- scores


@dataclass(frozen=True)
class QuestionScores:
    """The scores of all passages (n) for all queries; columns are `queries.texts` (k)."""

    graph: PassageGraph
    queries: PathQueries
    vectors: FloatMatrix  # k x dimension
    keywords: FloatMatrix  # n x k, shares of the best
    passages: FloatMatrix  # n x k, cosines
    sentences: FloatMatrix
    """n x k, the cosine of each passage's best sentence; -1 for passages whose sentences were not read."""
    asked: frozenset[int]  # the names in the question
    document_frequencies: NDArray[np.int64]  # for the question's words
    corpus_size: int  # the passages that words are counted in: all shards of a corpus, of which this may be a part

    @classmethod
    def of(
        cls, graph: PassageGraph, keywords: Keywords, queries: PathQueries, vectors: FloatMatrix, read: int
    ) -> QuestionScores:
        """The scores of `queries`; `vectors` are those of their texts, `read` is the setting."""
        bm25 = keywords.scores(queries.texts, graph.passage_numbers).astype(np.float32)
        scores = cls(
            graph,
            queries,
            vectors,
            shares_of_columns(bm25.T),
            graph.passage_vectors @ vectors.T,
            np.full((graph.size, len(vectors)), -1, dtype=np.float32, order="F"),
            names_asked(queries.question, graph),
            keywords.frequencies(queries.words),
            keywords.sizes()[0],
        )
        promising = best_column(_BY_WORDS * scores.keywords + _BY_VECTOR * scores.passages)
        scores.read(np.sort(top_rows(promising, read)))
        return scores

    def read(self, rows: NDArray[np.integer]) -> None:
        """Compare the sentences of passages with the queries, unless that was done."""
        unread = rows[(self.sentences[rows] == -1).all(axis=1)]
        self.sentences[unread] = self.graph.best_sentences(unread, self.vectors)

    @cached_property
    def near(self) -> FloatMatrix:
        """The highest cosine of each passage or its sentences with any query: shape (n,)."""
        return best_column(np.maximum(self.sentences, self.passages))

    def shares(self) -> FloatMatrix:
        """The score of every passage for every query, 0 to 1: n x k."""
        passages, sentences = shares_of_columns(self.passages), shares_of_columns(self.sentences)
        mixed: FloatMatrix = _BY_WORDS * self.keywords + _BY_VECTOR * passages + _BY_SENTENCE * sentences
        return mixed


def names_asked(question: str, graph: PassageGraph) -> frozenset[int]:
    """The numbers of the names in a question, spelt as such or titles, that some passage has."""

    def is_title(key: str) -> bool:
        number = graph.number(key)
        return can_be_found(key) and number >= 0 and bool(graph.owners.counts(number))

    spelt_as_names = {name_key(mention.text) for mention in find_names(question)}
    numbers = map(graph.number, spelt_as_names.union(names_in(question, is_title)))
    return frozenset(number for number in numbers if number >= 0)


def best_column(scores: FloatMatrix) -> FloatMatrix:
    """The highest value of each row of at least one column: a quarter of the time of `max(axis=1)` where columns are few."""
    best: FloatMatrix = reduce(np.maximum, scores.T)
    return best


def shares_of_columns(scores: FloatMatrix) -> FloatMatrix:
    """Scores divided by the highest of their column, negative ones as 0; all 0 if none is positive. Columns are contiguous."""
    shares: FloatMatrix = np.asfortranarray(np.maximum(scores, 0, dtype=np.float32))
    for column in shares.T:
        best = column.max(initial=0)
        np.divide(column, best, out=column, where=best > 0)
    return shares
