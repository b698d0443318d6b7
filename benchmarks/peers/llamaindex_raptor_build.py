"""LlamaIndex's RAPTOR pack: a tree of summaries, with its defaults (three levels). Environment: `llamaindex-raptor`,
because the pack needs a core before 0.14.

    python -m benchmarks.peers.llamaindex_raptor_build JOB.json BUILT.json

Its client for servers that speak OpenAI's API writes the summaries; vectors come from the server too.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.peers.built import KEY, MODEL, BuildJob, run_builder, timed


def vectors_from(address: str) -> Any:
    from llama_index.core.embeddings import BaseEmbedding
    from openai import OpenAI

    client = OpenAI(base_url=address, api_key=KEY)

    def fetched(texts: list[str]) -> list[list[float]]:
        reply = client.embeddings.create(model=MODEL, input=texts, encoding_format="float")
        return [row.embedding for row in reply.data]

    class Served(BaseEmbedding):  # type: ignore[misc]  # of a library that the development environment has not
        def _get_text_embedding(self, text: str) -> list[float]:
            return fetched([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return fetched(texts)

        def _get_query_embedding(self, query: str) -> list[float]:
            return fetched([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return await asyncio.to_thread(self._get_query_embedding, query)

        async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return await asyncio.to_thread(fetched, texts)

    return Served()


def build(job: BuildJob) -> tuple[float, Mapping[str, int]]:
    from llama_index.core.schema import Document
    from llama_index.llms.openai_like import OpenAILike
    from llama_index.packs.raptor import RaptorRetriever

    model = OpenAILike(MODEL, api_base=job.address, api_key=KEY, is_chat_model=True, context_window=32_000)
    documents = [Document(text=text) for text in job.texts]
    nodes_made: list[Any] = []

    def grow() -> None:
        nodes_made.append(RaptorRetriever(documents, llm=model, embed_model=vectors_from(job.address)))

    with contextlib.redirect_stdout(sys.stderr):
        seconds = timed(grow)
    stored = len(nodes_made[0].index.docstore.docs) or len(nodes_made[0].index.vector_store.data.embedding_dict)
    return seconds, {"texts": len(job.texts), "texts and summaries": stored}


if __name__ == "__main__":
    run_builder("LlamaIndex RAPTOR pack", "llama-index-packs-raptor", build)
