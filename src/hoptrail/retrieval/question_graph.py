"""The part of a large corpus that a question's path can lie in, as a graph that path search works on.

1. What keyword search and the nearest vectors find for each query, and what the names in the question call.
2. What shares a name with the best of these, and then with the best of all: a name leads to what it calls and, where few have
   it, to all that have it. The nearest to the question are kept.

All of it is looked up in the store: how much is read does not grow with the corpus, apart from finding the nearest vectors
(`store/vectors.py`). What features need of the whole corpus
comes from its terms (`structures/terms.py`): how many passages there are and have a name or a word. A name that many have leads
nowhere but among the passages of the part, and sentences are compared only there: on the development questions of three data
sets that costs less than a hundredth of recall and of whole chains among the first five.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hoptrail.corpus.terms import Term
from hoptrail.errors import UsageError
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.known_passages import KnownPassages
from hoptrail.retrieval.passage_graph import PassageGraph
from hoptrail.retrieval.path_candidates import (
    KEYWORDS,
    NAMED,
    PASSAGES,
    SENTENCES,
    CandidateSettings,
    as_shares,
    direct_scores,
    names_written,
)
from hoptrail.retrieval.path_queries import PathQueries
from hoptrail.store.snapshot import Snapshot
from hoptrail.structures.called import HeldNames, TitleScanner, possible_names
from hoptrail.structures.keyword_statistics import PartialKeywords
from hoptrail.types import Kind


@dataclass(frozen=True, slots=True)
class PartSettings:
    """How much of a large corpus is looked at: passages that each query finds by words, and as many by vectors; and passages
    that are kept of those one name away, and again of those two names away.
    """

    found: int = 50
    reached: int = 150

    def __post_init__(self) -> None:
        if self.found < 1 or self.reached < 0:
            raise UsageError(f"found is at least 1 and reached at least 0, not {self.found} and {self.reached}")


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """A graph of some passages, and the keyword scores of the same."""

    graph: PassageGraph
    keywords: PartialKeywords


def question_part(
    snapshot: Snapshot, queries: PathQueries, vectors: FloatMatrix, settings: PartSettings, walk: CandidateSettings
) -> QuestionPart:
    """The part for one question; `vectors` are those of the queries' texts."""
    known = KnownPassages(snapshot)
    asked = _names_asked(queries.question, known)
    reaching = _Reaching(known, vectors, asked, settings)
    reaching.start(queries)
    for sources in (walk.first_sources, walk.second_sources):
        reaching.go_on(sources)
    passages = sorted(reaching.promise)
    return QuestionPart(known.graph(passages, asked), known.keywords(passages, queries.texts))


def _names_asked(question: str, known: KnownPassages) -> dict[str, Term]:
    """As `path_candidates.names_asked`: names in the question that some passage has, by their keys."""
    written = names_written(question)
    possible = known.terms({*possible_names(question), *written})
    titles = TitleScanner(HeldNames(key for key, term in possible.items() if term.owners))
    return {key: possible[key] for key in sorted({*written, *titles.find(question)}) if key in possible}


class _Reaching:
    """Promises of the passages that are in the part, as in `path_candidates.py`, but by passages and not by sentences."""

    def __init__(
        self, known: KnownPassages, vectors: FloatMatrix, asked: dict[str, Term], settings: PartSettings
    ) -> None:
        self.known, self.vectors, self.asked, self.settings = known, vectors, asked, settings
        self.promise: dict[str, float] = {}
        self._followed: set[str] = set()

    def start(self, queries: PathQueries) -> None:
        """Take what the queries find, and what the names in the question call."""
        known, by_words = self.known, list[dict[str, float]]()
        for text in queries.texts:
            hits = known.snapshot.search_keywords(text, self.settings.found)
            known.units |= {unit.id: unit for unit, _ in hits}
            by_words.append({unit.id: score / hits[0][1] for unit, score in hits})
        named = {
            id_: NAMED if len(term.owners) < 4 else NAMED / 2 for term in self.asked.values() for id_ in term.owners
        }
        nearest = known.snapshot.nearest(Kind.PASSAGE, self.vectors, self.settings.found)
        known.read_vectors({*named, *(id_ for found in (*by_words, *map(dict, nearest)) for id_ in found)})
        passages = sorted(known.vectors)
        if not passages:
            return
        cosines = np.stack([known.vectors[id_] for id_ in passages]) @ self.vectors.T
        dense = np.stack([as_shares(column) for column in cosines.T], axis=1)
        words = np.array([[found.get(id_, 0.0) for found in by_words] for id_ in passages], dtype=np.float32)
        shares = KEYWORDS * words + (PASSAGES + SENTENCES) * dense
        best = np.maximum(direct_scores(queries, shares), 0.9 * shares[:, 1:].max(axis=1, initial=0))
        self.promise = {id_: float(score) + named.get(id_, 0.0) for id_, score in zip(passages, best, strict=True)}

    def go_on(self, count: int) -> None:
        """Take the nearest of what shares a name with the `count` most promising that have not been followed."""
        order = sorted(self.promise, key=lambda id_: (-self.promise[id_], id_))
        sources = [id_ for id_ in order[: len(self._followed) + count] if id_ not in self._followed]
        self._followed.update(sources)
        self.known.read_names(sources)
        ways = {source: self._around(source) for source in sources}
        self.known.read_vectors(target for around in ways.values() for target in around)
        reached: dict[str, float] = {}
        for source, around in ways.items():
            for target, promise in self._promises(source, around):
                reached[target] = max(promise, reached.get(target, 0.0))
        new = sorted((id_ for id_ in reached if id_ not in self.promise), key=lambda id_: (-reached[id_], id_))
        for id_ in (*new[: self.settings.reached], *(id_ for id_ in reached if id_ in self.promise)):
            self.promise[id_] = max(reached[id_], self.promise.get(id_, 0.0))

    def _around(self, source: str) -> dict[str, float]:
        """Passages that share a name with one, and how much the sharing counts."""
        known, own = self.known, self.known.title(source)
        around: dict[str, float] = {}
        for key, term in known.named(source):
            for owner in term.owners:
                around[owner] = max(around.get(owner, 0.0), 0.6 if key == own else 1.0)
            worth = 0.75 if key in self.asked else 0.95 - 0.05 * np.log1p(term.passages)
            for namer in term.namers:
                around[namer] = max(around.get(namer, 0.0), worth)
        around.pop(source, None)
        return around

    def _promises(self, source: str, around: dict[str, float]) -> Iterator[tuple[str, float]]:
        targets = [id_ for id_ in around if id_ in self.known.vectors]
        if not targets:
            return
        vectors = np.stack([self.known.vectors[id_] for id_ in targets])
        both = vectors + self.known.vectors[source]
        both /= np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-9)
        fit = 0.5 + 0.4 * (both @ self.vectors[0]) + 0.6 * (vectors @ self.vectors.T).max(axis=1)
        for target, value in zip(targets, fit.tolist(), strict=True):
            yield target, min(self.promise[source], 1.3) * around[target] * value
