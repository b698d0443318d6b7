"""Limits of settings, declared in the types of their fields: `k: AtLeast1 = 20`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_type_hints

from hoptrail.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition on the value of a setting, and its wording in a message."""

    holds: Callable[[Any], bool]
    said: str


AtLeast0 = Annotated[int, Limit(lambda value: value >= 0, "must be at least 0")]
AtLeast1 = Annotated[int, Limit(lambda value: value >= 1, "must be at least 1")]
NotNegative = Annotated[float, Limit(lambda value: 0 <= value < math.inf, "must be at least 0 and finite")]
Above0 = Annotated[float, Limit(lambda value: 0 < value < math.inf, "must be above 0 and finite")]
Share = Annotated[float, Limit(lambda value: 0 <= value <= 1, "must lie between 0 and 1")]
ShareAbove0 = Annotated[float, Limit(lambda value: 0 < value <= 1, "must lie above 0 and at most at 1")]
ShareInside = Annotated[float, Limit(lambda value: 0 < value < 1, "must lie between 0 and 1, both excluded")]


class Limited:
    """Base of settings: checks their limits when they are made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_limits(self)


def check_limits(settings: object) -> None:
    """Check the values of a dataclass against the limits in the types of its fields. For a `__post_init__` that checks more.

    Raises: UsageError: a value is outside its limit. The message names it.
    """
    for name, limit in _limits_of(type(settings)):  # type: ignore[arg-type]  # classes can be hashed
        value = getattr(settings, name)
        if not limit.holds(value):
            raise UsageError(f"{name} {limit.said}, not {value}")


@cache
def _limits_of(kind: type) -> list[tuple[str, Limit]]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        (name, part)
        for name, hint in hints.items()
        for part in getattr(hint, "__metadata__", ())
        if isinstance(part, Limit)
    ]
