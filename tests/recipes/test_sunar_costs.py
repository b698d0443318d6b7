"""What SUNAR's feedback costs by chat, as the server bills it, and where the paper's presets end it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fakeai.brains import task_of
from fakeai.clients import context_at, replies_in
from fakeai.server import Body, FakeAI, serving
from hoptrail.language.factory import open_language
from hoptrail.retrieval.corpus import Corpus
from hoptrail_papers.sunar.adaptive import AdaptiveSettings
from hoptrail_papers.sunar.sunar import PAPER, Sunar
from recipes.chain_world import ASKED, QUESTION


def model(body: Body) -> str:
    """Two sub-questions; samples that disagree by their seed; all answers mean the same."""
    task, given = task_of(body), body["messages"][1]["content"]
    if task == "decompose_next":
        asked = [question for question in ASKED[:2] if question not in given]
        return json.dumps({"questions": asked[:1]})
    if task == "sample":
        return json.dumps({"reasoning": "so", "answer": ["Orla Finch", "Finch"][body["seed"] % 2]})
    if task == "equate":
        return json.dumps({"difference": "nothing", "same": "yes"})
    return json.dumps(
        {"steps": [], "answer": "Orla Finch" if f"Question: {ASKED[0]}" in given else "Wrenmouth", "confidence": 0.9}
    )


def test_calls_are_those_that_the_server_billed_and_are_paid_once(corpus: Corpus, tmp_path: Path) -> None:
    settings = replace(
        PAPER,
        uncertainty=replace(PAPER.uncertainty, samples=4, equivalence="meaning"),
        adaptive=AdaptiveSettings(batch=4, budget=6),
    )
    with serving(FakeAI(model)) as fake:
        context = context_at(fake, tmp_path)
        answer = Sunar(corpus, open_language("chat", context), settings).answer(QUESTION)
        assert answer.text == "Wrenmouth"
        assert answer.usage.calls == fake.bill.calls == len(fake.log) == replies_in(tmp_path).ledger().calls
        asked = [task_of(entry.body) for entry in fake.log]
        batches = asked.count("sample") // 4
        assert {task: asked.count(task) for task in dict.fromkeys(asked)} == {
            "decompose_next": 3,
            "sample": 4 * batches,
            "equate": asked.count("equate"),
            "answer": 2,
            "integrate_evidence": 1,
        }
        assert batches == 4, "two sub-questions of two batches each"
        assert asked.count("equate") == 2, "the second batch has the same answers"
        sampled = [entry.body for entry in fake.log if task_of(entry.body) == "sample"]
        assert {body["temperature"] for body in sampled} == {0.3}
        assert sorted(body["seed"] for body in sampled) == sorted([1, 2, 3, 4] * batches)
        assert all("seed" not in entry.body for entry in fake.log if task_of(entry.body) != "sample")
        again = Sunar(corpus, open_language("chat", context_at(fake, tmp_path)), settings).answer(QUESTION)
        assert again.usage.calls == 0
        assert len(fake.log) == len(asked)
        assert (again.text, again.ranking) == (answer.text, answer.ranking)


def test_a_batch_costs_one_call_where_the_endpoint_gives_several_replies(corpus: Corpus, tmp_path: Path) -> None:
    settings = replace(PAPER, adaptive=AdaptiveSettings(batch=4, budget=6))
    with serving(FakeAI(model, several=True)) as fake:
        answer = Sunar(corpus, open_language("chat", context_at(fake, tmp_path)), settings).answer(QUESTION)
        asked = [task_of(entry.body) for entry in fake.log]
        assert {task: asked.count(task) for task in dict.fromkeys(asked)} == {
            "decompose_next": 3,
            "sample": 2 * 2,  # two sub-questions of two batches each; rules say which answers mean the same
            "answer": 2,
            "integrate_evidence": 1,
        }
        assert [entry.body["n"] for entry in fake.log if task_of(entry.body) == "sample"] == [10] * 4
        assert answer.usage.calls == len(asked) == fake.bill.calls
        effort = settings.effort
        assert (
            effort.readings[0] + effort.plans[0]
            <= len(asked)
            <= effort.readings[1] + effort.plans[1] + effort.others[1]
        )


def talkative(body: Body) -> str:
    """Four sub-questions; samples of some three hundred tokens."""
    if task_of(body) == "sample":
        return json.dumps({"reasoning": "It may be so. " * 80, "answer": "Orla Finch"})
    if task_of(body) == "decompose_next":
        return json.dumps({"questions": [asked for asked in ASKED if asked not in body["messages"][1]["content"]][:1]})
    return json.dumps({"steps": [], "answer": "Wrenmouth", "confidence": 0.9})


@pytest.mark.parametrize("samples", [1, 10])
def test_four_sub_questions_of_the_paper_cost_at_most_30_calls_and_45000_tokens(
    corpus: Corpus, tmp_path: Path, samples: int
) -> None:
    """By the server's bill: calls are what is short with one sample, tokens with ten. Every sub-question is still asked."""
    adaptive, drawn = AdaptiveSettings(batch=1, budget=7), replace(PAPER.uncertainty, samples=samples)
    paper = replace(PAPER, adaptive=adaptive, uncertainty=drawn)
    with serving(FakeAI(talkative, several=True)) as fake:
        context = context_at(fake, tmp_path)
        answer = Sunar(corpus, open_language("chat", context), paper).answer(QUESTION)
        bounded = replace(fake.bill)
        assert [hop.asked for hop in answer.trail] == list(ASKED)
        assert bounded.calls <= 30
        assert bounded.prompt_tokens + bounded.completion_tokens <= 45_000
        unbounded = replace(paper, tasks=0, tokens=0)
        Sunar(corpus, open_language("chat", context_at(fake, tmp_path / "whole")), unbounded).answer(QUESTION)
        whole = fake.bill
        assert whole.calls - bounded.calls > 30
        tokens = whole.prompt_tokens + whole.completion_tokens - bounded.prompt_tokens - bounded.completion_tokens
        assert (tokens > 45_000) is (samples == 10)


def test_two_sub_questions_of_the_paper_are_guided_in_every_batch(corpus: Corpus, tmp_path: Path) -> None:
    paper = replace(PAPER, adaptive=AdaptiveSettings(batch=1, budget=7))
    with serving(FakeAI(model, several=True)) as fake:
        for name, settings in (("bounded", paper), ("whole", replace(paper, tasks=0, tokens=0))):
            Sunar(corpus, open_language("chat", context_at(fake, tmp_path / name)), settings).answer(QUESTION)
    asked = [task_of(entry.body) for entry in fake.log]
    assert asked.count("sample") > 2 * 7 * 1.5, "two sub-questions of nearly seven batches each, twice"
    assert asked[: len(asked) // 2] == asked[len(asked) // 2 :]
