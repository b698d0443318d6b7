"""LlamaIndex, if it is installed; it is too large to be a requirement of the tests."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from hoptrail import Index, Kind, UsageError
from world import FACTS

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core.schema import MetadataMode, TextNode

from hoptrail.serving.adapters.llamaindex import HoptrailQueryEngine, HoptrailRetriever, node_of
from hoptrail.serving.adapters.metadata import metadata_of


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
    summary = replace(hit, unit=replace(hit.unit, kind=Kind.SUMMARY, text="In short.", sentence_ends=()))
    node = node_of(summary, *metadata_of((summary,), index))
    assert (node.start_char_idx, node.end_char_idx) == (None, None)
    assert node.metadata["sources"]


def test_asynchronously_the_same(index: Index, question: str) -> None:
    retriever = HoptrailRetriever(index, k=2)
    assert asyncio.run(retriever.aretrieve(question)) == retriever.retrieve(question)


def test_wrong_calls_say_so(index: Index) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        HoptrailRetriever(index, k=0).retrieve("Who?")


def test_a_query_engine_answers_with_what_it_rests_on(index: Index) -> None:
    engine = HoptrailQueryEngine(index=index, recipe="trail")
    settled = engine.query("Which river flows through the town where the designer of the Tallow Bridge was born?")
    assert settled.response == "Isk"
    assert settled.metadata["confidence"] == settled.source_nodes[0].node.metadata["confidence"]
    for one in settled.source_nodes:
        node = one.node
        assert FACTS[node.metadata["title"]][node.start_char_idx : node.end_char_idx] == node.text
        assert node.metadata["source"].endswith(f"{node.metadata['title']}.txt")
        assert {"heading_path", "date", "replaced"} <= node.metadata.keys()
    open_ended = engine.query("Who painted the ceiling of the opera in Vantry?")
    assert open_ended.response.startswith("Not settled. Closest:")
    assert (open_ended.metadata["abstained"], len(open_ended.metadata["closest"])) == (True, 3)
    assert asyncio.run(engine.aquery("Who painted the ceiling of the opera in Vantry?")).response == open_ended.response
