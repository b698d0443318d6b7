"""The questions that were suggested for the last commit of a workspace."""

from __future__ import annotations

from threading import Lock


class Suggestions:
    """What was found for the last commit that was asked about."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.commit = 0
        self.found: tuple[str, ...] = ()
