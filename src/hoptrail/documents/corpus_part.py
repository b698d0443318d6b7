"""Dividing documents into parts, for shards."""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.errors import UsageError


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """Part `number`, from 1, of `count` parts of a corpus. A document's part depends on its id, so that equal content is in one
    part wherever it is read.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise UsageError(f"there is no part {self.number} of {self.count}.")

    def has(self, document: str) -> bool:
        """Whether the document with this id is in the part."""
        return int(document[1:], 16) % self.count == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}-of-{self.count}"
