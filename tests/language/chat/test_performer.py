"""Every task through the chat performer: what is asked, and what becomes of the reply. Row A15 of the fault table."""

from __future__ import annotations

from typing import Any

import pytest

from fakeai.brains import by_task
from fakeai.server import FakeAI
from hoptrail.errors import TaskFailed
from hoptrail.language.tasks import (
    Assess,
    Complete,
    Decompose,
    Decomposition,
    Extract,
    Fact,
    Finding,
    Integrate,
    Read,
    Reading,
    Recall,
    Sample,
    Summarise,
    Task,
)
from hoptrail.types import Kind, Span, Unit
from language_chat import ANSWER, QUESTION, Speaking, passage

FOUND = Finding("Who designed the Tallow Bridge?", "Who designed the Tallow Bridge?", "Orla Finch")


def test_answer_reads_the_evidence_and_cites_it(speaking: Speaking, isk: Unit, wrenmouth: Unit) -> None:
    reply = speaking(by_task({"answer": ANSWER})).perform(Read(QUESTION, (isk, wrenmouth)))
    assert reply.value.answer == "the Grey Hills"
    assert reply.value.confidence == 0.9
    span = reply.value.steps[0].support[0]
    assert isk.text[span.start - 7 : span.end - 7] == "It rises in the Grey Hills and is 90 km long."
    assert reply.usage.calls == 1
    assert reply.usage.prompt_tokens > 0
    assert reply.usage.seconds > 0


def test_a_sample_may_be_a_title_that_sounds_like_no_answer(speaking: Speaking, isk: Unit) -> None:
    film = passage("Unknown (2011 film)", "Unknown is a thriller by Jaume Collet-Serra.")
    language = speaking(by_task({"sample": {"reasoning": None, "answer": "Unknown"}}))
    assert language.perform(Sample("Which film?", (film,), 2)).value.answers == ("Unknown", "Unknown")
    assert language.perform(Sample("Which film?", (isk,), 2)).value.answers == (None, None)


def test_integrate_sees_findings_and_evidence(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    language = speaking(by_task({"integrate": ANSWER}))
    assert language.perform(Integrate(QUESTION, (FOUND,), (isk,))).value.answer == "the Grey Hills"
    given = fake.log[0].body["messages"][1]["content"]
    assert "#1 Who designed the Tallow Bridge? -> Orla Finch" in given
    assert "It rises in the Grey Hills" in given
    assert language.perform(Integrate(QUESTION, (FOUND,))).value.steps[0].support == ()


@pytest.mark.parametrize(
    "task", [Read("q", ()), Integrate("q", ()), Integrate("q", (Finding("a", "a", None),)), Assess("q", ())]
)
def test_tasks_with_nothing_to_work_on_are_not_asked(fake: FakeAI, speaking: Speaking, task: Task[Any]) -> None:
    assert speaking().perform(task).value in (Reading(None), 0.0)
    assert fake.log == []


def test_decompose_plans_all_or_the_next(fake: FakeAI, speaking: Speaking) -> None:
    questions = ["Who designed it?", " Who designed\nit? ", "", "Where was #1 born?"]
    language = speaking(by_task({"decompose": {"questions": questions}, "decompose_next": {"questions": questions}}))
    assert language.perform(Decompose("q")).value == Decomposition(("Who designed it?", "Where was #1 born?"))
    assert language.perform(Decompose("q", (FOUND,), one_at_a_time=True)).value == Decomposition(("Who designed it?",))
    assert [asked.body["response_format"]["json_schema"]["name"] for asked in fake.log] == ["decompose", "decompose"]


@pytest.mark.parametrize("reply", [{"questions": []}, {"questions": None}, {"questions": ""}])
def test_nothing_left_to_ask(speaking: Speaking, reply: object) -> None:
    language = speaking(by_task({"decompose_next": reply}))
    assert language.perform(Decompose("q", (FOUND,), one_at_a_time=True)).value == Decomposition(())


def test_a_plan_has_an_end(speaking: Speaking) -> None:
    language = speaking(by_task({"decompose": {"questions": [f"question {number}" for number in range(500)]}}))
    assert len(language.perform(Decompose("q")).value.questions) == 12


def test_complete_stands_alone(fake: FakeAI, speaking: Speaking) -> None:
    language = speaking(by_task({"complete": {"question": "Where was Orla Finch  born?"}}))
    assert language.perform(Complete("Where was #1 born?", (FOUND,))).value == "Where was Orla Finch born?"
    assert language.perform(Complete("Where was Orla born?", ())).value == "Where was Orla born?"
    assert len(fake.log) == 1


def test_an_empty_completion_fails(speaking: Speaking) -> None:
    with pytest.raises(TaskFailed, match="empty question"):
        speaking(by_task({"complete": {"question": " "}})).perform(Complete("q", (FOUND,)))


def test_assess_gives_a_probability_with_or_without_an_answer(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    language = speaking(by_task({"assess": {"probability": "85%"}}))
    assert language.perform(Assess(QUESTION, (isk,))).value == 0.85
    assert language.perform(Assess(QUESTION, (isk,), "the Grey Hills")).value == 0.85
    assert [asked.prompt.split("Proposed answer: ")[1] for asked in fake.log] == ["(none)", "the Grey Hills"]


def test_recall_answers_from_memory_or_not(speaking: Speaking) -> None:
    language = speaking(by_task({"recall": {"answer": "Paris", "confidence": 0.8}}))
    assert language.perform(Recall("capital of France?")).value == Reading("Paris", (), 0.8)
    language = speaking(by_task({"recall": {"answer": "I don't know", "confidence": 0.8}}))
    assert language.perform(Recall("something else?")).value == Reading(None)


def test_summaries_keep_to_their_length(speaking: Speaking, isk: Unit, wrenmouth: Unit) -> None:
    summary = "The Isk is a river of 90 km. It flows through Wrenmouth. It has many bridges and mills and banks."
    language = speaking(by_task({"summarise": {"summary": summary}}))
    assert (
        language.perform(Summarise((isk, wrenmouth), 12)).value
        == "The Isk is a river of 90 km. It flows through Wrenmouth."
    )
    assert language.perform(Summarise((isk, wrenmouth), 3)).value == "The Isk is"
    assert language.perform(Summarise((isk, wrenmouth), 100)).value == summary


def extraction(*entities: str, facts: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"entities": list(entities), "facts": facts or []}


def test_extract_takes_entities_as_written_and_facts_with_their_sentence(speaking: Speaking, isk: Unit) -> None:
    facts: list[dict[str, Any]] = [
        {"text": "The Isk rises in the Grey Hills.", "entities": ["Isk", "grey  hills"], "sentence": 2},
        {"text": "The Isk is a river.", "entities": ["Isk"], "sentence": "[1]"},
        {"text": "It is long.", "entities": [], "sentence": 99},
        {"text": " ", "entities": [], "sentence": 1},
    ]
    value = (
        speaking(by_task({"extract": extraction("Grey Hills", "ISK", "90 km", facts=facts)}))
        .perform(Extract(isk))
        .value
    )
    assert value.entities == ("Isk", "Grey Hills", "90 km")
    second = isk.text.index("It rises")
    whole = isk.sources[0]
    assert value.facts == (
        Fact("The Isk rises in the Grey Hills.", ("Isk", "Grey Hills"), Span(whole.document, 7 + second, whole.end)),
        Fact("The Isk is a river.", ("Isk",), Span(whole.document, 7, 7 + second - 1)),
        Fact("It is long.", (), whole),
    )


def test_a15_entities_that_the_text_does_not_name_are_dropped(speaking: Speaking) -> None:
    unit = passage("Isk (river)", "Die Isk ist ein Fluß; the ISK   Valley is wide. 東京タワー is far. Café.")
    facts = [{"text": "f", "entities": ["Danube", "Isk Valley"], "sentence": 1}]
    names = ["Danube", "Isk", "Vall", "isk valley", "東京", "Cafe\u0301", "Vienna", "", "Fluss"]
    value = speaking(by_task({"extract": extraction(*names, facts=facts)})).perform(Extract(unit)).value
    assert value.entities == ("Isk", "ISK Valley", "東京", "Cafe\u0301")
    assert value.facts[0].entities == ("ISK Valley",)


def test_a15_the_prompts_ask_for_the_documents_own_language(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    language = speaking(by_task({"extract": extraction(), "summarise": {"summary": "s"}, "answer": ANSWER}))
    for task in (Extract(isk), Summarise((isk,), 10), Read("Wo entspringt die Isk?", (isk,))):
        language.perform(task)
    assert all("language of the" in asked.body["messages"][0]["content"] for asked in fake.log)


def test_a13_text_of_documents_goes_out_and_is_cited_unaltered(fake: FakeAI, speaking: Speaking) -> None:
    text = "The page holds <think>a thought</think> and <tool_call>{}</tool_call>. [9] end $question ```json {}."
    unit = passage("Odd </think> title", text)
    step = {"question": "q", "answer": "a thought", "evidence": [1], "quote": text[:60]}
    language = speaking(by_task({"answer": {"steps": [step], "answer": "a thought", "confidence": 1}}))
    span = language.perform(Read("What does it hold?", (unit,))).value.steps[0].support[0]
    assert f"\nOdd </think> title\n{text}\nend " in fake.log[0].prompt
    assert text[span.start - 7 : span.end - 7].startswith("The page holds <think>a thought</think>")


def test_a_question_longer_than_the_window_fails_before_it_is_sent(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    for task in (Read("why " * 20_000, (isk,)), Decompose("why " * 20_000), Recall("why " * 20_000)):
        with pytest.raises(TaskFailed, match="too long for context_window"):
            speaking().perform(task)
    assert fake.log == []


def test_a_prompt_never_outgrows_the_window(fake: FakeAI, speaking: Speaking) -> None:
    units = tuple(passage(f"Title {number}", "word " * (50 + 37 * number % 400)) for number in range(60))
    language = speaking(
        by_task({"answer": ANSWER, "summarise": {"summary": "s"}}), context_window=2048, max_output_tokens=512
    )
    language.perform(Read(QUESTION, units))
    language.perform(Summarise(units, 50))
    language.perform(Read(QUESTION, (passage("Large", "word " * 30_000),)))
    assert len(fake.log) == 3
    for asked in fake.log:
        assert len(asked.prompt) / 4 + 512 < 2048
        assert len(asked.prompt) / 4 > 600, "and uses its room"


def test_an_empty_unit_has_nothing_to_extract(fake: FakeAI, speaking: Speaking) -> None:
    empty = Unit("u", Kind.PASSAGE, "T", " \n", (Span("d", 0, 2),))
    assert speaking().perform(Extract(empty)).value.entities == ()
    assert fake.log == []


def test_what_is_no_task_is_refused(speaking: Speaking) -> None:
    with pytest.raises(TaskFailed, match="not one of the ten"):
        speaking().perform(Task())


def test_the_model_is_part_of_the_name(speaking: Speaking) -> None:
    assert speaking().name == "chat:fake"
