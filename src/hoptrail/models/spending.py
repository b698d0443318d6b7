"""What calls cost and how far spending may go: tokens and money of a call, a ledger's sums, limits. Arithmetic only.

Money has no currency here: prices are given for a million tokens, in whatever the user counts in.
"""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.errors import BudgetExhausted, UsageError
from hoptrail.models.chat import ChatSettings

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call costs or may cost. `money` is None where a price is not known."""

    prompt_tokens: int
    completion_tokens: int
    money: float | None

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def cost_of(prompt_tokens: int, completion_tokens: int, settings: ChatSettings) -> Cost:
    """The cost of a call at the prices in force."""
    known = settings.prompt_price >= 0 and settings.completion_price >= 0
    money = (prompt_tokens * settings.prompt_price + completion_tokens * settings.completion_price) / MILLION
    return Cost(prompt_tokens, completion_tokens, money if known else None)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The sums of a ledger. `calls` are all that the server may have billed; of them `unsettled` got no reply that we saw
    (a crash, a broken connection) and count with their reserved estimate, and `estimated` were counted by us because the
    server's own count was missing or could not be right. Of the unsettled, `perhaps` may never have gone out: we were killed,
    or the connection broke, between entering them and handing over their last byte. `refused` were not billed: the server
    said no, or was not reached. `unpriced` are calls whose price was not known.

    So the bill's calls lie between `settled` and `calls`; and between `certain` and `calls`, if the server bills every call
    that reached it whole but those to whose refusal we lived to listen.
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
        """Calls whose reply we have."""
        return self.calls - self.unsettled

    @property
    def certain(self) -> int:
        """Calls that certainly went out whole and were not refused."""
        return self.calls - self.perhaps

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Limits:
    """How far spending may go in all; 0 is no limit."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    @classmethod
    def of(cls, settings: ChatSettings) -> Limits:
        """The limits of the settings.

        Raises:
            UsageError: money is limited, but the price is not known.
        """
        if settings.limit_money and cost_of(0, 0, settings).money is None:
            raise UsageError(
                f"limit_money is set, but the price of {settings.model or 'the model'} is not: set prompt_price and "
                "completion_price (for a million tokens; 0 if it costs nothing) under [chat], or limit calls or tokens instead"
            )
        return cls(settings.limit_calls, settings.limit_tokens, settings.limit_money)

    def check(self, spent: Ledger, coming: Cost, place: str) -> None:
        """Whether a call that may cost `coming` may go out after `spent` (which includes calls in flight, at the most they
        may cost).

        Raises:
            BudgetExhausted: it may not; nothing was spent on it.
        """
        self._check("calls", self.calls, spent.calls, 1, place)
        self._check("tokens", self.tokens, spent.tokens, coming.tokens, place)
        self._check("money", self.money, spent.money, coming.money or 0.0, place)

    @staticmethod
    def _check(what: str, limit: float, spent: float, coming: float, place: str) -> None:
        if limit and spent + coming > limit:
            raise BudgetExhausted(
                f"the limit of {limit:,g} {what} would be passed: {place} has entered {spent:,.6g}, and the next call may cost "
                f"{coming:,.6g}. Nothing was sent; what was finished is kept. Raise limit_{what} under [chat] and run the same "
                "command again to go on"
            )
