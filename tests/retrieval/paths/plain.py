"""A world of many shared names, and what path search computes there with sparse arrays, as loops over dictionaries."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np

from corpus.worlds import ranked
from hoptrail.corpus.passage_graph import NAMES
from hoptrail.models.encoder import FloatMatrix, Progress, unit_length
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.candidates import CandidateSettings, Walk
from hoptrail.retrieval.paths.queries import PassageGraph, PathQueries, QuestionScores
from hoptrail.types import Document, Kind, Unit
from structures.site import names_of
from world import Counting, make_document

QUESTION = "Which river praised the designer of the Amber Mill, and who designed the Copper Quay?"
STEPS = ("Who designed the Amber Mill?", "Who praised #1?", "Which harbour knows #2?")
SETTINGS = CandidateSettings(rare=4, common=14, first_sources=5, second_sources=6)
"""Some names of the world are rare, some common, some too common."""


@lru_cache(maxsize=4096)
def _direction(word: str, dimension: int) -> FloatMatrix:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)


class WordEncoder(Counting):
    """A random direction for each word: unlike counts of hashed words, sums have no equal cosines, and some are negative."""

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        del progress
        self.texts.extend(texts)
        matrix = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().replace(".", " ").replace("?", " ").split():
                matrix[row] += _direction(word, self.dimension)
        return unit_length(matrix)


def made_documents(count: int = 64) -> list[Document]:
    """Documents that name one another, the first names more often, with namesakes, titles that nobody names, and one
    without a title and one without a sentence.
    """
    draw = Random(5)
    names = [f"{first} {last}" for first in ("Amber", "Copper", "Willow", "Granite") for last in PLACES]
    documents = []
    for number in range(count):
        title = names[number] if number < len(names) else f"{names[number % 3]} (film)" if number < 30 else f"N{number}"
        sentences = []
        for _ in range(draw.randint(1, 4)):
            one, other = draw.choices(names, [1 / (place + 1) for place in range(len(names))], k=2)
            sentences.append(f"The {one} {draw.choice(VERBS)} the {other} in {draw.randint(1700, 1999)}.")
        documents.append(make_document(title, " ".join(sentences)))
    untitled = make_document("", "The designer of the Amber Mill knows the Willow Quay. A river flooded it.")
    return [*documents, untitled, make_document("Copper Quay (song)", "***")]


PLACES = ("Mill", "Quay", "Bridge", "Tower", "Garden", "Harbour")
VERBS = ("praised", "designed", "knows", "flooded", "bought")


class Plain:
    """A question's scores and the names of passages, by row; a passage's names are its title and those in its sentences."""

    def __init__(self, corpus: Corpus, documents: Sequence[Document], queries: PathQueries) -> None:
        graph, snapshot = PassageGraph.of(corpus.snapshot), corpus.snapshot
        self.queries = queries
        self.units = [graph.passages([row])[row] for row in range(graph.size)]
        self.vectors = corpus.encoder.encode([unit.searchable for unit in self.units])
        self.asked_vectors = corpus.encoder.encode(queries.texts)
        self.keywords = [dict(ranked(documents, text, 9999)) for text in queries.texts]
        known = names_of(snapshot, NAMES)
        named_by: defaultdict[str, set[str]] = defaultdict(set)
        for name, unit in known:
            named_by[unit].add(name)
        every = sorted(snapshot.units(Kind.SENTENCE), key=lambda unit: unit.sources)
        self.sentences = [[one for one in every if unit.sources[0].covers(one.sources[0])] for unit in self.units]
        self.names = {one.id: named_by[one.id] for one in every}
        self.said = {one.id: corpus.encoder.encode([one.searchable])[0] for one in every}
        self.titles = [next(iter(named_by[unit.id]), None) for unit in self.units]
        self.owners, self.namers = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
        for row in range(len(self.units)):
            if title := self.titles[row]:
                self.owners[title].add(row)
            for name in self.mentioned(row):
                self.namers[name].add(row)

    def mentioned(self, row: int) -> set[str]:
        return {name for sentence in self.sentences[row] for name in self.names[sentence.id]}

    def passages_with(self, name: str) -> list[int]:
        return sorted(self.namers[name] | self.owners[name])

    def keyword(self, row: int, query: int) -> float:
        scores = self.keywords[query]
        return scores.get(self.units[row].id, 0.0) / max(scores.values(), default=1.0)

    def best_sentence(self, row: int, vector: FloatMatrix) -> float:
        return max((float(self.said[one.id] @ vector) for one in self.sentences[row]), default=-1.0)

    def table(self, what: str) -> FloatMatrix:
        """`keyword`, `cosine` or `sentence` of every passage for every query."""
        vectors, rows = self.asked_vectors, range(len(self.units))
        queries = range(len(vectors))
        match what:
            case "keyword":
                scores = [[self.keyword(row, query) for query in queries] for row in rows]
            case "cosine":
                scores = [[float(self.vectors[row] @ vectors[query]) for query in queries] for row in rows]
            case _:
                scores = [[self.best_sentence(row, vectors[query]) for query in queries] for row in rows]
        return np.array(scores, dtype=np.float32)

    def linked(self, row: int, walk: Walk) -> dict[int, float]:
        """The passages that share a name with this one, by the weight of the best such name."""
        links: defaultdict[int, float] = defaultdict(float)
        asked = {walk.scores.graph.name(number) for number in walk.scores.asked}
        title = self.titles[row]
        for name in self.mentioned(row) | ({title} if title else set()):
            namers = self.namers[name]
            weighed = [(owner, 0.6 if name == title else 1.0) for owner in self.owners[name]]
            if len(namers) <= walk.settings.rare:
                worth = 0.75 if name in asked else 0.95 - 0.05 * math.log1p(len(namers))
                weighed += [(namer, worth) for namer in namers]
            elif name not in asked and len(namers) <= walk.settings.common:
                weighed += [(namer, 0.72) for namer in nearest(namers, walk.near, 5)]
            for target, weight in weighed:
                links[target] = max(weight, links[target])
        links.pop(row, None)
        return links

    def followed(self, walk: Walk, rows: Iterable[int]) -> FloatMatrix:
        """The promise of every passage after following the names of `rows`, one after the other."""
        promise = walk.promise.astype(np.float64)
        for row in rows:
            for target, weight in self.linked(row, walk).items():
                both = unit_length(self.vectors[row] + self.vectors[target]) @ self.asked_vectors[0]
                fit = 0.5 + 0.4 * both + 0.6 * walk.near[target]
                promise[target] = max(promise[target], min(promise[row], 1.3) * weight * fit)
        return promise.astype(np.float32)

    def occurrences(self, row: int) -> Iterator[tuple[str, float, Unit | None]]:
        """The names of a passage, each with a weight and its sentence; the title stands in the best one."""
        for sentence in self.sentences[row]:
            for name in self.names[sentence.id]:
                yield name, 0.7 if name == self.titles[row] else 1.0, sentence
        if title := self.titles[row]:
            yield title, 0.8, None


@dataclass(frozen=True)
class Made:
    """The world, and a question to it, scored both ways."""

    corpus: Corpus
    documents: Sequence[Document]
    scores: QuestionScores
    plain: Plain

    @classmethod
    def asked(cls, corpus: Corpus, documents: Sequence[Document], queries: PathQueries) -> Made:
        vectors = corpus.encoder.encode(queries.texts)
        graph = PassageGraph.of(corpus.snapshot)
        scores = QuestionScores.of(graph, corpus.snapshot.keywords, queries, vectors, SETTINGS.read)
        return cls(corpus, documents, scores, Plain(corpus, documents, queries))


def nearest(rows: Iterable[int], scores: FloatMatrix, limit: int) -> list[int]:
    return sorted(rows, key=lambda row: (-scores[row], row))[:limit]
