"""Which sentences name which documents by their titles: links along which a question's path can go from page to page.

A link leads from the sentence to the first passage of each document of that title. How a title is found: `called.py`. What
sentences name besides, and what passages are called, is stored as names, which path search maps (`retrieval/paths/graph.py`).

A few documents that come and go change which passages names call, and so the links of sentences of documents that stayed. All
texts are searched for the words of these names, which takes well under a microsecond each, where cutting a text into words and
looking for every name takes some twenty-five.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Change
from hoptrail.execution.executor import batched
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaring import Anew, Derived, Name, Row, Wanted
from hoptrail.structures.sentence_entities import entity_key
from hoptrail.structures.sentences import READ, SentencePlaces, sentence_units
from hoptrail.structures.structure_names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.structures.title_scanning import (
    HeldNames,
    TitleIndex,
    TitleScanner,
    can_be_found,
    first_passages,
    place_of,
    titled,
    without_headings,
)
from hoptrail.types import Kind, Link, Span, Unit

NAMES = "names"
"""The kind of names: of a sentence what it says, of the first passage of a document what its title calls it."""


@dataclass(frozen=True, slots=True)
class TitleMentions(Derived):
    """Links from a sentence to a passage, weighted 1 by the number of documents with that title; also to the sentence's own page:
    what follows links leaves those out. And the names of sentences, entities and titles, with those of passages.
    """

    name = MENTIONS
    cost = 0.01
    built_from = (PASSAGES, SENTENCES, EXTRACTIONS)
    links = (MENTIONS,)
    names = (NAMES,)

    @property
    def fingerprint(self) -> str:
        """Raised where other rows are made."""
        return "2"

    def wanted(self, context: BuildContext) -> Wanted:
        """Also of sentences of documents that stayed, where they say a name that calls others now. Where it is not known what has
        happened, or too much has, all sentences are read again: that costs no encoding.
        """
        snapshot, change, titles = context.writer.snapshot(), context.change, titled(context.writer.snapshot())
        naming = sentences_renaming(snapshot, change, titles) if change else None
        if change is None or naming is None:
            return Wanted(self.rows(context, None))
        again: list[Row] = [Anew([one.id for one in naming])]
        around = {unit.id for unit in snapshot.table.within(Kind.PASSAGE, {unit.document for unit in naming})}
        stayed = chain(_sayings(naming, titles), _entities(snapshot, _placed(naming), around))
        return Wanted(chain(again, self.rows(context, change.added), stayed), whole=False)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Row]:
        """See `Derived.rows`."""
        snapshot = context.writer.snapshot()
        titles = titled(snapshot)
        if documents is None:
            passages = None
            yield from _sayings(snapshot.units(Kind.SENTENCE), titles)
            yield from _entities(snapshot, snapshot.table.first_sources(Kind.SENTENCE), None)
        else:
            passages = set(snapshot.table.ids_within(Kind.PASSAGE, documents))
            sentences = [unit for document in snapshot.documents(documents) for unit in sentence_units(document)]
            yield from _sayings(sentences, titles)
            yield from _entities(snapshot, _placed(sentences), passages)
        for key, called in titles.items():
            yield from (Name(NAMES, key, id_) for id_ in called if passages is None or id_ in passages)


def _sayings(sentences: Iterable[Unit], titles: TitleIndex) -> Iterator[Row]:
    """What titles sentences say."""
    scanner = titles.scanner
    for sentence in sentences:
        for key in scanner.find(sentence.text):
            found = titles.called(key)
            yield Name(NAMES, key, sentence.id)
            yield from (Link(sentence.id, passage, MENTIONS, 1 / len(found)) for passage in found)


def _placed(sentences: Iterable[Unit]) -> Iterator[tuple[str, Span]]:
    return ((unit.id, unit.sources[0]) for unit in sentences)


def _entities(
    snapshot: Snapshot, sentences: Iterable[tuple[str, Span]], passages: Collection[str] | None
) -> Iterator[Name]:
    """What entities sentences name, given by ids and places, by what was found in some passages, or in all."""
    places = SentencePlaces(sentences)
    for some in batched((fact for _, found in snapshot.extractions(passages) for fact in found.facts), READ):
        keys = [{entity_key(entity) for entity in fact.entities} - {""} for fact in some]
        which, rows = places.overlapping([fact.source for fact in some])
        for fact, row in zip(which.tolist(), rows.tolist(), strict=True):
            yield from (Name(NAMES, key, places.ids[row]) for key in sorted(keys[fact]))


MOST_PASSAGES = 20_000
"""Of documents that came, and as many of those that went."""
MOST_NAMES = 2_000
"""Names that call other passages."""
MOST_SENTENCES = 50_000
SHARE = 0.01
"""Sentences that say one of these names, and their share of all. Beyond any of these looking at everything costs about as little,
and holds less.
"""

NAMES_A_PATTERN = 100
"""Names in one regular expression: with a thousand the matcher takes 150 times as long for a text."""

_BETWEEN = "[^0-9A-Za-z]"


def renamed(now: Snapshot, change: Change, titled: TitleIndex) -> frozenset[str] | None:
    """The names that call other passages than before, or the same ones, which went and came again and have lost their links by
    it; None where there are too many.
    """
    came = _passages_of(now, change.added)
    went = _passages_of(change.before, change.removed) if change.removed else ()
    if came is None or went is None:
        return None
    titled_came, titled_went = first_passages(map(place_of, came)), first_passages(map(place_of, went))
    touched, again = titled_came.keys() | titled_went.keys(), titled_came.keys() & titled_went.keys()
    stayed = {key: set(titled.having(key)).difference(titled_came.get(key, ())) for key in touched}
    formerly = without_headings({key: sorted(stayed[key].union(titled_went.get(key, ()))) for key in touched})
    names = frozenset(key for key in touched if titled.called(key) != formerly.get(key, [])) | again
    return None if len(names) > MOST_NAMES else names


def sentences_renaming(now: Snapshot, change: Change, titled: TitleIndex) -> tuple[Unit, ...] | None:
    """The sentences of documents that stayed which say a `renamed` name; None where everything is better looked at."""
    names = renamed(now, change, titled)
    if names is None:
        return None
    new = {unit.id for document in now.documents(change.added) for unit in sentence_units(document)}
    most = int(min(MOST_SENTENCES, SHARE * now.count(Kind.SENTENCE)))
    naming = list(islice((id_ for id_ in _saying(names, now) if id_ not in new), most + 1))
    return None if len(naming) > most else tuple(now.units(Kind.SENTENCE, naming))


def _passages_of(snapshot: Snapshot, documents: Collection[str]) -> tuple[Unit, ...] | None:
    """None where there are more than MOST_PASSAGES."""
    ids = list(islice(snapshot.table.ids_within(Kind.PASSAGE, documents), MOST_PASSAGES + 1))
    return None if len(ids) > MOST_PASSAGES else tuple(snapshot.units(Kind.PASSAGE, ids))


def _saying(names: Collection[str], snapshot: Snapshot) -> Iterator[str]:
    """Ids of the sentences that say one of some names."""
    found = list(filter(can_be_found, names))
    if not found:
        return iter(())
    finder = TitleScanner(HeldNames(found))
    some = batched(sorted(filter(str.isascii, found)), NAMES_A_PATTERN)
    patterns = [re.compile(_pattern(names), re.IGNORECASE) for names in some]

    def may_say(text: str) -> bool:
        return not text.isascii() or any(pattern.search(text) for pattern in patterns)

    return (unit.id for unit in snapshot.units(Kind.SENTENCE) if may_say(unit.text) and finder.find(unit.text))


def _pattern(names: Collection[str]) -> str:
    """Of names in ASCII: the words of one of them in a row, in any case and with anything between them but letters and digits."""
    rows = "|".join(f"{_BETWEEN}+".join(map(re.escape, name.split(" "))) for name in names)
    return f"(?:^|{_BETWEEN})(?:{rows})(?:{_BETWEEN}|$)"
