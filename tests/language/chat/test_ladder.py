"""How a usable reply is got from a server that misbehaves. Rows A3, A6, A7, A8, A9, A12, A13 and A17 of the fault table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakeai.brains import by_task, task_of
from fakeai.clients import quick_settings, replies_in, rung_in
from fakeai.faults import FAULTS, status
from fakeai.server import Body, FakeAI, form_of
from hoptrail.errors import EndpointRefused, TaskFailed
from hoptrail.language.chat.performer import ChatLanguage
from hoptrail.language.chat.schemas import ReadingReply, StepReply
from hoptrail.language.tasks import Assess, Decompose, Read
from hoptrail.models.billing import RecordedChat
from hoptrail.models.chat import Rung
from hoptrail.models.ledger import write_recording
from hoptrail.types import Unit
from language_chat import ANSWER, QUESTION, Speaking, passage

BRAIN = by_task(
    {"answer": ANSWER, "decompose": {"questions": ["a", "b"]}, "assess": {"missing": "nothing", "enough": "yes"}}
)
"""Replies that are usable as they are."""
WRAPPED = ["prose around", "trailing comma", "single quotes", "thinking", "thinking without begin", "tool call"]
BROKEN = [
    *("deep", "abyss", "not a number", "missing field", "wrong types", "duplicate keys", "20 MB of JSON", "loop"),
]

FORMS = ["json_schema", "", "plain"]
"""How each rung asks, from the strictest down."""

PATIENT = 60.0
"""Seconds for a call whose reply has 20 MB: on a busy machine it takes the server seconds to write that."""


def forms(fake: FakeAI) -> list[str]:
    return [asked.form for asked in fake.log]


@pytest.mark.parametrize("fault", WRAPPED)
def test_a8_a13_a_sloppy_reply_is_used_at_once(fake: FakeAI, speaking: Speaking, isk: Unit, fault: str) -> None:
    fake.always = fault
    assert speaking(BRAIN).perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills"
    assert len(fake.log) == 1


@pytest.mark.parametrize("fault", [*BROKEN, "20 MB"])
def test_a8_a_broken_reply_is_repaired_once(fake: FakeAI, speaking: Speaking, isk: Unit, fault: str) -> None:
    language = speaking(BRAIN, structured="prompt", deadline_seconds=PATIENT)
    fake.plan = {1: fault}
    assert language.perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills"
    assert len(fake.log) == 2
    system, user, said, plea = fake.log[1].body["messages"]
    assert [system, user] == fake.log[0].body["messages"]
    assert len(said["content"]) <= 2000
    assert plea["content"].startswith("That reply could not be used: ")


@pytest.mark.parametrize("fault", BROKEN)
def test_a8_a_model_that_only_gives_nonsense_costs_the_task_and_no_more(
    fake: FakeAI, speaking: Speaking, isk: Unit, fault: str
) -> None:
    fake.choose = lambda _, body: fault if "Question: bad" in body["messages"][1]["content"] else None
    language = speaking(BRAIN, deadline_seconds=PATIENT)
    with pytest.raises(TaskFailed, match=r"^answer: fake at http://127.*got no usable reply: ") as caught:
        language.perform(Read("bad", (isk,)))
    assert forms(fake) == FORMS, "each rung once"
    assert fake.log[1].body["messages"][-1]["content"].startswith("That reply could not be used: ")
    assert caught.value.usage is not None
    assert caught.value.usage.calls == 3
    assert language.perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills", "the next one goes on"


def test_the_repair_quotes_the_error(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    fake.plan = {1: "missing field"}
    speaking(BRAIN, structured="prompt").perform(Read(QUESTION, (isk,)))
    assert "answer: Field required" in fake.log[1].body["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("fault", "tried", "rung"),
    [
        (None, ["json_schema"], Rung.SCHEMA),
        ("no schema", FORMS[:2], Rung.PROMPT),
    ],
)
def test_the_rung_that_works_is_found_once_and_remembered(
    fake: FakeAI, speaking: Speaking, tmp_path: Path, fault: str | None, tried: list[str], rung: Rung
) -> None:
    fake.always = fault
    assert speaking(BRAIN).perform(Decompose("one")).value.questions == ("a", "b")
    assert forms(fake) == tried
    assert rung_in(tmp_path, fake) == rung
    assert speaking(BRAIN).perform(Decompose("two")).value.questions == ("a", "b")
    assert forms(fake) == [*tried, tried[-1]], "another run starts where it works"


def test_a_schema_is_named_after_its_task_and_stands_in_the_prompt_on_the_second_rung(
    fake: FakeAI, speaking: Speaking, isk: Unit
) -> None:
    fake.always = "no schema"
    speaking(BRAIN).perform(Read(QUESTION, (isk,)))
    assert fake.log[0].body["response_format"]["json_schema"]["name"] == "answer"
    assert '"additionalProperties": false' in fake.log[-1].body["messages"][0]["content"]
    assert '"additionalProperties"' not in fake.log[0].body["messages"][0]["content"]


def test_a_schema_has_its_fields_in_the_order_in_which_they_are_declared(
    fake: FakeAI, speaking: Speaking, isk: Unit
) -> None:
    """Strict decoders write them in that order: reasons before what follows from them."""
    speaking(BRAIN).perform(Read(QUESTION, (isk,)))
    sent = fake.log[0].body["response_format"]["json_schema"]["schema"]
    assert list(sent["properties"]) == sent["required"] == list(ReadingReply.model_fields)
    assert sent["required"].index("steps") < sent["required"].index("answer")
    step = sent["$defs"]["StepReply"]
    assert list(step["properties"]) == step["required"] == list(StepReply.model_fields)


def test_a_rung_that_gave_nonsense_before_it_worked_is_left(fake: FakeAI, speaking: Speaking, tmp_path: Path) -> None:
    """Many servers take a schema and ignore it."""
    fake.choose = lambda _, body: (
        "wrong types" if body.get("response_format", {}).get("type") == "json_schema" else None
    )
    speaking(BRAIN).perform(Read("q", (passage("T", "A text."),)))
    assert forms(fake) == FORMS[:2]
    assert rung_in(tmp_path, fake) == Rung.PROMPT


@pytest.mark.parametrize("worst", FORMS[:-1])
def test_a7_a_rung_that_gave_nothing_before_it_worked_is_left(
    fake: FakeAI, speaking: Speaking, tmp_path: Path, worst: str
) -> None:
    """Some servers answer a schema with an empty reply, local and reasoning ones above all."""
    broken = FORMS[: 1 + FORMS.index(worst)]
    works = FORMS[len(broken)]
    fake.choose = lambda _, body: "empty" if form_of(body) in broken else None
    tasks = [Decompose("one"), Decompose("two")]
    first = [speaking(sloppy if works == "plain" else BRAIN).perform(task).value for task in tasks]
    assert forms(fake) == [*broken, works, works]
    assert [speaking(BRAIN).perform(task).value for task in tasks] == first
    write_recording(replies_in(tmp_path).stored(), tmp_path / "replies.jsonl")
    replay = ChatLanguage(RecordedChat.open(tmp_path / "replies.jsonl"), quick_settings(fake))
    assert [replay.perform(task).value for task in tasks] == first
    assert len(fake.log) == len(broken) + 2, "a second run and a replay take the same way"


def test_a7_an_empty_reply_on_a_rung_that_works_leads_to_the_next_also_in_a_replay(
    fake: FakeAI, speaking: Speaking, tmp_path: Path
) -> None:
    fake.plan = {2: "empty"}
    tasks = [Decompose("one"), Decompose("two"), Decompose("three")]
    first = [speaking(BRAIN).perform(task).value for task in tasks]
    assert forms(fake) == ["json_schema", "json_schema", "", "json_schema"]
    write_recording(replies_in(tmp_path).stored(), tmp_path / "replies.jsonl")
    replay = ChatLanguage(RecordedChat.open(tmp_path / "replies.jsonl"), quick_settings(fake))
    assert [replay.perform(task).value for task in tasks] == first


def test_a_rung_that_works_is_not_left_for_prompts_that_it_refuses(
    fake: FakeAI, speaking: Speaking, tmp_path: Path
) -> None:
    """Groq answers with status 400 where the model gave no JSON."""
    fake.choose = lambda _, body: "no schema" if "odd" in body["messages"][-1]["content"] else None
    language = speaking(BRAIN)
    for question in ["one", *(f"odd {number}" for number in range(9)), "two", "odd again", "odd again"]:
        assert language.perform(Decompose(question)).value.questions == ("a", "b")
    assert forms(fake).count("") == 10
    assert rung_in(tmp_path, fake) == Rung.SCHEMA


def test_of_two_that_find_a_rung_at_once_the_later_does_not_lower_it(
    fake: FakeAI, speaking: Speaking, tmp_path: Path
) -> None:
    """Its prompt was refused while nobody knew yet that the rung works."""
    fake.choose = lambda number, _: "no schema" if number == 1 else None
    others = speaking(BRAIN)
    said = by_task({"decompose": {"questions": ["a", "b"]}})

    def brain(body: Body) -> str:
        if len(fake.log) == 2:
            others.perform(Decompose("meanwhile"))
        return said(body)

    speaking(brain).perform(Decompose("one"))
    assert forms(fake) == ["json_schema", "", "json_schema"]
    assert rung_in(tmp_path, fake) == Rung.SCHEMA


def test_a_rung_that_works_is_not_left_for_one_bad_reply(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    language = speaking(BRAIN)
    language.perform(Decompose("one"))
    fake.plan = {2: "missing field"}
    language.perform(Read(QUESTION, (isk,)))
    language.perform(Decompose("two"))
    assert forms(fake) == ["json_schema", "json_schema", "", "json_schema"]


@pytest.mark.parametrize("fault", ["no schema", "missing field", "small window", "cut off", "empty", None])
def test_a_second_run_takes_the_same_way_and_pays_nothing(
    fake: FakeAI, speaking: Speaking, isk: Unit, fault: str | None
) -> None:
    fake.choose = lambda number, _: fault if fault == "no schema" or number == 2 else None
    tasks = [Decompose("one"), Read(QUESTION, (isk,)), Read("another?", (isk,)), Assess(QUESTION, (isk,))]
    first = [speaking(BRAIN).perform(task).value for task in tasks]
    asked = len(fake.log)
    again = [speaking(BRAIN).perform(task) for task in tasks]
    assert [reply.value for reply in again] == first
    assert sum(reply.usage.calls for reply in again) == 0
    assert len(fake.log) == asked


def test_a_forced_rung_that_is_refused_says_what_to_do(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    fake.always = "no schema"
    with pytest.raises(TaskFailed, match="hoptrail doctor"):
        speaking(BRAIN, structured="schema").perform(Read(QUESTION, (isk,)))


@pytest.mark.parametrize("fault", ["cut off", "only reasoning"])
def test_a7_a_reply_without_enough_room_is_asked_once_more_with_more(
    fake: FakeAI, speaking: Speaking, isk: Unit, fault: str
) -> None:
    fake.plan = {1: fault}
    assert speaking(BRAIN).perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills"
    assert [asked.body["max_tokens"] for asked in fake.log] == [1024, 2048 if fault == "cut off" else 4096]


@pytest.mark.parametrize(
    ("fault", "tried"),
    [
        ("cut off", [*["json_schema"] * 2, "plain"]),
        ("only reasoning", ["json_schema"] * 2),
        ("empty", FORMS),
    ],
)
def test_a7_then_it_is_a_typed_failure(
    fake: FakeAI, speaking: Speaking, isk: Unit, fault: str, tried: list[str]
) -> None:
    fake.always = fault
    with pytest.raises(TaskFailed, match=r"answer: .*(cut off|empty|used all 4,096 tokens .* for reasoning)"):
        speaking(BRAIN).perform(Read(QUESTION, (isk,)))
    assert forms(fake) == tried


def test_a7_where_the_window_has_no_more_room_the_evidence_gives_way(fake: FakeAI, speaking: Speaking) -> None:
    fake.plan = {1: "cut off"}
    units = tuple(passage(f"T{number}", "It rises in the Grey Hills. " * 8) for number in range(40))
    speaking(BRAIN, context_window=4096, max_output_tokens=2048).perform(Read(QUESTION, units))
    assert [asked.body["max_tokens"] for asked in fake.log] == [2048, 2048]
    assert fake.log[1].prompt.count("<passage") < fake.log[0].prompt.count("<passage")


def test_a12_a_prompt_that_is_too_long_loses_its_last_ranks_once(fake: FakeAI, speaking: Speaking) -> None:
    fake.always = "small window"
    units = tuple(passage(f"Title {number}", "It rises in the Grey Hills. " * 8) for number in range(12))
    assert speaking(BRAIN, context_window=4096).perform(Read(QUESTION, units)).value.answer == "the Grey Hills"
    first, second = (asked.prompt for asked in fake.log)
    assert "Title 0" in second
    assert "Title 11" in first
    assert "Title 11" not in second


def test_a12_when_even_that_is_too_long_the_task_fails(fake: FakeAI, speaking: Speaking) -> None:
    fake.always = "small window"
    units = tuple(passage(f"Title {number}", "It rises in the Grey Hills. " * 30) for number in range(40))
    with pytest.raises(TaskFailed, match=r"too long for the model .*maximum context length is 900"):
        speaking(BRAIN, context_window=16_000).perform(Read(QUESTION, units))
    assert len(fake.log) == 2


@pytest.mark.parametrize("stream", [False, True])
def test_a9_endless_repetition_is_not_given_more_room(
    fake: FakeAI, speaking: Speaking, isk: Unit, stream: bool
) -> None:
    fake.always = "stream of loops" if stream else "loop"
    with pytest.raises(TaskFailed, match="repeats itself without end"):
        speaking(BRAIN, stream=stream, structured="prompt").perform(Read(QUESTION, (isk,)))
    assert [asked.body["max_tokens"] for asked in fake.log] == [1024, 1024]
    assert len(fake.log[1].prompt) - len(fake.log[0].prompt) < 2500, "the loop is not sent back"


@pytest.mark.parametrize("fault", ["stream cut", "stream malformed"])
def test_a6_a_broken_stream_is_asked_for_again_and_never_used(
    fake: FakeAI, speaking: Speaking, tmp_path: Path, isk: Unit, fault: str
) -> None:
    fake.plan = {1: fault}
    assert speaking(BRAIN, stream=True).perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills"
    assert len(fake.log) == 2
    assert len(list(replies_in(tmp_path).stored())) == 1
    fake.always = fault
    with pytest.raises(TaskFailed, match=r"broke off|broken reply"):
        speaking(BRAIN, stream=True).perform(Read("another?", (isk,)))


@pytest.mark.parametrize("fault", ["500", "reset", "web page", "redirect", "hang"])
def test_a3_a5_a16_a_task_that_gets_no_reply_fails_with_the_reason(
    fake: FakeAI, speaking: Speaking, isk: Unit, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    fake.always, fake.elsewhere = fault, "http://127.0.0.1:9"
    with pytest.raises(TaskFailed, match=r"^answer: fake at "):
        speaking(BRAIN, deadline_seconds=0.3, attempts=2).perform(Read(QUESTION, (isk,)))
    assert "a language task failed. answer: fake at" in caplog.text
    fake.always = None
    assert speaking(BRAIN).perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills"


def test_a4_a_passage_that_is_moderated_costs_its_own_task_only(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    fake.choose = lambda _, body: "moderated" if "Question: bad" in body["messages"][1]["content"] else None
    language = speaking(BRAIN)
    with pytest.raises(TaskFailed, match=r"403: .* flagged"):
        language.perform(Read("bad", (isk,)))
    assert len(fake.log) == 1
    assert language.perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["refusal", "refusal field", "filtered", "unknown"])
def test_a17_declining_is_an_abstention(fake: FakeAI, speaking: Speaking, isk: Unit, fault: str, stream: bool) -> None:
    fake.always = fault
    reading = speaking(BRAIN, stream=stream).perform(Read(QUESTION, (isk,))).value
    assert reading.answer is None
    assert reading.steps == ()
    assert len(fake.log) == 1


def test_a17_where_there_is_no_abstaining_declining_is_a_failure(fake: FakeAI, speaking: Speaking) -> None:
    fake.always = "refusal"
    with pytest.raises(TaskFailed, match="decompose: the model declined"):
        speaking(BRAIN).perform(Decompose("q"))


def test_an_unknown_model_stops_the_run(fake: FakeAI, speaking: Speaking) -> None:
    fake.models = ["another"]
    with pytest.raises(EndpointRefused, match=r"404.*Check the address, the key, the credit and the model's name"):
        speaking(BRAIN).perform(Decompose("q"))
    assert len(fake.log) == 1


def test_what_the_model_is_told_is_what_the_prompt_says(speaking: Speaking, isk: Unit) -> None:
    seen: list[Body] = []

    def brain(body: Body) -> str:
        seen.append(body)
        return json.dumps(ANSWER)

    speaking(brain).perform(Read(QUESTION, (isk,)))
    given = seen[0]["messages"][1]["content"]
    assert f"\n\nQuestion: {QUESTION}\n" in given
    assert given.startswith(f'<passage n="1"><title>Isk</title>\n{isk.text}\n</passage>')


def sloppy(body: Body) -> str:
    """A model that cannot write JSON, but says things."""
    if form_of(body) != "plain":
        return "Sure, I will think of it."
    if task_of(body) == "answer":
        return "It rises in the Grey Hills.\nANSWER: the Grey Hills"
    return "QUESTION: a?\nQUESTION: b?"


def test_a_model_that_cannot_write_json_answers_in_plain_text_and_is_asked_so_from_then_on(
    fake: FakeAI, speaking: Speaking, tmp_path: Path, isk: Unit
) -> None:
    reading = speaking(sloppy).perform(Read(QUESTION, (isk,))).value
    assert reading.answer == "the Grey Hills"
    span = reading.steps[-1].support[0]
    assert isk.text[span.start - 7 : span.end - 7] == "It rises in the Grey Hills and is 90 km long."
    assert forms(fake) == FORMS
    assert rung_in(tmp_path, fake) == Rung.PLAIN
    assert speaking(sloppy).perform(Decompose("one")).value.questions == ("a?", "b?")
    assert forms(fake)[3:] == ["plain"]
    write_recording(replies_in(tmp_path).stored(), tmp_path / "replies.jsonl")
    replay = ChatLanguage(RecordedChat.open(tmp_path / "replies.jsonl"), quick_settings(fake))
    assert replay.perform(Read(QUESTION, (isk,))).value == reading
    assert len(fake.log) == 4


def test_plain_text_helps_out_where_a_rung_that_works_gave_nothing_and_is_not_remembered(
    fake: FakeAI, speaking: Speaking, tmp_path: Path, isk: Unit
) -> None:
    speaking(BRAIN).perform(Decompose("one"))
    assert speaking(sloppy).perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills"
    assert forms(fake)[1:] == FORMS
    assert rung_in(tmp_path, fake) == Rung.SCHEMA


def test_a_rung_to_stay_on_is_stayed_on(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    with pytest.raises(TaskFailed):
        speaking(sloppy, structured="prompt").perform(Read(QUESTION, (isk,)))
    assert forms(fake) == ["", ""]
    fake.log.clear()
    assert speaking(sloppy, structured="plain").perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills"
    assert forms(fake) == ["plain"]


@pytest.mark.parametrize(("words", "left"), [("Failed to parse grammar", True), ("out of memory", False)])
def test_a_refusal_that_names_the_format_is_one_whatever_its_status(
    fake: FakeAI, speaking: Speaking, isk: Unit, words: str, left: bool
) -> None:
    """llama.cpp's Python server answers 500 to `json_schema`."""
    FAULTS["500 in these words"] = status(500, words)
    fake.choose = lambda _, body: "500 in these words" if form_of(body) == "json_schema" else None
    language = speaking(BRAIN, attempts=2)
    if left:
        assert language.perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills"
        assert forms(fake) == FORMS[:2]
    else:
        with pytest.raises(TaskFailed, match="500"):
            language.perform(Read(QUESTION, (isk,)))
        assert forms(fake) == [FORMS[0]] * 2
