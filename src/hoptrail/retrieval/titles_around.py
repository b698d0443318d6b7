"""The titles that a question may mean, looked up: for corpora whose titles are too many to be held.

They are the titles that stand in it letter by letter, those of the passages that its words find, all together and name by name,
and of what else was found for it, made into the index that a small corpus has of all its titles (`titles.py`). What that loses
is a title that is like a name without sharing a whole word with it, one that the question's words do not bring among the first,
and of a title that more than BEARERS documents bear all but so many, and those found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from hoptrail.retrieval.titles import TitleIndex, possible_names
from hoptrail.store.snapshot import Snapshot
from hoptrail.structures.profile_file import DISAMBIGUATION
from hoptrail.structures.profiles import profile_id
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.types import Kind, Ranking

BY_QUESTION = 100
BY_NAME = 50
"""Passages found by the words of the whole question, and of each name in it."""

BEARERS = 1_000
"""Documents kept of each title, or further name."""

READ = 100 * BEARERS
"""Documents read for all titles together, and for all further names: some tenths of a second."""


def names_in(question: str, titles: list[str]) -> list[str]:
    """What the rules take for names in a question in which these titles stand."""
    mentions = find_mentions(question, titles, question=True)
    return [mention.text for mention in mentions if mention.shape in {Shape.NAME, Shape.QUOTED}]


def titles_around(snapshot: Snapshot, question: str, found: Ranking) -> TitleIndex:
    """The index of the titles that a question may mean; every document of `found` has its title there."""
    names = names_in(question, [])
    written = {*(part.text for part in possible_names(question)), *names}
    written |= {f"{name} {DISAMBIGUATION}" for name in written}
    further = set(_further_names(snapshot, written))
    passages = {hit.unit for hit in found}
    for words, limit in ((question, BY_QUESTION), *((name, BY_NAME) for name in names)):
        passages |= {unit for unit, _ in snapshot.search_keywords(words, limit)}
    titled = {(unit.title, unit.document) for unit in passages}
    titled |= {(title, document) for document, title in snapshot.titles_of({one for _, one in further}).items()}
    titles = written | {title for title, _ in titled if title}
    titled.update(_some_of_each(snapshot.documents_titled(titles)))
    return TitleIndex(titled, further)


def _further_names(snapshot: Snapshot, names: set[str]) -> Iterator[tuple[str, str]]:
    found = snapshot.titled(Kind.PROFILE, names)
    return _some_of_each((name, document) for name, document, id_ in found if id_ != profile_id(document))


def _some_of_each(borne: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Titles with documents, at most BEARERS of each."""
    kept: Counter[str] = Counter()
    for title, document in islice(borne, READ):
        kept[title] += 1
        if kept[title] <= BEARERS:
            yield title, document
