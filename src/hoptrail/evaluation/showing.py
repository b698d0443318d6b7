"""Which documents' words a unit shows to whoever reads it: less than what it was made from.

A passage, a sentence, a fact and a line of an aggregate show what they were made from. A summary was made from all that was
summarised, but shows a document only where it keeps a sentence of it word for word: one in other words shows nothing, because
nobody can tell without a reader. Summaries open sentences with a title in place of a pronoun; their ends count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hoptrail.text.normal_forms import squeeze
from hoptrail.text.sentences import sentence_spans
from hoptrail.types import Document, Kind, Unit

MOST_SENTENCES = 100
"""Sentences of a summary that are looked for: far more than one has."""
LEAST_WORDS = 4
"""The end of a sentence that counts has at least so many words."""


def shown_documents(unit: Unit, documents: Callable[[set[str]], Mapping[str, Document]]) -> tuple[str, ...]:
    """Ids of the documents that the unit shows, without repeats; `documents` gives documents by id."""
    sources = dict.fromkeys(span.document for span in unit.sources)
    if unit.kind is not Kind.SUMMARY:
        return tuple(sources)
    kept = [squeeze(unit.text[start:end]) for start, end in sentence_spans(unit.text, MOST_SENTENCES)]
    found = documents(set(sources))
    return tuple(name for name in sources if _keeps_one(kept, squeeze(found[name].title), squeeze(found[name].text)))


def _keeps_one(sentences: Sequence[str], title: str, text: str) -> bool:
    return any(_stands_in(sentence, title, text) for sentence in sentences)


def _stands_in(sentence: str, title: str, text: str) -> bool:
    end = sentence.removeprefix(title).removeprefix("'s") if title and sentence.startswith(title) else sentence
    return sentence in text or (len(end.split()) >= LEAST_WORDS and end in text)
