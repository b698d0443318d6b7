"""What a large corpus knows of a name or word: how many passages have it, and which, where they are few."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """A name or a word by `id` (`structures/terms.py`), and how many passages have it.

    `owners` are ids of the passages that the name calls, `namers` of those that have it, where they are few.
    """

    id: str
    passages: int
    owners: tuple[str, ...] = ()
    namers: tuple[str, ...] = ()
