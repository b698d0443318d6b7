"""What becomes of a reading: an answer where it is sure enough for `trail`, else none."""

from __future__ import annotations

from hoptrail.language.tasks import Reading
from hoptrail.recipes.trail import TrailSettings

LEAST = TrailSettings().least_confidence


def given(reading: Reading) -> str | None:
    """The answer that `trail` would give."""
    return reading.answer if reading.confidence >= LEAST else None
