"""Which sentences name which documents by their titles: links along which a question's path can go from page to page.

A link leads from the sentence to the first passage of each document of that title. How a title is found: `called.py`. Names that
no document is called by are not linked here: the entities of `extractions` stand for them. In a large corpus all names are
counted besides (`terms.py`), so that path search need not hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from hoptrail.errors import UsageError
from hoptrail.executing.executor import batched
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Change, Writer
from hoptrail.structures.building import Workshop
from hoptrail.structures.called import TitleScanner
from hoptrail.structures.names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.structures.passage_places import PassagePlaces
from hoptrail.structures.renaming import Renaming
from hoptrail.structures.sentences import sentence_units
from hoptrail.structures.terms import Occurrences, entity_keys, follow_terms, name_terms, renew_terms, word_terms
from hoptrail.structures.titled import Titled, title_keys, titled
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
        places = PassagePlaces(snapshot.first_sources(Kind.PASSAGE), snapshot.scratch)
        names = titled(snapshot, places)
        large = snapshot.count(Kind.PASSAGE) > self.settings.terms_above
        if change and large == snapshot.has_terms and _follow(workshop, snapshot, change, names):
            return
        if not large:
            _renew_links(workshop, names, _forget)
            renew_terms(workshop.writer, ())
            return
        with snapshot.scratch.sorting() as occurrences:
            found = Occurrences(occurrences)
            _renew_links(
                workshop, names, lambda sentence, keys: found.add(keys, places.holding(sentence) if keys else "")
            )
            workshop.pause()
            found.add_called(key for key, _ in title_keys(snapshot, places))
            for passage, extraction in snapshot.extractions():
                found.add(entity_keys(extraction), passage)
            renew_terms(workshop.writer, chain(name_terms(found, names), word_terms(snapshot)))


def _follow(workshop: Workshop, snapshot: Snapshot, change: Change, names: Titled) -> bool:
    """Bring links and terms up to date with documents that came and went; False where everything has to be looked at."""
    renaming = Renaming.of(snapshot, change, names)
    workshop.pause()
    if renaming is None:
        return False
    scanner = TitleScanner(names)
    _follow_links(workshop, renaming, scanner)
    workshop.pause()
    return not snapshot.has_terms or follow_terms(workshop.writer, renaming, scanner)


def _follow_links(workshop: Workshop, renaming: Renaming, scanner: TitleScanner) -> None:
    """Make the stored links those of all sentences, where only those of documents that came, and `naming`, may have others."""
    writer, titled = workshop.writer, renaming.titled
    documents = renaming.now.documents(renaming.change.came)
    for sentences in batched((unit for document in documents for unit in sentence_units(document)), BATCH):
        writer.put_links([link for one in sentences for link in _links(one, scanner.find(one.text), titled)])
        workshop.pause()
    for sentences in batched(renaming.naming, BATCH):
        wanted = {link for one in sentences for link in _links(one, scanner.find(one.text), titled)}
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
        writer.put_links(new)
        workshop.pause()


def _renew_links(workshop: Workshop, titled: Titled, tell: Callable[[Unit, Sequence[str]], None]) -> None:
    """Make the stored links those of all sentences; `tell` is told which titles each sentence names."""
    writer, scanner = workshop.writer, TitleScanner(titled)
    snapshot = writer.snapshot()
    stored = writer.scratch.digests(map(hash, snapshot.links(MENTIONS)))
    known = writer.scratch.digests(hash((link.source, link.target)) for link in snapshot.links(MENTIONS))
    wanted = writer.scratch.digests()
    missing: list[Link] = []
    done, total = 0, snapshot.count(Kind.SENTENCE)
    for sentences in batched(snapshot.units(Kind.SENTENCE), READ):
        here: list[Link] = []
        for sentence in sentences:
            keys = scanner.find(sentence.text)
            tell(sentence, keys)
            links = _links(sentence, keys, titled)
            here += links
            missing += (link for link in links if hash(link) not in stored)
        wanted.add(map(hash, here))
        done += len(sentences)
        if len(missing) >= BATCH or done == total:
            workshop.pause()
            missing.sort(key=lambda link: (link.source, link.target))
            writer.put_links([link for link in missing if hash((link.source, link.target)) not in known])
            writer.put_links([link for link in missing if hash((link.source, link.target)) in known])
            workshop.report("linking mentions", done, total)
            missing.clear()
    stale = {link.source for link in writer.snapshot().links(MENTIONS) if hash(link) not in wanted} if stored else set()
    if stale:
        writer.remove_links(MENTIONS, stale)
        again = snapshot.units(Kind.SENTENCE, stale)
        writer.put_links([link for one in again for link in _links(one, scanner.find(one.text), titled)])


def _links(sentence: Unit, keys: Sequence[str], titled: Titled) -> list[Link]:
    """Also to the sentence's own page: what follows links leaves those out."""
    called = [titled.called(key) for key in keys]
    return [Link(sentence.id, passage, MENTIONS, 1 / len(found)) for found in called for passage in found]


def _forget(sentence: Unit, keys: Sequence[str]) -> None:
    """Nobody is told: all names are held in memory when they are asked for."""
