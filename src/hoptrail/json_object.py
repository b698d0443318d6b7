"""The type of a JSON object at the project's borders, and pydantic's readers of what is expected there."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import TypeAdapter

JsonObject = dict[str, Any]


@cache
def reader_of(kind: Hashable) -> TypeAdapter[Any]:
    """Pydantic's reader of a class or another type. Making one takes much longer than reading with it."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)  # type: ignore[arg-type]  # types can be hashed
