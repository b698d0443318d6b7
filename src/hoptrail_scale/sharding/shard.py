"""One shard: an index of a part of the corpus, asked for its candidates for a question and for what they consist of.

Every call can be repeated and keeps nothing that a later one needs: a shard whose process was lost is opened again elsewhere.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import rows_of
from hoptrail.corpus.head import Head
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.units import Found
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.paths.candidates import Bridge, CandidateSettings, Source, Walk, promising_bridges
from hoptrail.retrieval.paths.queries import PassageGraph, PathQueries, QuestionScores
from hoptrail.types import Document, Extraction, Kind, Unit

T = TypeVar("T")
QUESTIONS = 4  # questions whose walks a shard remembers between two calls


@dataclass(frozen=True, slots=True)
class CountedWords:
    """The counts of the whole corpus for the words of a question. Satisfies `corpus.keywords.WordCounts`."""

    units: int
    length: int
    having: Mapping[str, int]

    def sizes(self) -> tuple[int, int]:
        return self.units, self.length

    def frequencies(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Raises: KeyError: a word was not counted."""
        return np.array([self.having[word] for word in words], dtype=np.int64)


@dataclass(frozen=True)
class Asked:
    """A question to a shard. `vector` is that of the question, None where only words are asked for; `paths` is what path search
    needs, None without it. `commits` are those of all shards.
    """

    question: str
    words: CountedWords
    commits: tuple[int, ...]
    vector: FloatMatrix | None
    paths: AskedPaths | None

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        """Identifies the question and the state of the corpus."""
        return self.question, self.commits


@dataclass(frozen=True)
class AskedPaths:
    """The queries of path search with their vectors, and its settings."""

    queries: PathQueries
    vectors: FloatMatrix
    settings: CandidateSettings


@dataclass(frozen=True)
class Departure:
    """A passage of one shard whose names are followed in all others; see `retrieval.paths.candidates.Source`."""

    passage: str
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
class ShardContents:
    """Passages of a shard with everything that recipes read: their documents, sentences, vectors and extractions."""

    documents: tuple[Document, ...]
    units: tuple[Unit, ...]
    vectors: FloatMatrix  # one row for each unit
    extractions: Mapping[str, Extraction]
    titled: frozenset[str]  # the passages that have the title of their document as a name: the first of each document


class Shard:
    """An open shard."""

    def __init__(self, folder: Path) -> None:
        """Raises: as `Snapshot.open`."""
        self._snapshot = Snapshot.open(folder)
        self._walks: OrderedDict[tuple[str, tuple[int, ...]], tuple[Walk, bool]] = OrderedDict()
        """Begun, and whether the names of other shards were followed."""

    def close(self) -> None:
        self._snapshot.close()

    def state(self) -> tuple[Head, int]:
        """The metadata of the shard, and the number of its commit."""
        return self._snapshot.head, self._snapshot.commit

    def sizes(self) -> tuple[int, int]:
        return self._snapshot.keywords.sizes()

    def frequencies(self, words: Sequence[str]) -> NDArray[np.int64]:
        return self._snapshot.keywords.frequencies(words)

    def find(self, asked: Asked, depth: int) -> Leads:
        """The best `depth` passages by words and by the vector, and the first sources of path search."""
        snapshot = self._snapshot
        by_words = snapshot.keywords.as_part_of(asked.words).search(asked.question, depth)
        by_vectors: Found = []
        if asked.vector is not None:
            [by_vectors] = snapshot.search.nearest(Kind.PASSAGE, asked.vector[np.newaxis], depth)
        return Leads(by_words, by_vectors, self._departures(asked) if asked.paths else ())

    def bridges(self, asked: Asked, departures: Sequence[Departure]) -> tuple[Bridge, ...]:
        """Names to bridge by, after following names here and those of the other shards' `departures`."""
        walk = self._walk(asked, departures)
        return promising_bridges(walk) if walk else ()

    def passages_with(self, names: Sequence[str]) -> NDArray[np.int64]:
        """How many passages of the shard mention each name or have it as title: shape (len(names),)."""
        if not self._snapshot.count(Kind.PASSAGE):
            return np.zeros(len(names), dtype=np.int64)
        graph = PassageGraph.of(self._snapshot)
        return np.array([len(graph.passages_with(graph.number(name))) for name in names], dtype=np.int64)

    def on_paths(
        self, asked: Asked, departures: Sequence[Departure], bridges: Sequence[Bridge], vectors: FloatMatrix, most: int
    ) -> tuple[str, ...]:
        """The `most` best candidates of path search. `vectors` are those of the bridged queries."""
        walk = self._walk(asked, departures)
        if walk is None:
            return ()
        graph = walk.scores.graph
        numbers = [graph.number(bridge.text) for bridge in bridges]
        known = [place for place, number in enumerate(numbers) if number >= 0]
        here = [replace(bridges[place], name=numbers[place]) for place in known]
        promise = walk.promise.copy()  # a call may be repeated
        walk.add_bridged(here, vectors[known])
        rows, walk.promise = walk.best(most), promise
        return tuple(self._snapshot.numbered.ids(graph.passage_numbers[rows]))

    def contents(self, ids: Collection[str], *, sentences: bool) -> ShardContents:
        """The passages among `ids` that are here, with their `sentences` if they are asked for."""
        snapshot = self._snapshot
        passages = tuple(snapshot.numbered.in_order(sorted(snapshot.table.stored(Kind.PASSAGE, ids))))
        names = [unit.id for unit in passages]
        vectors = snapshot.search.vectors_in_order([Kind.PASSAGE], names)
        documents = tuple(snapshot.documents({span.document for unit in passages for span in unit.sources}))
        if not sentences or not passages:
            return ShardContents(documents, passages, vectors, {}, frozenset())
        graph = PassageGraph.of(snapshot)
        rows = rows_of(snapshot.numbered.numbers(names), graph.passage_numbers)
        _, within = graph.sentences.of_all(rows)
        read = snapshot.numbered.units(graph.sentence_vectors.numbers[within])
        together = np.concatenate([vectors, graph.sentence_vectors[within]])
        titled = frozenset(name for name, title in zip(names, graph.titles[rows].tolist(), strict=True) if title >= 0)
        return ShardContents(documents, (*passages, *read), together, dict(snapshot.extractions(names)), titled)

    def _departures(self, asked: Asked) -> tuple[Departure, ...]:
        walk = self._walk(asked)
        if walk is None:
            return ()
        graph = walk.scores.graph
        sources = walk.sources(walk.best(walk.settings.first_sources))
        passages = self._snapshot.numbered.ids(graph.passage_numbers[[source.row for source in sources]])
        departures = []
        for passage, source in zip(passages, sources, strict=True):
            title = graph.name(source.title) if source.title >= 0 else ""
            names = tuple(map(graph.name, source.names.tolist()))
            departures.append(Departure(passage, names, title, source.vector, source.cosine, source.promise))
        return tuple(departures)

    def _walk(self, asked: Asked, departures: Sequence[Departure] | None = None) -> Walk | None:
        """Path search at its beginning, or after the names of `departures` have been followed; remembered for the next call about
        the same question. None in a shard without passages.
        """
        walk, followed = (None, False) if departures is None else self._walks.pop(asked.key, (None, False))
        if walk is None:
            if asked.paths is None or not self._snapshot.count(Kind.PASSAGE):
                return None
            keywords = self._snapshot.keywords.as_part_of(asked.words)
            graph, paths = PassageGraph.of(self._snapshot), asked.paths
            scores = QuestionScores.of(graph, keywords, paths.queries, paths.vectors, paths.settings.read)
            walk = Walk(scores, paths.settings)
        if departures is not None and not followed:
            own = self._snapshot.table.stored(Kind.PASSAGE, [departure.passage for departure in departures])
            others = [departure for departure in departures if departure.passage not in own]
            walk.follow([_arrival(walk.scores.graph, departure) for departure in others])
            walk.expand_best()
        self._walks[asked.key] = walk, departures is not None
        while len(self._walks) > QUESTIONS:
            self._walks.popitem(last=False)
        return walk


def _arrival(graph: PassageGraph, departure: Departure) -> Source:
    """A passage of another shard as a source here, by the names that this shard has too."""
    numbers = np.array([number for name in departure.names if (number := graph.number(name)) >= 0], np.int32)
    title = graph.number(departure.title) if departure.title else -1
    return Source(-1, numbers, title, departure.vector, departure.cosine, departure.promise)


class Scatter(Protocol):
    """Calls functions of a shard on every shard."""

    def all(self, call: Callable[[Shard], T]) -> list[T]:
        """The results in the order of the shards; calls run at once. `call` can be pickled.
        Raises: WorkFailed: a shard cannot be brought back.
        """

    def renew(self) -> None:
        """Read the last commit of every shard from now on."""

    def close(self) -> None:
        """Release the shards."""


class LocalShards:
    """Shards in folders of this machine, called one after another in this process. Satisfies `Scatter`."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Raises: as `Snapshot.open`."""
        self._folders = list(folders)
        self._shards = [Shard(folder) for folder in self._folders]

    def all(self, call: Callable[[Shard], T]) -> list[T]:
        return [call(shard) for shard in self._shards]

    def renew(self) -> None:
        self.close()
        self._shards = [Shard(folder) for folder in self._folders]

    def close(self) -> None:
        for shard in self._shards:
            shard.close()
