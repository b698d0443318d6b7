"""Profiles: short facts about the subject of a document, one unit per document, one line per fact.

HiRAG section 3, "Profile Wikicorpus", limited in length as in its released code. The lines are the stored facts whose subject is
the document's title, or come from a file where the source has infoboxes. Both are in the document, so every line has a span.

The file has JSON lines in UTF-8, one per title:

    title       the title of one or more documents, compared without case and white space
    profile     [[key, value]]: each must occur in the document as a line `key: value`
    also        further names of the title (redirects)
    ambiguous   true if the title is a name that several things share

Other keys are ignored. A line that cannot be used, or a pair that occurs in no document with the title, is left out and noted.
Further names become units of this kind too: the name as title, the document's first sentence as text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import EXTRACTIONS, PASSAGES, PROFILES
from hoptrail.execution.executor import batched
from hoptrail.setting_limits import AtLeast1, Limited
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Derived, Target
from hoptrail.structures.extractions import stored_in_order
from hoptrail.structures.json_lines import LinesFile, Unfit, parsed
from hoptrail.text.normal_forms import base_title, folded, squeeze, without_article
from hoptrail.text.sentences import without_space
from hoptrail.text.words import lower_words
from hoptrail.types import Document, Extraction, Fact, Kind, Span, Unit, content_id

DISAMBIGUATION = "(disambiguation)"
"""The suffix of a name that several things share, as in Wikipedia."""

READ = 512  # documents looked up together


@dataclass(frozen=True, slots=True)
class ProfileSettings(Limited):
    """`from_file`: a file of profiles to use instead of the stored facts. `characters`: the longest profile."""

    from_file: str = ""
    characters: AtLeast1 = 6000


@dataclass(frozen=True, slots=True)
class Profiles(Derived):
    """One profile for each document that has lines for it."""

    settings: ProfileSettings = field(default_factory=ProfileSettings)
    name = PROFILES
    units = (Kind.PROFILE,)

    @property
    def built_from(self) -> tuple[str, ...]:
        return (PASSAGES,) if self.settings.from_file else (EXTRACTIONS,)

    @property
    def by_document(self) -> bool:
        """False with a file: which documents a line is about depends on the titles of all documents."""
        return not self.settings.from_file

    @property
    def _file(self) -> LinesFile:
        return LinesFile(Path(self.settings.from_file), PROFILES)

    def target_rows(self, context: BuildContext) -> Target:
        """If the file no longer exists, nothing is added: removing a document, which the writer has done, needs no file."""
        if self.settings.from_file and not self._file.path.exists():
            return Target((), whole=False)
        return Derived.target_rows(self, context)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Unit]:
        """See `Derived.rows`. Raises: UsageError: the file cannot be read."""
        snapshot, most = context.writer.snapshot(), self.settings.characters
        if not self.settings.from_file:
            yield from from_facts(stored_in_order(snapshot, documents), most)
            return
        file = self._file
        yield from from_file(file, snapshot, most)
        context.account.notes += file.described


def profile_id(document: str) -> str:
    return content_id("i", document)


def from_facts(found: Iterable[tuple[Unit, Extraction]], most: int) -> Iterator[Unit]:
    """Profiles from facts; `found` are passages in document order with their extractions."""
    for document, group in groupby(found, key=lambda pair: pair[0].document):
        passages = list(group)
        title = passages[0][0].title
        facts = [fact for _, extraction in passages for fact in extraction.facts if _is_about(fact, title)]
        lines = dict.fromkeys((squeeze(fact.text), fact.source) for fact in facts)
        yield from _profile(document, title, list(lines), most)


def _profile(document: str, title: str, lines: Sequence[tuple[str, Span]], most: int) -> Iterator[Unit]:
    """A profile of as many lines as fit; none where not even the first fits."""
    kept: list[tuple[str, Span]] = []
    for text, span in lines:
        if sum(len(line) + 1 for line, _ in kept) + len(text) > most:
            break
        kept.append((text, span))
    if kept:
        text = "\n".join(line for line, _ in kept)
        yield Unit(profile_id(document), Kind.PROFILE, title, text, tuple(span for _, span in kept))


def _is_about(fact: Fact, title: str) -> bool:
    """Whether a fact is about the title: it starts with the title, or with an entity made of words of the title."""
    text, name = folded(without_article(squeeze(fact.text))), folded(without_article(base_title(title)))
    if not name or not text:
        return False
    subject = folded(without_article(fact.entities[0])) if fact.entities else ""
    subject_words = lower_words(subject)
    named = bool(subject_words) and subject_words <= lower_words(name) and text.startswith(subject)
    return text.startswith(name) or named


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A line of the file."""

    title: str
    profile: tuple[tuple[str, str], ...] = ()
    also: tuple[str, ...] = ()
    ambiguous: bool = False

    @property
    def pairs(self) -> tuple[str, ...]:
        """The pairs as lines of a document, without repeats."""
        return tuple(dict.fromkeys(f"{squeeze(key)}: {squeeze(value)}" for key, value in self.profile))

    @property
    def names(self) -> tuple[str, ...]:
        """The further names, without repeats and without the title itself; one of them for an ambiguous title."""
        shared = (f"{base_title(self.title)} {DISAMBIGUATION}",) if self.ambiguous else ()
        names = {folded(name): squeeze(name) for name in (*self.also, *shared)}
        return tuple(name for key, name in names.items() if key not in {"", folded(self.title)})


def from_file(file: LinesFile, snapshot: Snapshot, most: int) -> Iterator[Unit]:
    """Profiles and further names from a file, in no particular order. Lines about other titles are ignored, since
    a file may serve many corpora. Its faults are complete at the end.
    Raises: UsageError: the file cannot be read.
    """
    placed: set[tuple[int, str]] = set()
    nowhere: dict[tuple[int, str], str] = {}
    for batch in batched(_lines_of_documents(file, snapshot), READ):
        lines = {id_: (number, line) for id_, number, line in batch}
        for document in snapshot.documents(lines):
            number, line = lines[document.id]
            found = [(text, span) for text in line.pairs if (span := _place(document, text))]
            placed.update((number, text) for text, _ in found)
            nowhere |= {(number, text): line.title for text in line.pairs}
            yield from _profile(document.id, document.title, found, most)
            first = next(document.sentences(), Span(document.id, 0, 0))
            place = Span(document.id, *without_space(document.text, first.start, first.end))
            for name in line.names:
                id_ = content_id("i", document.id, folded(name))
                yield Unit(id_, Kind.PROFILE, name, document.slice(place), (place,))
    for (number, text), title in nowhere.items():
        if (number, text) not in placed:
            file.add_fault(number, f"says {text!r}, which stands in no document called {title!r} and is left out")


def _lines_of_documents(file: LinesFile, snapshot: Snapshot) -> list[tuple[str, int, ProfileLine]]:
    """The line about each document with its number, by document id. The last of several lines about a title counts."""
    about: dict[str, tuple[int, ProfileLine]] = {}
    for number, content in file.numbered():
        try:
            line = parsed(ProfileLine, content)
            about[folded(line.title)] = number, line
        except Unfit as unfit:
            file.leave_out(number, str(unfit))
    titles = ((entry.id, folded(entry.title)) for entry in snapshot.register.entries)
    return [(id_, *about[title]) for id_, title in titles if title and title in about]


def _place(document: Document, line: str) -> Span | None:
    """The first place of a whole line in a document; None where it does not occur."""
    at = f"\n{document.text}\n".find(f"\n{line}\n")
    return Span(document.id, at, at + len(line)) if at >= 0 else None
