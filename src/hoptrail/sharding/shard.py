"""One shard: an index of a part of the corpus, asked for its candidates for a question and for what they consist of.

Every call can be repeated and keeps nothing that a later one needs: a shard whose process was lost is opened again elsewhere.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import rows_of
from hoptrail.corpus.head import Head
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.texts import Found
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.paths.candidates import (
    Bridge,
    CandidateSettings,
    QuestionScores,
    Source,
    Walk,
    begin_walk,
    find_bridges,
)
from hoptrail.retrieval.paths.graph import PassageGraph
from hoptrail.retrieval.paths.queries import PathQueries
from hoptrail.types import Document, Kind, Unit

QUESTIONS = 4
"""Questions whose walks a shard remembers between two calls."""


@dataclass(frozen=True, slots=True)
class CountedWords:
    """The counts of the whole corpus for the words of a question. Satisfies `corpus.keywords.WordCounts`."""

    units: int
    length: int
    having: Mapping[str, int]

    def sizes(self, _: Kind) -> tuple[int, int]:
        """See `WordCounts`."""
        return self.units, self.length

    def frequencies(self, _: Kind, words: Sequence[str]) -> NDArray[np.int64]:
        """See `WordCounts`. Raises: KeyError: a word was not counted."""
        return np.array([self.having[word] for word in words], dtype=np.int64)


@dataclass(frozen=True)
class Asked:
    """A question to a shard. `vector` is that of the question; `queries` with their vectors are those of path search."""

    question: str
    words: CountedWords
    vector: FloatMatrix
    queries: PathQueries
    vectors: FloatMatrix

    @property
    def key(self) -> tuple[str, int, int]:
        """Identifies the question and the state of the corpus."""
        return self.question, self.words.units, self.words.length


@dataclass(frozen=True)
class Departure:
    """A passage of one shard whose names are followed in all others; see `retrieval.paths.candidates.Source`."""

    names: tuple[str, ...]
    title: str
    vector: FloatMatrix
    cosine: float
    promise: float


@dataclass(frozen=True)
class Leads:
    """What a shard found directly: passages by words and by vectors with their scores, and where paths may lead on from."""

    by_words: Found
    by_vectors: Found
    departures: tuple[Departure, ...]


@dataclass(frozen=True)
class Contents:
    """Passages of a shard with everything that recipes read: their documents, sentences, vectors and extractions."""

    documents: tuple[Document, ...]
    units: tuple[Unit, ...]
    vectors: FloatMatrix
    """One row for each unit."""
    extractions: Mapping[str, Extraction]


class Shard:
    """An open shard."""

    def __init__(self, folder: Path) -> None:
        """Raises: as `Snapshot.open`."""
        self._snapshot = Snapshot.open(folder)
        self._walks: OrderedDict[tuple[str, int, int], Walk | None] = OrderedDict()

    def close(self) -> None:
        """Release the commit."""
        self._snapshot.close()

    def head(self) -> Head:
        """The metadata of the shard."""
        return self._snapshot.head

    def sizes(self) -> tuple[int, int]:
        """The number of passages, and of their words."""
        return self._snapshot.keywords.sizes(Kind.PASSAGE)

    def frequencies(self, words: Sequence[str]) -> NDArray[np.int64]:
        """How many passages contain each word."""
        return self._snapshot.keywords.frequencies(Kind.PASSAGE, words)

    def find(self, asked: Asked, depth: int, *, paths: bool) -> Leads:
        """The best `depth` passages by words and by vectors each, and, for `paths`, the first sources of path search."""
        snapshot = self._snapshot
        by_words = snapshot.keywords.as_part_of(asked.words).search(Kind.PASSAGE, asked.question, depth)
        [by_vectors] = snapshot.search.nearest(Kind.PASSAGE, asked.vector[np.newaxis], depth)
        return Leads(by_words, by_vectors, self._departures(asked) if paths else ())

    def bridges(self, asked: Asked, departures: Sequence[Departure]) -> tuple[Bridge, ...]:
        """Names to bridge by, after following names here and those of the other shards' `departures`."""
        walk = self._walked(asked, departures)
        return find_bridges(walk) if walk else ()

    def on_paths(
        self, asked: Asked, departures: Sequence[Departure], bridges: Sequence[Bridge], vectors: FloatMatrix, most: int
    ) -> tuple[str, ...]:
        """The `most` best candidates of path search. `vectors` are those of the bridged queries."""
        walk = self._walked(asked, departures)
        if walk is None:
            return ()
        graph = walk.scores.graph
        numbers = [graph.number(bridge.text) for bridge in bridges]
        known = [place for place, number in enumerate(numbers) if number >= 0]
        here = [replace(bridges[place], name=numbers[place]) for place in known]
        promise = walk.promise.copy()  # a call may be repeated
        walk.add_bridged(here, vectors[known])
        rows, walk.promise = walk.best(most), promise
        return tuple(self._snapshot.texts.ids(graph.passage_numbers[rows]))

    def contents(self, ids: Collection[str], *, sentences: bool) -> Contents:
        """The passages among `ids` that are here, with their `sentences` if they are asked for."""
        snapshot = self._snapshot
        passages = tuple(snapshot.texts.in_order(sorted(snapshot.table.stored(Kind.PASSAGE, ids))))
        names = [unit.id for unit in passages]
        vectors = snapshot.search.vectors_in_order([Kind.PASSAGE], names)
        documents = tuple(snapshot.documents({span.document for unit in passages for span in unit.sources}))
        if not sentences or not passages:
            return Contents(documents, passages, vectors, {})
        graph = PassageGraph.of(snapshot)
        rows = rows_of(snapshot.texts.numbers(names), graph.passage_numbers)
        _, within = graph.sentences.of_all(rows)
        read = snapshot.texts.units(graph.sentence_vectors.numbers[within])
        together = np.concatenate([vectors, graph.sentence_vectors[within]])
        return Contents(documents, (*passages, *read), together, dict(snapshot.extractions(names)))

    def _departures(self, asked: Asked) -> tuple[Departure, ...]:
        walk = self._begun(asked)
        if walk is None:
            return ()
        graph = walk.scores.graph
        departures = []
        for source in walk.sources(walk.best(walk.settings.first_sources)):
            title = graph.name(source.title) if source.title >= 0 else ""
            names = tuple(map(graph.name, source.names.tolist()))
            departures.append(Departure(names, title, source.vector, source.cosine, source.promise))
        return tuple(departures)

    def _begun(self, asked: Asked) -> Walk | None:
        """The beginning of path search; None in a shard without passages."""
        if not self._snapshot.count(Kind.PASSAGE):
            return None
        keywords = self._snapshot.keywords.as_part_of(asked.words)
        graph = PassageGraph.of(self._snapshot)
        settings = CandidateSettings()
        return begin_walk(QuestionScores.of(graph, keywords, asked.queries, asked.vectors, settings.read), settings)

    def _walked(self, asked: Asked, departures: Sequence[Departure]) -> Walk | None:
        """Path search after all names have been followed, remembered for the next call about the same question."""
        if asked.key not in self._walks:
            walk = self._begun(asked)
            if walk is not None:
                walk.follow(list(map(partial(_arrival, walk.scores.graph), departures)))
                walk.expand_best()
            self._walks[asked.key] = walk
            while len(self._walks) > QUESTIONS:
                self._walks.popitem(last=False)
        return self._walks[asked.key]


def _arrival(graph: PassageGraph, departure: Departure) -> Source:
    """A passage of another shard as a source here, by the names that this shard has too."""
    numbers = np.array([number for name in departure.names if (number := graph.number(name)) >= 0], np.int32)
    title = graph.number(departure.title) if departure.title else -1
    return Source(-1, numbers, title, departure.vector, departure.cosine, departure.promise)
