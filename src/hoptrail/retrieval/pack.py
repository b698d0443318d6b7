"""Choose what a language reads: the best hits that fit a token budget, without repeats."""

from __future__ import annotations

from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.types import Hit, Kind, Ranking, Span

PARTIAL_KINDS = {Kind.SUMMARY, Kind.TRIPLE}
"""Kinds of units that say little of what they were made from."""


def pack(ranking: Ranking, tokens: int, *, repeats: bool = False) -> Ranking:
    """Take hits in rank order until the budget is spent.

    Skips hits that do not fit and, unless `repeats`, hits whose sources are all covered by earlier ones. Summaries and triples
    cover nothing. The first hit is always taken, so that something is read.
    """
    packed: list[Hit] = []
    covered: list[Span] = []
    remaining = tokens
    for hit in ranking:
        cost = estimated_tokens(hit.unit.searchable)
        is_repeat = all(any(span.covers(source) for span in covered) for source in hit.unit.sources)
        if (is_repeat and not repeats) or (packed and cost > remaining):
            continue
        packed.append(hit)
        if hit.unit.kind not in PARTIAL_KINDS:
            covered += hit.unit.sources
        remaining -= cost
    return tuple(packed)
