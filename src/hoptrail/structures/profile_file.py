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
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.language.offline.evidence import base_title
from hoptrail.language.offline.text import folded, squeeze
from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Document, Span

DISAMBIGUATION = "(disambiguation)"
"""What follows a name that several things share, as in Wikipedia."""

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
class ImportedProfiles:
    """What a file gives for the documents of an index, and what is wrong with it."""

    described: list[Described] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


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


def import_profiles(file: Path, snapshot: Snapshot) -> ImportedProfiles:
    """What `file` says of the documents of `snapshot`; lines about titles that no document has are passed over in silence,
    since a file may serve many corpora.

    Raises:
        UsageError: the file cannot be read.
    """
    titled: defaultdict[str, list[str]] = defaultdict(list)
    for entry in snapshot.entries:
        titled[folded(entry.title)].append(entry.id)
    faults: list[str] = []
    lines = dict(_lines(file, set(titled) - {""}, faults))
    wanted = [document for title in lines for document in titled[title]]
    imported = ImportedProfiles()
    placed: set[tuple[str, str]] = set()
    for document in snapshot.documents(wanted):
        line = lines[folded(document.title)]
        described = _described(document, line)
        placed |= {(line.title, text) for text, _ in described.lines}
        imported.described.append(described)
    faults += [
        f"{text!r} stands in no document called {line.title!r} and is left out"
        for line in lines.values()
        for text in line.pairs
        if (line.title, text) not in placed
    ]
    imported.notes = _told(file, faults)
    return imported


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


def _lines(file: Path, titles: set[str], faults: list[str]) -> Iterator[tuple[str, ProfileLine]]:
    """The lines about these titles by folded title, what cannot be used in `faults`; the last of several about one title wins."""
    from pydantic import TypeAdapter, ValidationError

    form = TypeAdapter(ProfileLine)
    try:
        with file.open("rb") as stream:
            for number, content in enumerate(stream, 1):
                if not content.strip():
                    continue
                try:
                    line = form.validate_json(content.removeprefix(b"\xef\xbb\xbf"))
                except ValidationError as error:
                    first = error.errors()[0]
                    where = ".".join(map(str, first["loc"]))
                    faults.append(f"line {number} is left out: {f'{where}: ' if where else ''}{first['msg']}")
                    continue
                if folded(line.title) in titles:
                    yield folded(line.title), line
    except OSError as error:
        raise _unreadable(file, error) from error


def _told(file: Path, faults: list[str]) -> list[str]:
    notes = [f"{file}: {fault}." for fault in faults[:NAMED]]
    if faults[NAMED:]:
        notes.append(f"{file}: {len(faults) - NAMED} more lines or pairs are left out.")
    return notes


def _unreadable(file: Path, error: OSError) -> UsageError:
    return UsageError(
        f"the file of profiles {file} cannot be read: {error.strerror or error}. Put it there, or change from_file under "
        "[structures.profiles]."
    )
