"""What a few documents that came and went do to names: which names call other passages than before, and which sentences of the
documents that stayed say them.

All texts are searched for the words of these names, which takes well under a microsecond each, where cutting a text into words
and looking for every name takes some twenty-five.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Change
from hoptrail.executing.executor import batched
from hoptrail.structures.called import (
    HeldNames,
    Titled,
    TitleScanner,
    can_be_found,
    first_passages,
    place_of,
    without_headings,
)
from hoptrail.structures.sentences import sentence_units
from hoptrail.types import Kind, Unit

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


def renamed(now: Snapshot, change: Change, titled: Titled) -> frozenset[str] | None:
    """The names that call other passages than before, or the same ones, which went and came again and have lost their links by
    it; None where there are too many.
    """
    came = _passages_of(now, change.came)
    went = _passages_of(change.before, change.went) if change.went else ()
    if came is None or went is None:
        return None
    titled_came, titled_went = first_passages(map(place_of, came)), first_passages(map(place_of, went))
    touched, again = titled_came.keys() | titled_went.keys(), titled_came.keys() & titled_went.keys()
    stayed = {key: set(titled.having(key)).difference(titled_came.get(key, ())) for key in touched}
    formerly = without_headings({key: sorted(stayed[key].union(titled_went.get(key, ()))) for key in touched})
    names = frozenset(key for key in touched if titled.called(key) != formerly.get(key, [])) | again
    return None if len(names) > MOST_NAMES else names


def sentences_renaming(now: Snapshot, change: Change, titled: Titled) -> tuple[Unit, ...] | None:
    """The sentences of documents that stayed which say a `renamed` name; None where everything is better looked at."""
    names = renamed(now, change, titled)
    if names is None:
        return None
    new = {unit.id for document in now.documents(change.came) for unit in sentence_units(document)}
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
