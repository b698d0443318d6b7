"""What one question may spend on language tasks: asked before every step that could be left out."""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.language.meter import Meter


@dataclass(frozen=True, slots=True)
class QuestionBudget:
    """At most `tasks` tasks are performed through `meter`; nothing more begins once `tokens` are spent. 0 is no limit."""

    meter: Meter
    tasks: int = 0
    tokens: int = 0

    def affords(self, tasks: int) -> bool:
        """Whether so many more tasks fit."""
        usage = self.meter.usage
        if self.tokens and usage.prompt_tokens + usage.completion_tokens >= self.tokens:
            return False
        return not self.tasks or self.meter.tasks + tasks <= self.tasks
