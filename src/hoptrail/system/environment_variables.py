"""The environment variables of this process. No other module reads or sets them; nothing does at import."""

from __future__ import annotations

import os
import re


def variable(name: str) -> str:
    return os.environ.get(name, "")


def variables(names: re.Pattern[str]) -> dict[str, str]:
    """The variables whose name matches from its beginning, by name."""
    return {name: value for name, value in sorted(os.environ.items()) if names.match(name)}


def set_default(name: str, value: str) -> None:
    """Give this process and those that it starts a variable, unless it is set."""
    os.environ.setdefault(name, value)
