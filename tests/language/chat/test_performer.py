"""Every task through the chat performer: what is asked, and what becomes of the reply. Row A15 of the fault table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fakeai.brains import by_task, task_of
from fakeai.server import FakeAI
from hoptrail.errors import TaskFailed
from hoptrail.language.tasks import (
    Abstain,
    Assess,
    Complete,
    Decompose,
    Decomposition,
    Equate,
    Extract,
    Finding,
    FollowUp,
    Integrate,
    Read,
    Reading,
    Recall,
    Sample,
    Step,
    Summarise,
    Task,
    Turn,
    Verify,
)
from hoptrail.models.chat import Rung
from hoptrail.types import Fact, Kind, Span, Triple, Unit
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
    language = speaking(by_task({"integrate_evidence": ANSWER}))
    read = language.perform(Integrate(QUESTION, (FOUND,), (isk,))).value
    assert read.answer == "the Grey Hills"
    assert read.steps[0].support
    given = fake.log[0].body["messages"][1]["content"]
    assert "#1 Who designed the Tallow Bridge? -> Orla Finch" in given
    assert "It rises in the Grey Hills" in given


def test_integrate_from_answers_alone_asks_for_no_evidence(fake: FakeAI, speaking: Speaking) -> None:
    concluded = {"reasoning": "It was designed by her.", "answer": "Orla Finch", "confidence": "medium"}
    value = speaking(by_task({"integrate": concluded})).perform(Integrate(QUESTION, (FOUND,))).value
    assert value == Reading("Orla Finch", (Step(QUESTION, "Orla Finch", ()),), 0.7)
    for absent in ("evidence", "quote", "passage"):
        assert absent not in fake.log[0].prompt
        assert absent not in json.dumps(fake.log[0].body["response_format"])


def test_integrate_without_any_answer_is_reading(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    language = speaking(by_task({"answer": ANSWER}))
    for findings in ((), (Finding("a", "a", None),)):
        assert language.perform(Integrate(QUESTION, findings, (isk,))).value.answer == "the Grey Hills"
    assert len(fake.log) == 1, "the same request"


@pytest.mark.parametrize("rung", Rung)
def test_a_form_offers_a_null_only_where_the_task_may_abstain(
    fake: FakeAI, speaking: Speaking, isk: Unit, rung: Rung
) -> None:
    """The words, the form that the model is shown, and the schema that is sent agree."""
    found = {task: {"answer": "the Isk"} for task in ("integrate", "recall", "sample")}
    in_json = by_task({**found, "answer": ANSWER, "integrate_evidence": ANSWER})
    brain = (lambda _: "It says so.\nANSWER: the Isk") if rung is Rung.PLAIN else in_json
    language = speaking(brain, structured=rung.value)
    for abstain, said in (
        (Abstain.ALWAYS, "A guess is worse than null."),
        (Abstain.ALLOWED, "If nothing "),
        (Abstain.NEVER, "never null."),
    ):
        for task in (
            Read(QUESTION, (isk,), abstain),
            Integrate(QUESTION, (FOUND,), (), abstain),
            Integrate(QUESTION, (FOUND,), (isk,), abstain),
            Recall(QUESTION, abstain),
            Sample(QUESTION, (isk,), 1, abstain),
        ):
            assert language.perform(task).value
            told = fake.log[-1].prompt
            if not isinstance(task, Sample) or abstain is not Abstain.ALWAYS:  # where nothing helps, a sample is null
                assert said in told
            assert ("guess" in told) == (abstain is Abstain.ALWAYS and not isinstance(task, Sample))
            never = abstain is Abstain.NEVER
            assert ((", or none" if rung is Rung.PLAIN else " or null") in told) == (not never)
            sent = json.dumps(fake.log[-1].body.get("response_format")) + told
            schema = sent.rpartition('"answer": {')[2]
            assert rung is Rung.PLAIN or schema.startswith('"type": "string"' if never else '"anyOf": ')


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
    missing = Finding("Who built it?", "Who built it?", None)
    value = language.perform(Complete("Where was she born?", (missing, FOUND))).value
    assert value == "Where was Orla Finch born?"
    assert "#1 Who designed the Tallow Bridge? -> Orla Finch" in fake.log[0].prompt
    assert "(not found)" not in fake.log[0].prompt


def test_a_follow_up_is_completed_unless_a_name_is_made_up(fake: FakeAI, speaking: Speaking) -> None:
    turns = (Turn("When was Orla Finch born?", "1871"),)
    language = speaking(by_task({"follow_up": {"question": "Where was Orla  Finch born?"}}))
    reply = language.perform(FollowUp("and where?", turns))
    assert (reply.value, reply.usage.calls) == ("Where was Orla Finch born?", 1)
    assert [task_of(asked.body) for asked in fake.log] == ["follow_up"]
    language = speaking(by_task({"follow_up": {"question": "Where was Ada Lunt born?"}}))
    assert language.perform(FollowUp("and where then?", turns)).value is None


@pytest.mark.parametrize(
    ("question", "findings", "completed"),
    [
        ("Where was #1 born?", (FOUND,), "Where was Orla Finch born?"),
        ("Where was #2 born?", (FOUND,), "Where was #2 born?"),
        ("Where was Orla born?", (FOUND,), "Where was Orla born?"),
        ("Where was she born?", (), "Where was she born?"),
        ("Where was she born?", (Finding("Who built it?", "Who built it?", None),), "Where was she born?"),
    ],
)
def test_what_rules_complete_is_not_asked(
    fake: FakeAI, speaking: Speaking, question: str, findings: tuple[Finding, ...], completed: str
) -> None:
    assert speaking().perform(Complete(question, findings)).value == completed
    assert fake.log == []


@pytest.mark.parametrize("reply", [" ", "Where was the designer born?"])
def test_a_completion_that_adds_nothing_found_is_not_taken(speaking: Speaking, reply: str) -> None:
    language = speaking(by_task({"complete": {"question": reply}}))
    assert language.perform(Complete("Where was she born?", (FOUND,))).value == "Where was she born?"


OPENED = Finding("When did it open?", "When did it open?", "1871")


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("Where was she born?", "Question to rewrite: Where was she born?"),
        ("Where was #1 born?", 'Where was the answer to "Who designed the Tallow Bridge?" born?'),
        ("Was #1 born before #2?", 'born before the answer to "When did it open?"?'),
    ],
)
def test_a_model_that_is_to_rewrite_does_so_wherever_a_question_points_back(
    fake: FakeAI, speaking: Speaking, question: str, given: str
) -> None:
    language = speaking(by_task({"complete": {"question": "Where was Orla Finch born?"}}))
    assert language.perform(Complete(question, (FOUND, OPENED), by_model=True)).value == "Where was Orla Finch born?"
    assert [task_of(asked.body) for asked in fake.log] == ["complete"]
    assert given in fake.log[0].prompt
    assert not any(
        f"#{number} born" in fake.log[0].prompt or f"before #{number}" in fake.log[0].prompt for number in (1, 2)
    )


def test_rules_stand_in_for_a_rewriting_that_is_not_taken(fake: FakeAI, speaking: Speaking) -> None:
    language = speaking(by_task({"complete": {"question": "Where was the designer born?"}}))
    assert (
        language.perform(Complete("Where was #1 born?", (FOUND,), by_model=True)).value == "Where was Orla Finch born?"
    )
    assert language.perform(Complete("Where was Orla born?", (FOUND,), by_model=True)).value == "Where was Orla born?"
    assert language.perform(Complete("Where was #2 born?", (FOUND,), by_model=True)).value == "Where was #2 born?"
    assert len(fake.log) == 1, "nothing is asked where nothing found is pointed at"


@pytest.mark.parametrize(("said", "meant"), [("yes", 1.0), ("No, the source is missing.", 0.0), (True, 1.0)])
def test_assess_asks_what_is_missing_and_then_whether_it_is_enough(
    fake: FakeAI, speaking: Speaking, isk: Unit, said: object, meant: float
) -> None:
    language = speaking(by_task({"assess": {"missing": "nothing", "enough": said}}))
    assert language.perform(Assess(QUESTION, (isk,))).value == meant
    assert "answer" not in fake.log[0].body["messages"][1]["content"].lower(), "none is proposed"


@pytest.mark.parametrize(("said", "meant"), [("yes", 1.0), ("Partly", 0.25), ("no.", 0.0)])
def test_verify_holds_an_answer_against_the_evidence(
    fake: FakeAI, speaking: Speaking, isk: Unit, said: str, meant: float
) -> None:
    language = speaking(by_task({"verify": {"reason": "It says so.", "supports": said}}))
    assert language.perform(Verify(QUESTION, (isk,), "the Grey Hills")).value == meant
    assert "Answer to check: the Grey Hills" in fake.log[0].prompt


@pytest.mark.parametrize(
    ("task", "reply"),
    [
        (Assess, {"missing": "", "enough": 0.5}),
        (Verify, {"reason": "", "supports": "0.9"}),
        (Equate, {"difference": "", "same": "maybe"}),
    ],
)
def test_a_judgement_is_a_word_and_no_number(
    fake: FakeAI, speaking: Speaking, isk: Unit, task: type[Task[Any]], reply: object
) -> None:
    asked: dict[type[Task[Any]], Task[Any]] = {
        Assess: Assess(QUESTION, (isk,)),
        Verify: Verify(QUESTION, (isk,), "the sea"),
        Equate: Equate(QUESTION, "the sea", "the ocean"),
    }
    with pytest.raises(TaskFailed, match="must be"):
        speaking(lambda _: json.dumps(reply)).perform(asked[task])
    assert "probab" not in fake.log[0].prompt


def test_equivalence_is_one_question(fake: FakeAI, speaking: Speaking) -> None:
    language = speaking(by_task({"equate": {"difference": "nothing", "same": "yes"}}))
    assert language.perform(Equate("Where?", "Wrenmouth", "the town of Wrenmouth")).value is True
    assert [task_of(asked.body) for asked in fake.log] == ["equate"]


def test_recall_answers_from_memory_or_not(speaking: Speaking) -> None:
    language = speaking(by_task({"recall": {"answer": "Paris", "confidence": 0.8}}))
    assert language.perform(Recall("capital of France?")).value == Reading("Paris", (), 0.8)
    language = speaking(by_task({"recall": {"answer": "I don't know", "confidence": 0.8}}))
    assert language.perform(Recall("something else?")).value == Reading(None)


def test_a_summary_may_be_as_long_as_was_asked(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    long = " ".join(f"Sentence {number} has some six words." for number in range(100))
    language = speaking(by_task({"summarise": {"summary": long}}))
    assert language.perform(Summarise((isk,), 600)).value == long
    form = fake.log[0].body["response_format"]["json_schema"]["schema"]
    assert form["properties"]["summary"]["maxLength"] == 9600


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


def test_a_fact_keeps_its_triple_where_an_end_of_it_is_what_the_fact_is_about(speaking: Speaking, isk: Unit) -> None:
    facts: list[dict[str, Any]] = [
        {
            "text": "The Isk rises in hills.",
            "entities": ["Isk"],
            "triple": ["ISK", "rises  in", "hills"],
            "sentence": 2,
        },
        {"text": "The Isk is a river.", "entities": ["Isk"], "triple": ["it", "is", "a river"], "sentence": 1},
        {"text": "The Isk is long.", "entities": ["Isk"], "triple": ["Isk", "", "long"], "sentence": 2},
    ]
    value = speaking(by_task({"extract": extraction("Isk", facts=facts)})).perform(Extract(isk)).value
    assert [fact.triple for fact in value.facts] == [Triple("ISK", "rises in", "hills"), None, None]


def test_what_a_text_points_back_to_may_stand_in_the_passage_before(speaking: Speaking) -> None:
    before, unit = passage("Log", "Orla Finch went ashore. It rained."), passage("Log", "She sold the Heron there.")
    facts: list[dict[str, Any]] = [
        {"text": "Orla Finch sold the Heron.", "entities": ["Heron", "ORLA FINCH"], "sentence": 1},
        {"text": "Jonas Pell went ashore.", "entities": ["Jonas Pell"], "sentence": 1},
    ]
    language = speaking(by_task({"extract": extraction("Heron", "Orla Finch", facts=facts)}))
    value = language.perform(Extract(unit, before)).value
    assert value.entities == ("Heron", "Orla Finch")
    assert [(fact.entities, fact.source) for fact in value.facts] == [(("Heron", "Orla Finch"), unit.sources[0])]
    assert language.perform(Extract(unit)).value.facts[0].entities == ("Heron",)


def test_what_is_said_to_be_a_date_or_a_quantity_is_no_entity_unless_asked_for(
    fake: FakeAI, speaking: Speaking, isk: Unit
) -> None:
    entities = [{"name": "Isk", "type": "river"}, {"name": "90 km", "type": "Distance"}]
    facts: list[dict[str, Any]] = [
        {"text": "The Isk is 90 km long.", "entities": ["Isk", "90 km"], "sentence": 2},
        {"text": "It is 90 km long.", "entities": ["90 km"], "sentence": 2},
    ]
    reply = {"entities": entities, "facts": facts}
    value = speaking(by_task({"extract": reply})).perform(Extract(isk)).value
    assert value.entities == ("Isk",)
    assert [fact.entities for fact in value.facts] == [("Isk",), ()]
    asked_for = speaking(by_task({"extract": reply})).perform(Extract(isk, figures=True)).value
    assert asked_for.entities == ("Isk", "90 km")
    assert [fact.entities for fact in asked_for.facts] == [("Isk", "90 km"), ("90 km",)]
    prompts = [asked.prompt for asked in fake.log]
    assert ["dates and quantities are named things as well" in prompt for prompt in prompts] == [False, True]


def test_a15_facts_about_nothing_that_the_text_names_are_dropped(speaking: Speaking, isk: Unit) -> None:
    facts = [
        {
            "text": "Brandt & Sons supply the Rowan School.",
            "entities": ["Brandt & Sons", "Rowan School"],
            "sentence": 2,
        },
        {"text": "The Isk is a river.", "entities": ["Isk", "Europe"], "sentence": 1},
        {"text": "It is long.", "entities": [], "sentence": 2},
    ]
    value = speaking(by_task({"extract": extraction("Isk", facts=facts)})).perform(Extract(isk)).value
    assert [fact.text for fact in value.facts] == ["The Isk is a river.", "It is long."]


@pytest.mark.parametrize("window", [8192, 3000])
def test_a15_the_prompts_ask_for_the_language_of_the_question_or_of_the_text(
    fake: FakeAI, speaking: Speaking, isk: Unit, window: int
) -> None:
    reply = {**ANSWER, **extraction(), "summary": "s", "questions": ["Wo?"], "question": "Wo entspringt sie?"}
    language = speaking(lambda _: json.dumps(reply), context_window=window)
    asked, found = "Wo entspringt die Isk?", (Finding("Wo?", "Wo?", "da"),)
    for task in (
        *(Extract(isk), Summarise((isk,), 10), Decompose(asked), Decompose(asked, found, one_at_a_time=True)),
        *(Read(asked, (isk,)), Integrate(asked, found), Integrate(asked, found, (isk,)), Recall(asked)),
        Sample(asked, (isk,), 1),
    ):
        language.perform(task)
        about = "the " if isinstance(task, Extract | Summarise) else "the question"
        assert f"the language of {about}" in fake.log[-1].body["messages"][0]["content"], task
    assert len(fake.log) == 9


def test_a13_text_of_documents_goes_out_and_is_cited_unaltered(fake: FakeAI, speaking: Speaking) -> None:
    text = "The page holds <think>a thought</think> and <tool_call>{}</tool_call>. [9] $question ```json {}."
    unit = passage("Odd </think> title", text)
    step = {"question": "q", "answer": "a thought", "evidence": [1], "quote": text[:60]}
    language = speaking(by_task({"answer": {"steps": [step], "answer": "a thought", "confidence": 1}}))
    span = language.perform(Read("What does it hold?", (unit,))).value.steps[0].support[0]
    assert f"<title>Odd </think> title</title>\n{text}\n</passage>" in fake.log[0].prompt
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
    language.perform(Read(QUESTION, (passage("Large", "word " * 30_000),)))
    assert len(fake.log) == 2
    assert all(len(asked.prompt) / 4 > 600 for asked in fake.log), "it uses its room"
    language.perform(Summarise(units, 50))
    assert all(len(asked.prompt) / 4 + 512 < 2048 for asked in fake.log)


def test_passages_that_the_window_drops_are_told(
    fake: FakeAI, speaking: Speaking, caplog: pytest.LogCaptureFixture
) -> None:
    units = tuple(passage(f"Title {number}", "word " * 300) for number in range(20))
    speaking(by_task({"answer": ANSWER}), context_window=2048, max_output_tokens=512).perform(Read(QUESTION, units))
    left_out = 20 - fake.log[0].prompt.count("<passage n=")
    assert 0 < left_out < 20
    assert f"[…] {left_out} more do not fit." in fake.log[0].prompt
    assert f"answer: {left_out} of 20 passages do not fit into context_window under [chat]" in caplog.text


def test_an_empty_unit_has_nothing_to_extract(fake: FakeAI, speaking: Speaking) -> None:
    empty = Unit("u", Kind.PASSAGE, "T", " \n", (Span("d", 0, 2),))
    assert speaking().perform(Extract(empty)).value.entities == ()
    assert fake.log == []


def test_what_is_no_task_is_refused(speaking: Speaking) -> None:
    with pytest.raises(TaskFailed, match="not a language task"):
        speaking().perform(Task())


def test_the_model_is_part_of_the_name(speaking: Speaking) -> None:
    assert speaking().name == "chat:fake"
