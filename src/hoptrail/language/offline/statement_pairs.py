"""Pairs of statements that share a name, code or other rare word, of which neither says by itself what is asked.

`14 January: needle bar of M10 bent` and `M10: section sewer, built 1982` together say in what year the machine with the bent
needle bar was built. The reader was trained to read a statement for a question after another one (`ToRead.before`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from hoptrail.language.closeness import Close, Wording, distinct_statements
from hoptrail.text.lexicon import STOP_WORDS
from hoptrail.text.statements import UnitStatement
from hoptrail.types import Unit

_HOLDERS = 25  # A word in more statements links nothing
_LINKED, _KEY, _FAR, _LATE = 0.2, 0.2, 0.06, 0.01
"""Parts of the score, beside the share of the question's words (0 to 1): how rare the shared words are; added if the second
statement is an entry about what the first one names; taken off for each doubling of the rank of the second statement's unit, and
for each place of the first among the closest. Of 131 questions that need two statements, these found both for 73 among the first
16 pairs.
"""
_SCORED = 4  # so many times the pairs asked for are scored: those that could have the highest scores
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_SHORTEST = 3
"""Letters from which a word links statements; those with a number, and capitals alone (`KB`), are codes and may have two."""
_ENTRY = re.compile(r"[\W_]*([^\n:;,.(]{1,40})[:(;,]")
"""The beginning of a line about something: `Ida Berg: telephone number 42`."""


@dataclass(frozen=True, slots=True)
class StatementPair:
    """Two statements that share some of the words `links`, with a rarity of `linked` (0 to 1); whether the second is an entry
    about what the first names. They say a `share` of the question's words together, `gain` more than either alone. `place` is
    that of the first among the closest statements, `rank` that of the second's unit, both from 0. `score` tells how promising
    the pair is, among those of a question.
    """

    first: UnitStatement
    second: UnitStatement
    links: frozenset[str]
    linked: float
    is_entry: bool
    share: float
    gain: float
    place: int
    rank: int
    score: float

    @property
    def name(self) -> str:
        """What both name, as the second statement writes it: what it is about, or the longest words that they share."""
        if self.is_entry:
            return entry_of(self.second)
        text = self.second.text
        runs = groupby(_WORD.finditer(text), lambda word: word[0].lower() in self.links)
        shared = (list(run) for is_link, run in runs if is_link)
        return max((text[run[0].start() : run[-1].end()] for run in shared), key=len, default="")


def find_pairs(question: str, units: Sequence[Unit], close: Sequence[Close], most: int) -> list[StatementPair]:
    """The `most` best pairs from the `close` statements, one to each other statement, by words that are not in the question."""
    statements = distinct_statements(units)
    asked = frozenset(_spaced(question).split())
    holders: dict[str, list[int]] = defaultdict(list)
    entries: dict[str, list[int]] = defaultdict(list)
    for at, (_, said) in enumerate(statements):
        for word in links_of(said) - asked:
            holders[word].append(at)
        entry = _spaced(entry_of(said))
        if not frozenset(entry.split()) <= asked:
            entries[entry].append(at)
    wording = Wording(question, [said for _, said in statements])
    alone = [wording.share(said) for _, said in statements]
    places = {said.place: at for at, (_, said) in enumerate(statements)}
    promising: list[tuple[float, int, int, int, float, float, bool]] = []
    for place, one in enumerate(close):
        if (first := places.get(one.said.place)) is None:
            continue  # an earlier unit says the same, under a date that is not asked for
        start = statements[first][1]
        rarity = _rarity(links_of(start), holders)
        told = _spaced(start.text)
        named = {at for entry, found in entries.items() if entry in told for at in found}
        for second in (rarity.keys() | named) - {first}:
            linked = min(1.0, rarity.get(second, 0.0))
            far = _FAR * (1 + statements[second][0]).bit_length() + _LATE * place
            beside = _LINKED * linked + _KEY * (second in named) - far
            most_share = min(1.0, alone[first] + alone[second])
            promising.append((-(most_share + beside), place, first, second, beside, linked, second in named))
    scored: list[StatementPair] = []
    for _, place, first, second, beside, linked, is_entry in sorted(promising)[: _SCORED * most]:
        start, (rank, said) = statements[first][1], statements[second]
        share = wording.share(start, said)
        gain = share - max(alone[first], alone[second])
        links, score = links_of(start) - asked, share + beside
        scored.append(StatementPair(start, said, links, linked, is_entry, share, gain, place, rank, score))
    best: dict[int, StatementPair] = {}
    for pair in sorted(scored, key=lambda pair: -pair.score):
        best.setdefault(id(pair.second), pair)
    return list(best.values())[:most]


def _rarity(words: frozenset[str], holders: Mapping[str, Sequence[int]]) -> dict[int, float]:
    """The statements that have some of these words, with the sum of 1 / other holders of each."""
    rarity: dict[int, float] = defaultdict(float)
    for word in sorted(words):
        if 1 < len(found := holders.get(word, ())) <= _HOLDERS:
            for at in found:
                rarity[at] += 1 / (len(found) - 1)
    return rarity


@lru_cache(4096)
def links_of(said: UnitStatement) -> frozenset[str]:
    """The words and codes of a statement that may link it with others, in small letters. The headers of a table are none."""
    found = set[str]()
    for word in _WORD.findall(said.text):
        is_code = len(word) > 1 and (word.isupper() or any(map(str.isdigit, word)))
        if (is_code or len(word) >= _SHORTEST) and word.lower() not in STOP_WORDS:
            found.add(word.lower())
    return frozenset(found)


@lru_cache(4096)
def entry_of(said: UnitStatement) -> str:
    """What a row or a line is about: its first cell, or what stands before its first mark; empty if there is none."""
    if said.block is not None and said.block.cells:
        return said.unit.part(said.block.cells[0]).strip()
    found = _ENTRY.match(said.text)
    return found[1].strip() if found else ""


def _spaced(text: str) -> str:
    """The words of a text in small letters, each between spaces."""
    return f" {' '.join(_WORD.findall(text.lower()))} "
