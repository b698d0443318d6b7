"""What the writer of follow-ups learns from: `asked/follow-ups.jsonl`, as word pieces with the places they are copied from.

Each row has one or two questions and answers, oldest first, a message, and what it asks, the best wording first (nothing: `[]`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hoptrail.models.follow_up_writer import SMALL, source_of
from hoptrail.text.lexicon import PRONOUNS
from hoptrail.text.words import words
from training.question_rows import FOLDER
from training.sources import read_lines

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_CLS = 101
_IN_SMALL = 0.5  # what a place among the small words costs beside a jump
_UNRELATED = 0.19  # fragments after other turns, as a share of all rows


@dataclass(frozen=True, slots=True)
class Row:
    """A message after the turns before, oldest first, and the question that it asks; empty: none that could be written."""

    before: tuple[tuple[str, str], ...]
    message: str
    asked: str


@dataclass(frozen=True, slots=True)
class Taught:
    """A row: the word pieces of its source, which word piece comes at each step, and from which place (small words first)."""

    ids: list[int]
    following: list[int]
    places: list[int]


def rows() -> list[Row]:
    lines = read_lines(FOLDER / "follow-ups.jsonl")
    return [Row(tuple(map(tuple, one["before"])), one["message"], "".join(one["asked"][:1])) for one in lines]


def unrelated(known: Sequence[Row], rng: random.Random) -> list[Row]:
    """Fragments after turns about something else: they ask nothing that could be written."""
    fragments = [row for row in known if _is_fragment(row)]
    chosen = rng.sample(fragments, min(len(fragments), int(_UNRELATED * len(known))))
    return [Row(rng.choice(known).before, row.message, "") for row in chosen]


def _is_fragment(row: Row) -> bool:
    """Whether a message is short, points to nothing, and lacks at least two words of what it asks."""
    said = [word.lower for word in words(row.message)]
    return len(said) <= 5 and PRONOUNS.isdisjoint(said) and len(words(row.asked)) >= len(said) + 2


def taught(row: Row, small: Sequence[int], tokenizer: Tokenizer) -> Taught | None:
    """A row as word pieces; None: it says what nobody said."""
    ids = source_of(row.message, row.before, tokenizer).ids
    written = [*tokenizer.encode(row.asked, add_special_tokens=False).ids, _CLS]
    places = copied_from([*small, *ids], written)
    return None if places is None else Taught(list(ids), written, places)


def copied_from(ids: Sequence[int], written: Sequence[int]) -> list[int] | None:
    """The places of `written` among `ids` with the fewest jumps, and few in the small words; None: one has no place."""
    ways: list[dict[int, tuple[float, int]]] = [{-2: (0.0, -2)}]  # nothing goes on from there
    for piece in written:
        jump = min(ways[-1], key=lambda at: ways[-1][at][0])
        cost = ways[-1][jump][0] + 1
        found = {}
        for at in (at for at, one in enumerate(ids) if one == piece):
            jumped = cost + (_IN_SMALL if at < len(SMALL) else 0)
            goes_on = ways[-1].get(at - 1, (float("inf"), 0))[0]
            found[at] = (goes_on, at - 1) if goes_on < jumped else (jumped, jump)
        if not found:
            return None
        ways.append(found)
    at, places = min(ways[-1], key=lambda at: ways[-1][at][0]), []
    for way in ways[:0:-1]:
        places.append(at)
        at = way[at][1]
    return places[::-1]
