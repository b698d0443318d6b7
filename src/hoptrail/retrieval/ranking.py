"""The order of every ranking: falling score, then rising unit id, so that ties are deterministic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.types import Hit, Kind, Ranking


def ranked(hits: Iterable[Hit], limit: int | None = None) -> Ranking:
    """Hits in ranking order, at most `limit`; NaN counts as the lowest score."""
    order = sorted(hits, key=lambda hit: (math.inf if math.isnan(hit.score) else -hit.score, hit.unit.id))
    return tuple(order[:limit])


def ranked_units(snapshot: Snapshot, kind: Kind, scores: Mapping[str, float], channel: str) -> Ranking:
    """The units of a kind that have a score, by id, as hits."""
    return ranked(Hit(unit, scores[unit.id], channel) for unit in snapshot.units(kind, scores.keys()))
