"""bm25s and rank_bm25, used as their documentation shows. Environment: `keywords`; bm25s is in the development environment too.

    python -m benchmarks.peers.keyword_peers JOB.json FOUND.json

rank_bm25 has no tokeniser: here words are runs of letters and digits in lower case, without stop words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks.peers.searched import Search, Searched, SearchJob, run_peers, search_all

WORD = re.compile(r"\w+")


def bm25s_search(texts: Sequence[str], limit: int) -> Search:
    """bm25s with its default settings (Lucene's BM25, k1 = 1.5, b = 0.75) and its English stop words."""
    import bm25s

    tokens = partial(bm25s.tokenize, stopwords="en", show_progress=False)
    index = bm25s.BM25()
    index.index(tokens(list(texts)), show_progress=False)

    def search(question: str) -> list[int]:
        found, _ = index.retrieve(tokens([question]), k=limit, show_progress=False)
        return [int(position) for position in found[0]]

    return search


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
    yield search_all("bm25s", "bm25s", lambda: bm25s_search(job.texts, job.limit), job)
    yield search_all("rank_bm25", "rank-bm25", lambda: rank_bm25_search(job), job)


if __name__ == "__main__":
    run_peers(systems)
