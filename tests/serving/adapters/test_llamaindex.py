"""LlamaIndex, where it is installed: it is too large to be among what tests need."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from hoptrail import Index, Kind, UsageError
from world import FACTS

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core.schema import MetadataMode, TextNode

from hoptrail.serving.adapters.llamaindex import HoptrailRetriever, node_of


def test_nodes_say_where_their_text_stands(index: Index, question: str) -> None:
    found = HoptrailRetriever(index, "bm25", 3).retrieve(question)
    hits = index.search(question, "bm25", 3)
    assert [(one.node.node_id, one.score) for one in found] == [(hit.unit.id, hit.score) for hit in hits]
    for one, hit in zip(found, hits, strict=True):
        node = one.node
        assert isinstance(node, TextNode)
        assert node.source_node is not None
        assert FACTS[node.metadata["title"]][node.start_char_idx : node.end_char_idx] == node.text
        assert node.ref_doc_id == hit.unit.document == node.source_node.node_id
        assert node.get_content(MetadataMode.LLM) == f"title: {hit.unit.title}\n\n{hit.unit.text}"


def test_text_that_was_made_from_others_has_no_place(index: Index, question: str) -> None:
    hit = index.search(question, "bm25", 1)[0]
    node = node_of(replace(hit, unit=replace(hit.unit, kind=Kind.SUMMARY, text="In short.")))
    assert (node.start_char_idx, node.end_char_idx) == (None, None)
    assert node.metadata["sources"]


def test_asynchronously_the_same(index: Index, question: str) -> None:
    retriever = HoptrailRetriever(index, k=2)
    assert asyncio.run(retriever.aretrieve(question)) == retriever.retrieve(question)


def test_wrong_calls_say_so(index: Index) -> None:
    with pytest.raises(UsageError, match="at least one hit"):
        HoptrailRetriever(index, k=0).retrieve("Who?")
