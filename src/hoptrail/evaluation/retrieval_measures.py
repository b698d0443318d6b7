"""Retrieval measures over ranked passage ids: recall@k, full@k, hits@k, MAP@k, MRR@k, and recall at an equal budget of tokens.

`project_to_passages` first turns a ranking of units of any kind into passages by provenance, so that a summary or a triple counts
for the passages it was made from. Passages are compared by id, because titles repeat. Not covered: graded relevance.

At equal k, long units beat short ones, and a summary of the whole corpus derives from every passage. So `packed_recall` packs
rankings to the same number of tokens, and counts a passage only if a unit shows something of it. A passage, sentence, fact or
line of an aggregate shows its sources. A summary shows only documents of which it keeps a sentence word for word: a paraphrase
cannot be attributed without a reader. Summaries may replace a pronoun at the start of a sentence with a title; then the rest of
the sentence counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import grouped, mean
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import pack
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.sentences import sentence_spans
from hoptrail.types import Document, Kind, Ranking, Unit

CUTOFFS: Mapping[str, tuple[int, ...]] = {
    "recall": (2, 5, 10, 20),
    "full": (5, 10),
    "hits": (4, 10),
    **dict.fromkeys(("map", "mrr"), (10,)),
}
"""The cutoffs of all measures, in results, tables and charts; those of hits, MAP and MRR as in MultiHop-RAG."""

DEEPEST_CUTOFF = max(map(max, CUTOFFS.values()))  # passages below this rank change no measure


@dataclass(frozen=True, slots=True)
class RetrievalMeans:
    """The means of `score_retrieval` over `questions` questions."""

    questions: int
    scores: Mapping[str, float]


JudgedRanking = tuple[Sequence[str], Collection[str]]
"""The passage ids found for one question (best first, without repeats), and its gold passages."""


def project_to_passages(ranking: Ranking, passages_of: Callable[[Unit], Sequence[str]]) -> list[str]:
    """The passage ids behind a ranking, best first, each at the rank of the first unit that was made from it.

    `passages_of` gives the passages that a unit was made from, in the order in which they count.
    """
    return list(dict.fromkeys(passage for hit in ranking for passage in passages_of(hit.unit)))


def recall_at(k: int, found: Sequence[str], gold: Collection[str]) -> float:
    """The share of the gold passages among the first `k` found (R@k). Raises: UsageError: there are no gold passages."""
    return measured_at(k, found, gold)["recall"]


def measured_at(k: int, found: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """The measures of one ranking at `k`, each from 0 to 1:

    - recall: the share of the gold passages among the first `k` found; full: 1 if all are, else 0; hits: 1 if any is, else 0
      (Hits@k of MultiHop-RAG, Tang and Yang 2024).
    - mrr: 1 / the rank of the first of them, 0 if there is none.
    - map: the sum of the precisions at the rank of each of them, over the number of gold passages, as in trec_eval.
      MultiHop-RAG's own script sums the new gold passages at a rank over the rank instead.

    Raises: UsageError: there are no gold passages.
    """
    relevant = set(gold)
    if not relevant:
        raise UsageError("measures of a ranking are not defined without gold passages")
    ranks = [rank for rank, passage in enumerate(found[:k], start=1) if passage in relevant]
    return {
        "recall": len(ranks) / len(relevant),
        "full": float(len(ranks) == len(relevant)),
        "hits": float(bool(ranks)),
        "map": sum(place / rank for place, rank in enumerate(ranks, start=1)) / len(relevant),
        "mrr": 1 / ranks[0] if ranks else 0.0,
    }


def score_retrieval(found: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Recall and full at each of their cutoffs, by name: `recall@2`, ..., `full@10`."""
    return {f"{name}@{k}": measured_at(k, found, gold)[name] for name in ("recall", "full") for k in CUTOFFS[name]}


def summarise_retrieval(rankings: Iterable[JudgedRanking]) -> dict[int, RetrievalMeans]:
    """Means by number of gold passages (the hops), rising, and first, under 0, over all questions that have any.

    Empty if none has. Pass failed questions with nothing found.
    """
    judged = ((len(set(gold)), score_retrieval(found, gold)) for found, gold in rankings if gold)
    scores = grouped((key, row) for hops, row in judged for key in (0, hops))
    return {
        hops: RetrievalMeans(len(rows), {name: mean([row[name] for row in rows]) for name in rows[0]})
        for hops, rows in scores.items()
    }


TOKEN_BUDGETS = (2000, 4000)
MOST_SENTENCES = 100  # sentences of a summary that are searched for: far more than a summary has
LEAST_WORDS = 4  # minimal number of words of the rest of a sentence after a title


@dataclass(frozen=True)
class Showing:
    """Maps units to the passages that they show. `ids`: the corpus's ids by document id."""

    corpus: Corpus
    ids: Mapping[str, Sequence[str]]
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def passages(self, unit: Unit) -> tuple[str, ...]:
        """The corpus's ids of the documents of which a unit shows a sentence or fact."""
        if unit.id not in self.known:
            names = [self.ids.get(document, ()) for document in shown_documents(unit, self.corpus.documents)]
            self.known[unit.id] = tuple(dict.fromkeys(chain.from_iterable(names)))
        return self.known[unit.id]


def packed_recall(ranking: Ranking, gold: Collection[str], showing: Showing) -> tuple[float, ...]:
    """The share of the gold passages shown by the units that fit each of TOKEN_BUDGETS; empty without gold passages."""
    if not gold:
        return ()
    shown = [project_to_passages(pack(ranking, budget), showing.passages) for budget in TOKEN_BUDGETS]
    return tuple(recall_at(len(passages), passages, gold) for passages in shown)


def shown_documents(unit: Unit, documents: Callable[[set[str]], Mapping[str, Document]]) -> tuple[str, ...]:
    """Ids of the documents that the unit shows, without repeats; `documents` returns documents by id."""
    sources = dict.fromkeys(span.document for span in unit.sources)
    if unit.kind is not Kind.SUMMARY:
        return tuple(sources)
    sentences = [squeeze(unit.text[start:end]) for start, end in sentence_spans(unit.text, MOST_SENTENCES)]
    by_id = documents(set(sources))
    texts = {name: (squeeze(by_id[name].title), squeeze(by_id[name].text)) for name in sources}
    return tuple(name for name in sources if any(_is_in(sentence, *texts[name]) for sentence in sentences))


def _is_in(sentence: str, title: str, text: str) -> bool:
    rest = sentence.removeprefix(title).removeprefix("'s") if title and sentence.startswith(title) else sentence
    return sentence in text or (len(rest.split()) >= LEAST_WORDS and rest in text)
