"""BM25 over the keyword index (`corpus/keywords.py`): Robertson and Zaragoza 2009, with Lucene's idf."""

from __future__ import annotations

from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.ranking import ranked
from hoptrail.types import Hit, Ranking

CHANNEL = "keyword"


def keyword_search(corpus: Corpus, question: str, limit: int) -> Ranking:
    """The `limit` passages with the highest BM25 score."""
    found = corpus.snapshot.search.keywords(question, limit)
    return ranked((Hit(unit, score, CHANNEL) for unit, score in found), limit)
