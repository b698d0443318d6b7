"""From a model's words to a reply. Rows A8, A9, A13 and A17 of the fault table, without a network."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting import steps
from hoptrail.language.chat.grounding import parse_answer
from hoptrail.language.chat.reply_parsing import InvalidReply, channels, is_refusal, parse_reply
from hoptrail.language.chat.schemas import AssessReply, DecomposeReply, ExtractReply, ReadingReply, schema_of

GOOD = {
    "steps": [{"question": "q", "answer": "the Isk", "evidence": [2], "quote": 'It\'s the Isk, "the" river.'}],
    "answer": "the Isk",
    "confidence": 0.9,
}
TEXT = json.dumps(GOOD)
WRAPPINGS = {
    "bare": TEXT,
    "fenced": f"```json\n{TEXT}\n```",
    "fenced without a word": f"```\n{TEXT}\n```",
    "prose around": f"Sure, here {{you}} go: {TEXT} Anything else {{x}}?",
    "a thought": f'<think>The form is {{"answer": ...}}, so {{"answer": "no"}}?</think>{TEXT}',
    "two thoughts": f"<thinking>hm</thinking>\n<think>hm</think> {TEXT}",
    "the end of a thought": f"and so it is the Isk.</think>\n{TEXT}",
    "a tool call": f'<tool_call>{{"name": "answer", "arguments": {TEXT}}}</tool_call>',
    "a tool call as text": json.dumps({"name": "answer", "arguments": TEXT}),
    "a tool mark": f"[TOOL_CALLS]{TEXT}",
    "a channel mark": f"<|channel|>final<|message|>{TEXT}",
    "one key": json.dumps({"ReadingReply": GOOD}),
    "a trailing comma": TEXT[:-1] + ",}",
    "trailing commas": TEXT.replace("]", ",]"),
    "comments": TEXT[:-1] + " // done\n}",
    "python": repr(GOOD | {"answer": "the Isk"}),
    "python words": TEXT[:-1] + ', "x": True, "y": None}',
    "bare keys": '{steps: [], answer: "the Isk", confidence: 0.9}',
    "raw line breaks": TEXT.replace("It's", "It\n's"),
    "surplus": json.dumps(GOOD | {"thoughts": ["x"], "$schema": "y"}),
    "the same key twice, the same": TEXT[:-1] + ', "answer": "the Isk"}',
    "confidence in words": TEXT.replace("0.9", '"90%"'),
    "numbers in words": TEXT.replace("[2]", '"[2]"'),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_a8_a_reply_is_found_however_it_is_wrapped(wrapping: str) -> None:
    reply = parse_reply(WRAPPINGS[wrapping], ReadingReply)
    assert (reply.answer, reply.confidence) == ("the Isk", 0.9)
    assert [step.evidence for step in reply.steps] in ([[2]], [])


UNUSABLE: dict[str, tuple[str, str]] = {
    "nothing": ("", "empty"),
    "only a thought": ("<think>I wonder", "all of it is reasoning"),
    "prose": ("The answer is the Isk.", "no JSON object"),
    "cut off": (TEXT[:-30], "not valid JSON"),
    "missing field": ('{"steps": []}', "answer: Field required"),
    "the outer object is wrong, an inner one would do": (
        json.dumps({"steps": GOOD["steps"]}),
        "answer: Field required",
    ),
    "wrong types": ('{"answer": {"a": 1}, "steps": {}}', "answer: Input should be a valid string"),
    "duplicate keys": ('{"answer": "a", "answer": "b"}', "two different values for 'answer'"),
    "NaN": ('{"answer": "a", "confidence": NaN}', "NaN is not a number"),
    "beyond one": ('{"answer": "a", "confidence": 1000}', "from 0 to 1"),
    "deep": ("[" * 50 + '{"a":' * 50 + "1" + "}" * 50 + "]" * 50, "answer: Field required"),
    "an abyss": ('{"answer": ' + "[" * 100_000, "repeats itself"),
    "an abyss of objects": ('{"a":' * 100_000, "repeats itself"),
    "20 MB": ("x" * 20_000_000, "repeats itself"),
    "a list": ("[1, 2]", "no JSON object"),
    "a loop": ("the Isk and " * 500, "repeats itself"),
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_a8_what_is_no_reply_is_refused_with_the_reason(kind: str) -> None:
    text, reason = UNUSABLE[kind]
    with pytest.raises(InvalidReply, match=reason) as caught:
        parse_reply(text, ReadingReply)
    assert len(str(caught.value)) <= 300


@pytest.mark.parametrize("tags", ["<unk>", "<|im_end|>\n", "[PAD]", "<unk>[PAD] "])
def test_a9_a_reply_of_tags_without_end_is_read_at_once(tags: str) -> None:
    def read(characters: int) -> None:
        with pytest.raises(InvalidReply):
            parse_reply(tags * (characters // len(tags)), ReadingReply)

    read(200)
    assert steps(lambda: read(200_000)) == steps(lambda: read(200)), "no turn for each tag"
    assert parse_reply(tags * 100 + f"<think>Or {{}}?</think>{TEXT}", ReadingReply).answer == "the Isk"


def test_a8_nothing_is_evaluated() -> None:
    for text in (
        '{"answer": __import__("os").getcwd()}',
        '{"answer": (1).__class__}',
        "{'answer': open('/etc/passwd')}",
    ):
        with suppress(InvalidReply):
            answer = parse_reply(text, ReadingReply).answer
            assert answer is not None
            assert answer in text, "words are words"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('{"final_answer": "the Isk"}', "the Isk"),
        ('{"Final Answer": "the Isk", "steps": []}', "the Isk"),
        ('{"finalAnswer": "the Isk", "Confidence": "80%"}', "the Isk"),
        ('{"Answer": true}', "yes"),
        ('[{"answer": "the Isk"}]', "the Isk"),
        ('{"answer": "the "Isk"", "steps": []}', 'the "Isk"'),
        ('{"answer": the Isk}', "the Isk"),
        ('{"answer": "the Isk" "steps": []}', "the Isk"),
    ],
)
def test_a8_other_names_and_sloppy_syntax_are_understood(text: str, answer: str) -> None:
    assert parse_reply(text, ReadingReply).answer == answer


@pytest.mark.parametrize(
    "text",
    [
        '{"final_answer": "the Isk", "result": "the Marn"}',  # either could be meant
        "{'answer': 'the Isk', 'answer': 'the Marn'}",
        '{"answer": "the Isk", "answer": "the Marn",}',
        '{"answer": "the Is',
        '{"steps": [{"answer": "the Isk"}]}',
    ],
)
def test_a8_what_would_have_to_be_guessed_is_refused(text: str) -> None:
    with pytest.raises(InvalidReply):
        parse_reply(text, ReadingReply)


def test_a8_the_parts_of_a_reply_may_have_other_names_too() -> None:
    text = '{"Named entities": ["Isk"], "propositions": [{"statement": "The Isk is long.", "sentence number": "[2]"}]}'
    reply = parse_reply(text, ExtractReply)
    assert [(entity.name, entity.type) for entity in reply.entities] == [("Isk", "")], "a name alone will do"
    assert [(fact.text, fact.sentence) for fact in reply.facts] == [("The Isk is long.", [2])]


@pytest.mark.parametrize("wrapped", ["%s", "```json\n%s\n```", "<think>Two.</think>%s"])
def test_a8_a_list_may_come_without_its_name(wrapped: str) -> None:
    assert parse_reply(wrapped % '["Who?", "Where was #1 born?"]', DecomposeReply).questions == [
        "Who?",
        "Where was #1 born?",
    ]
    facts = parse_reply(wrapped % '[{"text": "The Isk is long."}]', ExtractReply).facts
    assert [fact.text for fact in facts] == ["The Isk is long."]
    with pytest.raises(InvalidReply):
        parse_reply(wrapped % '["the Isk", "the Marn"]', ReadingReply)


@given(st.text(max_size=400) | st.text(alphabet="{}[]\"':,\\ \nabc01/*", max_size=200))
@settings(max_examples=150, deadline=None)
def test_a8_no_text_breaks_the_parser(text: str) -> None:
    for reply in (ReadingReply, DecomposeReply, ExtractReply, AssessReply):
        with suppress(InvalidReply):
            assert isinstance(parse_reply(text, reply), reply)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(list(ReadingReply.model_fields)) | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["answer", "steps", "confidence", "questions", "facts", "entities"]), _JSON))
@settings(max_examples=100, deadline=None)
def test_a8_no_object_breaks_the_checks(content: dict[str, Any]) -> None:
    for reply in (ReadingReply, DecomposeReply, ExtractReply, AssessReply):
        with suppress(InvalidReply):
            assert isinstance(parse_reply(json.dumps(content), reply), reply)


@given(st.text(), st.text(), st.floats(0, 1), st.lists(st.integers(0, 999_999)))
@settings(max_examples=100, deadline=None)
def test_what_was_written_properly_is_read_exactly(
    answer: str, quote: str, confidence: float, numbers: list[int]
) -> None:
    step = {"question": "", "answer": answer, "evidence": numbers, "quote": quote}
    reply = parse_reply(json.dumps({"steps": [step], "answer": answer, "confidence": confidence}), ReadingReply)
    assert (reply.answer, reply.confidence) == (answer, confidence)
    assert (reply.steps[0].evidence, reply.steps[0].quote) == (numbers, quote)


def test_half_a_character_from_an_escape_is_replaced() -> None:
    """What is kept later is written as UTF-8, which cannot hold it."""
    reply = parse_reply('{"answer": "a bridge \\ud83d", "steps": [], "confidence": 1}', ReadingReply)
    assert reply.answer == "a bridge \N{REPLACEMENT CHARACTER}"
    plan = parse_reply('{"questions": ["who \\udc00?", "\\ud83d\\ude00"]}', DecomposeReply)
    assert plan.questions == ["who \N{REPLACEMENT CHARACTER}?", "\N{GRINNING FACE}"]


def test_a13_what_is_quoted_inside_the_reply_is_not_stripped() -> None:
    quote = "The page says <think>no</think> and <tool_call>x</tool_call> [TOOL_CALLS]."
    reply = parse_reply(json.dumps(GOOD | {"answer": quote}), ReadingReply)
    assert reply.answer == quote
    reply = parse_reply(f"<think>so</think>{json.dumps(GOOD | {'answer': quote})}", ReadingReply)
    assert reply.answer == quote
    assert channels(f'{{"a": "{quote}"}}')[0] == f'{{"a": "{quote}"}}'


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I cannot help with that.",
        "I cannot answer.",
        "As an AI, I",
        "<think>x</think>Sorry, no.",
        "I’m unable to say",
    ],
)
def test_a17_refusals_are_seen(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize("text", ["The Isk.", "Sorrento", "I can help: the Isk", '{"answer": "I cannot"}'])
def test_a17_answers_are_not_refusals(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize(
    "answer",
    [
        *(
            None,
            "",
            " . ",
            "unknown",
            "Unknown.",
            "N/A",
            "null",
            "none",
            "Not stated",
            "The answer is unknown",
            "*unknown*",
        ),
        *(
            "cannot be determined from this",
            "I don't know.",
            "The evidence does not say.",
            "the passages don't mention it",
        ),
        *("insufficient evidence", "no answer", "I'm sorry, I cannot help"),
    ],
)
def test_a17_unknown_is_no_answer(answer: str | None) -> None:
    assert parse_answer(answer) is None


@pytest.mark.parametrize(
    "answer",
    [
        "no",
        "yes",
        "0",
        "None of the Above",
        "The Unknown Soldier",
        "Null Island",
        "Nil Desai",
        "Not Without My Daughter",
    ],
)
def test_a17_names_that_sound_so_are_answers(answer: str) -> None:
    assert parse_answer(f"  {answer} ") == answer


def test_schemas_are_closed_and_ask_for_every_field() -> None:
    for reply in (ReadingReply, DecomposeReply, ExtractReply, AssessReply):
        pending = [json.loads(schema_of(reply))]
        seen = 0
        while pending:
            part = pending.pop()
            if isinstance(part, dict):
                pending += part.values()
                if part.get("type") == "object":
                    seen += 1
                    assert part["additionalProperties"] is False
                    assert part["required"] == list(part["properties"])
            elif isinstance(part, list):
                pending += part
        assert seen


def test_a_field_named_title_stays_in_the_schema() -> None:
    assert set(json.loads(schema_of(ReadingReply))["properties"]) == {"steps", "answer", "confidence"}
