"""The cost of tokens, by a dated table of prices that the user can replace.

Models are looked up by exact name, because a longer or shorter name may be another model at another price.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path

from hoptrail.errors import DataError

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens."""

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        if not all(0 <= price < math.inf for price in (self.prompt, self.completion)):
            raise ValueError("a price is at least 0 and finite")


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model at `date` (a year, month or day)."""

    date: str
    currency: str
    models: Mapping[str, Price]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\d{4}(-\d\d){0,2}", self.date):
            raise ValueError(f"the date is a year, month or day (such as 2025-06), not {self.date!r}")

    def of(self, model: str) -> Price | None:
        """The price of a model, None if unknown."""
        return self.models.get(model)

    def money(self, model: str, tokens: int, completion_tokens: int) -> float | None:
        """The cost of `tokens`, of which `completion_tokens` are completion. 0 without a model, None without a price."""
        price = self.of(model)
        if not model:
            return 0.0
        if price is None:
            return None
        return ((tokens - completion_tokens) * price.prompt + completion_tokens * price.completion) / MILLION


def load_prices(path: Path | None = None) -> PriceTable:
    """The price table in a TOML file; by default the one shipped with hoptrail.

    Raises:
        DataError: the file cannot be read, or is no price table.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        text = (path or files("hoptrail.evaluation").joinpath("prices.toml")).read_text(encoding="utf-8")
        content = {key: str(value) if isinstance(value, date) else value for key, value in tomllib.loads(text).items()}
        return TypeAdapter(PriceTable).validate_python(content)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError) as error:
        raise DataError(
            f"{path} is no price table (date, currency, [models] with prompt and completion): {error}"
        ) from error


def price_notes(models: Iterable[str], table: PriceTable) -> list[str]:
    """Notes for a table with money: the date of the prices, and the models without one."""
    names = sorted({model for model in models if model})
    unknown = [model for model in names if table.of(model) is None]
    notes = [f"Money in {table.currency}, at the prices of {table.date}."] if names and not unknown else []
    return notes + [
        f"Money is unknown: the price table of {table.date} has no {model}; give --prices." for model in unknown
    ]
