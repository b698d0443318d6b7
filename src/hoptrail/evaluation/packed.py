"""Recall at an equal budget of tokens: the gold passages whose text a reader would receive.

At equal k, long units beat short ones, and a summary of the whole corpus derives from every passage. So here rankings are packed
to the same number of tokens, and a passage counts only if a unit shows something of it.

A passage, sentence, fact or line of an aggregate shows its sources. A summary shows only documents of which it keeps a sentence
word for word: a paraphrase cannot be attributed without a reader. Summaries may replace a pronoun at the start of a sentence with
a title; then the rest of the sentence counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hoptrail.evaluation.retrieval_measures import recall_at
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.pack import pack
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.sentences import sentence_spans
from hoptrail.types import Document, Kind, Ranking, Unit

TOKEN_BUDGETS = (2000, 4000)
MOST_SENTENCES = 100
"""Sentences of a summary that are searched for: far more than a summary has."""
LEAST_WORDS = 4
"""Minimal number of words of the rest of a sentence after a title."""


@dataclass(frozen=True)
class Showing:
    """Maps units to the passages that they show. `ids`: the corpus's ids by document id."""

    corpus: Corpus
    ids: Mapping[str, Sequence[str]]
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def passages(self, unit: Unit) -> tuple[str, ...]:
        """The corpus's ids of the documents of which a unit shows a sentence or fact."""
        if unit.id not in self.known:
            self.known[unit.id] = tuple(
                dict.fromkeys(
                    name for shown in shown_documents(unit, self.corpus.documents) for name in self.ids.get(shown, ())
                )
            )
        return self.known[unit.id]


def packed_recall(ranking: Ranking, gold: Collection[str], showing: Showing) -> tuple[float, ...]:
    """The share of the gold passages shown by the units that fit each of TOKEN_BUDGETS; empty without gold passages."""
    if not gold:
        return ()
    return tuple(_recall(pack(ranking, budget), gold, showing) for budget in TOKEN_BUDGETS)


def _recall(packed: Ranking, gold: Collection[str], showing: Showing) -> float:
    shown = [passage for hit in packed for passage in showing.passages(hit.unit)]
    return recall_at(len(shown), shown, gold)


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
