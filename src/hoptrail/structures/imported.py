"""Extractions from a file: what another program, or a model run elsewhere, has found in the same documents.

JSON lines, UTF-8, one a document:

    id         the id that the document had in its own JSONL file; or its id here; or its title, where only one has it
    entities   names
    facts      [{"text", "entities", "start", "end"}]; offsets into the document's text, both or neither
    triples    [[subject, predicate, object]]: each becomes the fact "subject predicate object", and stays a triple

A line has facts, triples or both; other keys mean nothing. What has no offsets is placed at the sentence that shares most words
with it. A line that cannot be used costs itself only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.execution.executor import batched
from hoptrail.language.tasks import Extraction, Fact, Triple
from hoptrail.structures.json_lines import Faults, Unfit, parsed
from hoptrail.structures.passage_tasks import in_document_order, passages_in_order
from hoptrail.text.normal_forms import folded, squeeze
from hoptrail.text.words import content_stems
from hoptrail.types import Document, Span, Unit

READ = 4096
"""Passages looked at together, with the texts of their documents."""

OWNERS = 10
"""Documents of one name that are told."""


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


Line = tuple[int, bytes]
"""The number of a line, and the line: what it says takes several times as much."""


def import_extractions(
    faults: Faults, snapshot: Snapshot, passages: Iterable[tuple[str, Span]], wanted: Collection[str]
) -> Iterator[tuple[Unit, Extraction | None]]:
    """The `wanted` ones of some passages in document order, each with what a file says of it: None where no line that can be used
    is about its document.

    `passages`: ids and places of all passages of the documents in question. What is wrong with a line goes into `faults`, which
    name the file.

    Raises:
        UsageError: the file cannot be read.
    """
    lines = _resolved(faults, snapshot)
    for some in batched(_by_document(snapshot, passages), READ, len, READ):
        said = {units[0].document for units in some} & lines.keys()
        texts = {document.id: document for document in snapshot.documents(said)}
        for units in some:  # also where none is wanted, so that all faults are named
            document = texts.get(units[0].document)
            found = _said(document, units, lines[document.id], faults) if document else {}
            yield from ((unit, found.get(unit.id)) for unit in units if unit.id in wanted)


def _by_document(snapshot: Snapshot, passages: Iterable[tuple[str, Span]]) -> Iterator[list[Unit]]:
    """The passages of each document, in order, by rising document id."""
    batches = batched(in_document_order(passages), READ)
    units = chain.from_iterable(passages_in_order(snapshot, ids) for ids in batches)
    return (list(own) for _, own in groupby(units, key=lambda unit: unit.document))


def _said(
    document: Document, passages: Sequence[Unit], lines: Iterable[Line], faults: Faults
) -> Mapping[str, Extraction]:
    places = _Places(document, passages)
    for number, line in lines:
        try:
            places.put(_parsed(line))
        except Unfit as unfit:
            faults.leave_out(number, str(unfit))
    return places.extractions()


def _parsed(content: bytes) -> ExtractionLine:
    line = parsed(ExtractionLine, content, strict=True)
    if line.facts is None and line.triples is None:
        raise Unfit("it has neither facts nor triples")
    return line


def _resolved(faults: Faults, snapshot: Snapshot) -> dict[str, list[Line]]:
    """By the id of a document the lines of the file that mean it, in order."""
    # the documents of each name: by their ids, by the ids that they had in their own files, by their titles
    known: tuple[dict[str, list[str]], ...] = ({}, {}, {})
    for entry in snapshot.register.entries:
        names = {name for source in entry.sources for name in _line_names(source)}
        for owners, called in zip(known, ({entry.id}, names, {entry.title}), strict=True):
            for name in called:
                owners.setdefault(name, []).append(entry.id)
    lines: dict[str, list[Line]] = {}
    for number, line in faults.file.numbered():
        try:
            lines.setdefault(_meant_by(str(_parsed(line).id), known), []).append((number, line))
        except Unfit as unfit:
            faults.leave_out(number, str(unfit))
    return lines


def _meant_by(name: str, known: Iterable[Mapping[str, Sequence[str]]]) -> str:
    """The id of the document that is called so.

    Raises:
        Unfit: no document is called that, or several are.
    """
    found = next((owners[name] for owners in known if name in owners), ())
    if not found:
        raise Unfit(f"no document of this index has the id or the title {name!r}")
    if len(found) > 1:
        more = " or ..." if len(found) > OWNERS else ""
        ids = " or ".join(found[:OWNERS]) + more
        raise Unfit(f"{len(found)} documents are called {name!r}: name one by its id, {ids}")
    return found[0]


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
            Unfit: the offsets of a fact lie in no passage.
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
        raise Unfit(f"characters {fact.start} to {fact.end} are no part of a passage of {self._document.title!r}")

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
