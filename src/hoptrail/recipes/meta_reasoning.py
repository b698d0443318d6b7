"""Conclude from the whole path: the sub-questions, their answers, and the best evidence of every hop.

SUNAR's Meta Evidence Reasoner (MER): a chain answers from its last hop, so that one wrong step misleads all after it. Here the
language sees the path and the evidence of all hops together, and its answer replaces the chain's. Works for any recipe with hops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Integrate
from hoptrail.recipes.answering import CitedHop, findings_of
from hoptrail.recipes.hopwise import integrate
from hoptrail.retrieval.fuse import interleave
from hoptrail.retrieval.pack import pack
from hoptrail.types import Ranking

Order = Callable[[Ranking], Ranking]
"""Reorders hits for the whole question."""


@dataclass(frozen=True, slots=True)
class MetaReasoningSettings:
    """Take `per_hop` hits of each hop, order them, and read `kept` of them (the released code's figures)."""

    per_hop: int = 2
    kept: int = 10

    def __post_init__(self) -> None:
        if min(self.per_hop, self.kept) < 1:
            raise ValueError("per_hop and kept are at least 1")


def best_of_hops(hops: Sequence[CitedHop], order: Order, settings: MetaReasoningSettings) -> Ranking:
    """The best hits of every hop, without repeats, ordered for the whole question."""
    tops = [cited.hop.hits[: settings.per_hop] for cited in hops]
    return order(interleave(tops, settings.per_hop * len(tops)))[: settings.kept]


def reason_over(
    question: str, hops: Sequence[CitedHop], evidence: Ranking, tokens: int, meter: Meter
) -> tuple[str | None, list[CitedHop]]:
    """The answer from path and evidence (None: an abstention), and a hop for it if no hop had that answer."""
    packed = pack(evidence, tokens)
    task = Integrate(question, findings_of(hops), tuple(hit.unit for hit in packed))
    return integrate(task, hops, packed, meter)
