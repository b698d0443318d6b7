"""Find the entity for a question's open slot: unbind it from the triples nearest to the pattern, and clean up.

The triples nearest to a pattern are added into one vector, weighted by similarity. The open slot is unbound from the sum and
compared with all subjects or objects of the corpus (Plate 1995, section V: clean-up memory). So several triples that agree
outvote a nearer one, and no triple's own entity is looked up. The entities found open the patterns of the next hop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hoptrail.corpus.searching import top_rows
from hoptrail.models.encoder import FloatMatrix, unit_length
from hoptrail.setting_limits import AtLeast1, Limited, NotNegative
from hoptrail.text.normal_forms import folded
from hoptrail.types import Ranking
from hoptrail_papers.comprag.composition import open_slot
from hoptrail_papers.comprag.graph import best_passages
from hoptrail_papers.comprag.question_triples import Pattern, QuestionTriples
from hoptrail_papers.comprag.space import RELATION, TripleSpace

CHANNEL = "unbinding"


@dataclass(frozen=True, slots=True)
class UnbindingSettings(Limited):
    """Each pattern's nearest `triples` are added, weighted by similarity to the power of `sharpness`. Its `fillers` best entities
    open patterns for the next of `hops` hops, and each pattern finds `seed_k` triples.
    """

    triples: AtLeast1 = 5
    sharpness: NotNegative = 4.0
    fillers: AtLeast1 = 3
    hops: AtLeast1 = 2
    seed_k: AtLeast1 = 10


def search_by_unbinding(space: TripleSpace, asked: QuestionTriples, limit: int, settings: UnbindingSettings) -> Ranking:
    """The `limit` best passages with triples near the question's patterns, or near patterns opened by their fillers."""
    scores: dict[int, float] = {}
    patterns = dict.fromkeys(asked.whole, 1.0)
    tried = set(patterns)
    for hop in range(settings.hops):
        if not patterns or not len(space.triples):
            break
        nearest = space.nearest(space.vectors_of(list(patterns)), settings.seed_k)
        for weight, found in zip(patterns.values(), nearest, strict=True):
            for row, score in found:
                scores[row] = max(weight * score, scores.get(row, 0.0))
        if hop + 1 < settings.hops:
            following = _next_patterns(space, patterns, asked.relations, settings)
            patterns = {pattern: weight for pattern, weight in following.items() if pattern not in tried}
            tried |= set(patterns)
    return best_passages(space, scores, limit, CHANNEL)


def fillers(space: TripleSpace, patterns: Sequence[Pattern], settings: UnbindingSettings) -> list[dict[str, float]]:
    """For each pattern the entities for its open subject or object, best first, with their cosines, without those in the pattern.

    Empty for a pattern that does not have exactly one open slot, or whose relation is open.
    Raises: ValueError: the composition cannot be unbound.
    """
    if not patterns or not len(space.triples):
        return [{} for _ in patterns]
    slots, known = space.known(patterns)
    nearest = space.nearest(space.vectors_of(patterns), settings.triples)
    entities: list[dict[str, float]] = []
    for row, (pattern, near) in enumerate(zip(patterns, nearest, strict=True)):
        if len(pattern.open) != 1 or pattern.open[0] == RELATION:
            entities.append({})
            continue
        scores = np.array([score for _, score in near], np.float32)
        weights = (np.maximum(scores, 0) ** settings.sharpness).astype(np.float32)
        memory = unit_length(weights @ space.matrix[[row for row, _ in near]])[np.newaxis]
        unbound = open_slot(memory, slots[row], known[row], pattern.open[0], space.settings.composition)
        entities.append(_clean_up(space, pattern, unit_length(unbound)[0], settings.fillers))
    return entities


def _clean_up(space: TripleSpace, pattern: Pattern, unbound: FloatMatrix, count: int) -> dict[str, float]:
    """The entities nearest to the vector unbound from a pattern's open slot, without those in the pattern."""
    texts, vectors = space.vocabulary(pattern.open[0])
    scores = vectors @ unbound
    in_pattern = {folded(slot) for slot in pattern.slots if slot}
    best = top_rows(scores, count + len(in_pattern))
    new = [row for row in best if folded(texts[row]) not in in_pattern]
    return {texts[row]: float(scores[row]) for row in new[:count]}


def _next_patterns(
    space: TripleSpace, patterns: Mapping[Pattern, float], relations: Sequence[str], settings: UnbindingSettings
) -> dict[Pattern, float]:
    """The patterns that the fillers open, weighted by the filler's score times the weight of its pattern."""
    following: dict[Pattern, float] = {}
    fillers_of = fillers(space, list(patterns), settings)
    for (pattern, weight), entities in zip(patterns.items(), fillers_of, strict=True):
        for entity, score in entities.items():
            for opened in _patterns_about(entity, pattern, relations):
                following[opened] = max(weight * max(score, 0.0), following.get(opened, 0.0))
    return following


def _patterns_about(entity: str, pattern: Pattern, relations: Sequence[str]) -> list[Pattern]:
    """Patterns to ask about an entity next: with the question's other relations, from either side, and with an open relation."""
    others = [relation for relation in relations if relation != pattern.relation]
    sides = [Pattern(subject=entity, relation=relation) for relation in others]
    sides += [Pattern(relation=relation, object=entity) for relation in others]
    return [*sides, Pattern(subject=entity)]
