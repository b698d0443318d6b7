"""Extractions from a file: what another program, or a model run elsewhere, has found in the same documents.

JSON lines, UTF-8, one a document:

    id         the id that the document had in its own JSONL file; or its id here; or its title, where only one has it
    entities   names
    facts      [{"text", "entities", "start", "end"}]; offsets into the document's text, both or neither
    triples    [[subject, predicate, object]]: each becomes the fact "subject predicate object", and stays a triple

A line has facts, triples or both; other keys mean nothing. What has no offsets is placed at the sentence that shares most words
with it. A line that cannot be used costs itself only. The file is held in memory.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.language.offline.text import content_stems, folded, squeeze
from hoptrail.language.tasks import Extraction, Fact, Triple
from hoptrail.store.snapshot import DocumentEntry, Snapshot
from hoptrail.types import Document, Kind, Span, Unit

NAMED = 20
"""Lines whose fault is told in full; of further ones only the number is."""


@dataclass(frozen=True, slots=True)
class FactLine:
    """A fact as a line gives it."""

    text: str
    entities: tuple[str, ...]
    start: int | None = None
    end: int | None = None
    triple: Triple | None = None


@dataclass(frozen=True, slots=True)
class ExtractionLine:
    """A line of the file."""

    id: str | int
    entities: tuple[str, ...]
    facts: tuple[FactLine, ...] | None = None
    triples: tuple[tuple[str, str, str], ...] | None = None

    @property
    def stated(self) -> tuple[FactLine, ...]:
        """Its facts, then its triples as facts, about those of subject and object that its entities name."""
        names = {folded(name) for name in self.entities}
        triples = tuple(
            FactLine(
                " ".join((subject, predicate, object_)),
                tuple(name for name in (subject, object_) if not names or folded(name) in names),
                triple=_triple(subject, predicate, object_),
            )
            for subject, predicate, object_ in self.triples or ()
        )
        return (*(self.facts or ()), *triples)


@dataclass(slots=True)
class Imported:
    """What a file gives for the passages of an index, by their ids, and what is wrong with it."""

    extractions: dict[str, Extraction] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class _Unfit(Exception):
    """A line cannot be used; the message says why."""


def digest_of(file: Path) -> str:
    """The SHA-256 of a file's bytes.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from error


def import_extractions(file: Path, snapshot: Snapshot) -> Imported:
    """The extractions of `file` for the passages of `snapshot`: one for every passage of a document that has a usable line.

    Raises:
        UsageError: the file cannot be read.
    """
    documents = _Names(snapshot.entries)
    lines: defaultdict[str, list[tuple[int, ExtractionLine]]] = defaultdict(list)
    faults: dict[int, str] = {}
    for number, content in _numbered(file):
        try:
            line = _parsed(content)
            lines[documents.meant_by(str(line.id))].append((number, line))
        except _Unfit as unfit:
            faults[number] = str(unfit)
    passages: defaultdict[str, list[Unit]] = defaultdict(list)
    for unit in snapshot.units(Kind.PASSAGE):
        if unit.document in lines:
            passages[unit.document].append(unit)
    imported = Imported()
    for document in snapshot.documents(list(lines)):
        places = _Places(document, sorted(passages[document.id], key=lambda unit: unit.sources))
        for number, line in lines[document.id]:
            try:
                places.put(line)
            except _Unfit as unfit:
                faults[number] = str(unfit)
        imported.extractions |= places.extractions()
    imported.notes = _told(file, faults)
    return imported


def _unreadable(file: Path, error: OSError) -> UsageError:
    return UsageError(
        f"the file of extractions {file} cannot be read: {error.strerror or error}. Put it there, or change from_file under "
        "[structures.extractions]."
    )


def _numbered(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with file.open("rb") as stream:
            for number, content in enumerate(stream, 1):
                line = content.removeprefix(b"\xef\xbb\xbf") if number == 1 else content
                if line.strip():
                    yield number, line
    except OSError as error:
        raise _unreadable(file, error) from error


def _parsed(content: bytes) -> ExtractionLine:
    from pydantic import TypeAdapter, ValidationError

    try:
        line = TypeAdapter(ExtractionLine).validate_json(content, strict=True)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise _Unfit(f"{where}: {fault['msg']}" if where else fault["msg"]) from None
    if line.facts is None and line.triples is None:
        raise _Unfit("it has neither facts nor triples")
    return line


class _Names:
    """Which document a line means."""

    def __init__(self, entries: Iterable[DocumentEntry]) -> None:
        self._ids = set[str]()
        self._read_as: defaultdict[str, set[str]] = defaultdict(set)
        self._titled: defaultdict[str, set[str]] = defaultdict(set)
        for entry in entries:
            self._ids.add(entry.id)
            self._titled[entry.title].add(entry.id)
            for source in entry.sources:
                for name in _line_names(source):
                    self._read_as[name].add(entry.id)

    def meant_by(self, name: str) -> str:
        """The id of the document.

        Raises:
            _Unfit: no document is called that, or several are.
        """
        if name in self._ids:
            return name
        found = self._read_as.get(name) or self._titled.get(name) or set()
        if not found:
            raise _Unfit(f"no document of this index has the id or the title {name!r}")
        if len(found) > 1:
            raise _Unfit(
                f"{len(found)} documents are called {name!r}: name one by its id, {' or '.join(sorted(found))}"
            )
        return next(iter(found))


def _line_names(source: str) -> Iterator[str]:
    """What the id may be in `path#id`, where both may hold a `#`."""
    at = source.find("#")
    while at >= 0:
        yield source[at + 1 :]
        at = source.find("#", at + 1)


class _Places:
    """The passages of one document, and what lines say of them."""

    def __init__(self, document: Document, passages: Sequence[Unit]) -> None:
        self._document = document
        self._passages = passages
        self._sentences = [
            (passage, span, content_stems(document.slice(span)))
            for passage in passages
            for span in _sentences(document, passage.sources[0])
        ]
        self._put = False
        self._named: dict[str, None] = {}
        self._facts: dict[str, dict[Fact, None]] = {passage.id: {} for passage in passages}

    def put(self, line: ExtractionLine) -> None:
        """Put all that a line says, or nothing.

        Raises:
            _Unfit: the offsets of a fact lie in no passage.
        """
        placed = [self._placed(fact) for fact in line.stated if self._passages and squeeze(fact.text)]
        for passage, fact in placed:
            self._facts[passage.id][fact] = None
        self._put = True
        self._named |= dict.fromkeys(_squeezed(line.entities))

    def extractions(self) -> Mapping[str, Extraction]:
        """One for every passage, if any line was put; the entities are those that stand in it or that its facts are about."""
        if not self._put:
            return {}
        return {passage.id: self._extraction(passage) for passage in self._passages}

    def _extraction(self, passage: Unit) -> Extraction:
        facts = tuple(self._facts[passage.id])
        about = [name for fact in facts for name in fact.entities]
        text = folded(passage.searchable)
        names = {folded(name): name for name in reversed((*self._named, *about))}
        standing = {key: place for key in names if (place := text.find(key)) >= 0}
        ordered = (*sorted(standing, key=standing.__getitem__), *map(folded, about))
        return Extraction(tuple(dict.fromkeys(names[key] for key in ordered)), facts)

    def _placed(self, fact: FactLine) -> tuple[Unit, Fact]:
        passage, source = self._given(fact) if (fact.start, fact.end) != (None, None) else self._nearest(fact.text)
        return passage, Fact(squeeze(fact.text), _squeezed(fact.entities), source, fact.triple)

    def _given(self, fact: FactLine) -> tuple[Unit, Span]:
        """The offsets given, as far as they lie in the passage where they begin."""
        if fact.start is not None and fact.end is not None:
            at = bisect_right(self._passages, fact.start, key=lambda passage: passage.sources[0].end)
            for passage in self._passages[at : at + 1]:
                span = passage.sources[0]
                if span.start <= fact.start < min(fact.end, span.end):
                    return passage, Span(span.document, fact.start, min(fact.end, span.end))
        raise _Unfit(f"characters {fact.start} to {fact.end} are no part of a passage of {self._document.title!r}")

    def _nearest(self, text: str) -> tuple[Unit, Span]:
        words = content_stems(text)
        passage, span, _ = max(self._sentences, key=lambda sentence: len(words & sentence[2]))
        return passage, span


def _sentences(document: Document, passage: Span) -> Iterator[Span]:
    """The sentences of a passage, without the white space around them."""
    for sentence in document.sentences(passage):
        start, end = max(sentence.start, passage.start), min(sentence.end, passage.end)
        text = document.text[start:end]
        if text.strip():
            start += len(text) - len(text.lstrip())
            yield Span(document.id, start, start + len(text.strip()))


def _triple(*slots: str) -> Triple | None:
    """None where a slot is empty: such a line is a fact only."""
    squeezed = tuple(map(squeeze, slots))
    return Triple(*squeezed) if all(squeezed) else None


def _squeezed(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in map(squeeze, names) if name))


def _told(file: Path, faults: Mapping[int, str]) -> list[str]:
    """One note a fault, and one for all beyond the first few."""
    numbers = sorted(faults)
    notes = [f"{file}, line {number} is left out: {faults[number]}." for number in numbers[:NAMED]]
    if numbers[NAMED:]:
        notes.append(f"{file}: {len(numbers) - NAMED} more lines are left out: {', '.join(map(str, numbers[NAMED:]))}.")
    return notes
