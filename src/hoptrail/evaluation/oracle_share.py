"""The share of questions that the oracle answered: those that a perfect reader could answer from a recipe's retrieval.

Questions without gold passages are left out, because the oracle cannot judge them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.evaluation.answer_scores import mean
from hoptrail.json_object import JsonObject


@dataclass(frozen=True, slots=True)
class OracleShare:
    """Between 0 and 1, overall and by number of hops (rising)."""

    overall: float
    by_hops: tuple[tuple[int, float], ...]

    def to_json(self) -> JsonObject:
        """Keys for a recipe's report."""
        by_hops = {str(hops): share for hops, share in self.by_hops}
        return {"oracle_answerable": self.overall, "oracle_answerable_by_hops": by_hops}


def summarise_oracle(answered: Sequence[tuple[int, bool]]) -> OracleShare | None:
    """Summarise pairs of a question's number of hops (0: no gold passages) and whether it was answered.

    Returns None if no question has gold passages.
    """
    judged = [(hops, float(done)) for hops, done in answered if hops]
    if not judged:
        return None
    counts = sorted({hops for hops, _ in judged})
    by_hops = tuple((count, mean([done for hops, done in judged if hops == count])) for count in counts)
    return OracleShare(mean([done for _, done in judged]), by_hops)
