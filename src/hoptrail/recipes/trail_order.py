"""The order of the passages of an answer by `trail`: what reading found to be evidence comes before what search found alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from hoptrail.recipes.answering import covers_any
from hoptrail.recipes.trail_chain import Opinion
from hoptrail.retrieval.rankings import without_repeats
from hoptrail.types import Hit, Ranking, Span, Verdict

KEPT = 2
"""The best passages of the search keep their places, whatever was read."""


def order_by_reading(found: Ranking, shown: Ranking, opinions: Sequence[Opinion]) -> Ranking:
    """As many passages as in `found`, with scores 1 / position. `shown` are these and all that the opinions read.

    After the first KEPT come those that the opinions cite, the most confident opinion first; then the best passage for a
    sub-question that was asked after an answered one and found no answer; then the rest in their order.
    """
    confident = sorted(opinions, key=lambda opinion: -opinion.confidence)
    support = ([span for cited in opinion.hops for span in cited.support] for opinion in confident)
    cited = chain.from_iterable(_of_spans(shown, spans) for spans in support)
    order = without_repeats((*found[:KEPT], *cited, *_asked_on(opinions), *found))[: len(found)]
    return tuple(replace(hit, score=1 / position) for position, hit in enumerate(order, start=1))


def _of_spans(shown: Ranking, spans: Sequence[Span]) -> Ranking:
    """For each span in turn the first passage that has it, without repeats."""
    holders = (next((hit for hit in shown if covers_any(hit.unit, [span])), None) for span in spans)
    return without_repeats(hit for hit in holders if hit is not None)


def _asked_on(opinions: Sequence[Opinion]) -> Iterator[Hit]:
    """The best passage for the last sub-question of a chain that broke off there, after an answered one."""
    for opinion in opinions:
        if len(opinion.hops) > 1 and opinion.hops[-1].hop.verdict is Verdict.UNANSWERED:
            yield from opinion.hops[-1].hop.hits[:1]
