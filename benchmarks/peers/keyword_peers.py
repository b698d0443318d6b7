"""bm25s and rank_bm25, used as their documentation shows. Environment: `keywords`; bm25s is in the development environment too.

    python -m benchmarks.peers.keyword_peers JOB.json FOUND.json

rank_bm25 has no tokeniser: here words are runs of letters and digits in lower case, without stop words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.peers.searched import Search, Searched, SearchJob, run_peers, search_all

WORD = re.compile(r"\w+")


class Bm25s:
    """bm25s with its default settings (Lucene's BM25, k1 = 1.5, b = 0.75) and its English stop words."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self._library = bm25s
        self._index = bm25s.BM25()
        self._index.index(self._tokens(texts), show_progress=False)

    def search(self, question: str, limit: int) -> list[int]:
        """Positions of the best texts, best first."""
        found, _ = self._index.retrieve(self._tokens([question]), k=limit, show_progress=False)
        return [int(position) for position in found[0]]

    def _tokens(self, texts: Sequence[str]) -> Any:
        return self._library.tokenize(list(texts), stopwords="en", show_progress=False)


def bm25s_search(job: SearchJob) -> Search:
    index = Bm25s(job.texts)
    return lambda question: index.search(question, job.limit)


def rank_bm25_search(job: SearchJob) -> Search:
    """BM25Okapi with its defaults (k1 = 1.5, b = 0.75)."""
    import numpy as np
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([WORD.findall(text.lower()) for text in job.texts])

    def search(question: str) -> list[int]:
        scores = index.get_scores(WORD.findall(question.lower()))
        return [int(row) for row in np.argsort(-scores, kind="stable")[: job.limit]]

    return search


def systems(job: SearchJob) -> Iterator[Searched]:
    yield search_all("bm25s", "bm25s", lambda: bm25s_search(job), job)
    yield search_all("rank_bm25", "rank-bm25", lambda: rank_bm25_search(job), job)


if __name__ == "__main__":
    run_peers(systems)
