"""What a server accepts is found out once, and known to the next process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fakeai.clients import endpoint_at, paid_chat, refused_in, replies_in, request
from fakeai.faults import FAULTS, status
from fakeai.server import Body, FakeAI, serving
from hoptrail.models.chat import Rung
from hoptrail.models.chat_endpoint import NEWER, OLDER


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: "fine")) as running:
        yield running


def refuse(fake: FakeAI, *parameters: str, words: str = "Unsupported parameter: '{}' is not supported.") -> None:
    """Answer 400 to every body with one of these parameters."""

    def choose(_: int, body: Body) -> str | None:
        found = next((name for name in parameters if name in body), None)
        if found is None:
            return None
        FAULTS[f"refuses {found}"] = status(400, words.format(found))
        return f"refuses {found}"

    fake.choose = choose


def test_what_was_refused_is_not_sent_by_the_next_process(
    fake: FakeAI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refuse(fake, "temperature", "max_tokens")
    assert paid_chat(fake, tmp_path).ask(request("one")).reply.text == "fine"
    assert len(fake.log) == 3, "two refusals"
    assert refused_in(tmp_path, fake) == {"temperature", OLDER}
    caplog.clear()
    assert paid_chat(fake, tmp_path).ask(request("two")).reply.text == "fine"
    assert len(fake.log) == 4
    assert caplog.messages == ["the endpoint has refused temperature before, which is left out"]


def test_it_is_known_of_that_model_alone(fake: FakeAI, tmp_path: Path) -> None:
    refuse(fake, "temperature")
    paid_chat(fake, tmp_path).ask(request())
    assert replies_in(tmp_path).known("dialects", fake.address, "another") == ""
    assert replies_in(tmp_path).known("dialects", "http://elsewhere/v1", "fake") == ""


def test_a_server_that_refuses_nothing_has_nothing_written(fake: FakeAI, tmp_path: Path) -> None:
    paid_chat(fake, tmp_path).ask(request())
    assert replies_in(tmp_path).known("dialects", fake.address, "fake") == ""


def test_that_one_reply_came_for_several_is_known(fake: FakeAI, tmp_path: Path) -> None:
    chat = paid_chat(fake, tmp_path)
    chat.fetch([replace(request("one"), seed=seed) for seed in range(3)])
    assert [asked.body.get("n") for asked in fake.log] == [3]
    assert paid_chat(fake, tmp_path).fetch([replace(request("two"), seed=seed) for seed in range(3)]).calls == 0
    assert len(fake.log) == 1


def test_that_limits_of_a_schema_are_refused_is_known(fake: FakeAI, tmp_path: Path) -> None:
    limited = replace(request(rung=Rung.SCHEMA), schema='{"type": "string", "maxLength": 160}')
    FAULTS["limits"] = status(400, "'maxLength' is not permitted")
    fake.choose = lambda _, body: "limits" if "maxLength" in str(body) else None
    paid_chat(fake, tmp_path).ask(limited)
    paid_chat(fake, tmp_path).ask(replace(limited, task="another"))
    assert len(fake.log) == 3


def test_asked_anew_a_server_may_have_learned(fake: FakeAI, tmp_path: Path) -> None:
    """As `hoptrail doctor` asks."""
    refuse(fake, "temperature")
    paid_chat(fake, tmp_path).ask(request("one"))
    fake.choose = None
    paid_chat(fake, tmp_path).anew().ask(request("two"))
    assert "temperature" in fake.log[-1].body
    assert refused_in(tmp_path, fake) == set()


def test_a_server_that_was_replaced_by_an_older_one_is_asked_in_its_words(fake: FakeAI) -> None:
    refuse(fake, NEWER, words="{}: extra fields not permitted")
    endpoint = endpoint_at(fake)
    endpoint.recall({OLDER})
    assert endpoint.send(request()).text == "fine"
    assert endpoint.refused == frozenset()
    assert OLDER in fake.log[-1].body


def test_what_the_last_release_stored_is_read(fake: FakeAI, tmp_path: Path) -> None:
    stored = '{"output": "max_completion_tokens", "refused": ["temperature"], "unlimited": []}'
    replies_in(tmp_path).note("dialects", fake.address, "fake", stored)
    paid_chat(fake, tmp_path).ask(request())
    assert "temperature" not in fake.log[0].body
