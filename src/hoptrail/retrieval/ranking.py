"""The order that every ranking has: falling score, then rising unit id, so that ties never depend on chance."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hoptrail.types import Hit, Ranking


def ranked(hits: Iterable[Hit], limit: int | None = None) -> Ranking:
    """Hits in ranking order, at most `limit`; a score that is not a number counts as the lowest."""
    return tuple(sorted(hits, key=_order)[:limit])


def _order(hit: Hit) -> tuple[float, str]:
    return (math.inf if math.isnan(hit.score) else -hit.score, hit.unit.id)
