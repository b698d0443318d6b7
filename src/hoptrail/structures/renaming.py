"""What a few documents that came and went do to names: which names call other passages than before, and which sentences of the
documents that stayed say them.

All texts are searched for the words of these names, which takes well under a microsecond each, where cutting a text into words
and looking for every name takes some twenty-five.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from hoptrail.executing.executor import batched
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import Change
from hoptrail.structures.called import TitleScanner, passages_titled, without_headings
from hoptrail.structures.sentences import sentence_units
from hoptrail.types import Kind, Unit

MOST_NAMES = 2_000
"""Names that call other passages, above which looking at every sentence costs about as little."""
NAMES_A_PATTERN = 100
"""Names in one regular expression: with a thousand the matcher takes 150 times as long for a text."""
SHARE = 0.01
"""Of all sentences: where more have to be looked at, all are."""

_BETWEEN = "[^0-9A-Za-z]"


@dataclass(frozen=True, slots=True)
class Renaming:
    """`called` are the passages by the names that call them `now`; `names` those that called others before the `change`, or the
    same ones, which went and came again and have lost their links by it.

    `naming` are ids of sentences of documents that stayed, which say one of `names`, as `before` or `after` would find it.
    """

    change: Change
    now: Snapshot
    called: Mapping[str, list[str]]
    names: frozenset[str]
    naming: frozenset[str]
    before: TitleScanner
    after: TitleScanner

    @classmethod
    def of(cls, now: Snapshot, change: Change, titled: Mapping[str, list[str]]) -> Renaming | None:
        """`titled` are the passages by title `now`, headings too. None where looking at all costs no more."""
        came = passages_titled(now.units_within(Kind.PASSAGE, change.came))
        went = passages_titled(change.before.units_within(Kind.PASSAGE, change.went))
        touched, again = came.keys() | went.keys(), came.keys() & went.keys()
        called = without_headings(titled)
        stayed = {key: set(titled.get(key, ())).difference(came.get(key, ())) for key in touched}
        formerly = without_headings({key: sorted(stayed[key].union(went.get(key, ()))) for key in touched})
        names = frozenset(key for key in touched if called.get(key) != formerly.get(key)) | again
        if len(names) > MOST_NAMES:
            return None
        former_names = (called.keys() - touched) | formerly.keys()
        new = {unit.id for document in now.documents(change.came) for unit in sentence_units(document)}
        naming = frozenset(_saying(names, now)) - new
        if len(naming) > SHARE * now.count(Kind.SENTENCE):
            return None
        return cls(change, now, called, names, naming, TitleScanner(former_names), TitleScanner(called))

    def new_sentences(self) -> Iterator[Unit]:
        """Those of the documents that came."""
        documents = self.now.documents(self.change.came)
        return (unit for document in documents for unit in sentence_units(document))

    def naming_sentences(self) -> Iterator[Unit]:
        return self.now.units(Kind.SENTENCE, self.naming)


def _saying(names: Collection[str], snapshot: Snapshot) -> Iterator[str]:
    """Ids of the sentences that say one of some names."""
    if not names:
        return iter(())
    finder = TitleScanner(names)
    patterns = [_pattern(some) for some in batched(sorted(filter(str.isascii, names)), NAMES_A_PATTERN)]
    return (id_ for id_, text in snapshot.texts_like(Kind.SENTENCE, patterns) if finder.find(text))


def _pattern(names: Collection[str]) -> str:
    """Of names in ASCII: the words of one of them in a row, in any case and with anything between them but letters and digits."""
    rows = "|".join(name.replace(" ", f"{_BETWEEN}+") for name in names)
    return f"(?:^|{_BETWEEN})(?:{rows})(?:{_BETWEEN}|$)"
