"""Finds the gold passages in evidence, and the sentences to cite for an answer.

A unit counts for the passages whose documents it shows (`showing.py`), so one sentence of a gold passage is enough. Sentence
numbers are those of the data set; if the corpus has no sentence borders, they may differ from ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hoptrail.evaluation.showing import shown_documents
from hoptrail.types import Document, Span, Unit

_CLOSED_ANSWERS = frozenset({"yes", "no"})
"""Answers that no sentence contains literally."""


@dataclass(frozen=True, slots=True)
class GoldEvidence:
    """The gold of a question, matched with evidence.

    `names` has the corpus's ids by document id, `documents` returns documents by id, and `sentences` are the supporting sentences
    (passage id, sentence index).
    """

    names: Mapping[str, Sequence[str]]
    documents: Callable[[set[str]], Mapping[str, Document]]
    sentences: tuple[tuple[str, int], ...]
    known: dict[str, Document] = field(default_factory=dict)

    def shows(self, passages: Collection[str], evidence: Sequence[Unit]) -> bool:
        """Whether the evidence shows all these passages; False without passages."""
        documents = {document for unit in evidence for document in shown_documents(unit, self._read)}
        shown = {name for document in documents for name in self.names.get(document, ())}
        return bool(passages) and shown.issuperset(passages)

    def support(self, passages: Collection[str], answers: Sequence[str], evidence: Sequence[Unit]) -> tuple[Span, ...]:
        """Spans within the evidence that support an answer, for each document of these passages.

        The sentence with an answer (preferably a supporting one), else the supporting sentences, else all of the document that is
        in the evidence.
        """
        sources: dict[str, list[Span]] = {}
        for span in dict.fromkeys(span for unit in evidence for span in unit.sources):
            if not set(passages).isdisjoint(self.names.get(span.document, ())):
                sources.setdefault(span.document, []).append(span)
        documents = self._read(set(sources))
        return tuple(span for name, spans in sources.items() for span in self._best(documents[name], spans, answers))

    def _read(self, ids: set[str]) -> Mapping[str, Document]:
        """Documents by id, each read once: the tasks of a question share most of their evidence."""
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
            if any(_contains(document.slice(piece), answer) for answer in answers):
                return [piece]
        return supporting or sources


def _common(document: Document, sentence: Span, source: Span) -> Span | None:
    """The intersection of two spans without white space around it; None if it is empty."""
    start, end = max(sentence.start, source.start), min(sentence.end, source.end)
    text = document.text[start:end] if start < end else ""
    if not text.strip():
        return None
    return Span(document.id, start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip()))


def _contains(text: str, answer: str) -> bool:
    answer = answer.strip()
    if not answer or answer.lower() in _CLOSED_ANSWERS:
        return False
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) is not None
