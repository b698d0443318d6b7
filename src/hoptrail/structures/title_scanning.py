"""What passages are called, and where a text has such a name.

The spellings of one name differ in case, accents and punctuation. A title is found where its words stand in a row, begun with a
capital or a digit, whatever the case and the accents of the rest; of titles that overlap the longest counts, and a parenthesis
(`The Game (1997 film)`) belongs to no name. Titles are found in languages with spaces between words only.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.text.lexicon import FUNCTION_WORDS
from hoptrail.text.normal_forms import base_title, composed
from hoptrail.text.words import LETTERS
from hoptrail.types import Kind, Unit

MOST_WORDS = 12
"""Words of the longest title that is looked for."""
MOST_NAMESAKES = 20
"""Documents of one title; a title that more have is a heading, not a name."""

_WORD = re.compile(LETTERS)


class Names(Protocol):
    """Names that texts are looked through for, by their keys (`name_key`)."""

    def __contains__(self, key: str, /) -> bool: ...

    def longest(self, first: str) -> int:
        """Words of the longest name that begins with a word, or somewhat more; 0 where none does."""
        ...


class HeldNames:
    """Names in memory, and how long the longest is that begins with a word. Satisfies `Names`."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = frozenset(filter(can_be_found, keys))
        self._longest: dict[str, int] = {}
        for key in self._keys:
            first, size = key.partition(" ")[0], key.count(" ") + 1
            self._longest[first] = max(size, self._longest.get(first, 0))

    def __contains__(self, key: str, /) -> bool:
        return key in self._keys

    def longest(self, first: str) -> int:
        """See `Names.longest`."""
        return self._longest.get(first, 0)


class TitleScanner:
    """Finds known names in a text."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def find(self, text: str) -> tuple[str, ...]:
        """The keys of the names in `text`, in order and without repeats; none overlaps another."""
        matches = list(_WORD.finditer(text))
        words = [_plain(match.group()) for match in matches]
        found: dict[str, None] = {}
        at = 0
        while at < len(words):
            size = self._size_at(words, at) if _opens_name(text, matches[at].start()) else 0
            if size:
                found[" ".join(words[at : at + size])] = None
            at += max(size, 1)
        return tuple(found)

    def _size_at(self, words: list[str], at: int) -> int:
        """Words of the longest name that begins at a place, or 0."""
        for size in range(min(self._names.longest(words[at]), len(words) - at), 0, -1):
            if " ".join(words[at : at + size]) in self._names:
                return size
        return 0


def can_be_found(key: str) -> bool:
    """Whether a text is looked through for a name: not for one that is very long, nor for a single `the` or `it`."""
    return key.count(" ") < MOST_WORDS and key not in FUNCTION_WORDS


def name_key(name: str) -> str:
    """What the spellings of one name have in common: its words in lower case without accents, one space between two."""
    if name.isascii():
        return " ".join(_WORD.findall(name.lower()))
    return " ".join(_plain(match) for match in _WORD.findall(name))


class Place(NamedTuple):
    """Where a passage stands, its id and its title."""

    document: str
    start: int
    passage: str
    title: str


def place_of(passage: Unit) -> Place:
    return Place(passage.document, passage.sources[0].start, passage.id, passage.title)


def first_passages(places: Iterable[Place]) -> dict[str, list[str]]:
    """By the key of a title, without its parenthesis: the first passage of each document that has it, by rising id."""
    first: dict[str, Place] = {}
    for place in places:
        first[place.document] = min(place, first.get(place.document, place))
    called: defaultdict[str, list[str]] = defaultdict(list)
    for place in sorted(first.values(), key=lambda place: place.passage):
        if key := title_key(place.title):
            called[key].append(place.passage)
    return dict(called)


def without_headings(titled: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What is left where titles call nothing that too many documents have."""
    return {key: ids for key, ids in titled.items() if 0 < len(ids) <= MOST_NAMESAKES}


def title_key(title: str) -> str:
    """The key of the name that a title is, without its parenthesis; nothing where it is none."""
    key = name_key(base_title(title))
    # A year is a date before it is a title.
    return key if any(character.isalpha() for character in key) or len(key) > 4 else ""


def _opens_name(text: str, start: int) -> bool:
    return text[start].isupper() or text[start].isdigit()


def _plain(word: str) -> str:
    if word.isascii():
        return word.lower()
    letters = unicodedata.normalize("NFKD", composed(word))
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


class TitleIndex:
    """Which passages titles call: by the key of a title, the first passage of each document that has it. A heading, which more
    than MOST_NAMESAKES documents have, is no name.
    """

    def __init__(self, passages: Mapping[str, Sequence[str]]) -> None:
        """By key of a title, ids of passages."""
        self._passages = passages

    @property
    def scanner(self) -> TitleScanner:
        """Finds the titles that are names."""
        return TitleScanner(HeldNames(filter(self.called, self._passages)))

    def called(self, key: str) -> Sequence[str]:
        """The passages of a title, by rising id; none where it is a heading."""
        found = self.having(key)
        return found if len(found) <= MOST_NAMESAKES else []

    def items(self) -> Iterable[tuple[str, Sequence[str]]]:
        """All titles with their passages, headings too."""
        return self._passages.items()

    def having(self, key: str) -> Sequence[str]:
        """As `called`, of headings too."""
        return self._passages.get(key, [])


def titled(snapshot: Snapshot) -> TitleIndex:
    """What calls the passages of an index."""
    titles = dict(snapshot.table.titles(Kind.PASSAGE))
    places = snapshot.table.first_sources(Kind.PASSAGE)
    return TitleIndex(first_passages(Place(span.document, span.start, id_, titles[id_]) for id_, span in places))
