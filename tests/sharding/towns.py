"""A world of towns, rivers and bridges, whose facts lie in different documents."""

from __future__ import annotations

from pathlib import Path

from world import FACTS

_FIRST = ("Ash", "Birch", "Cran", "Dun", "Elm", "Fern", "Gorse", "Hazel", "Iver", "Kest")
_LAST = ("ford", "wick", "ham", "stead", "bury", "combe")
TOWNS = [first + last for first in _FIRST for last in _LAST]


def write_towns(folder: Path) -> Path:
    """Write the towns and the facts of `world`, a text file each. Returns the folder."""
    folder.mkdir()
    for number, town in enumerate(TOWNS):
        other = TOWNS[(7 * number + 3) % len(TOWNS)]
        text = (
            f"{town} is a town of {number + 2} streets. The road from {town} leads to {other}. "
            f"{'A river flows through it.' if number % 3 else 'It has a market and a bridge.'}"
        )
        (folder / f"{town}.txt").write_text(text, encoding="utf-8")
    for title, text in FACTS.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    return folder
