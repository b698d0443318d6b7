"""Which entity fills a question's open slot: unbound from the triples most like its pattern, and cleaned up against all entities.

The triples that answer a pattern are added up, each by its likeness, into one vector; what stands there in the open slot is
unbound from it and compared with the subjects or objects of the corpus (Plate 1995, section V: clean-up memory). So several
triples that agree outvote a nearer one, and no triple's own entity is looked up. What was found opens the next hop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hoptrail.language.triples.question_triples import Pattern, QuestionTriples
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.triples.composition import open_slot, unit_length
from hoptrail.retrieval.triples.graph import best_passages, ranked_passages
from hoptrail.retrieval.triples.space import RELATION, TripleSpace
from hoptrail.retrieval.units.dense import top_rows
from hoptrail.text.normal_forms import folded
from hoptrail.types import Ranking

CHANNEL = "unbinding"


@dataclass(frozen=True, slots=True)
class UnbindingSettings:
    """Of each pattern the `triples` nearest are added up, their likeness raised to the power of `sharpness`; its `fillers` best
    entities are taken on, `hops` - 1 times, and `seed_k` triples are found for each pattern that they open.
    """

    triples: int = 5
    sharpness: float = 4.0
    fillers: int = 3
    hops: int = 2
    seed_k: int = 10

    def __post_init__(self) -> None:
        if min(self.triples, self.fillers, self.hops, self.seed_k) < 1 or self.sharpness < 0:
            raise ValueError("triples, fillers, hops and seed_k are at least 1, sharpness at least 0")


@dataclass(frozen=True, slots=True)
class Filler:
    """An entity as it is written, and its cosine with what was unbound."""

    text: str
    score: float


def search_by_unbinding(
    corpus: Corpus, space: TripleSpace, asked: QuestionTriples, limit: int, settings: UnbindingSettings
) -> Ranking:
    """The `limit` best passages that say what a question's patterns say, and then what is said of those who fill them."""
    scores: dict[int, float] = {}
    patterns = dict.fromkeys(asked.whole, 1.0)
    asked_already = set(patterns)
    for hop in range(settings.hops):
        if not patterns or not len(space.triples):
            break
        nearest = space.nearest(space.vectors_of(list(patterns)), settings.seed_k)
        for worth, found in zip(patterns.values(), nearest, strict=True):
            for row, score in zip(found.rows.tolist(), found.scores.tolist(), strict=True):
                scores[row] = max(worth * score, scores.get(row, 0.0))
        if hop + 1 < settings.hops:
            following = _following(space, patterns, asked.relations, settings)
            patterns = {pattern: worth for pattern, worth in following.items() if pattern not in asked_already}
            asked_already |= set(patterns)
    return ranked_passages(corpus, best_passages(space, scores, limit), CHANNEL)


def fillers(space: TripleSpace, patterns: Sequence[Pattern], settings: UnbindingSettings) -> list[tuple[Filler, ...]]:
    """Of each pattern the entities that fill its open subject or object, best first; those it names itself are left out.

    None where a pattern has not exactly one open slot.

    Raises:
        ValueError: the composition cannot be taken apart.
    """
    if not patterns or not len(space.triples):
        return [()] * len(patterns)
    slots, known = space.known(patterns)
    nearest = space.nearest(space.vectors_of(patterns), settings.triples)
    found: list[tuple[Filler, ...]] = []
    for row, (pattern, near) in enumerate(zip(patterns, nearest, strict=True)):
        if len(pattern.open) != 1 or pattern.open[0] == RELATION:
            found.append(())
            continue
        weights = (np.maximum(near.scores, 0) ** settings.sharpness).astype(np.float32)
        memory = unit_length(weights @ space.matrix[near.rows])[np.newaxis]
        unbound = open_slot(memory, slots[row], known[row], pattern.open[0], space.settings.composition)
        found.append(_cleaned_up(space, pattern, unit_length(unbound)[0], settings.fillers))
    return found


def _cleaned_up(space: TripleSpace, pattern: Pattern, unbound: FloatMatrix, count: int) -> tuple[Filler, ...]:
    """The entities nearest to what was unbound from a pattern's open slot."""
    texts, vectors = space.vocabulary(pattern.open[0])
    scores = vectors @ unbound
    given = {folded(slot) for slot in pattern.slots if slot}
    best = top_rows(scores, count + len(given))
    kept = [Filler(texts[row], float(scores[row])) for row in best if folded(texts[row]) not in given]
    return tuple(kept[:count])


def _following(
    space: TripleSpace, patterns: Mapping[Pattern, float], relations: Sequence[str], settings: UnbindingSettings
) -> dict[Pattern, float]:
    """The patterns that the fillers open, each worth its filler's likeness times what it came from."""
    following: dict[Pattern, float] = {}
    found = fillers(space, list(patterns), settings)
    for (pattern, worth), entities in zip(patterns.items(), found, strict=True):
        for filler in entities:
            for opened in _opened_by(filler.text, pattern, relations):
                following[opened] = max(worth * max(filler.score, 0.0), following.get(opened, 0.0))
    return following


def _opened_by(entity: str, pattern: Pattern, relations: Sequence[str]) -> list[Pattern]:
    """What may be asked of an entity next: the question's other relations, from either side, and anything at all."""
    others = [relation for relation in relations if relation != pattern.relation]
    sides = [Pattern(subject=entity, relation=relation) for relation in others]
    sides += [Pattern(relation=relation, object=entity) for relation in others]
    return [*sides, Pattern(subject=entity)]
