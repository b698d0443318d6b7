"""Which sentences name which documents by their titles: links along which a question's path can go from page to page.

A link leads from the sentence to the first passage of each document of that title. How a title is found: `called.py`. Names that
no document is called by are not linked here: the entities of `extractions` stand for them. In a large corpus all names are
counted besides (`terms.py`), so that path search need not hold it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from hoptrail.errors import UsageError
from hoptrail.executing.executor import batched
from hoptrail.store.columns import Digests
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Change, Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.called import TitleScanner, passages_titled, without_headings
from hoptrail.structures.names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.structures.passage_places import PassagePlaces
from hoptrail.structures.renaming import Renaming
from hoptrail.structures.sentences import sentence_units
from hoptrail.structures.terms import Occurrences, add_entities, follow_terms, name_terms, renew_terms, word_terms
from hoptrail.types import Kind, Link, Unit

READ = 1024
"""Sentences read at a time."""
BATCH = 8192
"""Links written at a time."""


@dataclass(frozen=True, slots=True)
class MentionSettings:
    """A corpus of more than `terms_above` passages has its names and words counted in the store.

    Path search then works on a part of it for each question; in a smaller corpus it holds all of it in memory.
    """

    terms_above: int = 20_000

    def __post_init__(self) -> None:
        if self.terms_above < 0:
            raise UsageError(f"terms_above is at least 0, not {self.terms_above}")


@dataclass(frozen=True, slots=True)
class TitleMentions:
    """The structure. Links from a sentence to a passage, weighted 1 by the number of documents with that title."""

    settings: MentionSettings = field(default_factory=MentionSettings)
    name: str = MENTIONS
    fingerprint: str = "1"  # what is counted follows the settings without being built anew
    built_from: tuple[str, ...] = (PASSAGES, SENTENCES, EXTRACTIONS)
    needs_language: bool = False

    def discard(self, writer: Writer) -> None:
        writer.drop_links(MENTIONS)
        writer.drop_terms()

    def update(self, workshop: Workshop) -> None:
        """Bring the links to what documents and titles there are; where nothing differs, nothing is written.

        Where it is not known what has happened, or too much has, all sentences are read again, since a new title may be named in
        an old one: that costs no encoding.
        """
        snapshot, change = workshop.writer.snapshot(), workshop.change
        titled = passages_titled(snapshot.units(Kind.PASSAGE))
        large = snapshot.count(Kind.PASSAGE) > self.settings.terms_above
        if change and large == snapshot.has_terms and _follow(workshop, snapshot, change, titled):
            return
        called = without_headings(titled)
        if not large:
            _renew_links(workshop, called, _forget)
            renew_terms(workshop.writer, ())
            return
        places = PassagePlaces(snapshot.units(Kind.PASSAGE))
        with TemporaryDirectory(prefix="hoptrail-names-") as folder, Occurrences(Path(folder), len(places)) as found:
            _renew_links(workshop, called, lambda sentence, keys: found.add(keys, places.holding(sentence)))
            workshop.pause()
            add_entities(found, snapshot)
            renew_terms(workshop.writer, chain(name_terms(found, called), word_terms(snapshot)))


def _follow(workshop: Workshop, snapshot: Snapshot, change: Change, titled: Mapping[str, list[str]]) -> bool:
    """Bring links and terms up to date with documents that came and went; False where everything has to be looked at."""
    renaming = Renaming.of(snapshot, change, titled)
    workshop.pause()
    if renaming is None:
        return False
    scanner = TitleScanner(renaming.called)
    _follow_links(workshop, renaming, scanner)
    workshop.pause()
    return not snapshot.has_terms or follow_terms(workshop.writer, renaming, scanner)


def _follow_links(workshop: Workshop, renaming: Renaming, scanner: TitleScanner) -> None:
    """Make the stored links those of all sentences, where only those of documents that came, and `naming`, may have others."""
    writer, called = workshop.writer, renaming.called
    documents = renaming.now.documents(renaming.change.came)
    for sentences in batched((unit for document in documents for unit in sentence_units(document)), BATCH):
        writer.add_links([link for one in sentences for link in _links(one, scanner.find(one.text), called)])
        workshop.pause()
    for sentences in batched(renaming.naming, BATCH):
        wanted = {link for one in sentences for link in _links(one, scanner.find(one.text), called)}
        stored = set(renaming.now.links_from([one.id for one in sentences], MENTIONS))
        known = {(link.source, link.target) for link in stored}
        stale = {source for source, _ in known - {(link.source, link.target) for link in wanted}}
        writer.remove_links(MENTIONS, stale)
        new, again = list[Link](), list[Link]()
        for link in sorted(wanted, key=lambda link: (link.source, link.target)):
            if link.source in stale or (link.source, link.target) not in known:
                new.append(link)
            elif link not in stored:
                again.append(link)
        writer.put_links(again)
        writer.add_links(new)
        workshop.pause()


def _renew_links(
    workshop: Workshop, called: Mapping[str, list[str]], tell: Callable[[Unit, Sequence[str]], None]
) -> None:
    """Make the stored links those of all sentences; `tell` is told which titles each sentence names."""
    writer, scanner = workshop.writer, TitleScanner(called)
    snapshot = writer.snapshot()
    stored = Digests(map(hash, snapshot.links(MENTIONS)))
    known = Digests(hash((link.source, link.target)) for link in snapshot.links(MENTIONS))
    wanted = array("q")
    missing: list[Link] = []
    done, total = 0, snapshot.count(Kind.SENTENCE)
    for sentences in batched(snapshot.units(Kind.SENTENCE), READ):
        for sentence in sentences:
            keys = scanner.find(sentence.text)
            tell(sentence, keys)
            links = _links(sentence, keys, called)
            wanted.extend(map(hash, links))
            missing += (link for link in links if hash(link) not in stored)
        done += len(sentences)
        if len(missing) >= BATCH or done == total:
            workshop.pause()
            missing.sort(key=lambda link: (link.source, link.target))
            writer.add_links([link for link in missing if hash((link.source, link.target)) not in known])
            writer.put_links([link for link in missing if hash((link.source, link.target)) in known])
            workshop.report("linking mentions", done, total)
            missing.clear()
    kept = Digests(wanted)
    stale = {link.source for link in writer.snapshot().links(MENTIONS) if hash(link) not in kept} if stored else set()
    if stale:
        writer.remove_links(MENTIONS, stale)
        again = snapshot.units(Kind.SENTENCE, stale)
        writer.put_links([link for one in again for link in _links(one, scanner.find(one.text), called)])


def _links(sentence: Unit, keys: Sequence[str], called: Mapping[str, list[str]]) -> list[Link]:
    """Also to the sentence's own page: what follows links leaves those out."""
    return [Link(sentence.id, passage, MENTIONS, 1 / len(called[key])) for key in keys for passage in called[key]]


def _forget(sentence: Unit, keys: Sequence[str]) -> None:
    """Nobody is told: all names are held in memory when they are asked for."""
