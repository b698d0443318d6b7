"""Which gold passages are in the evidence that a language was handed, and which of its sentences to cite for an answer.

A unit stands for the passages whose documents it shows (`showing.py`), so one sentence of a gold passage counts as the passage.
Sentence numbers are the data set's: where the corpus does not give the sentences, they may count others than ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hoptrail.evaluation.showing import shown_documents
from hoptrail.types import Document, Span, Unit

_CLOSED_ANSWERS = frozenset({"yes", "no"})
"""No sentence holds these as an answer, whatever words are in it."""


@dataclass(frozen=True, slots=True)
class GoldEvidence:
    """Ways from evidence to gold.

    `names` are the corpus's own ids of a document (by id), `documents` gives documents by id, `sentences` are the
    supporting sentences (passage id, sentence index).
    """

    names: Mapping[str, Sequence[str]]
    documents: Callable[[set[str]], Mapping[str, Document]]
    sentences: tuple[tuple[str, int], ...]
    known: dict[str, Document] = field(default_factory=dict)

    def shows(self, passages: Collection[str], evidence: Sequence[Unit]) -> bool:
        """Whether every one of these passages, at least one, is in the evidence."""
        shown = {document for unit in evidence for document in shown_documents(unit, self._read)}
        seen = {name for document in shown for name in self.names.get(document, ())}
        return bool(passages) and seen.issuperset(passages)

    def support(self, passages: Collection[str], answers: Sequence[str], evidence: Sequence[Unit]) -> tuple[Span, ...]:
        """Spans inside the evidence, for each document of these passages that is in it.

        The sentence that holds an answer (a supporting one before others), else the supporting sentences, else all that
        the evidence has of the document.
        """
        sources: dict[str, list[Span]] = {}
        for span in dict.fromkeys(span for unit in evidence for span in unit.sources):
            if not set(passages).isdisjoint(self.names.get(span.document, ())):
                sources.setdefault(span.document, []).append(span)
        documents = self._read(set(sources))
        return tuple(span for name, spans in sources.items() for span in self._best(documents[name], spans, answers))

    def _read(self, ids: set[str]) -> Mapping[str, Document]:
        """Documents by id, each read once: a question's tasks are handed the same ones again and again."""
        if missing := ids - self.known.keys():
            self.known.update(self.documents(missing))
        return self.known

    def _best(self, document: Document, sources: Sequence[Span], answers: Sequence[str]) -> Sequence[Span]:
        numbers = {number for passage, number in self.sentences if passage in self.names[document.id]}
        sentences = [
            (number in numbers, piece)
            for number, sentence in enumerate(document.sentences())
            for source in sources
            if (piece := _common(document, sentence, source)) is not None
        ]
        supporting = [piece for marked, piece in sentences if marked]
        for piece in (*supporting, *(piece for _, piece in sentences)):
            if any(_holds(document.slice(piece), answer) for answer in answers):
                return [piece]
        return supporting or sources


def _common(document: Document, sentence: Span, source: Span) -> Span | None:
    """What two spans of a document have in common, without white space around it; None for nothing."""
    start, end = max(sentence.start, source.start), min(sentence.end, source.end)
    text = document.text[start:end] if start < end else ""
    if not text.strip():
        return None
    return Span(document.id, start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip()))


def _holds(text: str, answer: str) -> bool:
    wanted = answer.strip()
    if not wanted or wanted.lower() in _CLOSED_ANSWERS:
        return False
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text, re.IGNORECASE) is not None
