"""The numbers that steer clustering."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hoptrail.errors import UsageError

METHODS = ("leiden", "raptor")
_LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringSettings:
    """Sizes are in rows. What a method does not use, it passes over. Raises: UsageError: a value is out of its range."""

    method: str = "leiden"
    """One of `METHODS`."""
    most_words: int = 7_500
    """Of all texts of a group together; about the 10,000 tokens of the paper's code. A single row may be longer."""
    seed: int = 0

    target: int = 10
    """leiden: how large groups should be."""
    smallest: int = 3
    """leiden: smaller groups join a neighbour: a summary of one or two texts says nothing new."""
    largest: int = 40
    """leiden: larger groups are split."""
    neighbours: int = 5
    """leiden: how many nearest neighbours a row is linked with."""
    share: float = 0.3
    """leiden: a row is also in a second group when this share of its links leads there."""
    memberships: int = 2
    """leiden: how many groups a row may be in."""

    dimensions: int = 10
    """raptor: of the reduced vectors; this many rows and one more are one group, unseen."""
    components: int = 49
    """raptor: the most groups that one mixture may have."""
    responsibility: float = 0.1
    """raptor: a row is in every group that takes more than this share of the responsibility for it."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(f"there is no clustering method {self.method!r}; there are {', '.join(METHODS)}")
        for name in (field.name for field in fields(self) if isinstance(getattr(self, field.name), int)):
            if getattr(self, name) < (name != "seed"):
                raise UsageError(f"clustering {name} must be at least 1 (seed: 0), not {getattr(self, name)}")
        for name in ("share", "responsibility"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"clustering {name} must be between 0 and 1, not {getattr(self, name)}")
        if not self.smallest <= self.target <= self.largest or self.largest < 2 * self.smallest:
            raise UsageError("clustering needs smallest <= target <= largest, and largest at least twice smallest")
        if self.neighbours < self.smallest:
            raise UsageError("clustering neighbours must be at least smallest: small groups join along their links")
        if self.seed > _LARGEST_SEED:
            raise UsageError(f"clustering seed must be at most {_LARGEST_SEED}, not {self.seed}")
