"""Grouping facts by entity. Several names of an entity in a document count as the most informative one: after `Orla Finch`,
`Finch` means her.

SiReRAG, figures 6 to 8: only the most informative name of each entity, given the text before it. A model is asked for that; names
that rules extract are resolved here, document by document. Only family names are resolved: a single word, perhaps after a form of
address, that is the last word of exactly one longer name so far in the document. `Wrenmouth` is not `University of Wrenmouth`,
and `Korea` is not `North Korea`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from hoptrail.text.lexicon import DEMONYMS, word_set
from hoptrail.text.mentions import figure_shape
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.types import Extraction, Span, Unit


class FactGroup(NamedTuple):
    """The facts of one aggregate: each text with its first source, in order. `key` identifies the entity."""

    key: str
    title: str
    facts: dict[str, Span]


def grouped_by_entity(found: Iterable[tuple[Unit, Extraction]], *, dates_and_numbers: bool) -> Iterator[FactGroup]:
    """The facts about each entity, by key, from passages in document order; the title is the (first) most common spelling."""
    facts: defaultdict[str, dict[str, Span]] = defaultdict(dict)
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for _, group in groupby(found, lambda pair: pair[0].document):
        passages = list(group)
        names = InformativeNames(passages[0][0].title)
        for _, extraction in passages:
            for name in (*extraction.entities, *(name for fact in extraction.facts for name in fact.entities)):
                names.note(name)
            for fact in extraction.facts:
                text = squeeze(fact.text)
                for entity in map(names.of, fact.entities if text else ()):
                    if key := folded(entity):
                        facts[key].setdefault(text, fact.source)
                        spellings[key][squeeze(entity)] += 1
    for key in sorted(facts):
        commonest = spellings[key].most_common(1)[0][0]
        if dates_and_numbers or not is_date_or_number(commonest):
            yield FactGroup(key, commonest, facts[key])


def select_aggregates(groups: Sequence[FactGroup], *, drop_covered: bool) -> Iterator[FactGroup]:
    """Drop duplicates: of groups with the same facts the one with the longest key stays, of equally long ones the first.
    With `drop_covered`, entities whose only fact is also a fact of another entity, kept or not, are dropped before.
    """
    counts = Counter(fact for group in groups for fact in group.facts) if drop_covered else Counter[str]()
    kept = [group for group in groups if len(group.facts) > 1 or counts[next(iter(group.facts))] < 2]
    best: dict[tuple[str, ...], str] = {}
    for group in sorted(kept, key=lambda group: (-len(group.key), group.key)):
        best.setdefault(tuple(group.facts), group.key)
    keys = set(best.values())
    return (group for group in kept if group.key in keys)


def is_date_or_number(name: str) -> bool:
    """Whether a name is only a date or a number: `May 1871`, `90`, `19th century`. Month names and number words are English."""
    return not any(character.isalpha() for character in name) or figure_shape(name.strip(" .,")) is not None


LONGEST = 4
"""The most words of a full name."""

ADDRESSES = word_set("mr mrs ms miss dr sir lady lord professor prof king queen")
TELLING_APART = word_set(
    "north south east west northern southern eastern western central upper lower new old great greater little inner outer saint "
    "st mount lake river port fort san santa los las el la le the isle cape bay first second third world"
)
"""First words with which a longer name means another thing, not the same more fully."""


class InformativeNames:
    """The full names in one document so far."""

    def __init__(self, title: str) -> None:
        self._full: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.note(base_title(title))

    def note(self, name: str) -> None:
        """Note a name in the text."""
        words = _words_of(name)
        full = " ".join(words)
        if 1 < len(words) <= LONGEST and _is_full(words):
            self._full[folded(words[-1])].setdefault(folded(full), full)

    def of(self, name: str) -> str:
        """The full name that a name is short for, else the name itself."""
        words = _words_of(name)
        if len(words) != 1 or words[0].casefold() in DEMONYMS:
            return name
        full = list(self._full.get(folded(words[0]), {}).values())
        return full[0] if len(full) == 1 else name


def _words_of(name: str) -> list[str]:
    """The words of a name, without a form of address before others."""
    words = name.split()
    return words[1:] if len(words) > 1 and words[0].casefold().rstrip(".") in ADDRESSES else words


def _is_full(words: list[str]) -> bool:
    """Whether the last of these words may be short for them."""
    capitals = all(word[:1].isalpha() and word[:1] != word[:1].lower() for word in words)
    return capitals and words[0].casefold().rstrip(".") not in TELLING_APART
