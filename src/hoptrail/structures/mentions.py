"""Which sentences name which documents by their titles: links along which a question's path can go from page to page.

A link leads from the sentence to the first passage of each document of that title. How a title is found: `called.py`. Names that
no document is called by are not linked here: the entities of `extractions` stand for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from hoptrail.structures.building import Workshop
from hoptrail.structures.called import TitleScanner
from hoptrail.structures.declaring import Anew, Derived, Row, Wanted
from hoptrail.structures.names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.structures.renaming import sentences_renaming
from hoptrail.structures.sentences import sentence_units
from hoptrail.structures.titled import Titled, titled
from hoptrail.types import Kind, Link, Unit


@dataclass(frozen=True, slots=True)
class TitleMentions(Derived):
    """Links from a sentence to a passage, weighted 1 by the number of documents with that title; also to the sentence's own page:
    what follows links leaves those out.
    """

    name = MENTIONS
    built_from = (PASSAGES, SENTENCES, EXTRACTIONS)
    links = (MENTIONS,)

    def wanted(self, workshop: Workshop) -> Wanted:
        """Also of sentences of documents that stayed, where they say a name that calls others now. Where it is not known what has
        happened, or too much has, all sentences are read again: that costs no encoding.
        """
        snapshot, change, names = workshop.writer.snapshot(), workshop.change, titled(workshop.writer.snapshot())
        naming = sentences_renaming(snapshot, change, names) if change else None
        if change is None or naming is None:
            return Wanted(self.rows(workshop, None))
        again: list[Row] = [Anew([one.id for one in naming])]
        return Wanted(chain(again, self.rows(workshop, change.came), _links(naming, names)), whole=False)

    def rows(self, workshop: Workshop, documents: Collection[str] | None) -> Iterator[Row]:
        """See `Derived.rows`."""
        snapshot = workshop.writer.snapshot()
        if documents is None:
            sentences: Iterable[Unit] = snapshot.units(Kind.SENTENCE)
        else:
            sentences = (unit for document in snapshot.documents(documents) for unit in sentence_units(document))
        return _links(sentences, titled(snapshot))


def _links(sentences: Iterable[Unit], names: Titled) -> Iterator[Link]:
    scanner = TitleScanner(names)
    for sentence in sentences:
        called = [names.called(key) for key in scanner.find(sentence.text)]
        yield from (Link(sentence.id, passage, MENTIONS, 1 / len(found)) for found in called for passage in found)
