"""Estimate the cost of asking a chat model before spending anything: an interval for the mean of many questions.

At the low end the model answers briefly at the first try from few passages. At the high end it fills every evidence budget, goes
half the way from the fewest hops to the most, and repairs a tenth of the replies. Indexing is rehearsed (`rehearsing.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.language.chat.context import MARGIN
from hoptrail.language.effort import Effort
from hoptrail.models.chat import ChatSettings
from hoptrail.models.spending import cost_of

PROMPT_TOKENS = (280, 800)
"""Range for a prompt without evidence, but with its schema, over the tasks of asking."""
REPLY_TOKENS = (15, 250)
"""Range for a reply of these tasks."""
EVIDENCE_SHARE = (0.25, 1.1)
"""Range for the used share of the evidence budget: some recipes begin with few passages, and tokenisers differ."""
MOST_SHARE = 0.5
"""Where the mean of many questions lies between the fewest tasks (0) and the most (1)."""
REPAIRED = 1.1


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def counted(self, what: str) -> str:
        """The interval in words: `10 to 20 calls`."""
        return f"{self.low:,.0f} to {self.high:,.0f} {what}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated cost; `money` is None without known prices."""

    calls: Interval
    prompt_tokens: Interval
    completion_tokens: Interval
    money: Interval | None

    def __str__(self) -> str:
        counts = [
            (self.calls, "calls"),
            (self.prompt_tokens, "prompt tokens"),
            (self.completion_tokens, "completion tokens"),
        ]
        tokens = ", ".join(interval.counted(what) for interval, what in counts)
        if self.money is None:
            return f"{tokens}; in money unknown, because prompt_price and completion_price under [chat] are not set"
        free = " (the prices are set to 0)" if self.money.high == 0 else ""
        return f"{tokens}; {self.money.low:,.6g} to {self.money.high:,.6g} in money{free}"


def estimate_asking(questions: int, settings: ChatSettings, *, evidence_tokens: int, effort: Effort) -> Estimate:
    """The cost of `questions` questions of some `effort` that read up to `evidence_tokens` at a time."""
    reads, others = _typical(*effort.readings), _typical(*effort.others)
    evidence = min(evidence_tokens, settings.context_window * MARGIN)
    calls = Interval(questions * (reads.low + others.low), questions * (reads.high + others.high) * REPAIRED + 3)
    prompt = Interval(
        calls.low * PROMPT_TOKENS[0] + questions * reads.low * evidence * EVIDENCE_SHARE[0],
        calls.high * PROMPT_TOKENS[1] + questions * reads.high * evidence * EVIDENCE_SHARE[1] * REPAIRED,
    )
    reply = Interval(calls.low * REPLY_TOKENS[0], calls.high * min(REPLY_TOKENS[1], settings.max_output_tokens))
    ends = [(prompt.low, reply.low), (prompt.high, reply.high)]
    low, high = (cost_of(round(tokens), round(answer), settings).money for tokens, answer in ends)
    return Estimate(calls, prompt, reply, None if low is None or high is None else Interval(low, high))


def _typical(fewest: int, most: int) -> Interval:
    return Interval(fewest, fewest + (most - fewest) * MOST_SHARE)
