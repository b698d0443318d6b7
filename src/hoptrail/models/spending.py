"""Arithmetic of spending: the cost of a call, the sums of a ledger, limits.

Prices are per million tokens, in any currency of the user's choice.
"""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.errors import BudgetExhausted, UsageError
from hoptrail.models.chat import ChatSettings


@dataclass(frozen=True, slots=True)
class Cost:
    """The actual or greatest cost of a call. `money` is None where a price is unknown."""

    prompt_tokens: int
    completion_tokens: int
    money: float | None

    @property
    def tokens(self) -> int:
        """Prompt and completion together, as `limit_tokens` counts them."""
        return self.prompt_tokens + self.completion_tokens


def cost_of(prompt_tokens: int, completion_tokens: int, settings: ChatSettings) -> Cost:
    """The cost of a call at the prices of the settings."""
    known = settings.prompt_price >= 0 and settings.completion_price >= 0
    money = (prompt_tokens * settings.prompt_price + completion_tokens * settings.completion_price) / 1_000_000
    return Cost(prompt_tokens, completion_tokens, money if known else None)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The sums of a ledger.

    - `calls`: all calls that the server may have billed.
    - `unsettled`: those of them without a reply (a crash, a broken connection), counted with their reserved estimate.
    - `estimated`: those of them whose tokens we estimated, because the server's count was missing or implausible.
    - `perhaps`: unsettled calls that may never have been sent: we were killed, or the connection broke, before their last byte.
    - `refused`: calls that were not billed, because the server refused them or was not reached.
    - `unpriced`: calls without a known price.

    So the server bills between `settled` and `calls` calls; and between `certain` and `calls`, if it bills every call that it
    received completely, except those whose refusal we received.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float = 0.0
    unsettled: int = 0
    estimated: int = 0
    refused: int = 0
    unpriced: int = 0
    perhaps: int = 0

    @property
    def settled(self) -> int:
        """Calls with a reply."""
        return self.calls - self.unsettled

    @property
    def certain(self) -> int:
        """Calls that were certainly sent completely and not refused."""
        return self.calls - self.perhaps

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the total spending; 0 is no limit."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    @classmethod
    def of(cls, settings: ChatSettings) -> Limits:
        """The limits of the settings. Raises: UsageError: money is limited, but the price is unknown."""
        if settings.limit_money and cost_of(0, 0, settings).money is None:
            raise UsageError(
                f"limit_money is set, but the price of {settings.model or 'the model'} is not: set prompt_price and "
                "completion_price (for a million tokens; 0 if it costs nothing) under [chat], or limit calls or tokens instead"
            )
        return cls(settings.limit_calls, settings.limit_tokens, settings.limit_money)

    def check(self, spent: Ledger, coming: Cost, place: str) -> None:
        """Check that a call that may cost `coming` is within the limits after `spent`, which includes the greatest cost of calls
        in flight.
        Raises: BudgetExhausted: it is not; nothing was spent on it.
        """
        for what, limit, before, cost in (
            ("calls", self.calls, spent.calls, 1),
            ("tokens", self.tokens, spent.tokens, coming.tokens),
            ("money", self.money, spent.money, coming.money or 0.0),
        ):
            if limit and before + cost > limit:
                raise BudgetExhausted(
                    f"the limit of {limit:,g} {what} would be passed: {place} has entered {before:,.6g}, and the next call may "
                    f"cost {cost:,.6g}. Nothing was sent; what was finished is kept. Raise limit_{what} under [chat] and run the "
                    "same command again to continue"
                )
