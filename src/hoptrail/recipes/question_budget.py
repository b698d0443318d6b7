"""The budget of one question in language tasks and tokens; recipes check it before every optional step."""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.language.meter import Meter


@dataclass(frozen=True, slots=True)
class QuestionBudget:
    """At most `tasks` tasks through `meter`, and none after `tokens` are spent. 0: no limit."""

    meter: Meter
    tasks: int = 0
    tokens: int = 0

    def affords(self, tasks: int) -> bool:
        """Whether `tasks` more tasks fit."""
        usage = self.meter.usage
        if self.tokens and usage.prompt_tokens + usage.completion_tokens >= self.tokens:
            return False
        return not self.tasks or self.meter.tasks + tasks <= self.tasks
