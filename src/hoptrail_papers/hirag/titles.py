"""The title index: the titles of documents, the titles that a question names, and the titles similar to a name.

HiRAG section 4.3, first layer: lexical matching of entity names with titles. Built from all titles of a snapshot on first use
(for the 6,119 of 2WikiMultiHopQA in a fifth of a second and some 6 MB, both proportional to their number). Ignores the text of
documents and does not translate. In scripts without spaces only a whole name finds a title.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.text.lexicon import STOP_WORDS
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.text.title_scanning import name_key
from hoptrail.text.words import LETTERS
from hoptrail.types import Kind
from hoptrail_papers.hirag.profiles import DISAMBIGUATION, profile_id

MOST_WORDS = 16
"""Words of the longest title that is looked up in a question."""
CANDIDATES = 20
"""Titles compared with a name letter by letter: those that share its rarest words (the released code: 20)."""
MOST_LETTERS = 200
"""Letters of a name and of a title that are compared."""

_WORD = re.compile(LETTERS)


@dataclass(frozen=True, slots=True)
class Title:
    """A title and the rising ids of the documents that have it: they form one page."""

    name: str
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TitleMatch:
    """A title with its similarity to a name, 0 to 1: 1 if they differ only in case, accents and a parenthesis.

    `shared`: a further name of the title says that several things have the name. `primary`: the name is the whole title, without
    a parenthesis; on a wiki such a page is about the name's main meaning.
    """

    title: Title
    similarity: float
    shared: bool = False
    primary: bool = False


class TitleIndex:
    """Titles of documents and their further names. Use `of`."""

    def __init__(self, titled: Iterable[tuple[str, str]], further_names: Iterable[tuple[str, str]] = ()) -> None:
        """Both arguments are pairs of a name and a document id."""
        spellings: dict[str, str] = {}
        documents: defaultdict[str, list[str]] = defaultdict(list)
        for name, document in sorted(titled, key=lambda pair: pair[1]):
            key = folded(name) or document
            spellings.setdefault(key, squeeze(name))
            documents[key].append(document)
        titles = [Title(spellings[key], tuple(ids)) for key, ids in sorted(documents.items())]
        self._page_of = {document: title for title in titles for document in title.documents}
        named = [(title.name, title) for title in titles]
        named += [(name, self._page_of[document]) for name, document in sorted(further_names)]
        self._names: list[str] = [name for name, _ in named]
        self._titles: list[Title] = [title for _, title in named]
        # Each name is looked up whole, with and without its parenthesis, and by word.
        self._forms = [tuple(dict.fromkeys((name_key(name), name_key(base_title(name))))) for name in self._names]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for place, forms in enumerate(self._forms):
            for form in filter(None, forms):
                self._places[form].append(place)
            for word in dict.fromkeys(forms[0].split()):
                self._by_word[word].append(place)

    @classmethod
    def of(cls, snapshot: Snapshot) -> TitleIndex:
        """The index of all documents of a snapshot, built once."""

        def build() -> TitleIndex:
            units = (unit for unit in snapshot.units(Kind.PROFILE) if unit.id != profile_id(unit.document))
            titled = ((entry.title, entry.id) for entry in snapshot.register.entries)
            return cls(titled, ((unit.title, unit.document) for unit in units))

        return snapshot.derived(cls.__name__, build)

    def page_of(self, document: str) -> Title:
        """The page of a document: its title with all documents that have it."""
        return self._page_of[document]

    def named_in(self, text: str) -> list[str]:
        """The parts of `text` that are titles, the longest first, without overlaps.

        If the text has capitals at all, a title must have one: `home` is not the film `Home`.
        """
        words = list(_WORD.finditer(text))
        keys = [name_key(word.group()) for word in words]
        cased = text[1:] != text[1:].lower()
        covered: set[int] = set()
        names: list[str] = []
        for size in range(min(MOST_WORDS, len(words)), 0, -1):
            for first in range(len(words) - size + 1):
                part, places = text[words[first].start() : words[first + size - 1].end()], range(first, first + size)
                is_title = " ".join(keys[first : first + size]) in self._places and covered.isdisjoint(places)
                if is_title and _is_name(part, at_start=first == 0, cased=cased):
                    covered.update(places)
                    names.append(part)
        return names

    def similar_to(self, name: str, least: float) -> tuple[TitleMatch, ...]:
        """The titles with a similarity of at least `least` to `name`, the most similar first, then by title."""
        key = name_key(name)
        equal = set(self._places.get(key, ()))
        shared = {self._titles[place] for place in equal if folded(self._names[place]).endswith(DISAMBIGUATION)}
        likeness: defaultdict[Title, float] = defaultdict(float)
        for place in (*sorted(equal), *self._candidates(key)):
            similarity = 1.0 if place in equal else self._similarity(key, place)
            likeness[self._titles[place]] = max(likeness[self._titles[place]], similarity)
        matches = [
            TitleMatch(title, value, title in shared, key == name_key(title.name))
            for title, value in likeness.items()
            if value >= least
        ]
        return tuple(sorted(matches, key=lambda match: (-match.similarity, match.title.name, match.title.documents)))

    def _candidates(self, key: str) -> Sequence[int]:
        """Places of the CANDIDATES names that share the rarest words with a name, best first."""
        shared: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(key.split()):
            places = self._by_word.get(word, ())
            weight = math.log1p(len(self._names) / (1 + len(places)))
            for place in places:
                shared[place] += weight
        return sorted(shared, key=lambda place: (-shared[place], place))[:CANDIDATES]

    def _similarity(self, key: str, place: int) -> float:
        """The higher similarity of the name with and without its parenthesis, below 1, which means equality."""
        forms = (form[:MOST_LETTERS] for form in self._forms[place])
        return min(max(SequenceMatcher(None, key[:MOST_LETTERS], form).ratio() for form in forms), 0.999)


def is_ambiguous(matches: Sequence[TitleMatch], most: int) -> bool:
    """Whether a name is ambiguous: more than `most` titles equal it, or it is known to be shared and is no primary title.

    A page that lists namesakes is not counted as one.
    """
    equal = [match for match in matches if match.similarity == 1]
    namesakes = [match for match in equal if not folded(match.title.name).endswith(DISAMBIGUATION)]
    has_primary = any(match.primary and not match.shared for match in equal)
    return len(namesakes) > most or (any(match.shared for match in equal) and not has_primary)


def _is_name(part: str, *, at_start: bool, cased: bool) -> bool:
    """Whether a part of a question may be meant as a title."""
    if part.lower() in STOP_WORDS and (at_start or not part[0].isupper()):
        return False
    if not any(letter.isalpha() for letter in part):
        return False  # a year, not the film of that name
    return not cased or part != part.lower() or part.lower() == part.upper()  # some scripts have no capitals
