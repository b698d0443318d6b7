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

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.executing.executor import batched
from hoptrail.language.offline.evidence import base_title
from hoptrail.language.offline.text import folded, squeeze
from hoptrail.store.scratch import Sorting
from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Document, Span

DISAMBIGUATION = "(disambiguation)"
"""What follows a name that several things share, as in Wikipedia."""

READ = 512
"""Documents whose texts are looked at together."""

NAMED = 20
"""Faults that are told in full; of further ones only the number is."""


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


@dataclass(slots=True)
class ProfileFaults:
    """What is wrong with a file: the first few faults, and how many there are."""

    file: Path
    first: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, fault: str) -> None:
        self.count += 1
        self.first += [fault][: NAMED - len(self.first)]

    @property
    def told(self) -> list[str]:
        """One note a fault, and one for all beyond the first few."""
        notes = [f"{self.file}: {fault}." for fault in self.first]
        if self.count > len(notes):
            notes.append(f"{self.file}: {self.count - len(notes)} more lines or pairs are left out.")
        return notes


def digest_of_profiles(file: Path) -> str:
    """The SHA-256 of a file's bytes.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from error


def import_profiles(faults: ProfileFaults, snapshot: Snapshot) -> Iterator[Described]:
    """What a file says of the documents of `snapshot`, by rising document id; lines about titles that no document has are passed
    over in silence, since a file may serve many corpora. What is wrong with it is in `faults`, which name it, at the end.

    Raises:
        UsageError: the file cannot be read.
    """
    with snapshot.scratch.sorting() as lines, snapshot.scratch.sorting() as pairs:
        _resolve(faults, snapshot, lines)
        for some in batched(lines, READ):
            documents = {document.id: document for document in snapshot.documents([id_ for id_, _, _ in some])}
            for id_, number, line in some:
                described = _described(documents[id_], line)
                placed = {text for text, _ in described.lines}
                for place, text in enumerate(line.pairs):
                    pairs.put((number, place, text not in placed, text, line.title))
                yield described
        for _, group in groupby(pairs, itemgetter(0, 1)):
            _, _, nowhere, text, title = next(group)  # where it was placed comes first
            if nowhere:
                faults.add(f"{text!r} stands in no document called {title!r} and is left out")


def _resolve(faults: ProfileFaults, snapshot: Snapshot, lines: Sorting[tuple[str, int, ProfileLine]]) -> None:
    """The line about each document, with its number: the last of several about its title."""
    titles = snapshot.scratch.digests(hash(folded(entry.title)) for entry in snapshot.each_entry())
    with snapshot.scratch.sorting() as titled:
        for entry in snapshot.each_entry():
            titled.put((folded(entry.title), False, entry.id, None))
        for number, line in _lines(faults):
            title = folded(line.title)
            if title and hash(title) in titles:
                titled.put((title, True, number, line))
        for _, group in groupby(titled, itemgetter(0)):
            documents: list[str] = []
            about: tuple[int, ProfileLine] | None = None
            for _, is_line, what, line in group:
                if is_line:
                    about = (what, line)
                else:
                    documents.append(what)
            if about is not None:
                for document in documents:
                    lines.put((document, *about))


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


def _lines(faults: ProfileFaults) -> Iterator[tuple[int, ProfileLine]]:
    """The lines of the file that can be used, numbered."""
    from pydantic import TypeAdapter, ValidationError

    form = TypeAdapter(ProfileLine)
    try:
        with faults.file.open("rb") as stream:
            for number, content in enumerate(stream, 1):
                if not content.strip():
                    continue
                try:
                    line = form.validate_json(content.removeprefix(b"\xef\xbb\xbf"))
                except ValidationError as error:
                    first = error.errors()[0]
                    where = ".".join(map(str, first["loc"]))
                    faults.add(f"line {number} is left out: {f'{where}: ' if where else ''}{first['msg']}")
                    continue
                yield number, line
    except OSError as error:
        raise _unreadable(faults.file, error) from error


def _unreadable(file: Path, error: OSError) -> UsageError:
    return UsageError(
        f"the file of profiles {file} cannot be read: {error.strerror or error}. Put it there, or change from_file under "
        "[structures.profiles]."
    )
