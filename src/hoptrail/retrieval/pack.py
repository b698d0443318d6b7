"""Choosing what a language reads: the best hits that fit a token budget, without saying anything twice."""

from __future__ import annotations

from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.types import Kind, Ranking, Span, Unit

TELLING_LITTLE = {Kind.SUMMARY, Kind.TRIPLE}


def pack(ranking: Ranking, tokens: int, *, repeats: bool = False) -> Ranking:
    """Hits in rank order until the budget is spent.

    A hit whose every source is already covered by hits taken before it is left out, unless `repeats` are wanted, and one that
    does not fit is passed over for later ones that do. Summaries and triples cover nothing: they tell little of what they were
    made from. The first hit is always taken, so that something is read.
    """
    taken: list[int] = []
    covered: list[Span] = []
    left = tokens
    for position, hit in enumerate(ranking):
        cost = estimated_tokens(hit.unit.searchable)
        if (not repeats and _is_covered(hit.unit, covered)) or (taken and cost > left):
            continue
        taken.append(position)
        if hit.unit.kind not in TELLING_LITTLE:
            covered += hit.unit.sources
        left -= cost
    return tuple(ranking[position] for position in taken)


def _is_covered(unit: Unit, covered: list[Span]) -> bool:
    return all(any(before.covers(source) for before in covered) for source in unit.sources)
