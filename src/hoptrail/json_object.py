"""The type of a JSON object at the project's borders: what is read or written there, never what it works with."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
