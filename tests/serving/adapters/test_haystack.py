"""Haystack: the component alone, in a pipeline, and stored."""

from __future__ import annotations

import os

import pytest

from hoptrail import Index, Settings, UsageError
from world import FACTS

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"  # read when it is imported
pytest.importorskip("haystack", reason="haystack-ai is not installed")

from haystack import Pipeline
from haystack.dataclasses import ChatMessage

from hoptrail.serving.adapters.haystack import HoptrailAnswerer, HoptrailRetriever


def test_documents_say_where_their_text_stands(index: Index, question: str) -> None:
    found = HoptrailRetriever(index, "bm25", 3).run(query=question)["documents"]
    hits = index.search(question, "bm25", 3)
    assert [(one.id, one.score) for one in found] == [(hit.unit.id, hit.score) for hit in hits]
    for one in found:
        assert FACTS[one.meta["title"]][one.meta["start"] : one.meta["end"]] == one.content
    assert len(HoptrailRetriever(index, "bm25", 3).run(query=question, top_k=1)["documents"]) == 1


def test_a_pipeline_is_stored_and_read_again(index: Index, question: str) -> None:
    opened = Index(index.folder, Settings(recipe="bm25"))
    pipeline = Pipeline()
    pipeline.add_component("hoptrail", HoptrailRetriever(opened, top_k=2))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=[HoptrailRetriever.__module__])
    component = again.get_component("hoptrail")
    assert isinstance(component, HoptrailRetriever)
    assert (component.index.folder, component.index.settings) == (opened.folder, opened.settings)
    inputs = {"hoptrail": {"query": question}}
    assert len(again.run(inputs)["hoptrail"]["documents"]) == 2
    assert again.run(inputs) == pipeline.run(inputs)


def test_an_answerer_hands_over_what_the_answer_rests_on(index: Index) -> None:
    question = "Which river flows through the town where the designer of the Tallow Bridge was born?"
    pipeline = Pipeline()
    pipeline.add_component("hoptrail", HoptrailAnswerer(index, "trail"))
    (answer,) = pipeline.run({"hoptrail": {"query": question}})["hoptrail"]["answers"]
    assert (answer.data, answer.query, answer.meta["kind"]) == ("Isk", question, "short")
    for one in answer.documents:
        assert FACTS[one.meta["title"]][one.meta["start"] : one.meta["end"]] == one.content
        assert one.meta["confidence"] == answer.meta["confidence"] > 0
        assert one.meta["source"].endswith(f"{one.meta['title']}.txt")
    (unsettled,) = HoptrailAnswerer(index).run("Who painted the ceiling of the opera in Vantry?")["answers"]
    assert unsettled.data.startswith("Not settled. Closest:")
    assert (unsettled.meta["abstained"], len(unsettled.meta["closest"])) == (True, 3)
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=[HoptrailAnswerer.__module__])
    assert isinstance(again.get_component("hoptrail"), HoptrailAnswerer)


def test_a_follow_up_is_completed_from_the_messages_of_a_chat(index: Index) -> None:
    messages = [ChatMessage.from_user("Who designed the Tallow Bridge?"), ChatMessage.from_assistant("Orla Finch [1]")]
    (answer,) = HoptrailAnswerer(index).run("And where was she born?", messages)["answers"]
    assert (answer.data, answer.meta["asked"]) == ("Wrenmouth", "Where was Orla Finch born?")


def test_an_index_may_be_named_by_its_folder(index: Index, question: str) -> None:
    retriever = HoptrailRetriever(index.folder, settings='recipe = "bm25"')
    assert retriever.run(query=question)["documents"]


def test_wrong_calls_say_so(index: Index) -> None:
    with pytest.raises(UsageError, match="there is no such setting"):
        HoptrailRetriever(index.folder, settings="colour = 1")
    with pytest.raises(UsageError, match="at least 1"):
        HoptrailRetriever(index).run(query="Who?", top_k=0)
