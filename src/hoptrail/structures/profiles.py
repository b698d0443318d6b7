"""Profiles: what is known of a document's subject at a glance, one unit a document, one line a fact.

HiRAG section 3, "Profile Wikicorpus", capped as in its released code. The lines come from a file where the source has infoboxes
(`profile_file.py`), else from the stored facts whose subject is the document's title; both stand in the document, so every line
has its span. Further names of a title, which such a file may give, are units of this kind as well: the name as title, the
document's first sentence as text. What a line means is not understood here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.fingerprints import fingerprint
from hoptrail.language.tasks import Extraction, Fact
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaring import Derived, Wanted
from hoptrail.structures.extractions import stored_in_order
from hoptrail.structures.json_lines import Faults, LinesFile
from hoptrail.structures.profile_file import Described, import_profiles
from hoptrail.structures.structure_names import EXTRACTIONS, PASSAGES, PROFILES
from hoptrail.text.normal_forms import base_title, folded, squeeze, without_article
from hoptrail.text.words import words
from hoptrail.types import Kind, Span, Unit, content_id


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """`from_file`: a file of profiles, taken in place of the stored facts. `characters`: the most of one profile."""

    from_file: str = ""
    characters: int = 6000

    def __post_init__(self) -> None:
        if self.characters < 1:
            raise UsageError(f"characters is at least 1, not {self.characters}")


@dataclass(frozen=True, slots=True)
class Profiles(Derived):
    """One profile a document that has lines for one."""

    settings: ProfileSettings = field(default_factory=ProfileSettings)
    name = PROFILES
    units = (Kind.PROFILE,)

    @property
    def built_from(self) -> tuple[str, ...]:
        """See `Structure.built_from`."""
        return (PASSAGES,) if self.settings.from_file else (EXTRACTIONS,)

    @property
    def by_document(self) -> bool:
        """Which documents a line of a file is about hangs on all their titles."""
        return not self.settings.from_file

    @property
    def fingerprint(self) -> str:
        """That of the file's content, where there is a file.

        Raises:
            UsageError: the file cannot be read.
        """
        if not self.settings.from_file:
            return fingerprint(self.settings)
        return fingerprint(ProfileSettings(self._file.digest(), self.settings.characters))

    @property
    def _file(self) -> LinesFile:
        return LinesFile(Path(self.settings.from_file), PROFILES)

    def wanted(self, context: BuildContext) -> Wanted:
        """Where the file is gone nothing is added: removing a document, which the writer has done by now, needs no file."""
        if self.settings.from_file and not self._file.path.exists():
            return Wanted((), whole=False)
        return Derived.wanted(self, context)

    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterator[Unit]:
        """See `Derived.rows`.

        Raises:
            UsageError: the file cannot be read.
        """
        snapshot, most = context.writer.snapshot(), self.settings.characters
        if not self.settings.from_file:
            yield from from_facts(stored_in_order(snapshot, documents), most)
            return
        faults = Faults(self._file)
        yield from from_file(import_profiles(faults, snapshot), most)
        context.account.notes += faults.described


def profile_id(document: str) -> str:
    """The id that the profile of a document has, if it has one."""
    return content_id("i", document)


def from_facts(found: Iterable[tuple[Unit, Extraction]], most: int) -> Iterator[Unit]:
    """The profiles that facts make; `found` are passages in document order with what was found in them."""
    for document, group in groupby(found, key=lambda pair: pair[0].document):
        passages = list(group)
        title = passages[0][0].title
        facts = [fact for _, extraction in passages for fact in extraction.facts if _is_about(fact, title)]
        lines = dict.fromkeys((squeeze(fact.text), fact.source) for fact in facts)
        yield from _profile(document, title, list(lines), most)


def from_file(described: Iterable[Described], most: int) -> Iterator[Unit]:
    """The profiles and further names that a file gives."""
    for one in described:
        yield from _profile(one.document, one.title, one.lines, most)
        for name in one.names:
            unit_id = content_id("i", one.document, folded(name))
            yield Unit(unit_id, Kind.PROFILE, name, one.first_sentence, (one.first,))


def _profile(document: str, title: str, lines: Sequence[tuple[str, Span]], most: int) -> Iterator[Unit]:
    """As many lines as fit; a unit needs one, and a first line that is too long for itself is left out as well."""
    kept: list[tuple[str, Span]] = []
    for text, span in lines:
        if sum(len(line) + 1 for line, _ in kept) + len(text) > most:
            break
        kept.append((text, span))
    if kept:
        text = "\n".join(line for line, _ in kept)
        yield Unit(profile_id(document), Kind.PROFILE, title, text, tuple(span for _, span in kept))


def _is_about(fact: Fact, title: str) -> bool:
    """Whether the subject of a fact is the title: it opens with the title, or with a name made of the title's words."""
    text, name = folded(without_article(squeeze(fact.text))), folded(without_article(base_title(title)))
    if not name or not text:
        return False
    subject = folded(without_article(fact.entities[0])) if fact.entities else ""
    said = {word.lower for word in words(subject)}
    named = bool(said) and said <= {word.lower for word in words(name)} and text.startswith(subject)
    return text.startswith(name) or named
