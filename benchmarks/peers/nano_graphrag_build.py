"""nano-graphrag's graph with reports of its communities, with its defaults. Environment: `nano-graphrag`.

    python -m benchmarks.peers.nano_graphrag_build JOB.json BUILT.json

Its functions for OpenAI's API call the server; our vectors have another dimension than it expects, so that function is here.
tiktoken gets our tokeniser (`built.Quarters`), because it downloads its own at the first use.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.peers.built import DIMENSION, KEY, MODEL, BuildJob, Quarters, run_builder, timed


def build(job: BuildJob) -> tuple[float, Mapping[str, int]]:
    os.environ |= {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": job.address}
    import tiktoken

    words: Any = Quarters()
    tiktoken.encoding_for_model = lambda _: words
    import numpy as np
    from nano_graphrag import GraphRAG
    from nano_graphrag._utils import wrap_embedding_func_with_attrs
    from openai import AsyncOpenAI

    client = AsyncOpenAI()

    async def embed(texts: list[str]) -> Any:
        reply = await client.embeddings.create(model=MODEL, input=texts, encoding_format="float")
        return np.array([row.embedding for row in reply.data])

    described = wrap_embedding_func_with_attrs(embedding_dim=DIMENSION, max_token_size=8192)
    rag = GraphRAG(working_dir=job.folder, embedding_func=described(embed))
    seconds = timed(lambda: rag.insert(job.texts))
    import networkx as nx

    graph = nx.read_graphml(next(Path(job.folder).rglob("*.graphml")))
    return seconds, {"entities": graph.number_of_nodes(), "relations": graph.number_of_edges()}


if __name__ == "__main__":
    run_builder("nano-graphrag", "nano-graphrag", build)
