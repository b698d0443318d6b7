"""Facts gathered by entity, under the most informative name of an entity that a document calls by several: `Finch` is `Orla
Finch`, once that has been said.

SiReRAG, figures 6 to 8: of each entity only its most informative name, in the light of the text before. A model that extracts is
asked for it; of what rules find, short names are resolved here, document by document. Only a family name is: one word, with or
without a form of address, that is the last of exactly one longer name of the document so far. `Wrenmouth` is not `University of
Wrenmouth`, and `Korea` not `North Korea`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from hoptrail.language.tasks import Extraction, Fact
from hoptrail.text.lexicon import DEMONYMS, word_set
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.types import Unit

Place = tuple[str, int, int]
"""A span as a plain tuple: there are very many, and less work goes into writing and reading one than into a record."""


def place_of(fact: Fact) -> Place:
    return fact.source.document, fact.source.start, fact.source.end


class Gathering(NamedTuple):
    """Facts that become one aggregate: each text with where it stands first, in order. `key` stands for the entity."""

    key: str
    title: str
    facts: dict[str, Place]


Said = tuple[str, int, str, str, Place]
"""An entity's key, how much was said before, how the entity is written, a fact's text and where that stands."""


class SaidOfEntities:
    """What extractions say of each entity, in the order they are put: that of their documents, where short names are put down
    under the full name that their document gives.
    """

    def __init__(self) -> None:
        self._said: list[Said] = []
        self._document, self._names = "", InformativeNames("")

    def put(self, passage: Unit, extraction: Extraction) -> None:
        names = self._names_in(passage, extraction)
        for fact in extraction.facts:
            text, place = squeeze(fact.text), place_of(fact)
            for entity in map(names.of, fact.entities if text else ()):
                if key := folded(entity):
                    self._said.append((key, len(self._said), squeeze(entity), text, place))

    def _names_in(self, passage: Unit, extraction: Extraction) -> InformativeNames:
        if passage.document != self._document:
            self._document, self._names = passage.document, InformativeNames(passage.title)
        for name in (*extraction.entities, *(name for fact in extraction.facts for name in fact.entities)):
            self._names.note(name)
        return self._names

    def gathered(self) -> Iterator[Gathering]:
        """By rising key; the title is the commonest writing, the first of several."""
        for key, said in groupby(sorted(self._said), itemgetter(0)):
            facts: dict[str, Place] = {}
            written: Counter[str] = Counter()
            for _, _, name, text, place in said:
                facts.setdefault(text, place)
                written[name] += 1
            yield Gathering(key, written.most_common(1)[0][0], facts)


def chosen(gathered: Sequence[Gathering], *, drop_covered: bool) -> Iterator[Gathering]:
    """Those that stay: of some with the same facts the one with the longest key; of equally long ones the first.

    With `drop_covered` entities go first whose only fact another entity has as well, whether that one stays or not.
    """
    many = Counter(fact for one in gathered for fact in one.facts) if drop_covered else Counter[str]()
    kept = [one for one in gathered if len(one.facts) > 1 or many[next(iter(one.facts))] < 2]
    best: dict[tuple[str, ...], Gathering] = {}
    for one in sorted(kept, key=lambda one: (-len(one.key), one.key)):
        best.setdefault(tuple(one.facts), one)
    stay = {one.key for one in best.values()}
    return (one for one in kept if one.key in stay)


def is_date_or_number(name: str) -> bool:
    """Whether a name is nothing else: `May 1871`, `90`, `19th century`. Months and number words are known in English only."""
    if not any(character.isalpha() for character in name):
        return True
    whole = name.strip(" .,")
    return any(
        mention.text == whole and mention.shape in {Shape.DATE, Shape.NUMBER} for mention in find_mentions(whole)
    )


LONGEST = 4
"""Words of a full name."""

ADDRESSES = word_set("mr mrs ms miss dr sir lady lord professor prof king queen")
TELLING_APART = word_set(
    "north south east west northern southern eastern western central upper lower new old great greater little inner outer saint "
    "st mount lake river port fort san santa los las el la le the isle cape bay first second third world"
)
"""First words that make another thing of a name, not a fuller one."""


class InformativeNames:
    """What one document calls things, as far as it has been read."""

    def __init__(self, title: str) -> None:
        self._full: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.note(base_title(title))

    def note(self, name: str) -> None:
        """The text says this name."""
        words = squeeze(name).split()
        if words and words[0].casefold().rstrip(".") in ADDRESSES:
            words = words[1:]
        told = " ".join(words)
        if 1 < len(words) <= LONGEST and _is_full(words):
            self._full[folded(words[-1])].setdefault(folded(told), told)

    def of(self, name: str) -> str:
        """The name to call it by."""
        words = squeeze(name).split()
        if len(words) == 2 and words[0].casefold().rstrip(".") in ADDRESSES:
            words = words[1:]
        if len(words) != 1 or words[0].casefold() in DEMONYMS:
            return name
        full = list(self._full.get(folded(words[0]), {}).values())
        return full[0] if len(full) == 1 else name


def _is_full(words: list[str]) -> bool:
    """Whether a name of these words is what its last word may be short for."""
    capitals = all(word[:1].isalpha() and word[:1] != word[:1].lower() for word in words)
    return capitals and words[0].casefold().rstrip(".") not in TELLING_APART
