"""LangChain's suites for retrievers and tools, and what they do not cover: metadata and wrong calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from pydantic import ValidationError

from hoptrail import Index, UsageError
from hoptrail.serving.adapters.langchain import HoptrailRetriever, HoptrailTool
from world import FACTS


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
class TestLangChainsSuite(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _served(self, index: Index, question: str) -> None:
        self._index = index
        self._question = question

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return HoptrailRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self._index, "recipe": "bm25"}

    @property
    def retriever_query_example(self) -> str:
        return self._question


class _Tool:
    @pytest.fixture(autouse=True)
    def _served(self, index: Index, question: str) -> None:
        self._index = index
        self._question = question

    @property
    def tool_constructor(self) -> type[BaseTool]:
        return HoptrailTool

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"index": self._index, "recipe": "trail"}

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"question": self._question}


class TestLangChainsSuiteForTools(_Tool, ToolsUnitTests):
    pass


@pytest.mark.anyio
class TestLangChainsIntegrationSuiteForTools(_Tool, ToolsIntegrationTests):
    pass


def test_a_tool_tells_the_answer_and_hands_over_all_of_it(index: Index) -> None:
    tool = HoptrailTool(index=index, recipe="trail")
    question = "Which river flows through the town where the designer of the Tallow Bridge was born?"
    message = tool.invoke({"type": "tool_call", "id": "1", "name": "hoptrail", "args": {"question": question}})
    assert message.content.startswith("Isk [1]")
    assert (message.artifact["kind"], message.artifact["answer"], message.artifact["confidence"] > 0) == (
        "short",
        "Isk",
        True,
    )
    call = {
        "type": "tool_call",
        "id": "2",
        "name": "hoptrail",
        "args": {"question": "Who painted the opera in Vantry?"},
    }
    unsettled = tool.invoke(call)
    assert unsettled.content.startswith("Not settled. Closest:")
    assert (unsettled.artifact["abstained"], len(unsettled.artifact["closest"])) == (True, 3)


def test_a_document_says_where_its_text_stands(index: Index, question: str) -> None:
    found = HoptrailRetriever(index=index, recipe="bm25", k=2).invoke(question)
    hits = index.search(question, "bm25", 2)
    assert [document.id for document in found] == [hit.unit.id for hit in hits]
    for document, hit in zip(found, hits, strict=True):
        metadata = document.metadata
        assert FACTS[metadata["title"]][metadata["start"] : metadata["end"]] == document.page_content
        assert (metadata["document"], metadata["unit"], metadata["kind"]) == (hit.unit.document, hit.unit.id, "passage")
        assert (metadata["score"], metadata["channel"]) == (hit.score, hit.channel)
        assert metadata["source"].endswith(f"{hit.unit.title}.txt")
        assert (metadata["heading_path"], metadata["date"]) == ([], "")
        assert metadata["sources"] == [{name: metadata[name] for name in ("document", "start", "end")}]


def test_both_ways_and_both_places_of_k_give_the_same(index: Index, question: str) -> None:
    retriever = HoptrailRetriever(index=index, k=2)
    at_once = retriever.invoke(question)
    assert len(at_once) == 2
    assert asyncio.run(retriever.ainvoke(question)) == at_once
    assert asyncio.run(retriever.ainvoke(question, k=1)) == retriever.invoke(question, k=1) == at_once[:1]


def test_wrong_calls_say_so(index: Index) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        HoptrailRetriever(index=index, k=0)
    with pytest.raises(UsageError, match="at least 1"):
        HoptrailRetriever(index=index).invoke("Who?", k=0)
    with pytest.raises(UsageError, match="empty"):
        HoptrailRetriever(index=index).invoke(" ")
    with pytest.raises(UsageError, match="no recipe nothing"):
        HoptrailRetriever(index=index, recipe="nothing").invoke("Who?")
