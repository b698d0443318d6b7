"""What real servers reply, read as the ladder needs it: one file a server in `servers/`, recorded or as its makers document it.

Each case is what came back to a request on one rung: its text and tokens, or the kind of failure that it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakeai.clients import endpoint_at, request
from fakeai.faults import FAULTS
from fakeai.server import Asked, FakeAI, Handler, serving
from hoptrail.models.chat import Rung
from hoptrail.models.client import CallFailed, FailureKind

SERVERS = sorted((Path(__file__).parent / "servers").glob("*.json"))
CASES = [
    pytest.param(case, id=f"{path.stem}: {case['what']}")
    for path in SERVERS
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
]


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: "")) as running:
        yield running


@pytest.mark.parametrize("case", CASES)
def test_what_real_servers_send_is_understood(fake: FakeAI, case: dict[str, Any]) -> None:
    def as_recorded(handler: Handler, _fake: FakeAI, _asked: Asked) -> None:
        handler.send(case["status"], json.dumps(case["body"]).encode())

    FAULTS["as recorded"] = as_recorded
    fake.always = "as recorded"
    endpoint, asked = endpoint_at(fake), request(rung=Rung(case["rung"]))
    if "kind" in case:
        with pytest.raises(CallFailed) as caught:
            endpoint.send(asked)
        assert caught.value.kind is FailureKind(case["kind"])
        assert not caught.value.paid
        return
    reply = endpoint.send(asked)
    assert (reply.text, reply.refusal) == (case["text"], case.get("refusal", ""))
    assert [reply.prompt_tokens, reply.completion_tokens] == case["tokens"]
    assert not reply.estimated
