"""Open Responses: the official client of OpenAI's API against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI
from openai.types.responses import Response, ResponseOutputText

from serving.server.listening import listening
from serving.server.served import NORTH, OPERATOR, QUESTION, MakeApp
from world import FACTS

UNSETTLED = "Who painted the ceiling of the opera in Vantry?"
REQUIRED = (
    "id object created_at completed_at status incomplete_details model previous_response_id instructions output "
    "error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty "
    "top_logprobs temperature reasoning user usage max_output_tokens max_tool_calls store background "
    "service_tier metadata safety_identifier prompt_cache_key"
)
"""The fields that the schema of Open Responses requires."""


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{address}/v1", api_key=NORTH, max_retries=0) as client:
        yield client


def content_of(response: Response) -> ResponseOutputText:
    (message,) = response.output
    assert message.type == "message"
    (content,) = message.content
    assert isinstance(content, ResponseOutputText)
    return content


def details_of(response: Response) -> dict[str, Any]:
    found: dict[str, Any] = (response.model_extra or {})["hoptrail"]
    return found


def test_every_citation_is_an_annotation_with_its_span_and_quotation(client: OpenAI) -> None:
    response = client.responses.create(model="trail", input=QUESTION, metadata={"chat": "7"}, temperature=0.3)
    content, details = content_of(response), details_of(response)
    assert (response.status, response.model, response.metadata, response.output_text) == (
        "completed",
        "trail",
        {"chat": "7"},
        content.text,
    )
    assert content.text.startswith("Isk [1]")
    assert (details["answer"], details["kind"], details["abstained"]) == ("Isk", "short", False)
    assert len(content.annotations) == len(details["citations"]) > 1
    for number, one in enumerate(content.annotations, start=1):
        assert one.type == "file_citation"
        assert content.text[one.index :].startswith(f"[{number}]")
        quoted = (one.model_extra or {})["hoptrail"]
        assert one.filename == f"{quoted['title']}.txt"
        assert FACTS[quoted["title"]][quoted["start"] : quoted["end"]] == quoted["quote"]
        assert one.file_id in {item["document"] for item in details["evidence"]}
    assert response.usage is not None
    assert response.usage.total_tokens == 0  # rules answered


def test_messages_of_a_conversation_are_taken_and_the_last_of_the_user_is_asked(client: OpenAI) -> None:
    earlier: list[Any] = [
        {"role": "developer", "content": "Answer in French."},
        {"role": "user", "content": "Where does the Isk rise?"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "In the Grey Hills."}]},
        {"type": "reasoning", "summary": []},
    ]
    asked: Any = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}
    assert details_of(client.responses.create(model="trail", input=[*earlier, asked]))["question"] == QUESTION


def test_a_follow_up_goes_on_from_an_earlier_response(client: OpenAI) -> None:
    first = client.responses.create(model="trail", input="Who designed the Tallow Bridge?")
    followed = client.responses.create(
        model="trail", input="And where was she born?", previous_response_id=first.id, stream=True
    )
    then = next(event.response for event in followed if event.type == "response.completed")
    assert (details_of(then)["asked"], details_of(then)["answer"]) == ("Where was Orla Finch born?", "Wrenmouth")
    assert (then.previous_response_id, (then.model_extra or {})["store"]) == (first.id, True)
    third = client.responses.create(model="trail", input="And when?", previous_response_id=then.id, store=False)
    assert details_of(third)["asked"] == "When was Orla Finch born?"
    for gone in (third.id, "resp_of_somebody_else"):
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model="trail", input="And why?", previous_response_id=gone)


def test_nobody_goes_on_from_the_response_of_another_key(client: OpenAI, address: str) -> None:
    first = client.responses.create(model="trail", input="Who designed the Tallow Bridge?")
    with (
        OpenAI(base_url=f"{address}/v1", api_key=OPERATOR, max_retries=0) as other,
        pytest.raises(openai.NotFoundError),
    ):
        other.responses.create(model="trail", input="And where was she born?", previous_response_id=first.id)


def test_an_abstention_is_a_message_with_the_closest_statements(client: OpenAI) -> None:
    response = client.responses.create(model="hybrid", input=UNSETTLED)
    content, details = content_of(response), details_of(response)
    assert (response.status, details["abstained"], details["answer"], details["kind"]) == (
        "completed",
        True,
        None,
        "none",
    )
    assert content.text.startswith("Not settled. Closest:\n\n- ")
    assert len(content.annotations) == len(details["closest"]) == 3
    for one, line in zip(content.annotations, content.text.splitlines()[2:], strict=True):
        assert one.type == "file_citation"
        assert content.text[: one.index].endswith(line)
        assert " ".join((one.model_extra or {})["hoptrail"]["quote"].split()) in line


def test_a_stream_tells_hops_then_the_same_message(client: OpenAI) -> None:
    whole = client.responses.create(model="trail", input=QUESTION)
    events = list(client.responses.create(model="trail", input=QUESTION, stream=True))
    kinds = [event.type for event in events]
    annotations = ["response.output_text.annotation.added"] * len(content_of(whole).annotations)
    begin = ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"]
    assert kinds[:4] == begin
    own = [kind for kind in kinds if kind.startswith("hoptrail:")]
    assert own[:2] == ["hoptrail:asked", "hoptrail:hop"]
    assert kinds[4 + len(own) :] == [
        "response.output_text.delta",
        *annotations,
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type == "response.completed"
    assert content_of(last.response) == content_of(whole)
    assert {**details_of(last.response), "usage": None} == {**details_of(whole), "usage": None}


def test_the_clients_own_accumulator_comes_to_the_same_response(client: OpenAI) -> None:
    with client.responses.stream(model="hybrid", input=UNSETTLED) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert final.output_text == text == client.responses.create(model="hybrid", input=UNSETTLED).output_text
    assert details_of(final)["abstained"] is True


def test_what_goes_over_the_wire_is_what_the_specification_wants(address: str) -> None:
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {NORTH}"}, verify=False) as plain:
        body = {"model": "trail", "input": QUESTION}
        whole = plain.post("/v1/responses", json=body).json()
        streamed = plain.post("/v1/responses", json={**body, "stream": True})
    assert whole.keys() >= set(REQUIRED.split())
    assert streamed.headers["content-type"].startswith("text/event-stream")
    *events, end, rest = streamed.text.split("\n\n")
    assert (end, rest) == ("data: [DONE]", "")
    for one in events:
        name, _, data = one.partition("\n")
        content = json.loads(data.removeprefix("data: "))
        assert name == f"event: {content['type']}"
        if "response" in content:
            assert content["response"].keys() >= set(REQUIRED.split())


TOOL: dict[str, Any] = {"type": "function", "name": "f", "parameters": {}, "strict": False}
IMAGE = {"type": "input_image", "image_url": "http://127.0.0.1:9/x.png", "detail": "auto"}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"tools": [TOOL]}, "Tools are not supported"),
    ({"text": {"format": {"type": "json_object"}}}, "Response formats"),
    ({"conversation": "conv_1"}, "Stored conversations"),
    ({"background": True}, "in the background"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Who?"}, IMAGE]}]},
        "Images, sound and files",
    ),
    ({"input": [{"role": "system", "content": "Who?"}]}, "input: there is no question"),
    ({"input": " \n"}, "there is no question"),
    ({"input": "x" * 8001}, "of at most 8,000"),
    ({"input": []}, "input"),
    ({"metadata": {str(number): "x" for number in range(17)}}, "metadata"),
]


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_not_done_here_is_refused_by_name(client: OpenAI, stream: bool) -> None:
    for wrong, message in REFUSED:
        request: dict[str, Any] = {"model": "trail", "input": QUESTION, "stream": stream, **wrong}
        with pytest.raises(openai.BadRequestError, match=message):
            client.responses.create(**request)
    with pytest.raises(openai.NotFoundError) as unknown:
        client.responses.create(model="gpt-4o", input=QUESTION, stream=stream)
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_1")  # nothing is stored


def test_a_failure_in_the_middle_of_a_stream_is_a_failed_response(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_asking: Any, _stopped: Any, send: Any) -> Any:
        send("question", {"question": QUESTION})
        raise ZeroDivisionError("the secret of /home/someone")

    monkeypatch.setattr("hoptrail.serving.server.streaming.answering", broken)
    with listening(make_app(None)) as address, OpenAI(base_url=f"{address}/v1", api_key="none") as client:
        last = list(client.responses.create(model="trail", input=QUESTION, stream=True))[-1]
    assert last.type == "response.failed"
    assert (last.response.status, last.response.error and last.response.error.code) == ("failed", "internal")
    assert "secret" not in last.model_dump_json(warnings=False)
