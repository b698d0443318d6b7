"""Which sentences name documents by their titles, and which names they have in common: what a question's path can follow.

They are stored as names, which path search maps (`retrieval/paths/queries.py`). Added and removed documents change which names
are titles, and so the names of sentences in other documents. After a few changes all texts are searched for the words of these
names, which takes well under a microsecond per text; cutting a text into words and looking up every name takes about twenty-five.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice

import numpy as np

from hoptrail.corpus.columns import Numbers
from hoptrail.corpus.keywords import keyword_words
from hoptrail.corpus.passage_graph import MADE_BY, NAMES, make_graph, stored_graph
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import EXTRACTIONS, MENTIONS, PASSAGES, SENTENCES
from hoptrail.corpus.writer import Change
from hoptrail.execution.executor import batched
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Derived, Name, Row, Target
from hoptrail.structures.sentences import READ, SentencePlaces
from hoptrail.text.lexicon import MULTIPLIERS, NUMBER_WORDS
from hoptrail.text.mentions import Shape, figure_shape
from hoptrail.text.normal_forms import folded, squeeze
from hoptrail.text.title_scanning import can_be_found, first_passages, name_key, names_in, place_of, without_headings
from hoptrail.types import Kind, Span, Unit

_NUMBER_WORDS = frozenset((*NUMBER_WORDS, *MULTIPLIERS))
_SEPARATOR = re.compile(r"[\s-]")
_DIGIT = re.compile(r"\d")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)

Titles = Mapping[str, list[str]]  # see `title_index`


def title_index(snapshot: Snapshot) -> dict[str, list[str]]:
    titles = dict(snapshot.table.titles(Kind.PASSAGE))
    return first_passages((span, id_, titles[id_]) for id_, span in snapshot.table.first_sources(Kind.PASSAGE))


@dataclass(frozen=True, slots=True)
class TitleMentions(Derived):
    """Names: the entities and titles in sentences, and the title of each document, for its first passage."""

    name = MENTIONS
    cost = 0.01
    built_from = (PASSAGES, SENTENCES, EXTRACTIONS)
    names = (NAMES,)
    fingerprint = MADE_BY

    def update(self, context: BuildContext) -> None:
        """As `Derived.update`; then the graph of path search is made, if anything that it joins has changed."""
        Derived.update(self, context)
        snapshot = context.writer.snapshot()
        if snapshot.count(Kind.PASSAGE) and stored_graph(snapshot) is None:
            context.writer.names.put_derived(NAMES, make_graph(snapshot).stored())

    def target_rows(self, context: BuildContext) -> Target:
        """Also the rows of unchanged sentences with a name that is a title only now, or no longer; all after many changes."""
        snapshot, change = context.writer.snapshot(), context.change
        titles = title_index(snapshot) if change else {}
        affected = affected_sentences(snapshot, change, titles) if change else None
        if change is None or affected is None:
            return Target(self.rows(context, None), whole=True)
        passages = set(snapshot.table.ids(Kind.PASSAGE, {sentence.document for sentence in affected}))
        places = ((sentence.id, sentence.sources[0]) for sentence in affected)
        updated = chain(_title_rows(affected, titles), _entity_rows(snapshot, places, passages))
        renamed = [sentence.id for sentence in affected]
        return Target(chain(self.rows(context, change.added), updated), whole=False, renamed=renamed)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Row]:
        """The names of sentences, then the titles of passages as names: all, or those from these documents."""
        snapshot = context.writer.snapshot()
        table, titles = snapshot.table, title_index(snapshot)
        passages = None if documents is None else set(table.ids(Kind.PASSAGE, documents))
        yield from _title_rows(table.within(Kind.SENTENCE, documents), titles)
        yield from _entity_rows(snapshot, table.first_sources(Kind.SENTENCE, documents), passages)
        for key, titled in titles.items():
            yield from (Name(NAMES, key, id_) for id_ in titled if passages is None or id_ in passages)


def _title_rows(sentences: Iterable[Unit], titles: Titles) -> Iterator[Name]:
    names = frozenset(filter(can_be_found, without_headings(titles)))
    return (Name(NAMES, key, unit.id) for unit in sentences for key in names_in(unit.text, names.__contains__))


def _entity_rows(
    snapshot: Snapshot, sentences: Iterable[tuple[str, Span]], passages: Collection[str] | None
) -> Iterator[Name]:
    """The entities of sentences, given by ids and places, from the extractions of these passages, or of all."""
    places = SentencePlaces(sentences)
    facts = (fact for _, extraction in snapshot.extractions(passages) for fact in extraction.facts)
    for batch in batched(facts, READ):
        keys = [{entity_key(entity) for entity in fact.entities} - {""} for fact in batch]
        which, rows = places.overlapping([fact.source for fact in batch])
        for fact, sentence in zip(which.tolist(), places.ids_of(rows), strict=True):
            yield from (Name(NAMES, key, sentence) for key in sorted(keys[fact]))


def shape_of(name: str) -> Shape:
    """The shape of a whole entity: a date, a number (also `5 percent`, `2nd`, `third`), or else a name."""
    whole = squeeze(name).strip(" .,")
    if whole[:1].isalpha() and not _DIGIT.search(whole) and _SEPARATOR.split(whole, 1)[0] not in _NUMBER_WORDS:
        return Shape.NAME  # the common case, recognised cheaply
    figure = figure_shape(whole)
    if figure is not None:
        return figure
    if _ORDINAL.fullmatch(whole) or not any(character.isalpha() for character in whole):
        return Shape.NUMBER
    return Shape.NAME


@lru_cache(maxsize=100_000)
def entity_key(entity: str) -> str:
    """The key of an extracted entity; empty for a date or a number."""
    return "" if shape_of(entity) in {Shape.DATE, Shape.NUMBER} else name_key(folded(entity))


MOST_PASSAGES = 20_000  # passages of added documents, and as many of removed ones
MOST_NAMES = 2_000  # names that are titles only now, or no longer
MOST_SENTENCES = 50_000
SHARE = 0.01
"""Sentences with such a name, and their share of all. Beyond any limit all sentences are read again at about the same cost."""

FEW_NAMES = 50  # names that are looked up in the keyword index before sentences are read

NAMES_A_PATTERN = 100
"""Names in one regular expression: with a thousand, matching a text takes 150 times as long."""

_BETWEEN = "[^0-9A-Za-z]"


def changed_names(now: Snapshot, change: Change, titles: Titles) -> frozenset[str] | None:
    """The names that are titles only now, or no longer; None where there are too many."""
    added = _passages_of(now, change.added)
    removed = _passages_of(change.before, change.removed) if change.removed else ()
    if added is None or removed is None:
        return None
    titled_added, titled_removed = first_passages(map(place_of, added)), first_passages(map(place_of, removed))
    touched = titled_added.keys() | titled_removed.keys()
    kept = {key: set(titles.get(key, ())).difference(titled_added.get(key, ())) for key in touched}
    before = without_headings({key: sorted(kept[key].union(titled_removed.get(key, ()))) for key in touched})
    after = without_headings({key: titles[key] for key in touched if key in titles})
    names = frozenset(before.keys() ^ after.keys())
    return None if len(names) > MOST_NAMES else names


def affected_sentences(now: Snapshot, change: Change, titles: Titles) -> tuple[Unit, ...] | None:
    """The sentences with one of `changed_names`, except those of added documents; None where there are too many."""
    names = changed_names(now, change, titles)
    if names is None:
        return None
    new = set(now.table.ids(Kind.SENTENCE, change.added))
    most = int(min(MOST_SENTENCES, SHARE * now.count(Kind.SENTENCE)))
    affected = list(islice((id_ for id_ in _sentences_with(names, now) if id_ not in new), most + 1))
    return None if len(affected) > most else tuple(now.units(Kind.SENTENCE, affected))


def _passages_of(snapshot: Snapshot, documents: Collection[str]) -> tuple[Unit, ...] | None:
    ids = list(islice(snapshot.table.ids(Kind.PASSAGE, documents), MOST_PASSAGES + 1))
    return None if len(ids) > MOST_PASSAGES else tuple(snapshot.units(Kind.PASSAGE, ids))


def _sentences_with(names: Collection[str], snapshot: Snapshot) -> Iterator[str]:
    usable = frozenset(filter(can_be_found, names))
    if not usable:
        return iter(())
    batches = batched(sorted(filter(str.isascii, usable)), NAMES_A_PATTERN)
    patterns = [re.compile(_pattern(batch), re.IGNORECASE) for batch in batches]

    def has_name(text: str) -> bool:
        may_have_one = not text.isascii() or any(pattern.search(text) for pattern in patterns)
        return may_have_one and bool(names_in(text, usable.__contains__))

    return (unit.id for unit in snapshot.numbered.stream(_near(usable, snapshot)) if has_name(unit.text))


def _near(names: Collection[str], snapshot: Snapshot) -> Numbers:
    """The sentences of documents that have all words of a name; all sentences where that cannot be looked up (words that are not
    indexed, letters that the keyword index may write differently) or costs more than reading (many names).
    """
    sentences = snapshot.numbered.origins(Kind.SENTENCE)
    words = [keyword_words(name) for name in names if name.isascii()]
    if len(words) < len(names) or not all(words) or len(names) > FEW_NAMES:
        return sentences.numbers
    documents = [snapshot.keywords.documents_with(of_one) for of_one in words]
    return sentences.numbers[np.isin(sentences.documents, np.concatenate(documents))]


def _pattern(names: Collection[str]) -> str:
    """A pattern for ASCII names: the words of one of them in a row, separated by anything but letters and digits."""
    rows = "|".join(f"{_BETWEEN}+".join(map(re.escape, name.split(" "))) for name in names)
    return f"(?:^|{_BETWEEN})(?:{rows})(?:{_BETWEEN}|$)"
