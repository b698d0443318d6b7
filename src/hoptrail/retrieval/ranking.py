"""The order of every ranking: falling score, then rising unit id, so that ties are deterministic."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hoptrail.types import Hit, Ranking


def ranked(hits: Iterable[Hit], limit: int | None = None) -> Ranking:
    """Hits in ranking order, at most `limit`; NaN counts as the lowest score."""
    return tuple(sorted(hits, key=_order)[:limit])


def _order(hit: Hit) -> tuple[float, str]:
    return (math.inf if math.isnan(hit.score) else -hit.score, hit.unit.id)
