"""What the whole of a large corpus has of a name or a word, stored for searches that read a part of it.

    name:KEY    which passages the name calls, how many have it in their sentences, and which, where they are few
    word:WORD   how many passages have the word
    words       how many words the passages have together

Occurrences of names, and counts of words, are sorted in files where there are many. A name belongs to a passage when an entity of
its extraction, or a title that one of its sentences mentions, is so spelt. Also what one passage alone has is kept, so that
documents that come and go move the counts of what is in them, and nothing else need be looked at. Knows no question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from hoptrail.corpus.terms import Term
from hoptrail.executing.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.store.scratch import Sorting
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Writer
from hoptrail.structures.called import TitleScanner, name_key
from hoptrail.structures.keyword_statistics import keyword_words
from hoptrail.structures.renaming import Renaming
from hoptrail.structures.sentence_entities import shape_of
from hoptrail.structures.sentences import sentences_inside
from hoptrail.structures.titled import Titled
from hoptrail.text.mentions import Shape
from hoptrail.text.normal_forms import folded
from hoptrail.types import Kind, Unit

MOST_NAMERS = 40
"""A name of more passages is counted, and not followed."""
PASSAGES_COUNTED = 16_384
"""Passages whose words are counted at a time."""
BATCH = 4096

ALL_WORDS = "words"


def name_term(key: str) -> str:
    return f"name:{key}"


def word_term(word: str) -> str:
    return f"word:{word}"


@lru_cache(maxsize=100_000)
def entity_key(entity: str) -> str:
    """The key of the name that an extracted entity is; nothing for a date or a number."""
    return "" if shape_of(entity) in {Shape.DATE, Shape.NUMBER} else name_key(folded(entity))


class Occurrences:
    """Names with the passages that have them."""

    def __init__(self, pairs: Sorting[tuple[str, str]]) -> None:
        self._pairs = pairs

    def add(self, keys: Iterable[str], passage: str) -> None:
        """Enter names of one passage; an empty passage enters nothing."""
        for key in keys if passage else ():
            self._pairs.put((key, passage))

    def add_called(self, keys: Iterable[str]) -> None:
        """Enter names that need no passage that has them."""
        for key in keys:
            self._pairs.put((key, ""))

    def by_name(self) -> Iterator[tuple[str, list[str]]]:
        """Names in alphabetical order with their passages, rising."""
        for key, pairs in groupby(self._pairs, itemgetter(0)):
            yield key, [passage for passage, _ in groupby(map(itemgetter(1), pairs)) if passage]


def name_terms(occurrences: Occurrences, titled: Titled) -> Iterator[Term]:
    """Terms of the names that a passage has or is called by."""
    for key, found in occurrences.by_name():
        owners = tuple(titled.called(key))
        if found or owners:
            yield Term(name_term(key), len(found), owners, tuple(found) if len(found) <= MOST_NAMERS else ())


def entity_keys(extraction: Extraction) -> set[str]:
    return {entity_key(entity) for fact in extraction.facts for entity in fact.entities} - {""}


def word_terms(snapshot: Snapshot) -> Iterator[Term]:
    total = 0
    with snapshot.scratch.sorting() as counted:
        for passages in batched(snapshot.units(Kind.PASSAGE), PASSAGES_COUNTED):
            counts, some = _count_words(passages)
            total += some
            for pair in counts.items():
                counted.put(pair)
        yield Term(ALL_WORDS, total)
        for word, pairs in groupby(counted, itemgetter(0)):
            yield Term(word_term(word), sum(count for _, count in pairs))


def _count_words(passages: Iterable[Unit]) -> tuple[Counter[str], int]:
    """How many of the passages have each word, and how many words they have together."""
    counts: Counter[str] = Counter()
    total = 0
    for texts in batched((unit.searchable for unit in passages), BATCH):
        for words in keyword_words(texts):
            counts.update(set(words))
            total += len(words)
    return counts, total


def follow_terms(writer: Writer, renaming: Renaming, scanner: TitleScanner) -> bool:
    """Bring the stored terms up to date with documents that came and went; `scanner` finds the names that there are now.

    False, and nothing written, where they do not tell enough: too many passages had a name for them to be listed, and now they
    are few enough.
    """
    now, stayed = renaming.now, renaming.passages_that_stayed()
    before = renaming.scanner_before()
    had = _names_of(stayed, now, before)
    if renaming.went:
        had |= _names_of(renaming.went, renaming.change.before, before)
    has = _names_of([*renaming.came, *stayed], now, scanner)
    moved: dict[str, tuple[set[str], set[str]]] = {key: (set(), set()) for key in renaming.names}
    for place, pairs in enumerate((had - has, has - had)):
        for key, passage in pairs:
            moved.setdefault(key, (set(), set()))[place].add(passage)
    words, all_come = _count_words(renaming.came)
    words_gone, all_gone = _count_words(renaming.went)
    words.subtract(words_gone)
    counts = {ALL_WORDS: all_come - all_gone} | {word_term(word): count for word, count in words.items()}
    stored = {term.id: term for term in now.terms([*map(name_term, moved), *counts])}
    wanted = [Term(id_, stored.get(id_, Term(id_, 0)).passages + count) for id_, count in counts.items()]
    for key, (gone, come) in moved.items():
        term = stored.get(name_term(key), Term(name_term(key), 0))
        count = term.passages + len(come) - len(gone)
        namers = tuple(sorted(come.union(term.namers) - gone)) if count <= MOST_NAMERS else ()
        if count <= MOST_NAMERS and len(namers) != count:
            return False
        wanted.append(Term(term.id, count, tuple(renaming.titled.called(key)), namers))
    kept = [term for term in wanted if term.passages or term.owners or term.id == ALL_WORDS]
    writer.put_terms([term for term in kept if term.id not in stored])
    writer.put_terms([term for term in kept if stored.get(term.id, term) != term])
    writer.remove_terms(stored.keys() - {term.id for term in kept})
    return True


def _names_of(passages: Sequence[Unit], snapshot: Snapshot, scanner: TitleScanner) -> set[tuple[str, str]]:
    """Names with the passages that have them."""
    found: set[tuple[str, str]] = set()
    for some in batched(passages, BATCH):
        documents = {document.id: document for document in snapshot.documents({unit.document for unit in some})}
        extractions = dict(snapshot.extractions([unit.id for unit in some]))
        for unit in some:
            sentences = sentences_inside(unit, documents[unit.document])
            keys = {key for sentence in sentences for key in scanner.find(sentence.text)}
            if unit.id in extractions:
                keys |= entity_keys(extractions[unit.id])
            found.update((key, unit.id) for key in keys)
    return found


def renew_terms(writer: Writer, wanted: Iterable[Term]) -> None:
    """Make the stored terms exactly these; what differs is written, what is not wanted goes."""
    stored = writer.scratch.digests(map(hash, writer.snapshot().terms()))
    known = writer.scratch.digests(hash(term.id) for term in writer.snapshot().terms())
    kept = writer.scratch.digests()
    for batch in batched(wanted, BATCH):
        kept.add(map(hash, batch))
        changed = [term for term in batch if hash(term) not in stored]
        writer.put_terms([term for term in changed if hash(term.id) not in known])
        writer.put_terms([term for term in changed if hash(term.id) in known])
    if stored:
        writer.remove_terms([term.id for term in writer.snapshot().terms() if hash(term) not in kept])
