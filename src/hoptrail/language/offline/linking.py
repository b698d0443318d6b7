"""Statements that answer together: one says part of what is asked and shares a rare word with a page that says the rest.

`Who does the owner of Heron report to?`: a row names the owner of Heron, and another row, about that person, names a superior.
The reader is shown the first statement as read before, and reads the other page (`training/linked.py` taught it to).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.language.offline.sheets import Part, Sheet

_PAIRS = 4
"""What is read for one question at most."""
_COMMON = 0.2
"""Of all statements: a word in more of them links nothing."""


@dataclass(frozen=True, slots=True)
class Link:
    """A statement of one sheet, and the rank of another sheet that goes on from it.

    `shared` are the stems that join them and that the question lacks. `covered` is the share of the question's words, weighted by
    rarity, that both say together; `gain` how much of it the second adds.
    """

    sheet: Sheet
    part: Part
    rank: int
    shared: frozenset[str]
    covered: float
    gain: float


@dataclass(frozen=True, slots=True)
class _Statement:
    rank: int
    part: Part
    stems: frozenset[str]


def find_links(asked: frozenset[str], sheets: Sequence[Sheet]) -> list[Link]:
    """The likeliest pairs of a statement and a page beyond it, best first; `asked` are the stems of the question."""
    statements = [
        _Statement(rank, part, stems)
        for rank, sheet in enumerate(sheets)
        for part, stems in zip(sheet.parts, sheet.part_stems, strict=True)
    ]
    places: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(statements):
        for stem in one.stems:
            places[stem].append(place)
    weights = {stem: math.log((1 + len(statements)) / len(places[stem])) + 0.1 for stem in asked if stem in places}
    total = sum(weights.values())
    most = max(4.0, _COMMON * len(statements))
    best: dict[tuple[int, int, int], Link] = {}
    for first in statements:
        said = asked & first.stems
        shared: dict[int, set[str]] = defaultdict(set)
        for stem in first.stems - asked if said else ():
            if len(places[stem]) <= most:
                for place in places[stem]:
                    shared[place].add(stem)
        for place, stems in shared.items():
            second = statements[place]
            added = asked & second.stems - said
            if second.rank == first.rank or not added or not said - second.stems:
                continue
            covered, gain = (sum(weights[stem] for stem in some) / total for some in (said | added, added))
            key = (first.rank, first.part.start, second.rank)
            if key not in best or (covered, gain) > (best[key].covered, best[key].gain):
                best[key] = Link(sheets[first.rank], first.part, second.rank, frozenset(stems), covered, gain)
    return sorted(best.values(), key=lambda link: -link.covered)[:_PAIRS]
