"""Pairs of a statement and a page that may answer a question together: a link is a name that both have and the question lacks.

`Where does the owner of Heron live?`: a row says who owns Heron, another page says where that person lives. The statement says
a part of the question, the page more of it; the rarer what they share, the better.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.language.offline.sheets import Part, Sheet
from hoptrail.text.words import content_stems, words

_MOST = 4
"""Links that are read for one question."""
_OF_ONE_STATEMENT = 2
_REST, _RARITY = 0.5, 0.3
"""What it counts that the page says the rest of the question, and that few pages have what is shared."""


@dataclass(frozen=True, slots=True)
class Link:
    """A statement that is read before the page at `rank`; `said` are the question's words in it."""

    before: Part
    said: frozenset[str]
    rank: int
    score: float


def links_between(asked: frozenset[str], sheets: Sequence[Sheet]) -> list[Link]:
    """The most promising links, best first. `asked`: stems of the question."""
    names = [_names(sheet.text) - asked for sheet in sheets]
    pages = Counter(name for on_page in names for name in on_page)
    found = sorted(
        (link for at in range(len(sheets)) for link in _links_from(at, asked, sheets, names, pages)),
        key=lambda link: -link.score,
    )
    kept: list[Link] = []
    for link in found:
        if sum(one.before is link.before for one in kept) < _OF_ONE_STATEMENT and len(kept) < _MOST:
            kept.append(link)
    return kept


def _links_from(
    at: int, asked: frozenset[str], sheets: Sequence[Sheet], names: Sequence[frozenset[str]], pages: Counter[str]
) -> Iterator[Link]:
    for part in sheets[at].parts:
        said = asked & content_stems(part.said.seen)
        rest = asked - said
        if not said or not rest:
            continue
        own = _names(part.said.seen) - asked
        for rank, sheet in enumerate(sheets):
            shared = own & names[rank]
            further = rest & sheet.stems
            if rank == at or not shared or not further:
                continue
            rarity = max(1 - math.log(pages[name]) / math.log(1 + len(sheets)) for name in shared)
            score = len(said) / len(asked) + _REST * len(further) / len(rest) + _RARITY * rarity
            yield Link(part, said, rank, score)


def _names(text: str) -> frozenset[str]:
    """Stems of words that name: with a capital or a digit."""
    naming = " ".join(word.text for word in words(text) if word.capitalised or any(map(str.isdigit, word.text)))
    return content_stems(naming)
