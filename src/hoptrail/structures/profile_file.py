"""Profiles from a file: what infoboxes say, brought by whoever made the corpus.

JSON lines, UTF-8, one a title:

    title       the title of one or more documents, case and white space aside
    profile     [[key, value]]: each must stand in the document as a line `key: value`
    also        further names of the title (redirects)
    ambiguous   true where the title is a name that several things share

Other keys mean nothing. A pair that stands in no document of its title is left out and noted: a profile's lines are cited, and a
citation is a place in a document. A line that cannot be used costs itself only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import UsageError
from hoptrail.executing.executor import batched
from hoptrail.structures.json_lines import Faults, LinesFile, first_fault
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.types import Document, Span

if TYPE_CHECKING:
    from pydantic import TypeAdapter

DISAMBIGUATION = "(disambiguation)"
"""What follows a name that several things share, as in Wikipedia."""

READ = 512
"""Documents looked up together."""


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A line of the file."""

    title: str
    profile: tuple[tuple[str, str], ...] = ()
    also: tuple[str, ...] = ()
    ambiguous: bool = False

    @property
    def pairs(self) -> Iterator[str]:
        """The lines that documents hold, without repeats."""
        return iter(dict.fromkeys(f"{squeeze(key)}: {squeeze(value)}" for key, value in self.profile))

    @property
    def names(self) -> tuple[str, ...]:
        """The further names, without repeats and without the title itself; one for an ambiguous title."""
        shared = (f"{base_title(self.title)} {DISAMBIGUATION}",) if self.ambiguous else ()
        names = {folded(name): squeeze(name) for name in (*self.also, *shared)}
        return tuple(name for key, name in names.items() if key not in {"", folded(self.title)})


@dataclass(frozen=True, slots=True)
class Described:
    """What the file says of one document: lines with where they stand, further names, and the document's first sentence."""

    document: str
    title: str
    lines: tuple[tuple[str, Span], ...]
    names: tuple[str, ...]
    first_sentence: str
    first: Span


def import_profiles(faults: Faults, snapshot: Snapshot) -> Iterator[Described]:
    """What a file says of the documents of `snapshot`, in no particular order; lines about titles that no document has are passed
    over in silence, since a file may serve many corpora. What is wrong with it is in `faults`, which name it, at the end.

    Raises:
        UsageError: the file cannot be read, or was changed meanwhile.
    """
    pairs: list[tuple[int, int, bool, str, str]] = []
    for some in batched(_resolved(faults, snapshot), READ):
        starts = {id_: (number, start) for id_, number, start in some}
        for document in snapshot.documents(starts):
            number, start = starts[document.id]
            line = _again(faults.file, start)
            described = _described(document, line)
            placed = {text for text, _ in described.lines}
            pairs += [(number, place, text not in placed, text, line.title) for place, text in enumerate(line.pairs)]
            yield described
    for _, group in groupby(sorted(pairs), itemgetter(0, 1)):
        number, _, nowhere, text, title = next(group)  # where it was placed comes first
        if nowhere:
            faults.add(number, f"says {text!r}, which stands in no document called {title!r} and is left out")


def _resolved(faults: Faults, snapshot: Snapshot) -> list[tuple[str, int, int]]:
    """The line about each document, its number and where it begins: the last of several about the document's title."""
    titles: dict[str, list[str]] = {}
    for entry in snapshot.register.entries:
        if title := folded(entry.title):
            titles.setdefault(title, []).append(entry.id)
    about = {folded(line.title): (number, start) for number, start, line in _lines(faults)}  # the last of several
    return sorted((id_, *place) for title, place in about.items() for id_ in titles.get(title, ()))


def _described(document: Document, line: ProfileLine) -> Described:
    first = next(document.sentences(), Span(document.id, 0, 0))
    start = first.start + len(document.slice(first)) - len(document.slice(first).lstrip())
    end = max(start, first.start + len(document.slice(first).rstrip()))
    found = ((text, _place(document, text)) for text in line.pairs)
    lines = tuple((text, span) for text, span in found if span is not None)
    return Described(
        document.id, document.title, lines, line.names, document.text[start:end], Span(document.id, start, end)
    )


def _place(document: Document, line: str) -> Span | None:
    """Where a line stands in a document, as a line of its own."""
    text = document.text
    at = text.find(line)
    while at >= 0:
        end = at + len(line)
        if text[at - 1 : at] in {"", "\n"} and text[end : end + 1] in {"", "\n"}:
            return Span(document.id, at, end)
        at = text.find(line, at + 1)
    return None


def _lines(faults: Faults) -> Iterator[tuple[int, int, ProfileLine]]:
    """The lines of the file that can be used, each with its number and where it begins."""
    from pydantic import ValidationError

    for number, start, content in faults.file.numbered():
        try:
            yield number, start, _form().validate_json(content)
        except ValidationError as error:
            faults.leave_out(number, first_fault(error))


def _again(file: LinesFile, start: int) -> ProfileLine:
    from pydantic import ValidationError

    try:
        return _form().validate_json(file.line_at(start))
    except ValidationError as error:
        raise UsageError(f"{file.path} was changed while it was read. Run the same command again.") from error


@cache
def _form() -> TypeAdapter[ProfileLine]:
    from pydantic import TypeAdapter

    return TypeAdapter(ProfileLine)
