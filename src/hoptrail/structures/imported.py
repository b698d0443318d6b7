"""Importing extractions that another program, or a model run elsewhere, has made from the same documents.

The file has JSON lines in UTF-8, one per document:

    id         the id that the document had in its own JSONL file; or its id here; or its title, where only one has it
    entities   names
    facts      [{"text", "entities", "start", "end"}]; offsets into the document's text, both or neither
    triples    [[subject, predicate, object]]: each becomes the fact "subject predicate object", and stays a triple

A line has facts, triples or both; other keys are ignored. A fact without offsets is placed at the sentence that shares most words
with it. A line that cannot be used is left out and noted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.units import in_document_order
from hoptrail.structures.json_lines import LinesFile, Unfit, parsed
from hoptrail.text.normal_forms import folded, squeeze
from hoptrail.text.sentences import unit_sentences
from hoptrail.text.words import content_stems
from hoptrail.types import Extraction, Fact, Span, Triple, Unit

OWNERS = 10  # documents with the same name that an error lists


@dataclass(frozen=True, slots=True)
class FactLine:
    text: str
    entities: tuple[str, ...]
    start: int | None = None
    end: int | None = None
    triple: Triple | None = None


@dataclass(frozen=True, slots=True)
class ExtractionLine:
    id: str | int
    entities: tuple[str, ...]
    facts: tuple[FactLine, ...] | None = None
    triples: tuple[tuple[str, str, str], ...] | None = None

    @property
    def stated(self) -> Iterator[FactLine]:
        """The facts, then the triples as facts, about subject and object as far as these are among the entities."""
        yield from self.facts or ()
        names = {folded(name) for name in self.entities}
        for slots in self.triples or ():
            about = tuple(name for name in (slots[0], slots[2]) if not names or folded(name) in names)
            squeezed = tuple(map(squeeze, slots))
            triple = Triple(*squeezed) if all(squeezed) else None  # where a slot is empty there is only a fact
            yield FactLine(" ".join(slots), about, triple=triple)


Line = tuple[int, bytes]
"""The number of a line, and the line unparsed: parsed it takes several times the memory."""


def import_extractions(
    file: LinesFile, snapshot: Snapshot, passages: Iterable[tuple[str, Span]], ids: Collection[str]
) -> Iterator[tuple[Unit, Extraction | None]]:
    """The passages with these ids in document order, each with its extraction from the file; None where no usable
    line is about its document. `passages`: ids and places of all passages of the documents in question.
    Raises: UsageError: the file cannot be read.
    """
    lines = _lines_by_document(file, snapshot)
    units_in_order = snapshot.numbered.in_order(in_document_order(passages))
    for document, same in groupby(units_in_order, key=lambda unit: unit.document):
        units = list(same)  # also without any of `ids`, so that all faults are found
        places = _Places(units)
        for number, line in lines.get(document, ()):
            try:
                places.put(_parsed(line))
            except Unfit as unfit:
                file.leave_out(number, str(unfit))
        extractions = places.extractions()
        yield from ((unit, extractions.get(unit.id)) for unit in units if unit.id in ids)


def _parsed(content: bytes) -> ExtractionLine:
    line = parsed(ExtractionLine, content, strict=True)
    if line.facts is None and line.triples is None:
        raise Unfit("it has neither facts nor triples")
    return line


def _lines_by_document(file: LinesFile, snapshot: Snapshot) -> dict[str, list[Line]]:
    # Three lookups from names to documents: by their ids, by their ids in their own files, by their titles.
    lookups: tuple[dict[str, list[str]], ...] = ({}, {}, {})
    for entry in snapshot.register.entries:
        parts = [source.split("#") for source in entry.sources]  # `path#id`, where both may contain `#`
        file_ids = {"#".join(one[at:]) for one in parts for at in range(1, len(one))}
        for lookup, names in zip(lookups, ({entry.id}, file_ids, {entry.title}), strict=True):
            for name in names:
                lookup.setdefault(name, []).append(entry.id)
    lines: dict[str, list[Line]] = {}
    for number, line in file.numbered():
        try:
            lines.setdefault(_document_named(str(_parsed(line).id), lookups), []).append((number, line))
        except Unfit as unfit:
            file.leave_out(number, str(unfit))
    return lines


def _document_named(name: str, lookups: Iterable[Mapping[str, Sequence[str]]]) -> str:
    """The id of the document with a name. Raises: Unfit: no document has that name, or several do."""
    documents = next((lookup[name] for lookup in lookups if name in lookup), ())
    if not documents:
        raise Unfit(f"no document of this index has the id or the title {name!r}")
    if len(documents) > 1:
        more = " or ..." if len(documents) > OWNERS else ""
        ids = " or ".join(documents[:OWNERS]) + more
        raise Unfit(f"{len(documents)} documents are called {name!r}: name one by its id, {ids}")
    return documents[0]


class _Places:
    """The passages of one document, and what lines say about them."""

    def __init__(self, passages: Sequence[Unit]) -> None:
        self._passages = passages
        self._put = False
        self._named: dict[str, None] = {}
        self._facts: dict[str, dict[Fact, None]] = {passage.id: {} for passage in passages}

    @cached_property
    def _sentences(self) -> list[tuple[Unit, int, int, frozenset[str]]]:
        """The sentences of the passages with their places in these and their words."""
        return [
            (passage, start, end, frozenset(content_stems(passage.text[start:end])))
            for passage in self._passages
            for start, end in unit_sentences(passage)
        ]

    def put(self, line: ExtractionLine) -> None:
        """Add all that a line says, or nothing. Raises: Unfit: the offsets of a fact are in no passage."""
        placed = [self._placed(fact) for fact in line.stated if squeeze(fact.text)]
        for passage, fact in placed:
            self._facts[passage.id][fact] = None
        self._put = True
        self._named |= dict.fromkeys(_squeezed(line.entities))

    def extractions(self) -> Mapping[str, Extraction]:
        """One for every passage, if any line was added. Its entities are those in its text, and those of its facts."""
        if not self._put:
            return {}
        return {passage.id: self._extraction(passage) for passage in self._passages}

    def _extraction(self, passage: Unit) -> Extraction:
        facts = tuple(self._facts[passage.id])
        about = [name for fact in facts for name in fact.entities]
        text = folded(passage.searchable)
        names = {folded(name): name for name in reversed((*self._named, *about))}
        occurring = {key: place for key in names if (place := text.find(key)) >= 0}
        ordered = (*sorted(occurring, key=occurring.__getitem__), *map(folded, about))
        return Extraction(tuple(dict.fromkeys(names[key] for key in ordered)), facts)

    def _placed(self, fact: FactLine) -> tuple[Unit, Fact]:
        passage, source = self._at_offsets(fact) if (fact.start, fact.end) != (None, None) else self._nearest(fact.text)
        return passage, Fact(squeeze(fact.text), _squeezed(fact.entities), source, fact.triple)

    def _at_offsets(self, fact: FactLine) -> tuple[Unit, Span]:
        """The passage in which the offsets begin, and the part of them in that passage."""
        if fact.start is not None and fact.end is not None:
            at = bisect_right(self._passages, fact.start, key=lambda passage: passage.sources[0].end)
            for passage in self._passages[at : at + 1]:
                span = passage.sources[0]
                if span.start <= fact.start < min(fact.end, span.end):
                    return passage, Span(span.document, fact.start, min(fact.end, span.end))
        raise Unfit(f"characters {fact.start} to {fact.end} are no part of a passage of {self._passages[0].title!r}")

    def _nearest(self, text: str) -> tuple[Unit, Span]:
        words = content_stems(text)
        passage, start, end, _ = max(self._sentences, key=lambda sentence: len(words & sentence[3]))
        first = passage.sources[0].start
        return passage, Span(passage.document, first + start, first + end)


def _squeezed(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in map(squeeze, names) if name))
