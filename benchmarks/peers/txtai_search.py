"""txtai: its vector index, its BM25, and both in its hybrid index. Environment: `txtai`.

    python -m benchmarks.peers.txtai_search JOB.json FOUND.json

It gets the vectors of texts and questions (`method: external`), so no measured time includes encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from benchmarks.peers.searched import Search, Searched, SearchJob, run_peers, search_all

PACKAGE = "txtai"
KINDS: Mapping[str, Mapping[str, bool]] = {"vectors": {}, "BM25": {"keyword": True}, "hybrid": {"hybrid": True}}
"""Settings that make an index dense, sparse or both."""


def searching(job: SearchJob, vectors: Mapping[str, Any], settings: Mapping[str, bool]) -> Search:
    import numpy as np
    from txtai import Embeddings

    def known(texts: list[str]) -> Any:
        return np.stack([vectors[text] for text in texts])

    external = {"method": "external", "transform": known} if "keyword" not in settings else {}
    index = Embeddings({**settings, **external})
    index.index((place, text, None) for place, text in enumerate(job.texts))
    return lambda question: [int(place) for place, _ in index.search(question, job.limit)]


def systems(job: SearchJob) -> Iterator[Searched]:
    import numpy as np

    rows = np.load(job.vectors)
    vectors = dict(zip([*job.texts, *job.questions], rows, strict=True))
    for name, settings in KINDS.items():
        yield search_all(f"{PACKAGE}, {name}", PACKAGE, partial(searching, job, vectors, settings), job)


if __name__ == "__main__":
    run_peers(systems)
