"""A short identity for settings, so that results and structures say under which settings they were made."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def fingerprint(settings: DataclassInstance) -> str:
    """Twelve hex digits that change when any value of `settings` does; the same on every machine."""
    content = json.dumps([type(settings).__name__, asdict(settings)], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:12]
