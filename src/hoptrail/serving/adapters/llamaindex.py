"""hoptrail as a retriever and as a query engine of LlamaIndex.

retriever = HoptrailRetriever(Index("my-index"), k=5)
nodes = retriever.retrieve("Who designed the Tallow Bridge?")
response = HoptrailQueryEngine(index=Index("my-index")).query("Who designed the Tallow Bridge?")
"""

from __future__ import annotations

import asyncio

from hoptrail.index.index import Index
from hoptrail.language.chat.context import readable_of
from hoptrail.serving.adapters.metadata import evidence_of, hits_of, text_and_json
from hoptrail.types import Hit, Kind
from hoptrail.types.json_object import JsonObject

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.response.schema import Response
    from llama_index.core.query_engine import CustomQueryEngine
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
except ImportError as error:
    raise ImportError(f"llama-index-core is missing ({error}): `pip install hoptrail[llamaindex]`") from error


class HoptrailRetriever(BaseRetriever):
    """Returns the hits of a recipe as nodes with scores; `recipe` and `k` default to the settings of the index."""

    def __init__(self, index: Index, recipe: str | None = None, k: int | None = None) -> None:
        super().__init__()
        self.index = index
        self.recipe = recipe
        self.k = k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Raises: UsageError: the question is empty, there is no such recipe, or `k` is less than one."""
        found = hits_of(self.index, query_bundle.query_str, self.recipe, self.k)
        return [NodeWithScore(node=node_of(hit, metadata), score=hit.score) for hit, _, metadata in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """In a thread: the core is synchronous."""
        return await asyncio.to_thread(self._retrieve, query_bundle)


class HoptrailQueryEngine(CustomQueryEngine):
    """Answers from an index. The response has the evidence as nodes, and as metadata what `hoptrail ask --json` prints, with
    `confidence` and the `closest` statements. If nothing is settled, its text says so.
    """

    index: Index
    recipe: str | None = None

    def custom_query(self, query_str: str) -> Response:
        """Raises: UsageError: the question is empty, or there is no such recipe."""
        answer = self.index.ask(query_str, self.recipe)
        text, content = text_and_json(answer)
        nodes = [
            NodeWithScore(
                node=TextNode(id_=name, text=one.text, start_char_idx=one.start, end_char_idx=one.end, metadata=meta)
            )
            for name, one, meta in evidence_of(answer)
        ]
        return Response(response=answer.text or text, source_nodes=nodes, metadata=content)


def node_of(hit: Hit, metadata: JsonObject) -> TextNode:
    """The unit as a node. `start_char_idx` and `end_char_idx` are set if its text is that span of its document.

    Models see only the title of the metadata.
    """
    hidden = sorted(set(metadata) - {"title"})
    text = readable_of(hit.unit)
    as_read = hit.unit.kind in {Kind.PASSAGE, Kind.SENTENCE} and text == hit.unit.text
    place = hit.unit.sources[0] if as_read else None
    return TextNode(
        id_=hit.unit.id,
        text=text,
        start_char_idx=place and place.start,
        end_char_idx=place and place.end,
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=hit.unit.document)},
    )
