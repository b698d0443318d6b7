"""BM25 over the keyword index of the store.

score(q, u) = sum over the words w of q of  idf(w) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · |u| / avg|u|))
with idf(w) = ln(1 + (N - n_w + 0.5) / (n_w + 0.5)), k1 = 1.2, b = 0.75 (Robertson and Zaragoza 2009; Lucene's idf). N, n_w
and the mean length are those of all passages. How text is cut into words: `store.layout.keyword_index`.
"""

from __future__ import annotations

from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.ranking import ranked
from hoptrail.types import Hit, Ranking

CHANNEL = "keyword"


def keyword_search(corpus: Corpus, question: str, limit: int) -> Ranking:
    """The `limit` best passages."""
    found = corpus.snapshot.search.keywords(question, limit)
    return ranked((Hit(unit, score, CHANNEL) for unit, score in found), limit)
