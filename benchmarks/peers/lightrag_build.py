"""LightRAG's graph of entities and relations, with its defaults. Environment: `lightrag`.

    python -m benchmarks.peers.lightrag_build JOB.json BUILT.json

Its client of OpenAI's API calls the server, for text and for vectors. The tokeniser is ours (`built.Quarters`), because
LightRAG downloads its tokeniser at the first use.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.peers.built import DIMENSION, KEY, MODEL, BuildJob, Quarters, run_builder, timed


def build(job: BuildJob) -> tuple[float, Mapping[str, int]]:
    os.environ |= {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": job.address, "OPENAI_API_BASE": job.address}
    from lightrag import LightRAG

    for module in ("lightrag.llm.openai", "lightrag.utils", "openai"):
        importlib.import_module(module)  # before the clock starts

    seconds = timed(lambda: asyncio.run(_insert(LightRAG, job)))
    import networkx as nx

    graph = nx.read_graphml(next(Path(job.folder).rglob("*.graphml")))
    return seconds, {"entities": graph.number_of_nodes(), "relations": graph.number_of_edges()}


async def _insert(library: Any, job: BuildJob) -> None:
    from lightrag.llm.openai import openai_complete_if_cache
    from lightrag.utils import EmbeddingFunc, Tokenizer
    from openai import AsyncOpenAI

    client = AsyncOpenAI()

    async def complete(prompt: str, system_prompt: Any = None, history_messages: Any = None, **more: Any) -> Any:
        return await openai_complete_if_cache(MODEL, prompt, system_prompt, history_messages or [], **more)

    async def embed(texts: list[str], **_: object) -> Any:
        import numpy as np

        reply = await client.embeddings.create(model=MODEL, input=texts, encoding_format="float")
        return np.array([row.embedding for row in reply.data], dtype=np.float32)

    rag = library(
        working_dir=job.folder,
        llm_model_func=complete,
        llm_model_name=MODEL,
        embedding_func=EmbeddingFunc(embedding_dim=DIMENSION, func=embed, max_token_size=8192),
        tokenizer=Tokenizer(MODEL, Quarters()),
    )
    await rag.initialize_storages()
    await rag.ainsert(job.texts)
    await rag.finalize_storages()


if __name__ == "__main__":
    run_builder("LightRAG", "lightrag-hku", build)
