"""The title index: which documents are called what, which titles a question names, which are like a name.

HiRAG section 4.3, first layer: lexical matching of entity names with titles. Made of all titles of a snapshot when it is first
asked for (for the 6,119 of 2WikiMultiHopQA that takes a fifth of a second and some 6 MB, both in proportion to their number).
Knows nothing of what stands in a document,
and no translation; in scripts without spaces a title is found only where the whole name is given.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from hoptrail.corpus.snapshot import Snapshot, made_once
from hoptrail.structures.profile_file import DISAMBIGUATION
from hoptrail.structures.profiles import profile_id
from hoptrail.text.lexicon import STOP_WORDS
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.text.words import LETTERS
from hoptrail.types import Kind

MOST_WORDS = 16
"""Words of the longest title that is looked for in a question."""
CANDIDATES = 20
"""Titles that are compared with a name letter by letter: those that share its rarest words (the released code: 20)."""
MOST_LETTERS = 200
"""Of a name and of a title, when they are compared letter by letter."""

_WORD = re.compile(LETTERS)


@dataclass(frozen=True, slots=True)
class Title:
    """A title and the ids of the documents that have it, rising: they are parts of one page."""

    name: str
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TitleMatch:
    """A title with its likeness to a name: 1 where they are equal but for case, accents and a parenthesis, 0 at the least.

    `shared` says that the name is one that several things share, as a further name of the title tells; `primary` that the name
    is all of the title, without a parenthesis: where a wiki has a page of that title, it is what the name mostly means.
    """

    title: Title
    similarity: float
    shared: bool = False
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Some words of a text, by number, as they are written there and as names are compared."""

    words: range
    text: str
    key: str


def possible_names(text: str) -> Iterator[Part]:
    """Runs of words of a text that may be meant as a title, the longest first.

    Where the text has capitals at all, a title has one there: `home` is not the film `Home`.
    """
    words = list(_WORD.finditer(text))
    keys = [_key(word.group()) for word in words]
    cased = text[1:] != text[1:].lower()
    for size in range(min(MOST_WORDS, len(words)), 0, -1):
        for first in range(len(words) - size + 1):
            part = text[words[first].start() : words[first + size - 1].end()]
            if _is_name(part, at_start=first == 0, cased=cased):
                yield Part(range(first, first + size), part, " ".join(keys[first : first + size]))


class TitleIndex:
    """Titles of documents and their further names. Use `of`."""

    def __init__(self, titled: Iterable[tuple[str, str]], also: Iterable[tuple[str, str]] = ()) -> None:
        """Pairs of a title, and of a further name, with the id of a document."""
        written: dict[str, str] = {}
        documents: defaultdict[str, list[str]] = defaultdict(list)
        for name, document in sorted(titled, key=lambda pair: pair[1]):
            key = folded(name) or document
            written.setdefault(key, squeeze(name))
            documents[key].append(document)
        titles = [Title(written[key], tuple(found)) for key, found in sorted(documents.items())]
        self._page_of = {document: title for title in titles for document in title.documents}
        named = [(title.name, title) for title in titles]
        named += [(name, self._page_of[document]) for name, document in sorted(also)]
        self._names: list[str] = [name for name, _ in named]
        self._titles: list[Title] = [title for _, title in named]
        self._enter()

    def _enter(self) -> None:
        """Make the look-ups by whole names, with and without their parenthesis, and by words."""
        self._forms = [tuple(dict.fromkeys((_key(name), _key(base_title(name))))) for name in self._names]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for place, forms in enumerate(self._forms):
            for form in filter(None, forms):
                self._places[form].append(place)
            for word in dict.fromkeys(forms[0].split()):
                self._by_word[word].append(place)

    @classmethod
    def of(cls, snapshot: Snapshot) -> TitleIndex:
        """That of all documents of a snapshot, made once."""
        return _made(snapshot)

    def page_of(self, document: str) -> Title:
        """The title of a document, together with the other documents that have it."""
        return self._page_of[document]

    def named_in(self, text: str) -> list[str]:
        """The parts of `text` that are titles, the longest first and none overlapping another."""
        taken: set[int] = set()
        found: list[str] = []
        for part in possible_names(text):
            if part.key in self._places and taken.isdisjoint(part.words):
                taken.update(part.words)
                found.append(part.text)
        return found

    def like(self, name: str, least: float) -> tuple[TitleMatch, ...]:
        """The titles at least so similar to `name`, the most similar first, equally similar ones by name."""
        key = _key(name)
        equal = set(self._places.get(key, ()))
        shared = {self._titles[place] for place in equal if folded(self._names[place]).endswith(DISAMBIGUATION)}
        likeness: defaultdict[Title, float] = defaultdict(float)
        for place in (*sorted(equal), *self._sharing(key)):
            similarity = 1.0 if place in equal else self._similarity(key, place)
            likeness[self._titles[place]] = max(likeness[self._titles[place]], similarity)
        found = [
            TitleMatch(title, value, title in shared, key == _key(title.name))
            for title, value in likeness.items()
            if value >= least
        ]
        return tuple(sorted(found, key=lambda match: (-match.similarity, match.title.name, match.title.documents)))

    def _sharing(self, key: str) -> Sequence[int]:
        """Places of the names that share the rarest words with a name, best first."""
        shared: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(key.split()):
            places = self._by_word.get(word, ())
            weight = math.log1p(len(self._names) / (1 + len(places)))
            for place in places:
                shared[place] += weight
        return sorted(shared, key=lambda place: (-shared[place], place))[:CANDIDATES]

    def _similarity(self, key: str, place: int) -> float:
        """The better of the name with and without its parenthesis; short of 1, which equality alone gives."""
        forms = (form[:MOST_LETTERS] for form in self._forms[place])
        return min(max(SequenceMatcher(None, key[:MOST_LETTERS], form).ratio() for form in forms), 0.999)


def tied(matches: Sequence[TitleMatch], most: int) -> bool:
    """Whether a name is ambiguous: more than `most` titles equal it, or it is known to be shared and is nobody's own.

    A page that lists namesakes is not counted among them, and does not make a name ambiguous that a primary title bears.
    """
    equal = [match for match in matches if match.similarity == 1]
    namesakes = [match for match in equal if not folded(match.title.name).endswith(DISAMBIGUATION)]
    borne = any(match.primary and not match.shared for match in equal)
    return len(namesakes) > most or (any(match.shared for match in equal) and not borne)


@made_once
def _made(snapshot: Snapshot) -> TitleIndex:
    return TitleIndex(((entry.title, entry.id) for entry in snapshot.register.entries), _further_names(snapshot))


def _further_names(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for unit in snapshot.units(Kind.PROFILE):
        if unit.id != profile_id(unit.document):
            yield unit.title, unit.document


def _is_name(part: str, *, at_start: bool, cased: bool) -> bool:
    """Whether a part of a question that equals a title may be meant as one."""
    if part.lower() in STOP_WORDS and (at_start or not part[0].isupper()):
        return False
    if not any(letter.isalpha() for letter in part):
        return False  # a year, and not the film of that name
    return not cased or part != part.lower() or part.lower() == part.upper()  # a script without capitals has none


def _key(name: str) -> str:
    """Words in lower case without accents, one space between two."""
    plain = unicodedata.normalize("NFKD", name)
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join(_WORD.findall(letters.casefold()))
