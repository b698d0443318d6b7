"""The numbers that steer clustering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hoptrail.errors import UsageError
from hoptrail.setting_limits import AtLeast1, Limit, ShareInside, check_limits

METHODS = ("leiden", "raptor")

Seed = Annotated[int, Limit(lambda value: 0 <= value < 2**32, "is at least 0 and below 2^32")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringSettings:
    """Sizes are in rows. What a method does not use, it passes over. Raises: UsageError: a value is out of its range."""

    method: str = "leiden"
    """One of `METHODS`."""
    most_words: AtLeast1 = 7_500
    """Of all texts of a group together; about the 10,000 tokens of the paper's code. A single row may be longer."""
    seed: Seed = 0

    target: AtLeast1 = 10
    """leiden: how large groups should be."""
    smallest: AtLeast1 = 3
    """leiden: smaller groups join a neighbour: a summary of one or two texts says nothing new."""
    largest: AtLeast1 = 40
    """leiden: larger groups are split."""
    neighbours: AtLeast1 = 5
    """leiden: how many nearest neighbours a row is linked with."""
    share: ShareInside = 0.3
    """leiden: a row is also in a second group when this share of its links leads there."""
    memberships: AtLeast1 = 2
    """leiden: how many groups a row may be in."""

    dimensions: AtLeast1 = 10
    """raptor: of the reduced vectors; this many rows and one more are one group, unseen."""
    components: AtLeast1 = 49
    """raptor: the most groups that one mixture may have."""
    responsibility: ShareInside = 0.1
    """raptor: a row is in every group that takes more than this share of the responsibility for it."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(f"there is no clustering method {self.method!r}; there are {', '.join(METHODS)}")
        check_limits(self)
        if not self.smallest <= self.target <= self.largest or self.largest < 2 * self.smallest:
            raise UsageError("clustering needs smallest <= target <= largest, and largest at least twice smallest")
        if self.neighbours < self.smallest:
            raise UsageError("clustering neighbours must be at least smallest: small groups join along their links")
