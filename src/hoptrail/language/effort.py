"""How many language tasks one question takes, before it is asked: what recipes tell of their settings, for whoever estimates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """The fewest and the most: `readings`, which are handed evidence, and `others`, which are not. A recipe that reads once
    takes what is the default; every answer that is drawn counts.
    """

    readings: tuple[int, int] = (1, 1)
    others: tuple[int, int] = (0, 0)

    @classmethod
    def of_hops(cls, most: int, readings: int = 1) -> Effort:
        """At most `most` sub-questions, each planned, completed from the second on, and read up to `readings` times; one more
        is planned in vain; then it concludes.
        """
        return cls((2, most * readings + 1), (2, 2 * most))


FROM_MEMORY = Effort((0, 0), (1, 1))
"""The model's memory is asked, once."""
