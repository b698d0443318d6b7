"""Which sentences name which documents by their titles: links along which a question's path can go from page to page.

A title is found where its words stand in a row, begun with a capital or a digit, whatever the case and the accents of the rest;
of titles that overlap the longest counts, and a parenthesis (`The Game (1997 film)`) belongs to no name. A link leads from the
sentence to the first passage of each document of that title. Names that no document is called by are not linked here: the
entities of `extractions` stand for them. A title is found in languages with spaces between words only.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hoptrail.language.offline.evidence import base_title
from hoptrail.language.offline.lexicon import FUNCTION_WORDS
from hoptrail.store.writer import Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.names import MENTIONS, PASSAGES, SENTENCES
from hoptrail.types import Kind, Link, Unit

MOST_WORDS = 12
"""Words of the longest title that is looked for."""
MOST_NAMESAKES = 20
"""Documents of one title; a title that more have is a heading, not a name."""
BATCH = 8192
"""Links written at a time."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class TitleMentions:
    """The structure. Links from a sentence to a passage, weighted 1 by the number of documents with that title."""

    name: str = MENTIONS
    fingerprint: str = "1"
    built_from: tuple[str, ...] = (PASSAGES, SENTENCES)
    needs_language: bool = False

    def discard(self, writer: Writer) -> None:
        writer.drop_links(MENTIONS)

    def update(self, workshop: Workshop) -> None:
        """Bring the links to what documents and titles there are; where nothing differs, nothing is written.

        All sentences are read again, since a new title may be named in an old one: that costs no encoding.
        """
        writer = workshop.writer
        snapshot = writer.snapshot()
        called = passages_called(snapshot.units(Kind.PASSAGE))
        wanted = {(link.source, link.target): link for link in _links(snapshot.units(Kind.SENTENCE), called)}
        stale = set()
        for link in snapshot.links(MENTIONS):
            if wanted.get((link.source, link.target)) != link:
                stale.add(link.source)
            else:
                del wanted[link.source, link.target]
        if stale:
            writer.remove_links(MENTIONS, stale)
            again = (unit for unit in snapshot.units(Kind.SENTENCE, stale))
            wanted |= {(link.source, link.target): link for link in _links(again, called)}
        missing = [wanted[pair] for pair in sorted(wanted)]
        for start in range(0, len(missing), BATCH):
            workshop.pause()
            writer.put_links(missing[start : start + BATCH])
            workshop.report("linking mentions", min(start + BATCH, len(missing)), len(missing))


class TitleScanner:
    """Finds known names in a text."""

    def __init__(self, keys: Iterable[str]) -> None:
        """`keys` as `name_key` gives them."""
        self._longest: dict[str, int] = {}
        self._keys = frozenset(key for key in keys if 0 < key.count(" ") + 1 <= MOST_WORDS)
        for key in self._keys:
            first, size = key.partition(" ")[0], key.count(" ") + 1
            self._longest[first] = max(size, self._longest.get(first, 0))

    def find(self, text: str) -> tuple[str, ...]:
        """The keys of the names in `text`, in order and without repeats; none overlaps another."""
        matches = list(_WORD.finditer(text))
        words = [_plain(match.group()) for match in matches]
        found: dict[str, None] = {}
        at = 0
        while at < len(words):
            size = self._size_at(words, at) if _opens_name(text, matches[at].start()) else 0
            if size and not (size == 1 and words[at] in FUNCTION_WORDS):
                found[" ".join(words[at : at + size])] = None
            at += max(size, 1)
        return tuple(found)

    def _size_at(self, words: list[str], at: int) -> int:
        """Words of the longest name that begins at a place, or 0."""
        for size in range(min(self._longest.get(words[at], 0), len(words) - at), 0, -1):
            if " ".join(words[at : at + size]) in self._keys:
                return size
        return 0


def name_key(name: str) -> str:
    """What the spellings of one name have in common: its words in lower case without accents, one space between two."""
    return " ".join(_plain(match) for match in _WORD.findall(name))


def passages_called(passages: Iterable[Unit]) -> dict[str, list[str]]:
    """By the key of a title, without its parenthesis: the first passage of each document that has it, by rising id."""
    first: dict[str, Unit] = {}
    for unit in passages:
        known = first.setdefault(unit.document, unit)
        if unit.sources[0].start < known.sources[0].start:
            first[unit.document] = unit
    called: defaultdict[str, list[str]] = defaultdict(list)
    for unit in sorted(first.values(), key=lambda unit: unit.id):
        key = name_key(base_title(unit.title))
        if any(character.isalpha() for character in key) or len(key) > 4:  # a year is a date before it is a title
            called[key].append(unit.id)
    return {key: ids for key, ids in called.items() if len(ids) <= MOST_NAMESAKES}


def _links(sentences: Iterable[Unit], called: Mapping[str, list[str]]) -> Iterator[Link]:
    """Also to the sentence's own page: what follows links leaves those out."""
    scanner = TitleScanner(called)
    for sentence in sentences:
        for key in scanner.find(sentence.text):
            for passage in called[key]:
                yield Link(sentence.id, passage, MENTIONS, 1 / len(called[key]))


def _opens_name(text: str, start: int) -> bool:
    return text[start].isupper() or text[start].isdigit()


def _plain(word: str) -> str:
    if word.isascii():
        return word.lower()
    letters = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()
