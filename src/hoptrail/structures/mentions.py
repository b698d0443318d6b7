"""Which sentences name which documents by their titles: links along which a question's path can go from page to page.

A link leads from the sentence to the first passage of each document of that title. How a title is found: `called.py`. What
sentences name besides, and what passages are called, is stored as names, which path search maps (`retrieval/paths/graph.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.executing.executor import batched
from hoptrail.structures.building import Workshop
from hoptrail.structures.called import TitleScanner
from hoptrail.structures.declaring import Anew, Derived, Name, Row, Wanted
from hoptrail.structures.names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.structures.renaming import sentences_renaming
from hoptrail.structures.sentence_entities import entity_key
from hoptrail.structures.sentences import READ, SentencePlaces, sentence_units
from hoptrail.structures.titled import Titled, titled
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

    def wanted(self, workshop: Workshop) -> Wanted:
        """Also of sentences of documents that stayed, where they say a name that calls others now. Where it is not known what has
        happened, or too much has, all sentences are read again: that costs no encoding.
        """
        snapshot, change, titles = workshop.writer.snapshot(), workshop.change, titled(workshop.writer.snapshot())
        naming = sentences_renaming(snapshot, change, titles) if change else None
        if change is None or naming is None:
            return Wanted(self.rows(workshop, None))
        again: list[Row] = [Anew([one.id for one in naming])]
        around = {unit.id for unit in snapshot.table.within(Kind.PASSAGE, {unit.document for unit in naming})}
        stayed = chain(_sayings(naming, titles), _entities(snapshot, _placed(naming), around))
        return Wanted(chain(again, self.rows(workshop, change.came), stayed), whole=False)

    def rows(self, workshop: Workshop, documents: Collection[str] | None) -> Iterator[Row]:
        """See `Derived.rows`."""
        snapshot = workshop.writer.snapshot()
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


def _sayings(sentences: Iterable[Unit], titles: Titled) -> Iterator[Row]:
    """What titles sentences say."""
    scanner = TitleScanner(titles)
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
