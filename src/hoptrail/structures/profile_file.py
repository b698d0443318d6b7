"""Importing profiles from a file, such as the contents of infoboxes, provided with a corpus.

The file has JSON lines in UTF-8, one per title:

    title       the title of one or more documents, compared without case and white space
    profile     [[key, value]]: each must occur in the document as a line `key: value`
    also        further names of the title (redirects)
    ambiguous   true if the title is a name that several things share

Other keys are ignored. A pair that occurs in no document with the title is left out and noted, because lines of a profile are
cited by their places. A line that cannot be used is left out and noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.execution.executor import batched
from hoptrail.structures.json_lines import Faults, Unfit, parsed
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.text.sentences import without_space
from hoptrail.types import Document, Span

DISAMBIGUATION = "(disambiguation)"
"""The suffix of a name that several things share, as in Wikipedia."""

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
        """The pairs as lines of a document, without repeats."""
        return iter(dict.fromkeys(f"{squeeze(key)}: {squeeze(value)}" for key, value in self.profile))

    @property
    def names(self) -> tuple[str, ...]:
        """The further names, without repeats and without the title itself; one of them for an ambiguous title."""
        shared = (f"{base_title(self.title)} {DISAMBIGUATION}",) if self.ambiguous else ()
        names = {folded(name): squeeze(name) for name in (*self.also, *shared)}
        return tuple(name for key, name in names.items() if key not in {"", folded(self.title)})


@dataclass(frozen=True, slots=True)
class CandidateFeatures:
    """What the file says about one document: lines with their places, further names, and the document's first sentence."""

    document: str
    title: str
    lines: tuple[tuple[str, Span], ...]
    names: tuple[str, ...]
    first_sentence: str
    first: Span


def import_profiles(faults: Faults, snapshot: Snapshot) -> Iterator[CandidateFeatures]:
    """What the file of `faults` says about the documents of `snapshot`, in no particular order. Lines about other titles are
    ignored, since a file may serve many corpora. All faults are in `faults` at the end.

    Raises:
        UsageError: the file cannot be read.
    """
    placed: set[tuple[int, str]] = set()
    nowhere: dict[tuple[int, str], str] = {}
    for batch in batched(_lines_of_documents(faults, snapshot), READ):
        lines = {id_: (number, line) for id_, number, line in batch}
        for document in snapshot.documents(lines):
            number, line = lines[document.id]
            described = _described(document, line)
            placed.update((number, text) for text, _ in described.lines)
            nowhere |= {(number, text): line.title for text in line.pairs}
            yield described
    for (number, text), title in nowhere.items():
        if (number, text) not in placed:
            faults.add(number, f"says {text!r}, which stands in no document called {title!r} and is left out")


def _lines_of_documents(faults: Faults, snapshot: Snapshot) -> list[tuple[str, int, ProfileLine]]:
    """The line about each document with its number, by document id. The last of several lines about a title counts."""
    about: dict[str, tuple[int, ProfileLine]] = {}
    for number, content in faults.file.numbered():
        try:
            line = parsed(ProfileLine, content)
            about[folded(line.title)] = number, line
        except Unfit as unfit:
            faults.leave_out(number, str(unfit))
    titles = ((entry.id, folded(entry.title)) for entry in snapshot.register.entries)
    return [(id_, *about[title]) for id_, title in titles if title and title in about]


def _described(document: Document, line: ProfileLine) -> CandidateFeatures:
    first = next(document.sentences(), Span(document.id, 0, 0))
    start, end = without_space(document.text, first.start, first.end)
    places = ((text, _place(document, text)) for text in line.pairs)
    lines = tuple((text, span) for text, span in places if span is not None)
    return CandidateFeatures(
        document.id, document.title, lines, line.names, document.text[start:end], Span(document.id, start, end)
    )


def _place(document: Document, line: str) -> Span | None:
    """The first place of a whole line in a document; None where it does not occur."""
    text = document.text
    at = text.find(line)
    while at >= 0:
        end = at + len(line)
        if text[at - 1 : at] in {"", "\n"} and text[end : end + 1] in {"", "\n"}:
            return Span(document.id, at, end)
        at = text.find(line, at + 1)
    return None
