"""Splits a document into passages of whole sentences. Spans are exact: nothing is rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.errors import UsageError
from hoptrail.text.words import words_in
from hoptrail.types import Document, Kind, Span, Unit, content_id


@dataclass(frozen=True, slots=True)
class PassageLimits:
    """How long passages get, in words; see `words_in`.

    The default encoder reads 256 word pieces, about 190 English words. A document of at most `short_document_words`
    stays whole, because the published corpora are retrieved by their own paragraphs.
    """

    words: int = 200
    short_document_words: int = 400

    def __post_init__(self) -> None:
        if self.words < 1 or self.short_document_words < 0:
            raise UsageError(f"passages need at least 1 word, short documents at least 0, not {self}")


def passages(document: Document, limit: PassageLimits = PassageLimits()) -> tuple[Unit, ...]:
    """The passages of `document`, in order: whole sentences, packed up to the limit, without overlap.

    White space at the ends of a passage stays outside its span, and everything else is in exactly one passage. A passage
    ends at a paragraph's end if it is half full there and the next paragraph does not fit in. A single sentence above the
    limit is a passage of its own. A document of white space alone has none.
    """
    ends = document.sentence_ends
    starts = (0, *ends[:-1])
    words = [words_in(document.text[start:end]) for start, end in zip(starts, ends, strict=False)]
    if sum(words) <= limit.short_document_words:
        last_sentences = [len(ends) - 1] if ends else []
    else:
        last_sentences = _packed(words, _paragraph_words(document.text, ends, words), limit.words)
    units = []
    start = 0
    for last in last_sentences:
        units += _passage(document, start, ends[last])
        start = ends[last]
    return tuple(units)


def _packed(words: Sequence[int], paragraphs: Sequence[int], limit: int) -> list[int]:
    """The index of the last sentence of each passage. `paragraphs`: the words of a paragraph, at its first sentence; else 0."""
    last_sentences = []
    held = 0
    for index, (more, paragraph) in enumerate(zip(words, paragraphs, strict=True)):
        overfull = held + more > limit
        better_here = held + paragraph > limit and 2 * held >= limit
        if held and (overfull or (paragraph and better_here)):
            last_sentences.append(index - 1)
            held = 0
        held += more
    return [*last_sentences, len(words) - 1]


def _paragraph_words(text: str, ends: Sequence[int], words: Sequence[int]) -> list[int]:
    """For each sentence that opens a paragraph, that paragraph's words; 0 for the others."""
    totals = [0] * len(ends)
    first, start = 0, 0
    for index, end in enumerate(ends):
        totals[first] += words[index]
        sentence = text[start:end]
        if sentence.count("\n", len(sentence.rstrip())) > 1:
            first = index + 1
        start = end
    return totals


def _passage(document: Document, start: int, end: int) -> list[Unit]:
    """The passage between two offsets without the white space at its ends; none if nothing else is there."""
    text = document.text[start:end].strip()
    if not text:
        return []
    start += len(document.text[start:end]) - len(document.text[start:end].lstrip())
    span = Span(document.id, start, start + len(text))
    unit_id = content_id("p", document.id, str(span.start), str(span.end))
    return [Unit(unit_id, Kind.PASSAGE, document.title, text, (span,))]
