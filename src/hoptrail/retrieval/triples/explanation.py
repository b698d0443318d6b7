"""Explain a triple search: each pattern of the question with its nearest triples and the fillers of its open slot.

Covers single patterns only; `graph.py` walks on from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hoptrail.json_object import JsonObject
from hoptrail.language.triples.question_triples import Pattern, QuestionTriples
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.triples.space import TripleSpace
from hoptrail.retrieval.triples.unbinding import Filler, UnbindingSettings, fillers
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Kind, Unit


@dataclass(frozen=True, slots=True)
class NearTriple:
    """A stored triple, its cosine with a pattern, and its sentence."""

    unit: Unit
    score: float
    sentence: str


@dataclass(frozen=True, slots=True)
class ExplainedPattern:
    """A pattern, the triples nearest to it and the entities unbound into its open slot, both best first."""

    pattern: Pattern
    triples: tuple[NearTriple, ...]
    fillers: tuple[Filler, ...]

    def to_json(self) -> JsonObject:
        """As JSON: open slots are null; a triple has its text, title, score, sentence and the sentence's span."""
        subject, relation, object_ = self.pattern.slots
        return {
            "subject": subject,
            "relation": relation,
            "object": object_,
            "triples": [_triple_json(triple) for triple in self.triples],
            "fillers": [{"text": filler.text, "score": filler.score} for filler in self.fillers],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """All patterns of a question in order, and the relations that a walk follows."""

    patterns: tuple[ExplainedPattern, ...]
    relations: tuple[str, ...]


def explain(
    corpus: Corpus, space: TripleSpace, asked: QuestionTriples, limit: int, unbinding: UnbindingSettings
) -> Explanation:
    """The `limit` nearest triples and best fillers of each pattern; the composition `text` has no fillers.

    Raises:
        UsageError: the index lacks vectors that the space compares.
    """
    if not asked.patterns or not len(space.triples):
        return Explanation(tuple(ExplainedPattern(pattern, (), ()) for pattern in asked.patterns), asked.relations)
    nearest = space.nearest(space.vectors_of(asked.patterns), limit)
    ids = {space.triples.ids[row] for found in nearest for row in found.rows.tolist()}
    units = {unit.id: unit for unit in corpus.snapshot.units(Kind.TRIPLE, ids)}
    documents = corpus.documents({unit.document for unit in units.values()})
    sentences = {name: squeeze(documents[unit.document].slice(unit.sources[0])) for name, unit in units.items()}
    fillers_of: list[tuple[Filler, ...]] = [()] * len(asked.patterns)
    if space.settings.composition.method != "text":
        fillers_of = fillers(space, asked.patterns, replace(unbinding, fillers=limit))
    patterns = []
    for pattern, found, entities in zip(asked.patterns, nearest, fillers_of, strict=True):
        names = [space.triples.ids[row] for row in found.rows.tolist()]
        scores = dict(zip(names, found.scores.tolist(), strict=True))
        triples = tuple(NearTriple(units[name], scores[name], sentences[name]) for name in names)
        patterns.append(ExplainedPattern(pattern, triples, entities))
    return Explanation(tuple(patterns), asked.relations)


def _triple_json(triple: NearTriple) -> JsonObject:
    span = triple.unit.sources[0]
    return {
        "unit": triple.unit.id,
        "text": triple.unit.text,
        "title": triple.unit.title,
        "score": triple.score,
        "sentence": triple.sentence,
        "document": span.document,
        "start": span.start,
        "end": span.end,
    }
