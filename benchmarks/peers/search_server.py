"""Serves the search of one peer over HTTP, as a small application around it would. Environments: `keywords`, `txtai`.

    python -m benchmarks.peers.search_server SYSTEM JOB.json PORT

`POST /api/search` takes and returns what that of hoptrail does. Everything is held in memory. `txtai-own` serves txtai's own
application over an index with texts instead. `nothing` returns the first passages without a search: what a request costs anyway.
Nothing is downloaded: models are read from the folder of the job.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import BaseModel

Scored = Callable[[str, int], Sequence[tuple[int, float]]]
"""Maps a question and a limit to positions of passages and their scores, best first."""


@dataclass(frozen=True, slots=True)
class ServingJob:
    """`texts` are searched; `hits` is what hoptrail returns of each; `vectors` names a NumPy file with a row for each. `model` is
    the encoder's folder, `work` one for files.
    """

    texts: list[str]
    hits: list[dict[str, Any]]
    vectors: str
    model: str
    work: str

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @staticmethod
    def read(path: Path) -> ServingJob:
        return ServingJob(**json.loads(path.read_text(encoding="utf-8")))


class Asked(BaseModel):
    question: str
    recipe: str = ""
    limit: int = 10


def application(search: Scored, hits: Sequence[Mapping[str, Any]]) -> FastAPI:
    app = FastAPI()

    @app.post("/api/search")
    def found(asked: Asked) -> JSONResponse:
        ranking = [{**hits[row], "score": score} for row, score in search(asked.question, asked.limit)]
        return JSONResponse({"question": asked.question, "recipe": asked.recipe, "hits": ranking})

    return app


def nothing(job: ServingJob) -> Scored:
    del job
    return lambda _, limit: [(row, 0.0) for row in range(limit)]


def bm25s_scored(job: ServingJob) -> Scored:
    """As in `keyword_peers`, with the scores."""
    import bm25s

    tokens = partial(bm25s.tokenize, stopwords="en", show_progress=False)
    index = bm25s.BM25()
    index.index(tokens(job.texts), show_progress=False)

    def search(question: str, limit: int) -> list[tuple[int, float]]:
        rows, scores = index.retrieve(tokens([question]), k=limit, show_progress=False)
        return list(zip(rows[0].tolist(), scores[0].tolist(), strict=True))

    return search


def tantivy_scored(job: ServingJob) -> Scored:
    """Its default tokeniser (lower case, no stemming) and BM25; any word of the question may match."""
    import tantivy

    fields = tantivy.SchemaBuilder().add_text_field("text").add_unsigned_field("row", stored=True)
    index = tantivy.Index(fields.build())
    writer = index.writer()
    for row, text in enumerate(job.texts):
        writer.add_document(tantivy.Document(text=text, row=row))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(question: str, limit: int) -> list[tuple[int, float]]:
        query, _ = index.parse_query_lenient(question, ["text"])
        return [(searcher.doc(place)["row"][0], score) for score, place in searcher.search(query, limit).hits]

    return search


def txtai_index(job: ServingJob, folder: Path, *, content: bool) -> Any:
    """Both of its indexes. The vectors of passages are given; txtai encodes each question by itself, with the same weights."""
    import numpy as np
    from txtai import Embeddings

    vectors = dict(zip(job.texts, np.load(job.vectors), strict=True))

    def known(texts: list[str]) -> Any:
        return np.stack([vectors[text] for text in texts])

    built = Embeddings(method="external", transform=known, hybrid=True, content=content)
    built.index((row, text, None) for row, text in enumerate(job.texts))
    del built.config["transform"], built.config["method"]
    built.config["path"] = job.model
    built.save(str(folder))
    index = Embeddings()
    index.load(str(folder))
    return index


def txtai_scored(job: ServingJob) -> Scored:
    index = txtai_index(job, Path(tempfile.mkdtemp(dir=job.work)), content=False)
    return lambda question, limit: [(int(row), float(score)) for row, score in index.search(question, limit)]


def txtai_own(job: ServingJob) -> str:
    """The name of txtai's own application, configured to serve an index that is built here."""
    folder, config = Path(job.work, "txtai-own"), Path(job.work, "txtai.yml")
    txtai_index(job, folder, content=True).close()
    content = {"path": str(folder), "writable": False, "embeddings": {"path": job.model}}
    config.write_text(json.dumps(content), encoding="utf-8")
    os.environ["CONFIG"] = str(config)
    return "txtai.api:app"


SYSTEMS: Mapping[str, Callable[[ServingJob], Scored]] = {
    "nothing": nothing,
    "bm25s": bm25s_scored,
    "tantivy": tantivy_scored,
    "txtai": txtai_scored,
    "txtai-threads": txtai_scored,
}
ONE_THREAD = {"txtai", "txtai-own"}
"""Systems whose products have one thread each, as our server's have; `txtai-threads` has as many as its libraries choose."""


def main() -> None:
    system, given, port = sys.argv[1:]
    os.environ["HF_HUB_OFFLINE"] = "1"
    if system in ONE_THREAD:
        os.environ["OMP_NUM_THREADS"] = "1"  # before the libraries are imported that read it
    job = ServingJob.read(Path(given))
    app = txtai_own(job) if system == "txtai-own" else application(SYSTEMS[system](job), job.hits)
    uvicorn.run(app, port=int(port), access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
