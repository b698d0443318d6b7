"""How evidence and a question hang together: what of the question each sentence says, alone and joined with other pages.

An answer over two or three documents stands in a sentence that says the rest of what is asked, on a page that shares a name
with one that says the beginning. So besides what a sentence and its title say, every page that names what the sentence names
lends what it says itself (one step), or what a page before it says (two steps). No plan of the question is needed for that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hoptrail.language.offline.evidence import EvidencePages, Line, Page
from hoptrail.language.offline.questions import Question, analyse
from hoptrail.language.offline.told import Name, Told
from hoptrail.text.lexicon import QUESTION_WORDS, STOP_WORDS
from hoptrail.text.mentions import Shape
from hoptrail.text.words import RELATED, content_stems, words
from hoptrail.types import Span

_NEARNESS = 4.0
"""Words from the one that asks, over which a word's weight for what is asked last falls to a third."""
_NAMED = 1.3
_ELSEWHERE = 0.5
"""A name shared with the sentence's page counts this much of one that stands in the sentence or the title."""

_WORTH_CITING = 0.08
"""A sentence that adds less than this share of the question is not cited."""


@dataclass(frozen=True)
class Terms:
    """The meaningful words of a question as bits of a mask, with their weights.

    `near` weighs them by how close they stand to the word that asks; `first` and `last` are the bits that the plan's first
    hop says and its last asks (without names), `named` those of names.
    """

    bits: dict[str, int]
    weights: tuple[float, ...]
    near: tuple[float, ...]
    last: int
    first: int
    named: int

    @property
    def full(self) -> int:
        return (1 << len(self.weights)) - 1

    def mask(self, stems: Iterable[str]) -> int:
        """The terms that `stems` say, in these or related words."""
        found = 0
        for said in self.bits.keys() & stems:
            found |= self.bits[said]
        return found

    def share(self, mask: int) -> float:
        """How much of the question a mask is, between 0 and 1."""
        return _weighed(mask, self.weights) / (sum(self.weights) or 1.0)

    def nearby(self, mask: int) -> float:
        return _weighed(mask, self.near) / (sum(self.near) or 1.0)

    def part(self, mask: int, of: int) -> float:
        """How much of the terms `of` a mask is."""
        return _weighed(mask & of, self.weights) / (_weighed(of, self.weights) or 1.0)


def _weighed(mask: int, weights: Sequence[float]) -> float:
    return sum(weight for at, weight in enumerate(weights) if mask >> at & 1)


def terms_of(question: str, hops: Sequence[str], evidence: EvidencePages) -> Terms:
    """The terms of a question that is planned as `hops`; a word that many sentences say weighs less."""
    said = words(question)
    asking = next((at for at, word in enumerate(said) if word.lower in QUESTION_WORDS), 0)
    places: dict[str, int] = {}
    named: set[str] = set()
    for at, word in enumerate(said):
        if word.lower not in STOP_WORDS:
            places[word.stem] = min(abs(at - asking), places.get(word.stem, 99))
            if word.capitalised and at > 0:
                named.add(word.stem)
    bits: dict[str, int] = {}
    for at, said_stem in enumerate(places):
        for expression in {said_stem} | RELATED.get(said_stem, frozenset()):
            bits[expression] = bits.get(expression, 0) | 1 << at
    lines = evidence.lines
    weights = []
    for one in places:
        common = sum(one in line.stems for _, line in lines)
        weights.append(math.log(1 + (len(lines) + 1) / (1 + common)) * (_NAMED if one in named else 1.0))
    near = tuple(weight * math.exp(-away / _NEARNESS) for weight, away in zip(weights, places.values(), strict=True))
    own = {one: 1 << at for at, one in enumerate(places)}
    first = sum(own[one] for one in content_stems(hops[0]) if one in own)
    last = sum(own[one] for one in content_stems(hops[-1]) if one in own and one not in named)
    return Terms(bits, tuple(weights), near, last, first, sum(own[one] for one in named))


@dataclass(frozen=True, slots=True)
class Place:
    """A sentence with what it and its surroundings say of the question."""

    page: Page
    line: Line
    mask: int
    values: tuple[float, ...]
    rank: float
    """By which the sentences worth reading are chosen."""

    def marks(self, terms: Terms) -> list[tuple[int, int, int]]:
        """Where words of the question stand: start, end, bit."""
        found = ((word.start, word.end, terms.bits.get(word.stem, 0)) for word in self.line.words)
        return [mark for mark in found if mark[2]]


class Paths:
    """The sentences of one set of evidence as places for the answer to one question."""

    def __init__(self, question: str, hops: Sequence[str], evidence: EvidencePages) -> None:
        self.question: Question | None = analyse(question, evidence.titles)
        self.terms = terms_of(question, hops, evidence)
        self.evidence = evidence
        self.asked: Name = content_stems(question)
        self.told = Told.of(hops)
        self._pages = [_Names(page, self.asked, self.terms) for page in evidence.pages]

    @cached_property
    def _links(self) -> list[list[tuple[int, frozenset[Name]]]]:
        """For each page, the pages that share names with it, and which names."""
        links: list[list[tuple[int, frozenset[Name]]]] = [[] for _ in self._pages]
        holders: dict[Name, list[int]] = {}
        for at, page in enumerate(self._pages):
            for name in page.names:
                holders.setdefault(name, []).append(at)
        shared: dict[tuple[int, int], set[Name]] = {}
        for name, pages in holders.items():
            if len(pages) <= 8:
                for one in pages:
                    for other in pages:
                        if one != other:
                            shared.setdefault((one, other), set()).add(name)
        for (one, other), names in sorted(shared.items(), key=lambda item: item[0]):
            links[one].append((other, frozenset(names)))
        return links

    @cached_property
    def _reach(self) -> list[int]:
        """For each page, the mask of itself with the page that adds most to it."""
        reach = []
        for at, page in enumerate(self._pages):
            masks = [page.mask | self._pages[other].mask for other, _ in self._links[at]]
            reach.append(max(masks, key=self.terms.share, default=page.mask))
        return reach

    def places(self, most: int) -> list[Place]:
        """The `most` sentences that together with others say most of the question, best first."""
        found = [self._place(at, line) for at, page in enumerate(self.evidence.pages) for line in page.lines]
        found.sort(key=lambda place: (-place.rank, place.line.text))
        return found[:most]

    def _place(self, at: int, line: Line) -> Place:
        page = self._pages[at]
        terms = self.terms
        mask = terms.mask(line.stems)
        here = mask | page.title_mask
        alone = terms.share(here)
        names = _names(line, self.asked) | {page.title}
        joined, farther, bridge, titled = alone, alone, 0.0, 0.0
        named = terms.part(here, terms.named)
        for other, shared in self._links[at]:
            strength = 1.0 if shared & names else _ELSEWHERE
            beyond = self._pages[other]
            whole = terms.share(here | beyond.mask)
            joined = max(joined, alone + strength * (whole - alone))
            farther = max(farther, alone + strength * (terms.share(here | self._reach[other]) - alone))
            named = max(named, terms.part(here | beyond.mask, terms.named))
            bridge = max(bridge, strength * terms.share(beyond.mask))
            if page.title in shared:
                titled = max(titled, terms.share(beyond.mask))
        values = (
            terms.share(mask), alone, terms.share(page.mask), terms.nearby(here), terms.nearby(mask),
            terms.part(mask, terms.last), terms.part(here, terms.last), terms.part(mask, terms.first),
            terms.part(here, terms.first), page.asked, joined, joined - alone, farther, bridge, titled,
            1 / (1 + line.place), named if terms.named else 1.0,
        )  # fmt: skip
        rank = joined + 0.5 * alone + 0.5 * terms.nearby(here) + 0.3 * terms.part(here, terms.last)
        return Place(page.page, line, mask, values, rank)

    def support(self, place: Place) -> tuple[Span, ...]:
        """The sentence itself and, where another page adds to it, that page's sentence that says most of the rest."""
        at = self.evidence.pages.index(place.page)
        here = place.mask | self._pages[at].title_mask
        others = [other for other, _ in self._links[at]]
        added = [
            (
                self.terms.share(here | self.terms.mask(line.stems) | self._pages[other].title_mask),
                -other,
                -line.place,
                line,
            )
            for other in others
            for line in self.evidence.pages[other].lines
        ]
        best = max(added, key=lambda one: one[:3], default=None)
        if best is None or best[0] <= self.terms.share(here) + _WORTH_CITING:
            return place.line.support
        return (*best[3].support, *place.line.support)

    def holders(self, name: Name) -> tuple[int, bool]:
        """On how many pages a name stands, and whether it is a title."""
        return self._held.get(name, 0), name in self._titles

    @cached_property
    def _held(self) -> Counter[Name]:
        return Counter(name for page in self._pages for name in page.names | {page.title})

    @cached_property
    def _titles(self) -> frozenset[Name]:
        return frozenset(page.title for page in self._pages)


class _Names:
    """What a page names and says of the question."""

    def __init__(self, page: Page, asked: Name, terms: Terms) -> None:
        self.page = page
        self.title: Name = page.title_stems
        self.title_mask = terms.mask(page.title_stems)
        self.mask = terms.mask(page.stems) | self.title_mask
        self.asked = len(self.title & asked) / max(1, len(self.title))
        found = frozenset[Name]().union(*(_names(line, asked) for line in page.lines))
        self.names = found | ({self.title} if not self.title <= asked else frozenset())


def _names(line: Line, asked: Name) -> frozenset[Name]:
    """The names in a line that the question does not give."""
    found = (content_stems(mention.text) for mention in line.mentions if mention.shape in {Shape.NAME, Shape.QUOTED})
    return frozenset(name for name in found if name and not name <= asked)
