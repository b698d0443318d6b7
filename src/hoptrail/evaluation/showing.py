"""Determines the documents whose text a unit shows, which may be fewer than its sources.

A passage, sentence, fact or line of an aggregate shows its sources. A summary shows only documents of which it keeps a sentence
word for word: a paraphrase cannot be attributed without a reader. Summaries may replace a pronoun at the start of a sentence with
a title; then the rest of the sentence counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hoptrail.text.normal_forms import squeeze
from hoptrail.text.sentences import sentence_spans
from hoptrail.types import Document, Kind, Unit

MOST_SENTENCES = 100
"""Sentences of a summary that are searched for: far more than a summary has."""
LEAST_WORDS = 4
"""Minimal number of words of the rest of a sentence after a title."""


def shown_documents(unit: Unit, documents: Callable[[set[str]], Mapping[str, Document]]) -> tuple[str, ...]:
    """Ids of the documents that the unit shows, without repeats; `documents` returns documents by id."""
    sources = dict.fromkeys(span.document for span in unit.sources)
    if unit.kind is not Kind.SUMMARY:
        return tuple(sources)
    sentences = [squeeze(unit.text[start:end]) for start, end in sentence_spans(unit.text, MOST_SENTENCES)]
    by_id = documents(set(sources))
    return tuple(name for name in sources if _quotes(sentences, squeeze(by_id[name].title), squeeze(by_id[name].text)))


def _quotes(sentences: Sequence[str], title: str, text: str) -> bool:
    return any(_is_in(sentence, title, text) for sentence in sentences)


def _is_in(sentence: str, title: str, text: str) -> bool:
    rest = sentence.removeprefix(title).removeprefix("'s") if title and sentence.startswith(title) else sentence
    return sentence in text or (len(rest.split()) >= LEAST_WORDS and rest in text)
