"""What small models do, seen with a real one: they do not end a list or a text, are cut off, and say the form over again.

The brain `endless` writes as a decoder lets it that is held to a schema: up to its limits, else up to the room for the reply.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import BaseModel

from fakeai.brains import by_task, task_of
from fakeai.server import Body, FakeAI
from hoptrail.errors import TaskFailed
from hoptrail.language.chat import schemas
from hoptrail.language.chat.prompting import known_prompts, load_prompt
from hoptrail.language.chat.reply_parsing import InvalidReply, parse_cut_off
from hoptrail.language.chat.schemas import ExtractReply, ReadingReply, schema_of
from hoptrail.language.tasks import Decompose, Extract, Read, Summarise
from hoptrail.models.chat import ChatSettings
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.types import Unit
from language_chat import ANSWER, QUESTION, Speaking

FORMS = [form for form in vars(schemas).values() if isinstance(form, type) and issubclass(form, BaseModel)]
REPLIES = [form for form in FORMS if form.__name__.endswith("Reply")]


def longest(part: Any, whole: dict[str, Any]) -> Any:
    """What a model writes that only a schema stops; with surplus where the schema sets no limit."""
    if "$ref" in part:
        return longest(whole["$defs"][part["$ref"].rpartition("/")[2]], whole)
    if "anyOf" in part:
        return longest(part["anyOf"][0], whole)
    if "enum" in part:
        return part["enum"][0]
    if part["type"] == "string":
        return "so " * (part.get("maxLength", 9_000) // 3)
    if part["type"] == "array":
        return [longest(part["items"], whole)] * part.get("maxItems", 90)
    if part["type"] == "integer":
        return 1
    return {name: longest(inner, whole) for name, inner in part["properties"].items()}


def endless(body: Body) -> str:
    form = body["response_format"]["json_schema"]["schema"]
    return json.dumps(longest(form, form))[: body["max_tokens"] * 4]


@pytest.mark.parametrize("form", REPLIES)
def test_a_limited_schema_is_the_schema_with_limits(form: type[BaseModel]) -> None:
    def without(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: without(value) for key, value in part.items() if key not in {"maxLength", "maxItems"}}
        return [without(one) for one in part] if isinstance(part, list) else part

    limited = schema_of(form, limited=True)
    assert json.dumps(without(json.loads(limited))) == schema_of(form), "in the same order"
    assert limited.count('"maxItems"') == limited.count('"array"')
    assert limited.count('"maxLength"') == limited.count('"type": "string"') - limited.count('"enum"')
    numbers = [
        int(part.split("}")[0].split(",")[0])
        for part in limited.replace("maxItems", "maxLength").split('maxLength": ')[1:]
    ]
    assert all(0 < number < 2000 for number in numbers), "llama.cpp refuses larger ones"


@pytest.mark.parametrize("form", [form for form in REPLIES if form not in {ExtractReply, schemas.FactReply}])
def test_a_reply_that_only_its_limits_end_has_room(form: type[BaseModel]) -> None:
    whole = json.loads(schema_of(form, limited=True))
    assert estimated_tokens(json.dumps(longest(whole, whole))) <= ChatSettings().max_output_tokens


def test_a_model_that_does_not_end_by_itself_is_ended_by_the_schema(
    fake: FakeAI, speaking: Speaking, isk: Unit
) -> None:
    language = speaking(endless)
    assert language.perform(Read(QUESTION, (isk,))).value.answer
    assert language.perform(Decompose(QUESTION)).value.questions
    assert language.perform(Summarise((isk,), 60)).value
    assert len(fake.log) == 3, "each at the first try"


def test_the_schema_in_the_prompt_goes_without_limits(fake: FakeAI, speaking: Speaking, isk: Unit) -> None:
    """There they would only cost tokens."""
    speaking(by_task({"answer": ANSWER}), structured="prompt").perform(Read(QUESTION, (isk,)))
    assert schema_of(ReadingReply) in fake.log[0].prompt
    assert "maxLength" not in fake.log[0].prompt


READING = json.dumps(ANSWER)
FACTS = json.dumps(
    {
        "entities": [{"name": "Isk", "type": "river"}],
        "facts": [
            {"sentence": 1, "text": f"The Isk is a {word}.", "entities": ["Isk"], "triple": ["Isk", "is a", word]}
            for word in ("river", "border")
        ],
    }
)


def test_of_a_reply_that_was_cut_off_behind_what_matters_the_rest_is_used() -> None:
    for end in range(READING.index(', "confidence"'), len(READING)):
        read = parse_cut_off(READING[:end], ReadingReply, open_lists=False)
        assert (read.answer, [step.answer for step in read.steps]) == ("the Grey Hills", ["the Grey Hills"])
    for value, answer in (("null", None), ("true", "yes"), ("1987", "1987"), ('["Isk"]', "Isk")):
        for more in (", ", ', "con', ', "confidence": "hi', ', "confidence": 0.', *([""] if value != "1987" else [])):
            assert parse_cut_off(f'{{"answer": {value}{more}', ReadingReply, open_lists=False).answer == answer


@pytest.mark.parametrize("open_lists", [False, True])
def test_a_text_that_was_cut_off_is_never_taken_for_the_whole(open_lists: bool) -> None:
    for end in range(READING.index(', "confidence"')):
        with pytest.raises(InvalidReply):
            parse_cut_off(READING[:end], ReadingReply, open_lists=open_lists)
    hard = '{"steps": [], "answer": "the Grey Hills, or {perhaps}, [the"'
    draft = '{"answer": "a draft", "confidence": "?"} {"answer": "the Grey Hills'
    for cut in (*(hard[:end] for end in range(len(hard))), draft, '{"answer": 1987'):
        with pytest.raises(InvalidReply):
            parse_cut_off(cut, ReadingReply, open_lists=open_lists)


def test_a_list_that_was_cut_off_holds_its_complete_items() -> None:
    for cut in range(FACTS.index("}, {"), FACTS.index('"border"') + 8):
        with pytest.raises(InvalidReply, match="facts"):
            parse_cut_off(FACTS[: cut + 1], ExtractReply, open_lists=False)
        read = parse_cut_off(FACTS[: cut + 1], ExtractReply, open_lists=True)
        assert [fact.text for fact in read.facts] == ["The Isk is a river."]
        assert [entity.name for entity in read.entities] == ["Isk"]
    with pytest.raises(InvalidReply, match="facts"):
        parse_cut_off(FACTS[: FACTS.index('"facts": [') + 10], ExtractReply, open_lists=True)


def test_a_list_that_does_not_end_with_more_room_either_is_used_as_far_as_it_goes_and_that_is_said(
    fake: FakeAI, speaking: Speaking, isk: Unit, caplog: pytest.LogCaptureFixture
) -> None:
    def cut(_: Body) -> str:
        return FACTS[: FACTS.index("is a border")]

    fake.always = "cut at its limit"
    extraction = speaking(cut).perform(Extract(isk)).value
    assert [fact.text for fact in extraction.facts] == ["The Isk is a river."]
    assert [asked.body["max_tokens"] for asked in fake.log] == [1024, 2048]
    assert "the reply was cut off at its limit; what it says completely is used" in caplog.text


EXAMPLE = next(line for line in load_prompt("decompose").example.splitlines() if line.startswith("{"))


@pytest.mark.parametrize("said", [EXAMPLE, '{"plan": "…", "questions": ["…", "..."]}'])
@pytest.mark.parametrize("structured", ["schema", "prompt"])
def test_a_model_that_says_the_example_or_the_form_over_again_has_not_answered(
    fake: FakeAI, speaking: Speaking, structured: str, said: str
) -> None:
    language = speaking(lambda _: said, structured=structured)
    with pytest.raises(TaskFailed, match="repeats the words that show the form"):
        language.perform(Decompose(QUESTION))
    assert len(fake.log) == 1, "asked to repair it, a model would say it once more"


def test_an_example_said_over_again_costs_no_rung_that_works(fake: FakeAI, speaking: Speaking) -> None:
    plan = '{"questions": ["a", "b"]}'
    replies = iter([plan, EXAMPLE, EXAMPLE, "QUESTION: Where does the Isk rise?", plan])
    language = speaking(lambda _: next(replies))
    found = [language.perform(Decompose(question)).value.questions for question in ("one", "two", "three")]
    assert found == [("a", "b"), ("Where does the Isk rise?",), ("a", "b")]
    assert [asked.form for asked in fake.log] == ["json_schema", "json_schema", "", "plain", "json_schema"]
    assert len(fake.log[2].body["messages"]) == 2, "quoted, a model would say it once more"


@pytest.mark.parametrize("name", [name for name in known_prompts() if load_prompt(name).form])
def test_a_form_holds_no_words_that_could_be_taken_for_an_answer(name: str) -> None:
    """Small models say them over again, word for word."""
    assert all(" " not in text for text in re.findall('"([^"]*)"', load_prompt(name).form))


def test_a_model_that_repeats_every_form_is_asked_in_plain_text_from_then_on(
    fake: FakeAI, speaking: Speaking, isk: Unit
) -> None:
    def parrot(body: Body) -> str:
        if "Reply in plain text" not in body["messages"][-1]["content"]:
            return EXAMPLE if task_of(body) == "decompose" else '{"answer": "…"}'
        if task_of(body) == "answer":
            return "ANSWER: the Grey Hills"
        return "QUESTION: a sub-question\nQUESTION: Where is the source of the Isk?"

    language = speaking(parrot)
    assert language.perform(Read(QUESTION, (isk,))).value.answer == "the Grey Hills"
    asked = len(fake.log)
    assert language.perform(Decompose(QUESTION)).value.questions == ("Where is the source of the Isk?",)
    assert len(fake.log) == asked + 1


def test_the_line_that_shows_the_mark_is_no_answer_either(speaking: Speaking, isk: Unit) -> None:
    language = speaking(lambda _: "ANSWER: the answer in a few words, or none", structured="plain")
    with pytest.raises(TaskFailed, match="repeats the words that show the form"):
        language.perform(Read(QUESTION, (isk,)))


def test_an_answer_of_words_that_stand_in_the_evidence_is_one_in_plain_text(speaking: Speaking, isk: Unit) -> None:
    language = speaking(lambda _: f"ANSWER: {isk.text.partition('.')[0]}", structured="plain")
    assert language.perform(Read(QUESTION, (isk,))).value.answer == "The Isk is a river"
