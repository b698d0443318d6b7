"""The type of a JSON object at the project's borders, and pydantic's readers of what is expected there."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import TypeAdapter

JsonObject = dict[str, Any]


def reader_of(kind: Any) -> TypeAdapter[Any]:
    """Pydantic's reader of a class or another type. Each is made once, which takes much longer than reading with it."""
    return _reader_of(kind)


@cache
def _reader_of(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
