"""The number of language tasks that a question takes with a recipe's settings, for estimates before it is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """The fewest and the most tasks: `readings` have evidence, `plans` decompose or complete, `others` neither. Samples count."""

    readings: tuple[int, int] = (1, 1)
    plans: tuple[int, int] = (0, 0)
    others: tuple[int, int] = (0, 0)

    @classmethod
    def of_hops(cls, most: int, readings: int = 1) -> Effort:
        """The effort of `most` sub-questions, each read `readings` times, and of one more plan and a conclusion."""
        return cls((2, most * readings + 1), (2, 2 * most))


FROM_MEMORY = Effort((0, 0), others=(1, 1))  # one question to the model's memory
