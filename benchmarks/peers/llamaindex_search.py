"""LlamaIndex: its vector index, its BM25 retriever, and both fused by reciprocal ranks. Environment: `llamaindex`.

    python -m benchmarks.peers.llamaindex_search JOB.json FOUND.json

It gets the vectors of texts and questions, so it searches the same vectors as we do, and no measured time includes encoding.
Questions are not reworded (`num_queries=1`), which would need a language model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.peers.searched import Search, Searched, SearchJob, run_peers, search_all

CORE, BM25 = "llama-index-core", "llama-index-retrievers-bm25"


def nodes_of(job: SearchJob, rows: Any) -> list[Any]:
    from llama_index.core.schema import TextNode

    texts = enumerate(job.texts)
    return [TextNode(id_=str(place), text=text, embedding=rows[place].tolist()) for place, text in texts]


def positions(retriever: Any) -> Search:
    return lambda question: [int(found.node.node_id) for found in retriever.retrieve(question)]


def vector_retriever(job: SearchJob, nodes: Sequence[Any], rows: Any) -> Any:
    """The vectors of questions are looked up."""
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding

    vectors_by_question = dict(zip(job.questions, rows[len(job.texts) :].tolist(), strict=True))

    class Known(BaseEmbedding):  # type: ignore[misc]  # of a library that the development environment has not
        def _get_query_embedding(self, query: str) -> list[float]:
            return list(vectors_by_question[query])

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return list(vectors_by_question[query])

        def _get_text_embedding(self, text: str) -> list[float]:  # noqa: ARG002 (their name)
            raise AssertionError("every text has its vector")

    index = VectorStoreIndex(nodes=nodes, embed_model=Known())
    return index.as_retriever(similarity_top_k=job.limit)


def bm25_retriever(job: SearchJob, nodes: Sequence[Any]) -> Any:
    from llama_index.retrievers.bm25 import BM25Retriever

    return BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=job.limit)


def fused(job: SearchJob, retrievers: Sequence[Any]) -> Any:
    from llama_index.core.llms.mock import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever

    how = {"mode": "reciprocal_rerank", "similarity_top_k": job.limit, "num_queries": 1, "use_async": False}
    return QueryFusionRetriever(list(retrievers), llm=MockLLM(), **how)


def systems(job: SearchJob) -> Iterator[Searched]:
    import numpy as np

    rows = np.load(job.vectors)
    nodes = nodes_of(job, rows)
    yield search_all("LlamaIndex, vectors", CORE, lambda: positions(vector_retriever(job, nodes, rows)), job)
    yield search_all("LlamaIndex, BM25", BM25, lambda: positions(bm25_retriever(job, nodes)), job)
    both = [vector_retriever(job, nodes, rows), bm25_retriever(job, nodes)]
    yield search_all("LlamaIndex, fusion", CORE, lambda: positions(fused(job, both)), job)


if __name__ == "__main__":
    run_peers(systems)
