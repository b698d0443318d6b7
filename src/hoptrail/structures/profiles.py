"""Profiles: short facts about the subject of a document, one unit per document, one line per fact.

HiRAG section 3, "Profile Wikicorpus", limited in length as in its released code. The lines come from a file where the source has
infoboxes (`profile_file.py`), else from the stored facts whose subject is the document's title. Both are in the document, so
every line has a span. Further names of a title in such a file become units of this kind too: the name as title, the document's
first sentence as text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.language.tasks import Extraction, Fact
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaring import Derived, Target
from hoptrail.structures.extractions import stored_in_order
from hoptrail.structures.json_lines import Faults, LinesFile
from hoptrail.structures.profile_file import CandidateFeatures, import_profiles
from hoptrail.structures.structure_names import EXTRACTIONS, PASSAGES, PROFILES
from hoptrail.text.normal_forms import base_title, folded, squeeze, without_article
from hoptrail.text.words import words
from hoptrail.types import Kind, Span, Unit, content_id


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """`from_file`: a file of profiles to use instead of the stored facts. `characters`: the longest profile."""

    from_file: str = ""
    characters: int = 6000

    def __post_init__(self) -> None:
        if self.characters < 1:
            raise UsageError(f"characters is at least 1, not {self.characters}")


@dataclass(frozen=True, slots=True)
class Profiles(Derived):
    """One profile for each document that has lines for it."""

    settings: ProfileSettings = field(default_factory=ProfileSettings)
    name = PROFILES
    units = (Kind.PROFILE,)

    @property
    def built_from(self) -> tuple[str, ...]:
        """Extractions, or passages alone if the profiles come from a file."""
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
            return (), False
        return Derived.target_rows(self, context)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Unit]:
        """See `Derived.rows`. Raises: UsageError: the file cannot be read."""
        snapshot, most = context.writer.snapshot(), self.settings.characters
        if not self.settings.from_file:
            yield from from_facts(stored_in_order(snapshot, documents), most)
            return
        faults = Faults(self._file)
        yield from from_file(import_profiles(faults, snapshot), most)
        context.account.notes += faults.described


def profile_id(document: str) -> str:
    """The id of the profile of a document."""
    return content_id("i", document)


def from_facts(found: Iterable[tuple[Unit, Extraction]], most: int) -> Iterator[Unit]:
    """Profiles from facts; `found` are passages in document order with their extractions."""
    for document, group in groupby(found, key=lambda pair: pair[0].document):
        passages = list(group)
        title = passages[0][0].title
        facts = [fact for _, extraction in passages for fact in extraction.facts if _is_about(fact, title)]
        lines = dict.fromkeys((squeeze(fact.text), fact.source) for fact in facts)
        yield from _profile(document, title, list(lines), most)


def from_file(described: Iterable[CandidateFeatures], most: int) -> Iterator[Unit]:
    """Profiles and further names from a file."""
    for item in described:
        yield from _profile(item.document, item.title, item.lines, most)
        for name in item.names:
            unit_id = content_id("i", item.document, folded(name))
            yield Unit(unit_id, Kind.PROFILE, name, item.first_sentence, (item.first,))


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
    subject_words = {word.lower for word in words(subject)}
    named = bool(subject_words) and subject_words <= {word.lower for word in words(name)} and text.startswith(subject)
    return text.startswith(name) or named
