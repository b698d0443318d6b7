"""Passages of a large corpus, their sentences and the names in them, by look-ups in the store: what a part of it is made of.

A passage's sentences are those that its document has there; their ids follow from their places, so that nothing says which
passage has which. A long document is read whole for it. What is counted of names and words comes from the terms
(`structures/terms.py`). Knows no question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from hoptrail.corpus.terms import Term
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.passage_graph import GraphParts, PassageGraph
from hoptrail.store.snapshot import Snapshot
from hoptrail.structures.called import name_key
from hoptrail.structures.keyword_statistics import PartialKeywords, WordCounts, keyword_words
from hoptrail.structures.names import MENTIONS
from hoptrail.structures.sentences import SentencePlaces, sentences_inside
from hoptrail.structures.terms import ALL_WORDS, entity_key, name_term, word_term
from hoptrail.text.normal_forms import base_title
from hoptrail.types import Kind, Unit


class KnownPassages:
    """Passages of a snapshot as far as they have been asked for; nothing is looked up twice."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.size = snapshot.count(Kind.PASSAGE)
        self.units: dict[str, Unit] = {}
        self.vectors: dict[str, FloatMatrix] = {}
        self._terms: dict[str, Term | None] = {}
        self._sentences: dict[str, list[Unit]] = {}
        self._extractions: dict[str, Extraction] = {}
        self._mentions: dict[str, list[str]] = {}

    def terms(self, keys: Collection[str]) -> dict[str, Term]:
        """The terms of names, of those that have one."""
        missing = {name_term(key): key for key in keys if key not in self._terms}
        self._terms |= dict.fromkeys(missing.values())
        for term in self.snapshot.terms(missing) if missing else ():
            self._terms[missing[term.id]] = term
        return {key: known for key in keys if (known := self._terms[key]) is not None}

    def read_vectors(self, passages: Iterable[str]) -> None:
        """Look up the vectors of passages; one that is gone has none."""
        found = self.snapshot.vectors_of(Kind.PASSAGE, set(passages) - self.vectors.keys())
        self.vectors |= zip(found.ids, found.matrix, strict=True)

    def read_units(self, passages: Iterable[str]) -> None:
        """Look up the texts of passages; one that is gone has none."""
        missing = {id_ for id_ in passages if id_ not in self.units}
        self.units |= {unit.id: unit for unit in self.snapshot.units(Kind.PASSAGE, missing)}

    def read(self, passages: Collection[str]) -> None:
        """Look up passages that there are, with their sentences and what these name."""
        new = [id_ for id_ in passages if id_ not in self._sentences]
        self.read_units(new)
        documents = {
            document.id: document for document in self.snapshot.documents({self.units[id_].document for id_ in new})
        }
        for id_ in new:
            unit = self.units[id_]
            self._sentences[id_] = list(sentences_inside(unit, documents[unit.document]))
        self._extractions |= self.snapshot.extractions(new)
        sentences = [unit.id for id_ in new for unit in self._sentences[id_]]
        for link in self.snapshot.links_from(sentences, MENTIONS):
            self._mentions.setdefault(link.source, []).append(link.target)

    def read_names(self, passages: Collection[str]) -> None:
        """Look up passages that there are, with the terms of all that `named` gives."""
        self.read(passages)
        self.read_units(target for id_ in passages for target in self._mentioned(id_))
        self.terms({key for id_ in passages for key in (self.title(id_), *self._inside(id_))})

    def named(self, passage: str) -> list[tuple[str, Term]]:
        """The names in a passage's sentences, and its title where that calls it, with their terms and by rising key."""
        inside = self._inside(passage)
        terms = self.terms({*inside, self.title(passage)})
        return [(key, term) for key, term in sorted(terms.items()) if key in inside or passage in term.owners]

    def title(self, passage: str) -> str:
        """The key of a passage's title, whether or not it is a name."""
        return name_key(base_title(self.units[passage].title))

    def graph(self, passages: Sequence[str], asked: Mapping[str, Term]) -> PassageGraph:
        """The graph of some passages (rising ids, with vectors read), with all terms of the names in `asked`."""
        self.read(passages)
        here = set(passages)
        shared = Counter(key for id_ in passages for key in self._entities(id_))
        terms = {**asked} | self.terms(
            {self.title(id_) for id_ in passages} | {key for key, count in shared.items() if count > 1}
        )
        called = {key: [id_ for id_ in term.owners if id_ in here] for key, term in terms.items()}
        key_of = {id_: key for key, owners in called.items() for id_ in owners}
        spans = {unit.id: unit.sources[0] for id_ in passages for unit in self._sentences[id_]}
        vectors = self.snapshot.vectors_of(Kind.SENTENCE, spans)
        parts = GraphParts(
            tuple(self.units[id_] for id_ in passages),
            SentencePlaces((id_, spans[id_]) for id_ in vectors.ids),
            (self._extractions[id_] for id_ in passages if id_ in self._extractions),
            ((id_, key_of.get(target, "")) for id_ in vectors.ids for target in self._mentions.get(id_, ())),
            called,
            np.stack([self.vectors[id_] for id_ in passages]) if passages else np.zeros_like(vectors.matrix[:0]),
            vectors.matrix,
        )
        return parts.graph(self.size, {key: term.passages for key, term in terms.items()})

    def keywords(self, passages: Sequence[str], queries: Sequence[str]) -> PartialKeywords:
        """Keyword scores of passages that have been read, for the words of some queries."""
        words = {word for found in keyword_words(queries) for word in found}
        terms = {term.id: term.passages for term in self.snapshot.terms({ALL_WORDS, *map(word_term, words)})}
        known = {word: terms[word_term(word)] for word in words if word_term(word) in terms}
        return PartialKeywords(
            [self.units[id_].searchable for id_ in passages], WordCounts(self.size, terms.get(ALL_WORDS, 0), known)
        )

    def _inside(self, passage: str) -> set[str]:
        """The keys of the names in a passage's sentences."""
        mentioned = (target for target in self._mentioned(passage) if target in self.units)
        return self._entities(passage).union(map(self.title, mentioned))

    def _entities(self, passage: str) -> set[str]:
        found = self._extractions.get(passage)
        return {entity_key(one) for fact in (found.facts if found else ()) for one in fact.entities} - {""}

    def _mentioned(self, passage: str) -> list[str]:
        """The passages whose titles a passage mentions."""
        return [target for unit in self._sentences[passage] for target in self._mentions.get(unit.id, ())]
